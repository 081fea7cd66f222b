//! Direct counters and meters of default entries: PSA has them, v1model does not.

use super::setup::{Bench, both, device_of};
use controller::Steer;
use expect_test::expect;

const FRAME: &str = "0a0000000001 0b0000000002 0800 aa";

/// The queries for the direct counters and meters of all default entries.
const DEFAULTS: &str = "direct_counter_entry { table_entry { is_default_action: true } }";
const LIMITS: &str = "direct_meter_entry { table_entry { is_default_action: true } }";

const RATES: &str = "cir: 1 cburst: 1 pir: 1 pburst: 2";

/// An update of the default entry of `hosts`.
fn default(rest: &str) -> String {
    format!("MODIFY table_entry {{ table_id: $Misses.hosts is_default_action: true {rest} }}")
}

/// `to` with a port.
fn to(port: u8) -> String {
    format!(r#"action {{ action {{ action_id: $Misses.to params {{ param_id: 1 value: "\00{port}" }} }} }}"#)
}

/// A message about something direct of the default entry of a table.
fn direct(kind: &str, table: &str, rest: &str) -> String {
    format!("{kind} {{ table_entry {{ table_id: $Misses.{table} is_default_action: true }} {rest} }}")
}

fn entry(bench: &mut Bench) -> String {
    bench.read(
        "table_entry { table_id: $Misses.hosts is_default_action: true meter_config {} counter_data {} }",
    )
}

fn psa() -> Bench {
    device_of("misses.p4")
}

/// Number of packets that come out.
fn passed(bench: &mut Bench, packets: usize) -> usize {
    (0..packets).filter(|_| !bench.packet(1, FRAME).is_empty()).count()
}

#[test]
fn misses_count_and_are_metered_and_a_reset_takes_the_rates() {
    let mut bench = psa();
    assert_eq!(passed(&mut bench, 3), 3);
    let known = r#"INSERT table_entry { table_id: $Misses.hosts match { field_id: 1 exact { value: "\001" } } action { action { action_id: $Misses.quiet } } }"#;
    assert_eq!(bench.write(&[&default(&format!("{} meter_config {{ {RATES} }}", to(2))), known]), "OK\n");
    assert_eq!(passed(&mut bench, 4), 2);
    expect![[r#"
        table_entry { table_id: $Misses.hosts action { action { action_id: $Misses.to params { param_id: 1 value: "\002" } } } meter_config { cir: 1 cburst: 1 pir: 1 pburst: 2 } counter_data { byte_count: 105 packet_count: 7 } is_default_action: true }
    "#]].assert_eq(&entry(&mut bench));
    expect![[r#"
        direct_counter_entry { table_entry { table_id: $Misses.hosts match { field_id: 1 exact { value: "\001" } } } data { } }
        direct_counter_entry { table_entry { table_id: $Misses.hosts is_default_action: true } data { byte_count: 105 packet_count: 7 } }
        direct_counter_entry { table_entry { table_id: $Misses.everything is_default_action: true } data { byte_count: 105 packet_count: 7 } }
        direct_meter_entry { table_entry { table_id: $Misses.hosts is_default_action: true } config { cir: 1 cburst: 1 pir: 1 pburst: 2 } }
        direct_meter_entry { table_entry { table_id: $Misses.everything is_default_action: true } }
    "#]]
    .assert_eq(&[
        bench.read("direct_counter_entry {}"),
        bench.read(DEFAULTS),
        bench.read(&direct("direct_meter_entry", "hosts", "")),
        bench.read(&direct("direct_meter_entry", "everything", "")),
    ].concat());
    let objects = device_text::state::objects(&bench.devices().remove(0).switch());
    expect![[r#"
        direct counter Misses.counts of Misses.hosts, 1 entries
          default: 7 packets, 105 bytes
        direct meter Misses.limits of Misses.hosts, 1 entries
          default: committed 1/s, 0 of 1 left; peak 1/s, 0 of 2 left
        direct counter Misses.all of Misses.everything, 0 entries
          default: 7 packets, 105 bytes
        direct meter Misses.total of Misses.everything, 0 entries
          without rates: all green
    "#]]
    .assert_eq(&device_text::state::text(&objects));
    assert_eq!(bench.read("direct_meter_entry {}").lines().count(), 1, "the entry's, and no default entry's");
    assert_eq!(bench.write(&[&default("")]), "OK\n");
    expect![[r#"
        table_entry { table_id: $Misses.hosts action { action { action_id: $Misses.to params { param_id: 1 value: "\001" } } } counter_data { byte_count: 105 packet_count: 7 } is_default_action: true }
    "#]].assert_eq(&entry(&mut bench));
    assert_eq!(passed(&mut bench, 3), 3);
    let counted = direct("direct_counter_entry", "hosts", "data { packet_count: 40 byte_count: 50 }");
    assert_eq!(bench.write(&[&format!("MODIFY {counted}")]), "OK\n");
    assert_eq!(passed(&mut bench, 1), 1);
    assert!(entry(&mut bench).contains("counter_data { byte_count: 65 packet_count: 41 }"));
}

#[test]
fn a_constant_default_action_has_its_counter_and_rates() {
    let mut bench = psa();
    passed(&mut bench, 2);
    expect![[r#"
        table_entry { table_id: $Misses.everything action { action { action_id: $Misses.seen } } counter_data { byte_count: 30 packet_count: 2 } is_default_action: true is_const: true }
    "#]].assert_eq(&bench.read("table_entry { table_id: $Misses.everything is_default_action: true counter_data {} }"));
    let rates = direct("direct_meter_entry", "everything", &format!("config {{ {RATES} }}"));
    let counted = direct("direct_counter_entry", "everything", "data { packet_count: 1 byte_count: 1 }");
    let entry = "table_entry { table_id: $Misses.everything is_default_action: true counter_data { packet_count: 9 } }";
    expect![[r#"
        UNKNOWN
        OK
        OK
        PERMISSION_DENIED entity.table_entry: the default action is constant: the program declares `const default_action` (in an entry of table `Misses.everything`)
    "#]].assert_eq(&bench.write(&[&format!("MODIFY {rates}"), &format!("MODIFY {counted}"), &format!("MODIFY {entry}")]));
    assert_eq!(passed(&mut bench, 4), 2);
    assert!(bench.read(DEFAULTS).contains("data { byte_count: 61 packet_count: 5 }"));
}

#[test]
fn what_fails_leaves_default_entries_as_they_were() {
    let mut bench = psa();
    passed(&mut bench, 2);
    let missing =
        r#"DELETE table_entry { table_id: $Misses.hosts match { field_id: 1 exact { value: "\001" } } }"#;
    let rates = format!("MODIFY {}", direct("direct_meter_entry", "hosts", "config { cir: 5 pir: 5 }"));
    let total = format!("MODIFY {}", direct("direct_meter_entry", "everything", "config { cir: 5 pir: 5 }"));
    let counted =
        format!("MODIFY {}", direct("direct_counter_entry", "everything", "data { packet_count: 9 }"));
    let changed =
        default(&format!("{} counter_data {{ packet_count: 7 }} meter_config {{ cir: 9 pir: 9 }}", to(3)));
    for start in ["", &format!("{} metadata: \"mine\" meter_config {{ {RATES} }}", to(2))] {
        assert_eq!(bench.write(&[&default(start)]), "OK\n");
        let all = |bench: &mut Bench| {
            let queries = [DEFAULTS, LIMITS];
            entry(bench) + &queries.map(|query| bench.read(query)).concat()
        };
        let before = all(&mut bench);
        for update in [&changed, &rates, &total, &counted, &default("")] {
            let answer = bench.write_with("ROLLBACK_ON_ERROR", &[update, missing]);
            assert!(answer.contains("NOT_FOUND"), "{answer}");
            assert_eq!(all(&mut bench), before, "{update}");
        }
    }
    assert_eq!(passed(&mut bench, 4), 2);
}

#[test]
fn default_entries_go_along_to_the_next_program() {
    let mut bench = psa();
    let rates =
        |table| format!("MODIFY {}", direct("direct_meter_entry", table, &format!("config {{ {RATES} }}")));
    let action = default(&format!("{} metadata: \"mine\"", to(2)));
    assert_eq!(bench.write(&[&action, &rates("hosts"), &rates("everything")]), "OK\n");
    passed(&mut bench, 1);
    let all = |bench: &mut Bench| entry(bench) + &bench.read(DEFAULTS) + &bench.read(LIMITS);
    let before = all(&mut bench);
    assert_eq!(bench.set_config_again(), "OK\n");
    assert_eq!(all(&mut bench), before);
    assert_eq!(bench.steer(Steer::Reset), "OK\n");
    assert_eq!(all(&mut bench), before.replace("data { byte_count: 15 packet_count: 1 }", "data { }"));
    assert_eq!(passed(&mut bench, 4), 2);
}

#[test]
fn v1model_has_none() {
    both(|mut bench| {
        let of = "table_entry { table_id: $MyIngress.route is_default_action: true";
        let forward =
            r#"action { action { action_id: $MyIngress.forward params { param_id: 1 value: "\002" } } }"#;
        let updates = [
            format!("MODIFY {of} {forward} counter_data {{ packet_count: 1 }} }}"),
            format!("MODIFY direct_counter_entry {{ {of} }} data {{ packet_count: 1 }} }}"),
            format!("MODIFY direct_meter_entry {{ {} }} }}", of.replace("route", "filter")),
            format!("MODIFY {} meter_config {{ cir: 1 pir: 1 }} }}", of.replace("route", "filter")),
        ];
        expect![[r#"
            UNKNOWN
            UNIMPLEMENTED entity.table_entry.counter_data: default actions have no direct counters and meters: v1model counts and meters only hits (in an entry of table `MyIngress.route`)
            UNIMPLEMENTED entity.direct_counter_entry.table_entry: default actions have no direct counters and meters: v1model counts and meters only hits
            UNIMPLEMENTED entity.direct_meter_entry.table_entry: default actions have no direct counters and meters: v1model counts and meters only hits
            UNIMPLEMENTED entity.table_entry.meter_config: default actions have no direct counters and meters: v1model counts and meters only hits (in an entry of table `MyIngress.filter`)
        "#]]
        .assert_eq(&bench.write(&updates.each_ref().map(String::as_str)));
        bench.packet(1, FRAME);
        expect![[r#"
            UNKNOWN
            UNIMPLEMENTED table_entry.counter_data: default actions have no direct counters and meters: v1model counts and meters only hits
            UNKNOWN
            UNIMPLEMENTED direct_counter_entry.table_entry: default actions have no direct counters and meters: v1model counts and meters only hits
            table_entry { table_id: $MyIngress.route action { action { action_id: $MyIngress.drop } } is_default_action: true }
        "#]]
        .assert_eq(
            &[
                bench.read(&format!("{of} counter_data {{}} }}")),
                bench.read(&format!("direct_counter_entry {{ {of} }} }}")),
                bench.read("direct_counter_entry {}"),
                bench.read("direct_counter_entry { table_entry { is_default_action: true } }"),
                bench.read(&format!("{of} meter_config {{}} }}")),
            ]
            .concat(),
        );
    });
}
