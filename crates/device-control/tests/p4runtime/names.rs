//! Values that are strings on the controller's side (`@p4runtime_translation`).

use crate::setup::{Bench, both_named};
use base_time::Duration;
use expect_test::expect;
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::StreamMessageRequest;

const FRAME: &str = "0a0000000001 0b0000000002 0800 ff";

fn assign(port: u8, vrf: &str) -> String {
    format!(
        r#"table_entry {{ table_id: $Named.assign match {{ field_id: 1 exact {{ value: "\{port:03o}" }} }} action {{ action {{ action_id: $Named.set_vrf params {{ param_id: 1 value: "{vrf}" }} }} }} }}"#
    )
}

fn of_vrf(table: &str, vrf: &str, action: &str) -> String {
    let priority = if table == "route" { " priority: 1" } else { "" };
    format!(
        r#"table_entry {{ table_id: $Named.{table} match {{ field_id: 1 exact {{ value: "{vrf}" }} }} action {{ action {{ action_id: $Named.{action} }} }}{priority} }}"#
    )
}

fn route(vrf: &str, port: u8) -> String {
    format!(
        r#"table_entry {{ table_id: $Named.route match {{ field_id: 1 exact {{ value: "{vrf}" }} }} action {{ action {{ action_id: $Named.forward params {{ param_id: 1 value: "\{port:03o}" }} }} }} priority: 1 }}"#
    )
}

fn small(key: &str, tiny: &str) -> String {
    format!(
        r#"table_entry {{ table_id: $Named.small match {{ field_id: 1 exact {{ value: "{key}" }} }} action {{ action {{ action_id: $Named.set_tiny params {{ param_id: 1 value: "{tiny}" }} }} }} }}"#
    )
}

fn inserted(bench: &mut Bench, entities: &[String]) -> String {
    let updates: Vec<String> = entities.iter().map(|entity| format!("INSERT {entity}")).collect();
    bench.write(&updates.iter().map(String::as_str).collect::<Vec<_>>())
}

fn say(bench: &mut Bench, text: &str) -> String {
    let request: StreamMessageRequest = from_text(text).unwrap();
    bench.message(0, &request)
}

