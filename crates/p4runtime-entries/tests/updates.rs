//! Updates as text, their effects, and errors for wrong ones.

use base_diag::{SourceMap, Span, Style, render};
use control_writes::{
    ActionCall, CloneSession, EntryKey, Match, OneShotAction, Rate, Rates, Replica, Run, Watch, Write,
};
use expect_test::{Expect, expect};
use p4runtime_entries::read;
use p4runtime_proto::from_text;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_store::Names;
use smol_str::SmolStr;

const INFO: &str = include_str!("info.txtpb");

fn info() -> P4Info {
    from_text(INFO).unwrap()
}

/// The writes, one a line; then what is said.
fn check(text: &str, expected: Expect) {
    let mut map = SourceMap::new();
    let file = map.add_file("updates.txtpb", text, Span::NONE).unwrap();
    let base = map.file(file).unwrap().base();
    let (writes, problems) = read(text, base, &info(), Names::default(), &[]);
    let mut out: String = writes.iter().map(|(write, _)| shown(write) + "\n").collect();
    for problem in &problems {
        out += &render(problem, &map, Style::Plain);
    }
    expected.assert_eq(&out);
}

fn shown(write: &Write<SmolStr>) -> String {
    let one = |m: &Match| match m {
        Match::Exact(v) => v.to_biguint().to_string(),
        Match::Lpm { value, prefix_len } => format!("{}/{prefix_len}", value.to_biguint()),
        Match::Ternary { value, mask } => format!("{}&{}", value.to_biguint(), mask.to_biguint()),
        Match::Range { lo, hi } => format!("{}..{}", lo.to_biguint(), hi.to_biguint()),
        Match::Any => "*".to_string(),
    };
    let call = |call: &ActionCall<SmolStr>| {
        let args: Vec<String> = call.args.iter().map(|arg| arg.to_biguint().to_string()).collect();
        format!("{}({})", call.action, args.join(", "))
    };
    let with = |weight: i32, watch: Watch| match (weight, watch) {
        (0 | 1, Watch::No) => String::new(),
        (weight, watch) => format!("*{weight} {watch:?}"),
    };
    let key = |key: &EntryKey| {
        let matches: Vec<String> = key.matches.iter().map(one).collect();
        let priority = if key.priority == 0 { String::new() } else { format!(" @{}", key.priority) };
        format!("[{}]{priority}", matches.join(" "))
    };
    match write {
        Write::Entry { table, key: of, to, count } => {
            let to = to.as_ref().expect("nothing is deleted here");
            let run = match &to.run {
                Run::Action(action) => call(action),
                Run::Member(member) => format!("member {member}"),
                Run::Group(group) => format!("group {group}"),
                Run::OneShot(set) => {
                    let one = |one: &OneShotAction<SmolStr>| call(&one.call) + &with(one.weight, one.watch);
                    format!("one of {}", set.actions.iter().map(one).collect::<Vec<_>>().join(", "))
                }
            };
            let mut more = String::new();
            if to.idle_timeout_ns != 0 {
                more += &format!(" for {} ns", to.idle_timeout_ns);
            }
            if let Some(Rates { committed, peak }) = to.meter {
                more += &format!(" {}, {}", rate(committed), rate(peak));
            }
            if !to.metadata.is_empty() {
                more += &format!(" {:?}", to.metadata);
            }
            if let Some(count) = count {
                more += &format!(" counted {}, {}", count.packets, count.bytes);
            }
            format!("{table} {} {run}{more}", key(of))
        }
        Write::Default { table, to, .. } => {
            let meter = to.meter.map(|rates| format!(" {}, {}", rate(rates.committed), rate(rates.peak)));
            let run = to.call.as_ref().map_or("as at first".to_string(), call);
            format!("default {table} {run}{}", meter.unwrap_or_default())
        }
        Write::Member { profile, member, to } => {
            format!("{profile} member {member} {}", call(to.as_ref().expect("nothing is deleted here")))
        }
        Write::Group { profile, group, to } => {
            let to = to.as_ref().expect("nothing is deleted here");
            let members = to.members.iter().map(|m| format!("{}{}", m.member, with(m.weight, m.watch)));
            format!("{profile} group {group} {}", members.collect::<Vec<_>>().join(" "))
        }
        Write::Multicast { group, to } => {
            format!("multicast {group} {}", replicas(&to.as_ref().expect("nothing is deleted here").replicas))
        }
        Write::CloneSession { session, to } => {
            let to = to.as_ref().expect("nothing is deleted here");
            let CloneSession { packet_length_bytes, class_of_service, .. } = to;
            format!(
                "clone {session} {} of {packet_length_bytes} bytes, class {class_of_service}",
                replicas(&to.replicas)
            )
        }
        Write::ValueSet { set, members } => {
            let member = |m: &Vec<Match>| m.iter().map(one).collect::<Vec<_>>().join(" ");
            format!("value set {set} {}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Write::Digest { digest, to } => format!("digest {digest} {to:?}"),
        Write::Meter { meter, index, to } => {
            let Rates { committed, peak } = to.expect("nothing is deleted here");
            format!("meter {meter}[{index}] = {}, {}", rate(committed), rate(peak))
        }
        Write::Counter { counter, index, to } => {
            format!("counter {counter}[{index}] = {}, {}", to.packets, to.bytes)
        }
        Write::Register { register, index, to } => format!("register {register}[{index}] = {to:?}"),
        Write::DirectCounter { table, key: of, to } => {
            format!("{table} {} counted {}, {}", key(of), to.packets, to.bytes)
        }
        _ => unreachable!("no update says these"),
    }
}

fn rate(rate: Rate) -> String {
    format!("{}:{}", rate.in_seconds(), rate.burst)
}

fn replicas(all: &[Replica]) -> String {
    let one = |replica: &Replica| match replica.backups.as_slice() {
        [] => format!("{}:{}", replica.port, replica.instance),
        backups => format!("{}:{} or {backups:?}", replica.port, replica.instance),
    };
    all.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// `updates { type: HOW entity { ENTITY } }` for each.
fn updates(all: &[(&str, &str)]) -> String {
    all.iter().map(|(how, entity)| format!("updates {{ type: {how} entity {{ {entity} }} }}\n")).collect()
}

const ACL: &str = "table_entry { table_id: 33554434 priority: 3 action { action { action_id: 16777218 } }";
const FORWARD: &str = r#"action { action_id: 16777217 params { param_id: 1 value: "\x05" } }"#;

#[test]
fn entries_of_every_kind_of_field() {
    let route = |m: &str| format!("table_entry {{ table_id: 33554433 {m} action {{ {FORWARD} }} }}");
    let acl = |m: &str| format!("{ACL} {m} }}");
    let all = [
        ("INSERT", route(r#"match { field_id: 1 lpm { value: "\n\000\000\000" prefix_len: 8 } }"#)),
        ("INSERT", route("")),
        (
            "INSERT",
            acl(
                r#"match { field_id: 1 ternary { value: "\x10" mask: "\xf0" } } match { field_id: 4 exact { value: "\x01" } }"#,
            ),
        ),
        (
            "INSERT",
            acl(
                r#"match { field_id: 4 exact { value: "\000" } } match { field_id: 2 range { low: "\x01" high: "\x02\x00" } }"#,
            ),
        ),
        (
            "INSERT",
            acl(
                r#"match { field_id: 4 exact { value: "\000\001" } } match { field_id: 3 optional { value: "\x07" } }"#,
            ),
        ),
        (
            "MODIFY",
            format!("table_entry {{ table_id: 33554433 is_default_action: true action {{ {FORWARD} }} }}"),
        ),
    ];
    let all: Vec<(&str, &str)> = all.iter().map(|(how, e)| (*how, e.as_str())).collect();
    check(
        &updates(&all),
        expect![[r#"
            ingress.route [167772160/8] ingress.forward(5)
            ingress.route [*] ingress.forward(5)
            ingress.acl [16&240 * * 1] @3 ingress.drop()
            ingress.acl [* 1..512 * 0] @3 ingress.drop()
            ingress.acl [* * 7 1] @3 ingress.drop()
            default ingress.route ingress.forward(5)
        "#]],
    );
}

#[test]
fn updates_are_done_one_after_the_other() {
    let route = |value: &str, port: &str| {
        format!(
            r#"table_entry {{ table_id: 33554433 match {{ field_id: 1 lpm {{ value: "{value}" prefix_len: 32 }} }}
               action {{ action {{ action_id: 16777217 params {{ param_id: 1 value: "{port}" }} }} }} }}"#
        )
    };
    let all = [
        ("INSERT", route(r"\x01", r"\x01")),
        ("INSERT", route(r"\x02", r"\x02")),
        ("MODIFY", route(r"\x00\x01", r"\x09")),
        ("DELETE", route(r"\x02", r"\x02")),
        ("INSERT", route(r"\x01", r"\x01")),
        ("DELETE", route(r"\x03", r"\x02")),
    ];
    let all: Vec<(&str, &str)> = all.iter().map(|(how, e)| (*how, e.as_str())).collect();
    check(
        &updates(&all),
        expect![[r#"
            ingress.route [1/32] ingress.forward(9)
            error[P4R0441]: the entity exists already
              --> updates.txtpb:9:33
               |
             9 |   updates { type: INSERT entity { table_entry { table_id: 33554433 match { field_id: 1 lpm { value: "\x01" prefix_len: 32 } }
               |  _________________________________^
            10 | |                action { action { action_id: 16777217 params { param_id: 1 value: "\x01" } } } } } }
               | |_______________________________________________________________________________________________^ INSERT needs a new one
               |
               = note: in an entry of table `ingress.route`
            error[P4R0441]: the entity does not exist
              --> updates.txtpb:11:33
               |
            11 |   updates { type: DELETE entity { table_entry { table_id: 33554433 match { field_id: 1 lpm { value: "\x03" prefix_len: 32 } }
               |  _________________________________^
            12 | |                action { action { action_id: 16777217 params { param_id: 1 value: "\x02" } } } } } }
               | |_______________________________________________________________________________________________^ no update has inserted it
               |
               = note: in an entry of table `ingress.route`
        "#]],
    );
}

#[test]
fn sets_of_actions_become_groups_of_their_own() {
    let set = |watch: &str| {
        format!(
            r#"updates {{ type: INSERT entity {{ table_entry {{ table_id: 33554435 match {{ field_id: 1 exact {{ value: "\x03" }} }}
               action {{ action_profile_action_set {{ action_profile_actions {{ {FORWARD} weight: 1 }}
               action_profile_actions {{ {FORWARD} weight: 1 {watch} }} }} }} }} }} }}"#
        )
    };
    check(
        &set(""),
        expect![[r#"
            ingress.ecmp [3] one of ingress.forward(5), ingress.forward(5)
        "#]],
    );
    check(
        &set(r#"watch_port: "\x01""#),
        expect![[r#"
            ingress.ecmp [3] one of ingress.forward(5), ingress.forward(5)*1 Port(1)
        "#]],
    );
}

#[test]
fn members_and_groups() {
    let member = |id: u32| {
        format!("action_profile_member {{ action_profile_id: 285212673 member_id: {id} {FORWARD} }}")
    };
    let group = "action_profile_group { action_profile_id: 285212673 group_id: 1 members { member_id: 7 weight: 1 } members { member_id: 8 weight: 1 } }";
    let ecmp = |v: u32, run: &str| {
        format!(
            r#"table_entry {{ table_id: 33554435 match {{ field_id: 1 exact {{ value: "\x0{v}" }} }} action {{ {run} }} }}"#
        )
    };
    let all = [
        ("INSERT", member(7)),
        ("INSERT", member(8)),
        ("INSERT", group.to_string()),
        ("INSERT", ecmp(1, "action_profile_member_id: 7")),
        ("INSERT", ecmp(2, "action_profile_group_id: 1")),
        ("INSERT", ecmp(3, "action_profile_action_set {}")),
        ("INSERT", ecmp(4, "action_profile_group_id: 2")),
        ("INSERT", ecmp(5, FORWARD)),
    ];
    let all: Vec<(&str, &str)> = all.iter().map(|(how, e)| (*how, e.as_str())).collect();
    check(
        &updates(&all),
        expect![[r#"
            ingress.selector member 7 ingress.forward(5)
            ingress.selector member 8 ingress.forward(5)
            ingress.selector group 1 7 8
            ingress.ecmp [1] member 7
            ingress.ecmp [2] group 1
            error[P4R0441]: one-shot entries cannot be mixed with members
             --> updates.txtpb:6:121
              |
            6 | ...id: 1 exact { value: "\x03" } } action { action_profile_action_set {} } } } }
              |                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this selector has members or groups: either all of its entries have action sets or none may (section 9.2.3)
              |
              = note: in an entry of table `ingress.ecmp`
            error[P4R0441]: there is no group 2
             --> updates.txtpb:7:121
              |
            7 | ...: 1 exact { value: "\x04" } } action { action_profile_group_id: 2 } } } }
              |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^ no update has inserted it
              |
              = note: in an entry of table `ingress.ecmp`
            error[P4R0441]: the table has an action profile
             --> updates.txtpb:8:121
              |
            8 | ...tion { action { action_id: 16777217 params { param_id: 1 value: "\x05" } } } } } }
              |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ its entries name members or groups, not actions
              |
              = note: in an entry of table `ingress.ecmp`
        "#]],
    );
}

