//! Entries of the origin's traffic manager, and policies, in a rack's files.

use crate::support;

use base_diag::SourceMap;
use base_time::{Duration, Time};
use expect_test::expect;
use p4rack::{for_bmv2, rack, up};
use p4runtime_proto::p4::v1::WriteRequest;
use rack_model::HostId;
use support::{small_program, text};

const RACK: &str = "[rack]
name = \"pair\"
seed = 1

[device.tor]
class = \"switch\"

[device.nic]
class = \"smartnic\"

[[link]]
ends = [\"tor:3\", \"nic:1\"]
rate = \"1Gbit/s\"

[[app]]
program = \"copies.p4\"
entries = \"entries.stf\"
origin = \"tor\"
map = { R = \"nic\" }
";

const ENTRIES: &str = "mc_mgrp_create 1
mc_node_create 5 7 8
mc_node_associate 1 0
mirroring_add 9 4
";

/// Loads a rack of these files, and deletes the directory afterwards.
fn load(name: &str, files: &[(&str, &str)], look: impl FnOnce(&rack::Racked, &SourceMap)) {
    let directory = std::env::temp_dir().join(format!("p4rack-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for the rack");
    for (name, content) in files {
        std::fs::write(directory.join(name), content).expect("a file of the rack");
    }
    let mut map = SourceMap::new();
    let racked =
        rack::load(&directory, &[], &mut map).unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    look(&racked, &map);
    // Best effort: the system clears its directory for temporary files.
    let _ = std::fs::remove_dir_all(&directory);
}

#[test]
fn groups_and_sessions_go_to_the_origin() {
    let program = small_program("", "@region(\"R\") { std.mcast_grp = 1; }", "");
    let files = [("RACK.toml", RACK), ("entries.stf", ENTRIES), ("copies.p4", program.as_str())];
    load("rack-entries", &files, |racked, map| {
        up::bring_up(racked).unwrap_or_else(|found| panic!("{}", text(&found, map)));
        let origin = for_bmv2::commands(racked, 0, 0);
        assert!(origin.ends_with(ENTRIES), "{origin}");
        assert!(!for_bmv2::commands(racked, 0, 1).contains("mc_"), "{}", for_bmv2::commands(racked, 0, 1));
    });
}

/// A table of each kind of key, with what may stand beside it.
const KINDS: &str = "
    counter<bit<32>>(8, CounterType.packets) seen;
    meter<bit<32>>(4, MeterType.packets) limits;
    register<bit<8>, bit<32>>(4) cells;
    direct_meter<bit<8>>(MeterType.bytes) colours;
    action_selector(HashAlgorithm.crc16, 16, 8) paths;
    action set(bit<8> v) { hdr.h.b = v; }
    action coloured(bit<8> v) { hdr.h.b = v; colours.read(meta.y); }
    table kinds {
        key = { hdr.h.a: ternary; hdr.h.b: range; meta.y: optional; hdr.h.isValid(): exact; }
        actions = { set; NoAction; }
    }
    table routes { key = { hdr.h.a: lpm; } actions = { coloured; NoAction; } meters = colours; const default_action = NoAction; }
    table spread { key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { set; NoAction; } implementation = paths; }
";

const ALL: &str = "
[[table.kinds]]
key = { \"hdr.h.a\" = \"0x10 &&& 0xf0\", \"hdr.h.b\" = \"3..9\", \"meta.y\" = 7, \"hdr.h.$valid$\" = 1 }
action = \"set\"
args = [1]
priority = 10
[[table.kinds]]
key = { \"hdr.h.$valid$\" = 1 }
action = \"NoAction\"
priority = 3
[[table.routes]]
key = [\"0x80/1\"]
action = \"coloured\"
args = [9]
meter = { committed = 1000, burst = 10, peak = 2500, peak_burst = 20 }
[[member]]
profile = \"paths\"
name = \"left\"
action = \"set\"
args = [4]
[[member]]
profile = \"paths\"
name = \"right\"
action = \"set\"
args = [5]
[[group]]
profile = \"paths\"
name = \"both\"
members = [\"left\", \"right\"]
[[table.spread]]
key = [1]
group = \"both\"
[[table.spread]]
key = [2]
member = \"right\"
[default]
kinds = { action = \"set\", args = [3] }
[[multicast]]
group = 1
members = [1, { port = 2, rid = 7 }]
[[clone]]
session = 5
port = 6
[register.cells]
2 = 40
[counter.seen]
3 = { packets = 7, bytes = 0 }
[meter.limits]
1 = { committed = 1000, burst = 10, peak = 2000, peak_burst = 20 }
";

/// The same entries in three languages give the same writes, and the same commands for BMv2.
#[test]
fn entries_of_every_kind_go_where_they_belong() {
    let program = small_program(
        KINDS,
        "kinds.apply(); @region(\"R\") { routes.apply(); seen.count((bit<32>)hdr.h.a); cells.write(0, hdr.h.a); } spread.apply(); limits.execute_meter((bit<32>)hdr.h.b, meta.x);",
        "",
    );
    let toml = RACK.replace("entries.stf", "entries.toml");
    let files = [("RACK.toml", toml.as_str()), ("entries.toml", ALL), ("copies.p4", program.as_str())];
    let (mut commands, mut updates) = (vec![], String::new());
    load("rack-kinds", &files, |racked, map| {
        up::bring_up(racked).unwrap_or_else(|found| panic!("{}", text(&found, map)));
        commands = [0, 1].map(|device| for_bmv2::commands(racked, 0, device)).to_vec();
        let request = WriteRequest {
            updates: device_control::updates(racked.apps[0].entries.writes(), &racked.apps[0].whole)
                .unwrap_or_else(|found| panic!("{}", text(&found, map))),
            ..WriteRequest::default()
        };
        updates = p4runtime_proto::to_text(&request).expect("it can be printed");
    });
    expect![[r#"
        pvs_add P.p4rack_links 3
        table_add I.p4rack_direct I.p4rack_forward 1 => 3
        act_prof_create_member I.paths I.set 0x4
        act_prof_create_member I.paths I.set 0x5
        act_prof_create_group I.paths
        act_prof_add_member_to_group I.paths 0 0
        act_prof_add_member_to_group I.paths 1 0
        table_add I.kinds I.set 0x10&&&0xf0 0x3->0x9 0x7&&&0xff 0x1 => 0x1 9990
        table_add I.kinds NoAction 0x0&&&0x0 0x0->0xff 0&&&0 0x1 => 9997
        table_indirect_add_with_group I.spread 0x1 => 0
        table_indirect_add I.spread 0x2 => 1
        table_set_default I.kinds I.set 0x3
        mc_mgrp_create 1
        mc_node_create 0 1
        mc_node_associate 1 0
        mc_node_create 7 2
        mc_node_associate 1 1
        mirroring_add 5 6
        meter_set_rates I.limits 1 0.001000000:10 0.002000000:20
    "#]]
    .assert_eq(&commands[0]);
    expect![[r#"
        pvs_add P.p4rack_links 1
        table_add I.p4rack_return I.p4rack_forward 0 => 1
        table_add I.routes I.coloured 0x80/1 => 0x9
        meter_set_rates I.colours 0 0.001000000:10 0.002500000:20
        register_write I.cells 2 0x28
        counter_write I.seen 3 7 0
    "#]]
    .assert_eq(&commands[1]);
    let proto = RACK.replace("entries.stf", "entries.txtpb");
    let files = [("RACK.toml", proto.as_str()), ("entries.txtpb", &updates), ("copies.p4", program.as_str())];
    load("rack-kinds-again", &files, |racked, _| {
        let again = [0, 1].map(|device| for_bmv2::commands(racked, 0, device));
        assert_eq!(again.as_slice(), commands);
    });
}

/// A rack cannot delete an entry of the source, and reports this however often the file adds the entry again: otherwise the entry would
/// come back.
#[test]
fn an_entry_of_the_source_does_not_come_back() {
    let table = "action set(bit<8> v) { hdr.h.b = v; }
        table own { key = { hdr.h.a: exact; } actions = { set; NoAction; } entries = { 1: set(7); } }";
    let mut map = SourceMap::new();
    let whole = support::compile_text(&small_program(table, "own.apply();", ""), &mut map);
    let directory = std::env::temp_dir().join(format!("p4rack-own-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let (delete, add) = ("table_delete own 0\n", "table_add own set 1 => 8\ntable_delete own 16777216\n");
    let modify = "table_modify own set 0 => 9\n";
    for (name, commands) in [
        ("once", delete.to_string()),
        ("again", [delete, add].concat()),
        ("modified", [modify, delete].concat()),
    ] {
        let file = directory.join(format!("{name}.txt"));
        std::fs::write(&file, commands).expect("a file");
        let entries = p4rack::entries::read(&file, &whole, &mut map);
        let entries = entries.unwrap_or_else(|found| panic!("{name}: {}", text(&found, &map)));
        let refused = device_control::updates(entries.writes(), &whole).expect_err(name);
        assert!(refused[0].title.starts_with("an entry of the program cannot be changed"), "{name}");
    }
    let _ = std::fs::remove_dir_all(&directory);
}

/// A policy is given for the app or for one region.
#[test]
fn a_policy_is_read_from_the_file() {
    let program = small_program("", "@region(\"R\") { meta.x = 1; } @region(\"S\") { meta.y = meta.x; }", "");
    let maps = [
        ("map = { R = \"nic\", S = \"nic\" }", ["None", "None"]),
        ("map = { R = \"nic\", S = \"nic\" }\npolicy = \"call\"", ["Some(Handler)", "Some(Handler)"]),
        ("map = { R = { device = \"nic\", policy = \"call\" }, S = \"nic\" }", ["Some(Handler)", "None"]),
    ];
    for (number, (map, expected)) in maps.into_iter().enumerate() {
        let rack = RACK.replace("map = { R = \"nic\" }", map);
        let files = [("RACK.toml", rack.as_str()), ("entries.stf", ""), ("copies.p4", program.as_str())];
        load(&format!("rack-policy-{number}"), &files, |racked, _| {
            let call = |name| {
                let section = racked.apps[0].split.sections.iter().find(|s| s.name == name);
                format!("{:?}", section.expect("it is a section").call)
            };
            assert_eq!(["R", "S"].map(call), expected, "{map}");
        });
    }
}

/// Tables and objects for entries that only P4Runtime can express.
const RICH: &str = "
    register<metadata, bit<32>>(4) records;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<8>>(MeterType.bytes) colours;
    action_selector(HashAlgorithm.crc16, 16, 8) paths;
    action_selector(HashAlgorithm.crc16, 16, 8) ways;
    action set(bit<8> v) { hdr.h.b = v; }
    action coloured(bit<8> v) { hdr.h.b = v; colours.read(meta.y); }
    table routes {
        key = { hdr.h.a: ternary; }
        actions = { coloured; NoAction; }
        meters = colours; counters = hits; support_timeout = true;
    }
    table spread { key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { set; NoAction; } implementation = paths; }
    table apart { key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { set; NoAction; } implementation = ways; }
";

/// In canonical form; `<NAME>` is the id of what has this control-plane name, or the number of a parameter or field.
const UPDATES: &str = r#"
updates { type: INSERT entity { action_profile_member { action_profile_id: <I.paths> member_id: 7
  action { action_id: <I.set> params { param_id: 1 value: "\x04" } } } } }
updates { type: INSERT entity { action_profile_member { action_profile_id: <I.paths> member_id: 9
  action { action_id: <I.set> params { param_id: 1 value: "\x05" } } } } }
updates { type: INSERT entity { action_profile_group { action_profile_id: <I.paths> group_id: 3
  members { member_id: 9 weight: 3 watch_port: "\x02" } members { member_id: 7 weight: 1 } max_size: 6 } } }
updates { type: INSERT entity { table_entry { table_id: <I.routes>
  match { field_id: 1 ternary { value: "\x10" mask: "\xf0" } } priority: 5
  action { action { action_id: <I.coloured> params { param_id: 1 value: "\x09" } } }
  meter_config { cir: 1000 cburst: 10 pir: 2500 pburst: 20 } counter_data { byte_count: 640 packet_count: 10 }
  idle_timeout_ns: 2000000000 metadata: "mine" } } }
updates { type: INSERT entity { table_entry { table_id: <I.spread> match { field_id: 1 exact { value: "\x01" } }
  action { action_profile_group_id: 3 } } } }
updates { type: INSERT entity { table_entry { table_id: <I.apart> match { field_id: 1 exact { value: "\x01" } }
  action { action_profile_action_set {
    action_profile_actions { action { action_id: <I.set> params { param_id: 1 value: "\x06" } } weight: 2 }
    action_profile_actions { action { action_id: <I.set> params { param_id: 1 value: "\x07" } } weight: 1 watch_port: "\x03" } } } } } }
updates { type: INSERT entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1
  replicas { port: "\x01" instance: 4 backup_replicas { port: "\x02" instance: 5 } } metadata: "ours" } } } }
updates { type: INSERT entity { packet_replication_engine_entry { clone_session_entry { session_id: 5
  replicas { port: "\x01" instance: 1 } replicas { port: "\x02" } class_of_service: 3 packet_length_bytes: 64 } } } }
updates { type: INSERT entity { digest_entry { digest_id: <metadata>
  config { max_timeout_ns: 100 max_list_size: 8 ack_timeout_ns: 1000 } } } }
updates { type: MODIFY entity { register_entry { register_id: <I.records> index { index: 2 }
  data { struct { members { bitstring: "\x07" } members { bitstring: "\x00" } members { bool: true } } } } } }
"#;

/// The text with ids in the place of names.
fn with_ids(text: &str, info: &p4runtime_proto::p4::config::v1::P4Info) -> String {
    use p4runtime_store::Described;
    fn ids<T: Described>(all: &[T]) -> impl Iterator<Item = (&str, u32)> {
        all.iter().map(|one| (one.name(), one.id()))
    }
    let all = ids(&info.tables).chain(ids(&info.actions)).chain(ids(&info.action_profiles));
    let all = all.chain(ids(&info.registers)).chain(ids(&info.digests));
    all.fold(text.to_string(), |text, (name, id)| text.replace(&format!("<{name}>"), &id.to_string()))
}

/// Everything that P4Runtime can express about entries is read back unchanged.
#[test]
fn nothing_that_p4runtime_says_is_lost() {
    let ingress =
        "routes.apply(); spread.apply(); apart.apply(); records.read(meta, 0); digest<metadata>(1, meta);";
    let program = small_program(RICH, ingress, "");
    let mut map = SourceMap::new();
    let whole = support::compile_text(&program, &mut map);
    let info = p4info::p4info(&whole).unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let updates = with_ids(UPDATES, &info);
    let directory = std::env::temp_dir().join(format!("p4rack-rich-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let file = directory.join("rich.txtpb");
    std::fs::write(&file, &updates).expect("a file");
    let entries = p4rack::entries::read(&file, &whole, &mut map);
    let entries = entries.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let _ = std::fs::remove_dir_all(&directory);
    let again = device_control::updates(entries.writes(), &whole)
        .unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let wanted: WriteRequest = p4runtime_proto::from_text(&updates).expect("a request");
    for (wanted, again) in wanted.updates.iter().zip(&again) {
        assert_eq!(p4runtime_proto::to_text(again).unwrap(), p4runtime_proto::to_text(wanted).unwrap());
    }
    assert_eq!(wanted.updates.len(), again.len());
}

/// Parts of two apps on one device are refused when the rack is read, before anything is compiled.
#[test]
fn a_device_runs_the_part_of_one_app() {
    let directory = std::env::temp_dir().join(format!("p4rack-shared-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for the rack");
    let app = |more: &str| format!("[[app]]\nprogram = \"no.p4\"\n{more}");
    let devices = "[device.tor]\nclass = \"switch\"\n[device.nic]\nclass = \"smartnic\"\n";
    let first = app("name = \"a\"\norigin = \"tor\"\nmap = { R = \"nic\" }\n");
    let second = app("name = \"b\"\norigin = \"nic\"\n");
    std::fs::write(directory.join("RACK.toml"), format!("{devices}{first}{second}")).expect("a rack");
    let mut map = SourceMap::new();
    let found = rack::load(&directory, &[], &mut map).err().expect("a refusal");
    let shown = text(&found, &map).replace(&format!("{}/", directory.display()), "");
    expect![[r#"
        error[P4R0611]: device `nic` belongs to several apps
          --> RACK.toml:13:10
           |
         9 | map = { R = "nic" }
           |             ----- first named here
        ...
        13 | origin = "nic"
           |          ^^^^^ named again here
           |
           = note: apps share a switch if each of them runs there as a whole, or has an affinity; helpers are shared by apps with one switch
           = help: give each app its own devices, or all apps the same device
    "#]]
    .assert_eq(&shown);
    // Best effort: the system clears its directory for temporary files.
    let _ = std::fs::remove_dir_all(&directory);
}

const BACKED_UP: &str = r#"updates { type: INSERT entity { packet_replication_engine_entry { multicast_group_entry {
  multicast_group_id: 1
  replicas { port: "\x01" instance: 1 backup_replicas { port: "\x02" instance: 2 } } } } } }
"#;

/// Hosts h1, h2 and h3 at the ports of these numbers; h1's link is down from 2 ms to 6 ms, and at 4 ms all regions come home.
const PORTS: &str = "[rack]
until = \"10ms\"
[device.tor]
class = \"switch\"
[device.nic]
class = \"smartnic\"
[host.h1]
mac = \"02:00:00:00:00:01\"
ip = \"10.0.0.1/24\"
[host.h2]
mac = \"02:00:00:00:00:02\"
ip = \"10.0.0.2/24\"
[host.h3]
mac = \"02:00:00:00:00:03\"
ip = \"10.0.0.3/24\"
[[link]]
ends = [\"tor:1\", \"h1\"]
rate = \"1Gbit/s\"
[[link]]
ends = [\"tor:2\", \"h2\"]
rate = \"1Gbit/s\"
[[link]]
ends = [\"tor:3\", \"h3\"]
rate = \"1Gbit/s\"
[[link]]
ends = [\"tor:4\", \"nic:1\"]
rate = \"1Gbit/s\"
[[fault]]
kind = \"link-down\"
link = [\"tor:1\", \"h1\"]
at = \"2ms\"
for = \"4ms\"
[[replace]]
at = \"4ms\"
map = {}
[[app]]
program = \"copies.p4\"
entries = \"entries.txtpb\"
origin = \"tor\"
map = { R = \"nic\" }
";

/// Also where the program that knew of the link that is down has been replaced.
#[test]
fn backups_act_while_a_link_is_down() {
    let program = small_program("", "@region(\"R\") { std.mcast_grp = 1; }", "");
    let files = [("RACK.toml", PORTS), ("entries.txtpb", BACKED_UP), ("copies.p4", program.as_str())];
    load("rack-backups", &files, |racked, map| {
        let mut running = up::bring_up(racked).unwrap_or_else(|found| panic!("{}", text(&found, map)));
        let at = |n: u64| Time::ZERO + Duration::from_us(100 + 500 * n);
        (0..3).for_each(|host| running.emulator.listen(HostId(host)));
        for n in 0..16u8 {
            assert!(running.emulator.send(HostId(2), vec![0, n], at(n.into())));
        }
        let report = running.run().unwrap();
        let notes: Vec<&str> = report.notes.iter().map(|note| note.what.as_str()).collect();
        assert_eq!(notes.last(), Some(&"the other plan has taken over"), "{notes:?}");
        let mut came = |host| {
            let received = running.emulator.take_received(HostId(host)).into_iter();
            received.map(|received| received.frame[1]).collect::<Vec<u8>>()
        };
        assert_eq!(came(0), [0, 1, 2, 3, 12, 13, 14, 15]);
        assert_eq!(came(1), [4, 5, 6, 7, 8, 9, 10, 11]);
        assert!(came(2).is_empty());
    });
}

/// Two calls on two devices, each with its own parameters.
#[test]
fn each_call_of_a_rack_has_the_parameters_that_commands_set() {
    let hash = |at: &str, from: &str| {
        format!("hash(hdr.g.{at}, HashAlgorithm.crc16_custom, (bit<8>) 0, {{ {from} }}, 9w256);")
    };
    let ingress = format!(
        "hdr.g.setValid(); {} @region(\"R\") {{ {} }} std.egress_spec = 2;",
        hash("a", "hdr.h.b"),
        hash("b", "hdr.h.a, hdr.h.b")
    );
    let program = small_program("", &ingress, "");
    let commands = "set_crc16_parameters calc 0x1021 0xffff 0 false false\n\
                    set_crc16_parameters calc_0 0x8005 0 0 false false\n";
    let rack = PORTS.replace("entries.txtpb", "commands.txt");
    let (network, rest) = rack.split_once("[[fault]]").unwrap();
    let rack = format!("{network}[[app]]{}", rest.split_once("[[app]]").unwrap().1);
    let frames = |map: &str, commands: &str| {
        let rack = rack.replace("map = { R = \"nic\" }", map);
        let files =
            [("RACK.toml", rack.as_str()), ("commands.txt", commands), ("copies.p4", program.as_str())];
        let mut came = vec![];
        load("rack-crc", &files, |racked, map| {
            let mut running = up::bring_up(racked).unwrap_or_else(|found| panic!("{}", text(&found, map)));
            running.emulator.listen(HostId(1));
            for n in 0..8u8 {
                let at = Time::ZERO + Duration::from_us(100 + 100 * u64::from(n));
                assert!(running.emulator.send(HostId(2), vec![2 + n, 7 * n], at));
            }
            running.run().unwrap();
            let received = running.emulator.take_received(HostId(1)).into_iter();
            came = received.map(|received| received.frame).collect();
        });
        came
    };
    let split = frames("map = { R = \"nic\" }", commands);
    // The remainder of the message polynomial, bit by bit.
    let remainder = |polynomial: u16, initial: u16, bytes: &[u8]| {
        let step = |value: u16| if value >> 15 == 1 { value << 1 ^ polynomial } else { value << 1 };
        bytes.iter().fold(initial, |value, byte| (0..8).fold(value ^ u16::from(*byte) << 8, |v, _| step(v)))
            as u8
    };
    assert_eq!(split.len(), 8);
    for (n, frame) in (0..8u8).zip(&split) {
        let (a, b) = (2 + n, 7 * n);
        assert_eq!(frame[2..4], [remainder(0x1021, 0xffff, &[b]), remainder(0x8005, 0, &[a, b])], "{n}");
    }
    assert_eq!(frames("map = {}", commands), split);
    assert_ne!(frames("map = { R = \"nic\" }", ""), split);
}