/// A string has the same value in all tables, on all devices.
#[test]
fn strings_stand_for_values() {
    both_named(|mut bench| {
        for entity in
            [assign(1, "red"), route("red", 3), assign(2, "512"), route("512", 4), assign(3, "blue")]
        {
            bench.symmetric(&entity);
        }
        assert!(bench.packet(1, FRAME).starts_with("3: "));
        assert!(bench.packet(2, FRAME).starts_with("4: "));
        assert_eq!(bench.packet(3, FRAME), "");
        expect![[r#"
            table_entry { table_id: $Named.route match { field_id: 1 exact { value: "red" } } action { action { action_id: $Named.forward params { param_id: 1 value: "\003" } } } priority: 1 }
        "#]]
        .assert_eq(&bench.read(
            r#"table_entry { table_id: $Named.route match { field_id: 1 exact { value: "red" } } }"#,
        ));
        assert_eq!(
            bench.read(
                r#"table_entry { table_id: $Named.route match { field_id: 1 exact { value: "green" } } }"#
            ),
            ""
        );
        expect![[r#"
            table_entry { table_id: $Named.fixed match { field_id: 1 exact { value: "512" } } action { action { action_id: $NoAction } } is_const: true }
            table_entry { table_id: $Named.assign action { action { action_id: $Named.set_vrf params { param_id: 1 value: "5" } } } is_default_action: true }
        "#]]
        .assert_eq(&format!(
            "{}{}",
            bench.read("table_entry { table_id: $Named.fixed }"),
            bench.read("table_entry { table_id: $Named.assign is_default_action: true }")
        ));
    });
}

#[test]
fn packets_digests_and_registers_say_strings() {
    both_named(|mut bench| {
        bench.symmetric(&assign(1, "red"));
        bench.symmetric(&of_vrf("known", "red", "learn"));
        bench.symmetric(&of_vrf("route", "red", "to_cpu"));
        bench.symmetric(&of_vrf("route", "5", "to_cpu"));
        bench.symmetric("digest_entry { digest_id: $learn_t config { max_list_size: 1 } }");
        let mut all = bench.packet(1, FRAME);
        all += &bench.wait(Duration::from_ms(1));
        all += &bench.packet(7, FRAME);
        all += &bench.read("register_entry { register_id: $Named.last }");
        let set = r#"MODIFY register_entry { register_id: $Named.last index { index: 2 } data { bitstring: "red" } }"#;
        all += &bench.write(&[set]);
        all += &bench.read("register_entry { register_id: $Named.last index { index: 2 } }");
        let out = |vrf: &str| {
            format!(
                r#"packet {{ payload: "aaaaaabbbbbbcc" metadata {{ metadata_id: 1 value: "{vrf}" }} metadata {{ metadata_id: 2 value: "\000" }} }}"#
            )
        };
        all += &say(&mut bench, &out("red"));
        all += &say(&mut bench, &out("green"));
        expect![[r#"
            to 0: packet { payload: "\n\000\000\000\000\001\013\000\000\000\000\002\010\000\377" metadata { metadata_id: 1 value: "red" } metadata { metadata_id: 2 value: "\000" } }
            to 0: digest { digest_id: $learn_t list_id: 1 data { struct { members { bitstring: "red" } members { bitstring: "\007" } members { bitstring: "\013\000\000\000\000\002" } } } timestamp: 1002000000 }
            to 0: packet { payload: "\n\000\000\000\000\001\013\000\000\000\000\002\010\000\377" metadata { metadata_id: 1 value: "5" } metadata { metadata_id: 2 value: "\000" } }
            register_entry { register_id: $Named.last index { } data { bitstring: "0" } }
            register_entry { register_id: $Named.last index { index: 1 } data { bitstring: "5" } }
            register_entry { register_id: $Named.last index { index: 2 } data { bitstring: "0" } }
            register_entry { register_id: $Named.last index { index: 3 } data { bitstring: "0" } }
            OK
            register_entry { register_id: $Named.last index { index: 2 } data { bitstring: "red" } }
            to 0: packet { payload: "aaaaaabbbbbbcc" metadata { metadata_id: 1 value: "red" } metadata { metadata_id: 2 value: "\000" } }
            to 0: error { canonical_code: 3 message: "metadata: the string is unknown: no entity uses it, and it is not a number of `vrf_t`" packet_out { packet_out { payload: "aaaaaabbbbbbcc" metadata { metadata_id: 1 value: "green" } metadata { metadata_id: 2 value: "\000" } } } }
        "#]]
        .assert_eq(&all);
    });
}

/// A string keeps its value while something has it; a number is nobody else's.
#[test]
fn values_are_handed_out_once() {
    both_named(|mut bench| {
        // Of 1 to 3 the default action has 1.
        let mut all =
            inserted(&mut bench, &[small("a", "a"), small("c", "a"), small("d", "a"), small("3", "a")]);
        // `a` is 2, which both have.
        all += &inserted(&mut bench, &[small("2", "a")]);
        let gone = format!("DELETE {}", small("c", "a"));
        all += &bench.write(&[&gone, &format!("INSERT {}", small("d", "a"))]);
        all += &inserted(&mut bench, &[small("d", "a")]);
        all += &bench.read("table_entry { table_id: $Named.small }");
        expect![[r#"
            UNKNOWN
            OK
            OK
            RESOURCE_EXHAUSTED entity.table_entry.match.exact.value: no value is free for `d`: `tiny_t` has 2 bits, and 3 strings in use
            RESOURCE_EXHAUSTED entity.table_entry.match.exact.value: no value is free for `3`: `c` has this value
            UNKNOWN
            RESOURCE_EXHAUSTED entity.table_entry.match.exact.value: no value is free for `2`: `a` has this value
            UNKNOWN
            OK
            RESOURCE_EXHAUSTED entity.table_entry.match.exact.value: no value is free for `d`: `tiny_t` has 2 bits, and 3 strings in use
            OK
            table_entry { table_id: $Named.small match { field_id: 1 exact { value: "a" } } action { action { action_id: $Named.set_tiny params { param_id: 1 value: "a" } } } }
            table_entry { table_id: $Named.small match { field_id: 1 exact { value: "d" } } action { action { action_id: $Named.set_tiny params { param_id: 1 value: "a" } } } }
        "#]]
        .assert_eq(&all);
    });
}

#[test]
fn what_is_no_string_is_refused() {
    both_named(|mut bench| {
        let long = "x".repeat(257);
        let all = inserted(
            &mut bench,
            &[assign(1, r"\377"), assign(1, "1024"), assign(1, &long), assign(1, "007"), assign(2, "")],
        );
        expect![[r#"
            UNKNOWN
            INVALID_ARGUMENT entity.table_entry.action.action.params.value: the value is not a string: its bytes are not UTF-8
            OUT_OF_RANGE entity.table_entry.action.action.params.value: the value does not fit: 1024 needs 11 bits, and there are only 10
            INVALID_ARGUMENT entity.table_entry.action.action.params.value: the string is too long: it has 257 bytes, and the limit is 256
            OK
            OK
        "#]]
        .assert_eq(&all);
    });
}

/// Strings keep their values over rollbacks and over new programs.
#[test]
fn strings_outlive_failures_and_programs() {
    both_named(|mut bench| {
        assert_eq!(
            inserted(&mut bench, &[small("a", "a"), small("c", "a"), assign(1, "red"), route("red", 3)]),
            "OK\n"
        );
        let before = bench.read("table_entry {}");
        let gone = format!("DELETE {}", small("c", "a"));
        let failing = format!("INSERT {}", small("d", "a"));
        let answer = bench.write_with("ROLLBACK_ON_ERROR", &[&gone, &failing]);
        assert!(answer.contains("RESOURCE_EXHAUSTED"), "{answer}");
        assert_eq!(bench.read("table_entry {}"), before);
        assert_eq!(bench.set_config_again(), "OK\n");
        assert_eq!(bench.read("table_entry {}"), before);
        assert!(bench.packet(1, FRAME).starts_with("3: "));
    });
}
