//! A program for TNA: each entity of P4Runtime that it has is written, read, and seen by packets.

use crate::setup::{Bench, bare_device, device_of, generator};
use base_time::Duration;
use expect_test::expect;
use p4runtime_proto::from_text;

fn tofino() -> Bench {
    device_of("tofino.p4")
}

fn all_ok(bench: &mut Bench, updates: &[&str]) {
    assert_eq!(bench.write(updates), "OK\n");
}

fn to(port: u8) -> String {
    format!(r#"action {{ action_id: $Tofino.to params {{ param_id: 1 value: "\00{port}" }} }}"#)
}

#[test]
fn hits_and_misses_are_counted_and_metered() {
    let mut bench = tofino();
    assert_eq!(bench.packet(3, "00 07 ffff"), "1: 00070000\n");
    let rates = "meter_config { cir: 1 cburst: 1 pir: 1 pburst: 2 }";
    let action = r#"action { action { action_id: $Tofino.counted params { param_id: 1 value: "\002" } } }"#;
    let key = r#"match { field_id: 1 exact { value: "\007" } }"#;
    all_ok(
        &mut bench,
        &[
            &format!("INSERT table_entry {{ table_id: $Tofino.hosts {key} {action} {rates} }}"),
            &format!(
                "MODIFY table_entry {{ table_id: $Tofino.hosts is_default_action: true {action} {rates} }}"
            ),
        ],
    );
    // Green, yellow, red, as MeterColor_t has them; the default entry has buckets of its own.
    let seen: Vec<String> = ["00 07", "00 08", "00 07", "00 08", "00 07"]
        .iter()
        .map(|start| bench.packet(3, &format!("{start} ffff")).trim().to_string())
        .collect();
    assert_eq!(seen, ["2: 00070000", "2: 00080000", "2: 00070001", "2: 00080001", "2: 00070003"]);
    expect![[r#"
        direct_counter_entry { table_entry { table_id: $Tofino.hosts match { field_id: 1 exact { value: "\007" } } } data { byte_count: 12 packet_count: 3 } }
        direct_counter_entry { table_entry { table_id: $Tofino.hosts is_default_action: true } data { byte_count: 12 packet_count: 3 } }
        direct_meter_entry { table_entry { table_id: $Tofino.hosts is_default_action: true } config { cir: 1 cburst: 1 pir: 1 pburst: 2 } }
    "#]]
    .assert_eq(&[
        bench.read("direct_counter_entry {}"),
        bench.read("direct_counter_entry { table_entry { is_default_action: true } }"),
        bench.read("direct_meter_entry { table_entry { is_default_action: true } }"),
    ].concat());
}

#[test]
fn members_and_groups() {
    let mut bench = tofino();
    let member = |id: u32, port: u8| {
        format!(
            "INSERT action_profile_member {{ action_profile_id: $Tofino.selector member_id: {id} {} }}",
            to(port)
        )
    };
    all_ok(
        &mut bench,
        &[
            &member(1, 4),
            &member(2, 5),
            "INSERT action_profile_group { action_profile_id: $Tofino.selector group_id: 1 max_size: 8 members { member_id: 1 weight: 1 } members { member_id: 2 weight: 1 } }",
            r#"INSERT table_entry { table_id: $Tofino.hops match { field_id: 1 ternary { value: "\007" mask: "\377" } } priority: 1 action { action_profile_group_id: 1 } }"#,
            r#"INSERT table_entry { table_id: $Tofino.hops match { field_id: 1 ternary { value: "\000" mask: "\001" } } priority: 2 action { action_profile_member_id: 2 } }"#,
        ],
    );
    assert_eq!(bench.packet(3, "01 08 0000"), "5: 01080000\n");
    let ports: Vec<String> = (0..4).map(|n| bench.packet(3, &format!("01 07 000{n}"))).collect();
    assert!(
        ports.iter().any(|out| out.starts_with("4:")) && ports.iter().any(|out| out.starts_with("5:")),
        "{ports:?}"
    );
    assert_eq!(bench.packet(3, "01 09 0000"), "");
}

#[test]
fn cells_of_registers_counters_and_meters() {
    let mut bench = tofino();
    let pair = r#"register_entry { register_id: $Tofino.pairs index { index: 2 } data { struct { members { bitstring: "\001" } members { bitstring: "\020\000" } } } }"#;
    all_ok(
        &mut bench,
        &[
            &format!("MODIFY {pair}"),
            r#"MODIFY register_entry { register_id: $Tofino.step index { } data { bitstring: "\003" } }"#,
            r#"MODIFY register_entry { register_id: $TofinoParse.$PORT_METADATA index { index: 3 } data { struct { members { bitstring: "\022\064" } members { bitstring: "\006" } members { bitstring: "\001" } } } }"#,
            "MODIFY meter_entry { meter_id: $Tofino.limits index { index: 1 } config { cir: 1 cburst: 1 pir: 1 pburst: 1 } }",
            "MODIFY counter_entry { counter_id: $Tofino.counts index { index: 1 } data { packet_count: 40 } }",
        ],
    );
    assert_eq!(bench.packet(9, "04 02 ffff"), "2: 04021000\n");
    assert_eq!(bench.packet(9, "04 02 ffff"), "2: 04021003\n");
    assert_eq!(bench.packet(3, "05 00 ffff"), "6: 05001234\n");
    assert_eq!(bench.packet(4, "05 00 ffff"), "0: 05000000\n");
    assert_eq!(bench.packet(3, "03 01 ffff"), "2: 03010000\n");
    assert_eq!(bench.packet(3, "03 01 ffff"), "2: 03010003\n");
    expect![[r#"
        register_entry { register_id: $Tofino.pairs index { index: 2 } data { struct { members { bitstring: "\001" } members { bitstring: "\020\006" } } } }
        register_entry { register_id: $Tofino.step index { } data { bitstring: "\003" } }
        register_entry { register_id: $TofinoParse.$PORT_METADATA index { index: 3 } data { struct { members { bitstring: "\0224" } members { bitstring: "\006" } members { bitstring: "\001" } } } }
        counter_entry { counter_id: $Tofino.counts index { index: 1 } data { byte_count: 8 packet_count: 42 } }
        meter_entry { meter_id: $Tofino.limits index { index: 1 } config { cir: 1 cburst: 1 pir: 1 pburst: 1 } }
    "#]].assert_eq(&[
        bench.read("register_entry { register_id: $Tofino.pairs index { index: 2 } }"),
        bench.read("register_entry { register_id: $Tofino.step }"),
        bench.read("register_entry { register_id: $TofinoParse.$PORT_METADATA index { index: 3 } }"),
        bench.read("counter_entry { counter_id: $Tofino.counts index { index: 1 } }"),
        bench.read("meter_entry { meter_id: $Tofino.limits index { index: 1 } }"),
    ].concat());
    let outside = r#"MODIFY register_entry { register_id: $TofinoParse.$PORT_METADATA index { index: 512 } data { struct { members { bitstring: "\001" } members { bitstring: "\006" } members { bitstring: "\001" } } } }"#;
    expect![[r#"
        UNKNOWN
        OUT_OF_RANGE entity.register_entry.index.index: the index is out of range: the object has 512 cells, numbered from 0 (in register `TofinoParse.$PORT_METADATA`)
    "#]].assert_eq(&bench.write(&[outside]));
}

#[test]
fn settings_of_filters() {
    let mut bench = tofino();
    assert_eq!(bench.packet(3, "08 01 0123"), "2: 08010123\n");
    let settings = r#"register_entry { register_id: $Tofino.smooth.$SETTINGS index { index: 1 } data { tuple { members { bitstring: "\000" } members { bitstring: "\000" } members { bitstring: "\000" } members { bitstring: "\004" } } } }"#;
    all_ok(&mut bench, &[&format!("MODIFY {settings}")]);
    let cell = bench.read("register_entry { register_id: $Tofino.smooth.$SETTINGS index { index: 1 } }");
    assert_eq!(cell, format!("{settings}\n"));
    assert_eq!(bench.packet(3, "08 01 0123"), "2: 08010012\n");
    assert_eq!(bench.packet(3, "08 02 0123"), "2: 08020123\n");
}

#[test]
fn copies_mirrors_digests_and_value_sets() {
    let mut bench = tofino();
    let effect = |key: u8, action: &str| {
        format!(
            r#"INSERT table_entry {{ table_id: $Tofino.effects match {{ field_id: 1 exact {{ value: "\00{key}" }} }} action {{ action {{ {action} }} }} }}"#
        )
    };
    all_ok(
        &mut bench,
        &[
            "INSERT packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 9 replicas { port: \"\\004\" instance: 1 } replicas { port: \"\\005\" instance: 1 } } }",
            "INSERT packet_replication_engine_entry { clone_session_entry { session_id: 5 replicas { port: \"\\010\" instance: 1 } packet_length_bytes: 3 } }",
            "INSERT digest_entry { digest_id: $TofinoDeparse.learn config { max_list_size: 1 } }",
            &effect(1, r#"action_id: $Tofino.copies params { param_id: 1 value: "\011" }"#),
            &effect(2, r#"action_id: $Tofino.mirrored params { param_id: 1 value: "\005" }"#),
            &effect(3, "action_id: $Tofino.learned"),
            r#"MODIFY value_set_entry { value_set_id: $TofinoParse.chosen members { match { field_id: 1 exact { value: "\007" } } } }"#,
        ],
    );
    assert_eq!(bench.packet(3, "02 01 0000"), "4: 02010000\n5: 02010000\n");
    assert_eq!(bench.packet(3, "02 02 0000"), "8: 020200\n");
    assert_eq!(bench.packet(3, "02 03 0000"), "");
    expect![[r#"
        to 0: digest { digest_id: $TofinoDeparse.learn list_id: 1 data { struct { members { bitstring: "\003" } members { bitstring: "\003" } } } timestamp: 1008000000 }
    "#]].assert_eq(&bench.wait(Duration::from_ms(5)));
    assert_eq!(bench.packet(3, "06 07 ffff"), "2: 06070001\n");
    assert_eq!(bench.packet(3, "06 08 ffff"), "2: 06080000\n");
}

#[test]
fn idle_entries_are_reported() {
    let mut bench = tofino();
    let entry = r#"INSERT table_entry { table_id: $Tofino.effects match { field_id: 1 exact { value: "\004" } } action { action { action_id: $NoAction } } idle_timeout_ns: 5000000 }"#;
    all_ok(&mut bench, &[entry]);
    assert_eq!(bench.packet(3, "02 04 0000"), "");
    expect![[r#"
        to 0: idle_timeout_notification { table_entry { table_id: $Tofino.effects match { field_id: 1 exact { value: "\004" } } action { action { action_id: $NoAction } } idle_timeout_ns: 5000000 } timestamp: 1021000000 }
    "#]].assert_eq(&bench.wait(Duration::from_ms(20)));
}

#[test]
fn packets_of_the_controller() {
    let mut bench = tofino();
    expect![[r#"
        to 0: packet { payload: "\007\000\253\315" metadata { metadata_id: 1 value: "\003" } metadata { metadata_id: 2 value: "\000" } }
    "#]].assert_eq(&bench.packet(3, "07 00 abcd"));
    let out = from_text(
        r#"packet { payload: "\007\001\002\003" metadata { metadata_id: 1 value: "\006" } metadata { metadata_id: 2 value: "\000" } }"#,
    );
    assert_eq!(bench.message(0, &out.unwrap()), "6: 07010203\n");
}

/// A controller sets up the packet generator; its packets come by themselves.
#[test]
fn generated_packets() {
    let mut bench = bare_device(generator()).started();
    let tuple = |numbers: &[&str]| {
        let members: String =
            numbers.iter().map(|bits| format!(r#" members {{ bitstring: "{bits}" }}"#)).collect();
        format!("data {{ tuple {{{members} }} }}")
    };
    // Periodic, port 68, byte 16 of the buffer, 8 bytes, 2 ms.
    let app = format!(
        "register_entry {{ register_id: $IngressParser.$PKTGEN_APP index {{ index: 2 }} {} }}",
        tuple(&["\\002", "D", "\\020", "\\010", "\\036\\204\\200"])
    );
    all_ok(
        &mut bench,
        &[
            r#"MODIFY register_entry { register_id: $IngressParser.$PKTGEN_BUFFER index { index: 1 } data { bitstring: "\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020" } }"#,
            &format!(
                "MODIFY register_entry {{ register_id: $IngressParser.$PKTGEN_BATCH index {{ index: 2 }} {} }}",
                tuple(&["\\000", "\\001", "\\000", "\\000"])
            ),
            &format!("MODIFY {app}"),
        ],
    );
    assert_eq!(bench.wait(Duration::from_ms(1)), "");
    assert_eq!(bench.wait(Duration::from_ms(1)), "");
    let two = "1: 0002000000000102030405060708\n1: 0002000000010102030405060708\n";
    assert_eq!(bench.wait(Duration::from_ms(1)), two);
    assert_eq!(bench.wait(Duration::from_ms(1)), "");
    assert_eq!(bench.wait(Duration::from_ms(1)), two);
    let count = |bench: &mut Bench, register: &str| {
        bench.read(&format!(
            "register_entry {{ register_id: $IngressParser.{register} index {{ index: 2 }} }}"
        ))
    };
    assert_eq!(count(&mut bench, "$PKTGEN_APP"), format!("{app}\n"));
    let counts = tuple(&["\\002", "\\002", "\\004"]);
    assert!(count(&mut bench, "$PKTGEN_COUNT").contains(&counts), "{}", count(&mut bench, "$PKTGEN_COUNT"));
    let trigger = app.replacen("\\002", "\\004", 1);
    expect![[r#"
        UNKNOWN
        RESOURCE_EXHAUSTED the device refused the change: the packet generator has no such trigger; 0 is off, 1 a one-shot timer, 2 a periodic timer, 3 a port that goes down
    "#]].assert_eq(&bench.write(&[&format!("MODIFY {trigger}")]));
    all_ok(&mut bench, &[&format!("MODIFY {}", app.replacen("\\002", "\\000", 1))]);
    assert_eq!(bench.wait(Duration::from_ms(9)), "");
}