#[test]
fn objects_and_replication() {
    let all = [
        (
            "MODIFY",
            r#"register_entry { register_id: 369098753 index { index: 2 } data { bitstring: "\x01\x02" } }"#,
        ),
        (
            "MODIFY",
            "counter_entry { counter_id: 301989889 index { index: 3 } data { packet_count: 4 byte_count: 400 } }",
        ),
        (
            "MODIFY",
            "meter_entry { meter_id: 335544321 index {} config { cir: 10 cburst: 1 pir: 20 pburst: 2 } }",
        ),
        (
            "MODIFY",
            r#"value_set_entry { value_set_id: 50331649 members { match { field_id: 1 exact { value: "\x08\x00" } } } members { match { field_id: 1 exact { value: "\x86\xdd" } } } }"#,
        ),
        (
            "INSERT",
            r#"packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 replicas { port: "\x01" instance: 1 } replicas { egress_port: 2 } } }"#,
        ),
        (
            "INSERT",
            r#"packet_replication_engine_entry { clone_session_entry { session_id: 5 replicas { port: "\x06" } } }"#,
        ),
        (
            "INSERT",
            r#"packet_replication_engine_entry { clone_session_entry { session_id: 6 replicas { port: "\x01" instance: 3 } } }"#,
        ),
    ];
    check(
        &updates(&all),
        expect![[r#"
            register ingress.seen[2] = Bits(16w0x102)
            counter ingress.packets[3] = 4, 400
            meter ingress.limit[0] = 10:1, 20:2
            value set parser.types 2048, 34525
            multicast 1 1:1 2:0
            clone 5 6:0 of 0 bytes, class 0
            clone 6 1:3 of 0 bytes, class 0
        "#]],
    );
}

#[test]
fn what_a_server_says_of_its_entities_is_read_too() {
    let text = format!(
        "entities {{ table_entry {{ table_id: 33554433 is_default_action: true action {{ {FORWARD} }} }} }}\nentities {{ table_entry {{ table_id: 7 }} }}\n"
    );
    check(
        &text,
        expect![[r#"
        default ingress.route ingress.forward(5)
        error[P4R0441]: there is no table 7
         --> updates.txtpb:2:26
          |
        2 | entities { table_entry { table_id: 7 } }
          |                          ^^^^^^^^^^^ the program's P4Info does not have this id
          |
          = help: known ids: 33554433 `ingress.route`, 33554434 `ingress.acl`, 33554435 `ingress.ecmp`, 33554436 `ingress.fixed`
    "#]],
    );
}

#[test]
fn mistakes_are_reported_with_their_place() {
    let acl = |m: &str| format!("{ACL} {m} }}");
    let exact = r#"match { field_id: 4 exact { value: "\x01" } }"#;
    let cases: Vec<(&str, String)> = vec![
        ("INSERT", "table_entry { table_id: 1 }".into()),
        ("INSERT", "table_entry { table_id: 33554433 }".into()),
        ("INSERT", acl("")),
        ("INSERT", acl(&format!(r#"{exact} match {{ field_id: 9 exact {{ value: "\x01" }} }}"#))),
        ("INSERT", acl(&format!("{exact} {exact}"))),
        ("INSERT", acl(r#"match { field_id: 4 ternary { value: "\x01" mask: "\x01" } }"#)),
        ("INSERT", acl(r#"match { field_id: 4 exact { value: "\x02" } }"#)),
        ("INSERT", acl(r#"match { field_id: 4 exact { value: "" } }"#)),
        ("INSERT", acl(&format!(r#"{exact} match {{ field_id: 1 ternary {{ value: "\x11" mask: "\xf0" }} }}"#))),
        ("INSERT", acl(&format!(r#"{exact} match {{ field_id: 1 ternary {{ value: "\000" mask: "\000" }} }}"#))),
        ("INSERT", acl(&format!(r#"{exact} match {{ field_id: 2 range {{ low: "\x02" high: "\x01" }} }}"#))),
        ("INSERT", acl(&format!(r#"{exact} match {{ field_id: 2 range {{ low: "\000" high: "\xff\xff" }} }}"#))),
        ("INSERT", format!("table_entry {{ table_id: 33554434 {exact} action {{ action {{ action_id: 16777218 }} }} }}")),
        ("INSERT", format!("table_entry {{ table_id: 33554434 priority: 1 {exact} action {{ {FORWARD} }} }}")),
        ("INSERT", format!("table_entry {{ table_id: 33554433 priority: 1 action {{ {FORWARD} }} }}")),
        ("INSERT", r#"table_entry { table_id: 33554433 match { field_id: 1 lpm { value: "\n" prefix_len: 8 } } action { action { action_id: 16777217 params { param_id: 1 value: "\x05" } } } }"#.into()),
        ("INSERT", "table_entry { table_id: 33554433 action { action { action_id: 16777217 } } }".into()),
        ("INSERT", r#"table_entry { table_id: 33554433 action { action { action_id: 16777217 params { param_id: 1 value: "\x02\x00" } } } }"#.into()),
        ("INSERT", "table_entry { table_id: 33554433 action { action { action_id: 16777218 } } }".into()),
        ("INSERT", "table_entry { table_id: 33554433 action { action_profile_member_id: 1 } }".into()),
        ("INSERT", format!("table_entry {{ table_id: 33554436 action {{ {FORWARD} }} }}")),
        ("INSERT", format!("table_entry {{ table_id: 33554433 is_default_action: true action {{ {FORWARD} }} }}")),
        ("MODIFY", format!("table_entry {{ table_id: 33554436 is_default_action: true action {{ {FORWARD} }} }}")),
        ("MODIFY", "register_entry { register_id: 369098753 index { index: 8 } data { bitstring: \"a\" } }".into()),
        ("MODIFY", "register_entry { register_id: 369098753 index {} data { bool: true } }".into()),
        ("MODIFY", "counter_entry { counter_id: 301989889 data {} }".into()),
        ("MODIFY", "meter_entry { meter_id: 335544321 index {} config { cir: -1 } }".into()),
        ("MODIFY", r#"value_set_entry { value_set_id: 50331649 members {} }"#.into()),
        ("INSERT", "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 replicas { egress_port: 2 } replicas { egress_port: 2 } } }".into()),
        ("INSERT", "packet_replication_engine_entry { clone_session_entry { session_id: 5 packet_length_bytes: 9 } }".into()),
        ("INSERT", "action_profile_group { action_profile_id: 285212673 group_id: 1 members { member_id: 7 weight: 1 } }".into()),
        ("UNSPECIFIED", "table_entry {}".into()),
        ("INSERT", "digest_entry {}".into()),
        ("INSERT", "table_entry { table_id: 33554433 idle_timeout_ns: 1 }".into()),
    ];
    let all: Vec<(&str, &str)> = cases.iter().map(|(how, e)| (*how, e.as_str())).collect();
    check(
        &updates(&all),
        expect![[r#"
            counter ingress.packets[0] = 0, 0
            counter ingress.packets[1] = 0, 0
            counter ingress.packets[2] = 0, 0
            counter ingress.packets[3] = 0, 0
            counter ingress.packets[4] = 0, 0
            counter ingress.packets[5] = 0, 0
            counter ingress.packets[6] = 0, 0
            counter ingress.packets[7] = 0, 0
            clone 5  of 9 bytes, class 0
            error[P4R0441]: there is no table 1
             --> updates.txtpb:1:47
              |
            1 | updates { type: INSERT entity { table_entry { table_id: 1 } } }
              |                                               ^^^^^^^^^^^ the program's P4Info does not have this id
              |
              = help: known ids: 33554433 `ingress.route`, 33554434 `ingress.acl`, 33554435 `ingress.ecmp`, 33554436 `ingress.fixed`
            error[P4R0441]: the action is missing
             --> updates.txtpb:2:33
              |
            2 | updates { type: INSERT entity { table_entry { table_id: 33554433 } } }
              |                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ an entry must have one
              |
              = note: in an entry of table `ingress.route`
            error[P4R0441]: an exact match field is missing
             --> updates.txtpb:3:33
              |
            3 | updates { type: INSERT entity { table_entry { table_id: 33554434 priority: 3 action { action { action_id: 16777218 } }  } } }
              |                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ field 4 `hdr.ipv4.$valid$` has no value
              |
              = note: in field 4 `hdr.ipv4.$valid$`
            error[P4R0441]: there is no field 9
             --> updates.txtpb:4:174
              |
            4 | ...field_id: 4 exact { value: "\x01" } } match { field_id: 9 exact { value: "\x01" } } } } }
              |                                                  ^^^^^^^^^^^ no match field has this id
              |
              = note: in an entry of table `ingress.acl`
              = help: known ids: 1 `hdr.ipv4.tos`, 2 `hdr.tcp.dst`, 3 `meta.vlan`, 4 `hdr.ipv4.$valid$`
            error[P4R0441]: a field is matched twice
             --> updates.txtpb:5:174
              |
            5 | ... field_id: 4 exact { value: "\x01" } } match { field_id: 4 exact { value: "\x01" } } } } }
              |                                                   ^^^^^^^^^^^ field 4 appears earlier
              |
              = note: in an entry of table `ingress.acl`
            error[P4R0441]: the match kind is wrong
             --> updates.txtpb:6:140
              |
            6 | ...8 } } match { field_id: 4 ternary { value: "\x01" mask: "\x01" } } } } }
              |                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `hdr.ipv4.$valid$` has match kind exact
              |
              = note: in field 4 `hdr.ipv4.$valid$`
            error[P4R0441]: the value does not fit
             --> updates.txtpb:7:148
              |
            7 | ...777218 } } match { field_id: 4 exact { value: "\x02" } } } } }
              |                                           ^^^^^^^^^^^^^ 0x2 needs 2 bits, and there are only 1
              |
              = note: in field 4 `hdr.ipv4.$valid$`
            error[P4R0441]: the value is missing
             --> updates.txtpb:8:148
              |
            8 | ... 16777218 } } match { field_id: 4 exact { value: "" } } } } }
              |                                              ^^^^^^^^^ an empty byte string is not a number
              |
              = note: in field 4 `hdr.ipv4.$valid$`
              = help: write zero as "\000"
            error[P4R0441]: the value has bits outside its mask
             --> updates.txtpb:9:196
              |
            9 | ...{ value: "\x01" } } match { field_id: 1 ternary { value: "\x11" mask: "\xf0" } } } } }
              |                                                      ^^^^^^^^^^^^^ the mask is 0xf0
              |
              = note: in field 1 `hdr.ipv4.tos`
            error[P4R0441]: the mask is zero
              --> updates.txtpb:10:210
               |
            10 | ...atch { field_id: 1 ternary { value: "\000" mask: "\000" } } } } }
               |                                               ^^^^^^^^^^^^ omitted fields match any value
               |
               = note: in field 1 `hdr.ipv4.tos`
               = help: omit the match
            error[P4R0441]: the range is empty
              --> updates.txtpb:11:194
               |
            11 | ... { value: "\x01" } } match { field_id: 2 range { low: "\x02" high: "\x01" } } } } }
               |                                                     ^^^^^^^^^^^ 2 is greater than 1
               |
               = note: in field 2 `hdr.tcp.dst`
            error[P4R0441]: the range covers every value
              --> updates.txtpb:12:186
               |
            12 | ...\x01" } } match { field_id: 2 range { low: "\000" high: "\xff\xff" } } } } }
               |                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ omitted fields match any value
               |
               = note: in field 2 `hdr.tcp.dst`
               = help: omit the match
            error[P4R0441]: the priority is missing
              --> updates.txtpb:13:33
               |
            13 | ... { table_entry { table_id: 33554434 match { field_id: 4 exact { value: "\x01" } } action { action { action_id: 16777218 } } } } }
               |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ tables with ternary, range or optional fields need one of at least 1
               |
               = note: in an entry of table `ingress.acl`
            error[P4R0441]: the table has no action 16777217
              --> updates.txtpb:14:142
               |
            14 | ...e: "\x01" } } action { action { action_id: 16777217 params { param_id: 1 value: "\x05" } } } } } }
               |                                    ^^^^^^^^^^^^^^^^^^^ its list of actions does not contain this id
               |
               = note: in an entry of table `ingress.acl`
               = help: known ids: 16777218 `ingress.drop`
            error[P4R0441]: the table takes no priorities
              --> updates.txtpb:15:66
               |
            15 | updates { type: INSERT entity { table_entry { table_id: 33554433 priority: 1 action { action { action_id: 16777217 params { param_id...
               |                                                                  ^^^^^^^^^^^ no field is ternary, range or optional
               |
               = note: in an entry of table `ingress.route`
            error[P4R0441]: the value has bits after its prefix
              --> updates.txtpb:16:92
               |
            16 | ...able_id: 33554433 match { field_id: 1 lpm { value: "\n" prefix_len: 8 } } action { action { action_id: 16777217 params { param_id...
               |                                                ^^^^^^^^^^^ the last 24 bits must be zero
               |
               = note: in field 1 `hdr.ipv4.dst`
            error[P4R0441]: a parameter is missing
              --> updates.txtpb:17:75
               |
            17 | updates { type: INSERT entity { table_entry { table_id: 33554433 action { action { action_id: 16777217 } } } } }
               |                                                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 1 `port` has no value
               |
               = note: in parameter `port` of action `ingress.forward`
            error[P4R0441]: the value does not fit
              --> updates.txtpb:18:125
               |
            18 | ..._id: 16777217 params { param_id: 1 value: "\x02\x00" } } } } } }
               |                                       ^^^^^^^^^^^^^^^^^ 0x200 needs 10 bits, and there are only 9
               |
               = note: in parameter `port` of action `ingress.forward`
            error[P4R0441]: the action is not allowed here
              --> updates.txtpb:19:84
               |
            19 | updates { type: INSERT entity { table_entry { table_id: 33554433 action { action { action_id: 16777218 } } } } }
               |                                                                                    ^^^^^^^^^^^^^^^^^^^ `ingress.drop` is `@defaultonly`
               |
               = note: in an entry of table `ingress.route`
            error[P4R0441]: the table has no action profile
              --> updates.txtpb:20:66
               |
            20 | updates { type: INSERT entity { table_entry { table_id: 33554433 action { action_profile_member_id: 1 } } } }
               |                                                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ its entries name actions
               |
               = note: in an entry of table `ingress.route`
            error[P4R0441]: a table without a key has no entries
              --> updates.txtpb:21:33
               |
            21 | ...tity { table_entry { table_id: 33554436 action { action { action_id: 16777217 params { param_id: 1 value: "\x05" } } } } } }
               |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ it runs its default action
               |
               = note: in an entry of table `ingress.fixed`
               = help: modify its default action
            error[P4R0441]: the entity can only be modified
              --> updates.txtpb:22:33
               |
            22 | ... { table_entry { table_id: 33554433 is_default_action: true action { action { action_id: 16777217 params { param_id: 1 value: "\x05" } } } } } }
               |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ it exists as long as the program
               |
               = note: in an entry of table `ingress.route`
            error[P4R0441]: the default action is constant
              --> updates.txtpb:23:33
               |
            23 | ... { table_entry { table_id: 33554436 is_default_action: true action { action { action_id: 16777217 params { param_id: 1 value: "\x05" } } } } } }
               |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ the program declares `const default_action`
               |
               = note: in an entry of table `ingress.fixed`
            error[P4R0441]: the index is out of range
              --> updates.txtpb:24:81
               |
            24 | updates { type: MODIFY entity { register_entry { register_id: 369098753 index { index: 8 } data { bitstring: "a" } } } }
               |                                                                                 ^^^^^^^^ the object has 8 cells, numbered from 0
               |
               = note: in register `ingress.seen`
            error[P4R0441]: the value has the wrong type
              --> updates.txtpb:25:82
               |
            25 | updates { type: MODIFY entity { register_entry { register_id: 369098753 index {} data { bool: true } } } }
               |                                                                                  ^^^^^^^^^^^^^^^^^^^ expected bits: `bitstring`
               |
               = note: in register `ingress.seen`
            error[P4R0441]: the number is negative
              --> updates.txtpb:27:85
               |
            27 | updates { type: MODIFY entity { meter_entry { meter_id: 335544321 index {} config { cir: -1 } } } }
               |                                                                                     ^^^^^^^ it must be 0 or more
               |
               = note: in meter `ingress.limit`
            error[P4R0441]: an exact match field is missing
              --> updates.txtpb:28:74
               |
            28 | updates { type: MODIFY entity { value_set_entry { value_set_id: 50331649 members {} } } }
               |                                                                          ^^^^^^^^^^ field 1 has no value
               |
               = note: in field 1
            error[P4R0441]: the replica is a duplicate
              --> updates.txtpb:29:141
               |
            29 | ...plicas { egress_port: 2 } replicas { egress_port: 2 } } } } }
               |                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^ an earlier replica has the same port and instance
               |
               = note: in multicast group 1
            error[P4R0441]: there is no member 7
              --> updates.txtpb:31:107
               |
            31 | ..._profile_id: 285212673 group_id: 1 members { member_id: 7 weight: 1 } } } }
               |                                                 ^^^^^^^^^^^^ no update has inserted it
               |
               = note: in group 1 of `ingress.selector`
            error[P4R0441]: the update type is missing
              --> updates.txtpb:32:11
               |
            32 | updates { type: UNSPECIFIED entity { table_entry {} } }
               |           ^^^^^^^^^^^^^^^^^ it must be INSERT, MODIFY or DELETE
            error[P4R0441]: there is no digest 0
              --> updates.txtpb:33:33
               |
            33 | updates { type: INSERT entity { digest_entry {} } }
               |                                 ^^^^^^^^^^^^^^^ the program's P4Info does not have this id
            error[P4R0441]: the action is missing
              --> updates.txtpb:34:33
               |
            34 | updates { type: INSERT entity { table_entry { table_id: 33554433 idle_timeout_ns: 1 } } }
               |                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ an entry must have one
               |
               = note: in an entry of table `ingress.route`
        "#]],
    );
}

