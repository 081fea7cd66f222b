//! Every entity, written and read.

use crate::setup::both;
use base_time::Duration;
use controller::Steer;
use expect_test::expect;

const FRAME: &str = "0a0000000001 0b0000000002 0800 ff";

fn forward(port: &str) -> String {
    format!(
        r#"action {{ action {{ action_id: $MyIngress.forward params {{ param_id: 1 value: "{port}" }} }} }}"#
    )
}

fn route(prefix: &str, length: u32, port: &str) -> String {
    format!(
        r#"table_entry {{ table_id: $MyIngress.route match {{ field_id: 1 lpm {{ value: "{prefix}" prefix_len: {length} }} }} {} }}"#,
        forward(port)
    )
}

#[test]
fn entries_are_inserted_modified_deleted() {
    both(|mut bench| {
        bench.symmetric(&route(r"\n\000\000\000\000\000", 8, r"\002"));
        assert_eq!(
            bench.packet(1, FRAME),
            "2: 0a00000000010b0000000002 0800ff\n".replace(' ', "").replacen(':', ": ", 1)
        );
        let modified = format!("MODIFY {}", route(r"\n\000\000\000\000\000", 8, r"\003"));
        assert_eq!(bench.write(&[&modified]), "OK\n");
        assert!(bench.packet(1, FRAME).starts_with("3: "));
        let deleted = format!("DELETE {}", route(r"\n\000\000\000\000\000", 8, r"\003"));
        assert_eq!(bench.write(&[&deleted]), "OK\n");
        assert_eq!(bench.packet(1, FRAME), "");
        expect![[r#"
        UNKNOWN
        NOT_FOUND entity.table_entry: the entity does not exist: no update has inserted it (in an entry of table `MyIngress.route`)
        INVALID_ARGUMENT entity.table_entry.match.lpm.value: the value has bits after its prefix: the last 47 bits must be zero (in field 1 `hdr.ethernet.dst`)
    "#]].assert_eq(&bench.write(&[&deleted, &route("x", 1, "y").replacen("table_entry", "DELETE table_entry", 1)]));
    });
}

/// In the language of p4-constraints.
#[test]
fn entries_keep_to_the_restrictions_of_the_program() {
    both(|mut bench| {
        let known = |source: &str| {
            format!(
                r#"INSERT table_entry {{ table_id: $MyIngress.known match {{ field_id: 1 exact {{ value: "{source}" }} }} action {{ action {{ action_id: $NoAction }} }} }}"#
            )
        };
        let group = |id: &str| {
            route(r"\n\000\000\000\000\000", 8, "").replace(
                "$MyIngress.forward params { param_id: 1 value: \"\"",
                &format!("$MyIngress.group params {{ param_id: 1 value: \"{id}\""),
            )
        };
        let updates = [
            known(r"\377\377\377\377\377\377"),
            known(r"\000"),
            format!("INSERT {}", group(r"\377\377")),
            known(r"\001"),
            format!("INSERT {}", group(r"\377")),
        ];
        let updates: Vec<&str> = updates.iter().map(String::as_str).collect();
        expect![[r#"
            UNKNOWN
            INVALID_ARGUMENT entity.table_entry: the table does not allow this entry: @entry_restriction requires: hdr.ethernet.src != -1 (in an entry of table `MyIngress.known`); satisfy the restriction, or change the program
            INVALID_ARGUMENT entity.table_entry: the table does not allow this entry: @entry_restriction requires: hdr.ethernet.src != 0 (in an entry of table `MyIngress.known`); satisfy the restriction, or change the program
            INVALID_ARGUMENT entity.table_entry.action.action: the action does not allow this data: @action_restriction requires: id != 0xffff (in action `MyIngress.group`); satisfy the restriction, or change the program
            OK
            OK
        "#]].assert_eq(&bench.write(&updates));
    });
}

#[test]
fn mistakes_have_the_codes_of_the_specification() {
    both(|mut bench| {
        let good = route(r"\n\000\000\000\000\000", 8, r"\002");
        bench.symmetric(&good);
        let updates = [
        format!("INSERT {good}"),
        format!("MODIFY {}", route(r"\013\000\000\000\000\000", 8, r"\002")),
        format!("INSERT {}", route(r"\014\000\000\000\000\000", 8, r"\004\000")),
        format!("INSERT {}", route(r"\n\000\000\000\000\001", 8, r"\002")),
        format!("INSERT {}", good.replace("$MyIngress.route", "1")),
        format!("INSERT {}", good.replace("$MyIngress.forward", "$MyIngress.learn").replace(r"\n", r"\014")),
        format!("INSERT table_entry {{ table_id: $MyIngress.known match {{ field_id: 1 exact {{ value: \"\\001\" }} }} {} priority: 1 }}", forward("x")),
        format!("INSERT table_entry {{ table_id: $MyIngress.filter {} }}", forward("x")),
        format!("INSERT table_entry {{ table_id: $MyIngress.fixed match {{ field_id: 1 exact {{ value: \"\\001\" }} }} {} }}", forward("x")),
        format!("MODIFY table_entry {{ table_id: $MyIngress.fixed is_default_action: true {} }}", forward("x")),
        format!("INSERT table_entry {{ table_id: $MyIngress.route is_default_action: true {} }}", forward("x")),
        "MODIFY register_entry { register_id: $MyIngress.cells index { index: 8 } data { bitstring: \"a\" } }".to_string(),
        "MODIFY register_entry { register_id: $MyIngress.cells index { index: -1 } data { bitstring: \"a\" } }".to_string(),
        "INSERT register_entry { register_id: $MyIngress.cells index { index: 0 } data { bitstring: \"a\" } }".to_string(),
        "INSERT packet_replication_engine_entry { multicast_group_entry { } }".to_string(),
    ];
        let updates: Vec<&str> = updates.iter().map(String::as_str).collect();
        expect![[r#"
        UNKNOWN
        ALREADY_EXISTS entity.table_entry: the entity exists already: INSERT needs a new one (in an entry of table `MyIngress.route`)
        NOT_FOUND entity.table_entry: the entity does not exist: no update has inserted it (in an entry of table `MyIngress.route`)
        OUT_OF_RANGE entity.table_entry.action.action.params.value: the value does not fit: 0x400 needs 11 bits, and there are only 9 (in parameter `port` of action `MyIngress.forward`)
        INVALID_ARGUMENT entity.table_entry.match.lpm.value: the value has bits after its prefix: the last 40 bits must be zero (in field 1 `hdr.ethernet.dst`)
        NOT_FOUND entity.table_entry.table_id: there is no table 1: the program's P4Info does not have this id; known ids: $MyIngress.known `MyIngress.known`, $MyIngress.route `MyIngress.route`, $MyIngress.filter `MyIngress.filter`, $MyIngress.ecmp `MyIngress.ecmp`, $MyIngress.spread `MyIngress.spread`, $MyIngress.fixed `MyIngress.fixed`
        INVALID_ARGUMENT entity.table_entry.action.action.action_id: the table has no action $MyIngress.learn: its list of actions does not contain this id (in an entry of table `MyIngress.route`); known ids: $MyIngress.forward `MyIngress.forward`, $MyIngress.drop `MyIngress.drop`, $MyIngress.to_cpu `MyIngress.to_cpu`, $MyIngress.group `MyIngress.group`
        INVALID_ARGUMENT entity.table_entry.priority: the table takes no priorities: no field is ternary, range or optional (in an entry of table `MyIngress.known`)
        INVALID_ARGUMENT entity.table_entry.priority: the priority is missing: tables with ternary, range or optional fields need one of at least 1 (in an entry of table `MyIngress.filter`)
        PERMISSION_DENIED entity.table_entry: the entries of this table are constant: the program declares `const entries` (in an entry of table `MyIngress.fixed`)
        PERMISSION_DENIED entity.table_entry: the default action is constant: the program declares `const default_action` (in an entry of table `MyIngress.fixed`)
        INVALID_ARGUMENT entity.table_entry.type: the entity can only be modified: it exists as long as the program (in an entry of table `MyIngress.route`)
        OUT_OF_RANGE entity.register_entry.index.index: the index is out of range: the object has 8 cells, numbered from 0 (in register `MyIngress.cells`)
        INVALID_ARGUMENT entity.register_entry.index.index: the index is negative: cells are numbered from 0 (in register `MyIngress.cells`)
        INVALID_ARGUMENT entity.register_entry.type: the entity can only be modified: it exists as long as the program (in register `MyIngress.cells`)
        INVALID_ARGUMENT entity.packet_replication_engine_entry.multicast_group_entry.multicast_group_id: there is no multicast group 0: 0 means that a packet is not multicast (in multicast group 0)
    "#]].assert_eq(&bench.write(&updates));
    });
}

#[test]
fn ternary_range_optional_with_direct_meters() {
    both(|mut bench| {
        bench.symmetric(&format!(
        r#"table_entry {{ table_id: $MyIngress.filter match {{ field_id: 1 ternary {{ value: "\010\000" mask: "\377\000" }} }} match {{ field_id: 2 range {{ low: "\001" high: "\003" }} }} {} priority: 9 metadata: "mine" }}"#,
        forward(r"\004")
    ));
        assert!(bench.packet(1, FRAME).starts_with("4: "));
        assert_eq!(bench.packet(5, FRAME), "");
        let rates = r#"MODIFY direct_meter_entry { table_entry { table_id: $MyIngress.filter match { field_id: 1 ternary { value: "\010\000" mask: "\377\000" } } match { field_id: 2 range { low: "\001" high: "\003" } } priority: 9 } config { cir: 1 cburst: 1 pir: 2 pburst: 2 } }"#;
        assert_eq!(bench.write(&[rates]), "OK\n");
        expect![[r#"
        direct_meter_entry { table_entry { table_id: $MyIngress.filter match { field_id: 1 ternary { value: "\010\000" mask: "\377\000" } } match { field_id: 2 range { low: "\001" high: "\003" } } priority: 9 } config { cir: 1 cburst: 1 pir: 2 pburst: 2 } }
    "#]].assert_eq(&bench.read("direct_meter_entry { table_entry { table_id: $MyIngress.filter } }"));
        expect![[r#"
        table_entry { table_id: $MyIngress.filter match { field_id: 1 ternary { value: "\010\000" mask: "\377\000" } } match { field_id: 2 range { low: "\001" high: "\003" } } action { action { action_id: $MyIngress.forward params { param_id: 1 value: "\004" } } } priority: 9 meter_config { cir: 1 cburst: 1 pir: 2 pburst: 2 } metadata: "mine" }
    "#]].assert_eq(&bench.read("table_entry { table_id: $MyIngress.filter priority: 9 meter_config {} }"));
    });
}

#[test]
fn direct_counters_count_and_are_set() {
    both(|mut bench| {
        bench.symmetric(&route(r"\n\000\000\000\000\000", 8, r"\002"));
        bench.packet(1, FRAME);
        expect![[r#"
        direct_counter_entry { table_entry { table_id: $MyIngress.route match { field_id: 1 lpm { value: "\n\000\000\000\000\000" prefix_len: 8 } } } data { byte_count: 15 packet_count: 1 } }
    "#]].assert_eq(&bench.read("direct_counter_entry { table_entry { table_id: $MyIngress.route } }"));
        expect![[r#"
        table_entry { table_id: $MyIngress.route match { field_id: 1 lpm { value: "\n\000\000\000\000\000" prefix_len: 8 } } action { action { action_id: $MyIngress.forward params { param_id: 1 value: "\002" } } } counter_data { byte_count: 15 packet_count: 1 } }
    "#]].assert_eq(&bench.read("table_entry { table_id: $MyIngress.route counter_data {} }"));
        let set = r#"MODIFY direct_counter_entry { table_entry { table_id: $MyIngress.route match { field_id: 1 lpm { value: "\n\000\000\000\000\000" prefix_len: 8 } } } data { packet_count: 40 byte_count: 50 } }"#;
        assert_eq!(bench.write(&[set]), "OK\n");
        bench.packet(1, FRAME);
        expect![[r#"
        direct_counter_entry { table_entry { table_id: $MyIngress.route match { field_id: 1 lpm { value: "\n\000\000\000\000\000" prefix_len: 8 } } } data { byte_count: 65 packet_count: 41 } }
    "#]].assert_eq(&bench.read("direct_counter_entry { table_entry { table_id: $MyIngress.route } }"));
    });
}

#[test]
fn members_and_groups_with_watched_ports() {
    both(|mut bench| {
        for port in 1..=2 {
            bench.symmetric(&format!(
            r#"action_profile_member {{ action_profile_id: $MyIngress.members member_id: {port} action {{ action_id: $MyIngress.forward params {{ param_id: 1 value: "\00{port}" }} }} }}"#
        ));
        }
        bench.symmetric(r#"action_profile_group { action_profile_id: $MyIngress.members group_id: 1 members { member_id: 1 weight: 2 watch_port: "\001" } members { member_id: 2 weight: 1 watch_port: "\002" } max_size: 8 }"#);
        bench.symmetric(r#"table_entry { table_id: $MyIngress.ecmp match { field_id: 1 exact { value: "\000" } } action { action_profile_group_id: 1 } }"#);
        let mut seen = std::collections::BTreeMap::new();
        for source in 0..30 {
            let out = bench.packet(1, &format!("0a0000000001 0b00000000{source:02x} 0800"));
            *seen.entry(out.split(':').next().unwrap().to_string()).or_insert(0) += 1;
        }
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["1", "2"], "{seen:?}");
        bench.link(1, false);
        // A program that is new does not forget it.
        for steer in [None, Some(Steer::Reset)] {
            assert!(steer.is_none_or(|steer| bench.steer(steer) == "OK\n"));
            for source in 0..30 {
                assert!(
                    bench.packet(1, &format!("0a0000000001 0b00000000{source:02x} 0800")).starts_with("2:")
                );
            }
        }
        let refused = [
            "DELETE action_profile_member { action_profile_id: $MyIngress.members member_id: 1 }",
            "DELETE action_profile_group { action_profile_id: $MyIngress.members group_id: 1 }",
            r#"INSERT table_entry { table_id: $MyIngress.ecmp match { field_id: 1 exact { value: "\001" } } action { action_profile_member_id: 9 } }"#,
        ];
        expect![[r#"
        UNKNOWN
        FAILED_PRECONDITION entity.action_profile_member: the entity is in use: entries or groups refer to it (in member 1 of `MyIngress.members`)
        FAILED_PRECONDITION entity.action_profile_group: the entity is in use: entries refer to it (in group 1 of `MyIngress.members`)
        NOT_FOUND entity.table_entry.action.action_profile_member_id: there is no member 9: no update has inserted it (in an entry of table `MyIngress.ecmp`)
    "#]].assert_eq(&bench.write(&refused));
    });
}

#[test]
fn sets_of_actions() {
    both(|mut bench| {
        let set = |action: &str| {
            format!(
                r#"table_entry {{ table_id: $MyIngress.spread match {{ field_id: 1 exact {{ value: "\000" }} }} action {{ action_profile_action_set {{ {action} }} }} }}"#
            )
        };
        let one = |port: u32| {
            format!(
                r#"action_profile_actions {{ action {{ action_id: $MyIngress.forward params {{ param_id: 1 value: "\00{port}" }} }} weight: 1 }}"#
            )
        };
        bench.symmetric(&set(&one(4)));
        assert!(bench.packet(1, FRAME).starts_with("4: "));
        assert_eq!(bench.write(&[&format!("MODIFY {}", set(&one(5)))]), "OK\n");
        assert!(bench.packet(1, FRAME).starts_with("5: "));
        let member = r#"INSERT action_profile_member { action_profile_id: $MyIngress.sets member_id: 1 action { action_id: $MyIngress.forward params { param_id: 1 value: "\001" } } }"#;
        expect![[r#"
        UNKNOWN
        INVALID_ARGUMENT entity.action_profile_member: members cannot be mixed with one-shot entries: entries of this selector have action sets: either all of them or none may (section 9.2.3) (in member 1 of `MyIngress.sets`)
    "#]].assert_eq(&bench.write(&[member]));
        assert_eq!(bench.write(&[&format!("DELETE {}", set(""))]), "OK\n");
        assert_eq!(bench.write(&[member]), "OK\n");
    });
}

#[test]
fn counters_meters_registers() {
    both(|mut bench| {
        bench.packet(1, FRAME);
        expect![[r#"
        counter_entry { counter_id: $MyIngress.packets index { } data { } }
        counter_entry { counter_id: $MyIngress.packets index { index: 1 } data { byte_count: 15 packet_count: 1 } }
        counter_entry { counter_id: $MyIngress.packets index { index: 2 } data { } }
        counter_entry { counter_id: $MyIngress.packets index { index: 3 } data { } }
    "#]].assert_eq(&bench.read("counter_entry { counter_id: $MyIngress.packets }"));
        let all =
            "MODIFY counter_entry { counter_id: $MyIngress.packets data { packet_count: 7 byte_count: 70 } }";
        assert_eq!(bench.write(&[all]), "OK\n");
        expect![[r#"
        counter_entry { counter_id: $MyIngress.packets index { index: 3 } data { byte_count: 70 packet_count: 7 } }
    "#]].assert_eq(&bench.read("counter_entry { counter_id: $MyIngress.packets index { index: 3 } }"));
        let rates = "MODIFY meter_entry { meter_id: $MyIngress.rate index { index: 2 } config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }";
        assert_eq!(bench.write(&[rates]), "OK\n");
        expect![[r#"
        meter_entry { meter_id: $MyIngress.rate index { } }
        meter_entry { meter_id: $MyIngress.rate index { index: 1 } }
        meter_entry { meter_id: $MyIngress.rate index { index: 2 } config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }
        meter_entry { meter_id: $MyIngress.rate index { index: 3 } }
    "#]].assert_eq(&bench.read("meter_entry { }"));
        expect![[r#"
        register_entry { register_id: $MyIngress.cells index { index: 1 } data { bitstring: "\010\000" } }
    "#]]
        .assert_eq(&bench.read("register_entry { register_id: $MyIngress.cells index { index: 1 } }"));
        let pair = r#"MODIFY register_entry { register_id: $MyIngress.pairs index { index: 1 } data { struct { members { bitstring: "\000\005" } members { bitstring: "\377\376" } } } }"#;
        assert_eq!(bench.write(&[pair]), "OK\n");
        expect![[r#"
        register_entry { register_id: $MyIngress.pairs index { } data { struct { members { bitstring: "\000" } members { bitstring: "\000" } } } }
        register_entry { register_id: $MyIngress.pairs index { index: 1 } data { struct { members { bitstring: "\005" } members { bitstring: "\376" } } } }
    "#]].assert_eq(&bench.read("register_entry { register_id: $MyIngress.pairs }"));
    });
}

#[test]
fn replication_and_value_sets() {
    both(|mut bench| {
        let group = r#"INSERT packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 5 replicas { port: "\001" instance: 1 } replicas { egress_port: 2 instance: 2 } metadata: "m" } }"#;
        let session = r#"INSERT packet_replication_engine_entry { clone_session_entry { session_id: 7 replicas { port: "\001" } replicas { port: "\003" instance: 2 } } }"#;
        let short = r#"INSERT packet_replication_engine_entry { clone_session_entry { session_id: 8 replicas { port: "\001" } packet_length_bytes: 20 } }"#;
        let types = r#"MODIFY value_set_entry { value_set_id: $Parse.types members { match { field_id: 1 exact { value: "\010\000" } } } members { match { field_id: 1 exact { value: "\010\001" } } } }"#;
        let to_group = r#"INSERT table_entry { table_id: $MyIngress.route match { field_id: 1 lpm { value: "\n\000\000\000\000\000" prefix_len: 8 } } action { action { action_id: $MyIngress.group params { param_id: 1 value: "\005" } } } }"#;
        expect![[r#"
            OK
        "#]]
        .assert_eq(&bench.write(&[group, session, short, types, to_group]));
        let kind = |kind: &str| format!("packet_replication_engine_entry {{ {kind} {{}} }}");
        expect![[r#"
        packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 5 replicas { instance: 1 port: "\001" } replicas { egress_port: 2 instance: 2 } metadata: "m" } }
        packet_replication_engine_entry { clone_session_entry { session_id: 7 replicas { port: "\001" } replicas { instance: 2 port: "\003" } } }
        packet_replication_engine_entry { clone_session_entry { session_id: 8 replicas { port: "\001" } packet_length_bytes: 20 } }
    "#]].assert_eq(&(bench.read(&kind("multicast_group_entry")) + &bench.read(&kind("clone_session_entry"))));
        expect![[r#"
        value_set_entry { value_set_id: $Parse.types members { match { field_id: 1 exact { value: "\010\000" } } } members { match { field_id: 1 exact { value: "\010\001" } } } }
    "#]].assert_eq(&bench.read("value_set_entry {}"));
        expect![[r#"
        1: 0a00000000010b00000000020800ff
        2: 0a00000000010b00000000020800ff
    "#]]
        .assert_eq(&bench.packet(1, FRAME));
    });
}

#[test]
fn a_batch_is_rolled_back() {
    both(|mut bench| {
        bench.symmetric(&route(r"\n\000\000\000\000\000", 8, r"\002"));
        bench.packet(1, FRAME);
        let before = bench.read("table_entry { }")
            + &bench.read("counter_entry { }")
            + &bench.read("register_entry { }");
        let updates = [
            format!("DELETE {}", route(r"\n\000\000\000\000\000", 8, r"\002")),
            format!("INSERT {}", route(r"\013\000\000\000\000\000", 8, r"\002")),
            "MODIFY counter_entry { counter_id: $MyIngress.packets data { packet_count: 7 byte_count: 70 } }"
                .to_string(),
            r#"MODIFY register_entry { register_id: $MyIngress.cells data { bitstring: "\001" } }"#
                .to_string(),
            format!("INSERT {}", route(r"\013\000\000\000\000\000", 8, r"\002")),
        ];
        let updates: Vec<&str> = updates.iter().map(String::as_str).collect();
        expect![[r#"
        UNKNOWN
        ABORTED rolled back: a later update failed
        ABORTED rolled back: a later update failed
        ABORTED rolled back: a later update failed
        ABORTED rolled back: a later update failed
        ALREADY_EXISTS entity.table_entry: the entity exists already: INSERT needs a new one (in an entry of table `MyIngress.route`)
    "#]].assert_eq(&bench.write_with("ROLLBACK_ON_ERROR", &updates));
        let after = bench.read("table_entry { }")
            + &bench.read("counter_entry { }")
            + &bench.read("register_entry { }");
        assert_eq!(before, after);
        assert!(bench.packet(1, FRAME).starts_with("2: "));
    });
}

#[test]
fn idle_entries_are_reported() {
    both(|mut bench| {
        bench.symmetric(r#"table_entry { table_id: $MyIngress.known match { field_id: 1 exact { value: "\013\000\000\000\000\002" } } action { action { action_id: $NoAction } } idle_timeout_ns: 5000000 }"#);
        assert_eq!(bench.wait(Duration::from_ms(3)), "");
        bench.packet(1, FRAME);
        assert_eq!(bench.wait(Duration::from_ms(4)), "");
        expect![[r#"
        to 0: idle_timeout_notification { table_entry { table_id: $MyIngress.known match { field_id: 1 exact { value: "\013\000\000\000\000\002" } } action { action { action_id: $NoAction } } idle_timeout_ns: 5000000 } timestamp: 1010000000 }
    "#]].assert_eq(&bench.wait(Duration::from_ms(2)));
        expect![[r#"
        table_entry { table_id: $MyIngress.known match { field_id: 1 exact { value: "\013\000\000\000\000\002" } } action { action { action_id: $NoAction } } idle_timeout_ns: 5000000 time_since_last_hit { } }
    "#]].assert_eq(&bench.read("table_entry { table_id: $MyIngress.known time_since_last_hit {} }"));
        expect![[r#"
        to 0: idle_timeout_notification { table_entry { table_id: $MyIngress.known match { field_id: 1 exact { value: "\013\000\000\000\000\002" } } action { action { action_id: $NoAction } } idle_timeout_ns: 5000000 } timestamp: 1016000000 }
    "#]].assert_eq(&bench.wait(Duration::from_ms(6)));
    });
}

#[test]
fn a_full_table_says_so() {
    both(|mut bench| {
        let known = |n: u32| {
            format!(
                r#"INSERT table_entry {{ table_id: $MyIngress.known match {{ field_id: 1 exact {{ value: "\00{n}" }} }} action {{ action {{ action_id: $NoAction }} }} }}"#
            )
        };
        let updates: Vec<String> = (1..=4).map(known).collect();
        let updates: Vec<&str> = updates.iter().map(String::as_str).collect();
        expect![[r#"
        UNKNOWN
        OK
        OK
        OK
        RESOURCE_EXHAUSTED entity.table_entry: the table is full: its size is 3 (in an entry of table `MyIngress.known`)
    "#]].assert_eq(&bench.write(&updates));
    });
}