#[test]
fn a_text_that_is_no_request() {
    check(
        "updates { typ: INSERT }",
        expect![[r#"
        error[P4R0440]: this is no `p4.v1.WriteRequest` as text
         --> updates.txtpb:1:11
          |
        1 | updates { typ: INSERT }
          |           ^^^ `p4.v1.Update` has no field `typ`
          |
          = help: its fields are: entity, type
    "#]],
    );
    check("# nothing\n", expect![[""]]);
}

/// Bytes of a good text, changed: anything may be said, nothing may panic.
#[test]
fn damaged_texts() {
    let good = updates(&[
        (
            "INSERT",
            &format!(
                "{ACL} match {{ field_id: 1 ternary {{ value: \"\\x10\" mask: \"\\xf0\" }} }} match {{ field_id: 4 exact {{ value: \"\\x01\" }} }} }}"
            ),
        ),
        (
            "MODIFY",
            "meter_entry { meter_id: 335544321 index {} config { cir: 10 cburst: 1 pir: 20 pburst: 2 } }",
        ),
        (
            "INSERT",
            "packet_replication_engine_entry { clone_session_entry { session_id: 6 replicas { port: \"\\x01\" instance: 3 } } }",
        ),
    ]);
    let info = info();
    let mut random = base_time::Rng::new(7);
    for _ in 0..3000 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            let with = b"{}[]<>\"\\:0923789-xfeEiI_ \n"[random.below(26) as usize];
            match random.below(3) {
                0 => bytes[at] = with,
                1 => bytes.insert(at, with),
                _ => drop(bytes.remove(at)),
            }
        }
        if let Ok(text) = String::from_utf8(bytes) {
            read(&text, 1, &info, Names::default(), &[]);
        }
    }
}
