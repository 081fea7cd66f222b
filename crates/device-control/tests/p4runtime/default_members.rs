//! Default entries that name a member of an action profile: BMv2's clients set them, and P4Runtime's controllers modify the members.

use super::setup::{Bench, both, device};
use controller::Steer;

const FRAME: &str = "0a0000000001 0b0000000002 0800 aa";

const DEFAULT: &str = "table_entry { table_id: $MyIngress.ecmp is_default_action: true }";

fn forward(port: u8) -> String {
    format!(r#"action {{ action_id: $MyIngress.forward params {{ param_id: 1 value: "\00{port}" }} }}"#)
}

fn default(table: &str, run: &str) -> String {
    format!(
        "MODIFY table_entry {{ table_id: $MyIngress.{table} is_default_action: true action {{ {run} }} }}"
    )
}

fn member(how: &str, port: u8) -> String {
    format!(
        "{how} action_profile_member {{ action_profile_id: $MyIngress.members member_id: 4 {} }}",
        forward(port)
    )
}

const NAMED: &str = "action_profile_member_id: 4";
const DELETE: &str = "DELETE action_profile_member { action_profile_id: $MyIngress.members member_id: 4 }";

/// Port on which a frame leaves.
fn port(bench: &mut Bench) -> String {
    bench.packet(1, FRAME).split(':').next().unwrap_or_default().to_string()
}

#[test]
fn a_default_follows_the_member_that_it_names() {
    both(|mut bench| {
        let named = default("ecmp", NAMED);
        assert!(bench.write(&[&named]).contains("NOT_FOUND"));
        assert_eq!(bench.write(&[&member("INSERT", 2), &named]), "OK\n");
        assert_eq!(port(&mut bench), "2");
        assert!(bench.read(DEFAULT).contains(NAMED), "{}", bench.read(DEFAULT));
        assert_eq!(bench.write(&[&member("MODIFY", 3)]), "OK\n");
        assert_eq!(port(&mut bench), "3");
        assert!(bench.read(DEFAULT).contains(NAMED));
        let answer = bench.write(&[DELETE]);
        assert!(answer.contains("FAILED_PRECONDITION"), "{answer}");
        // Both are undone.
        let answer = bench.write_with("ROLLBACK_ON_ERROR", &[&member("MODIFY", 5), DELETE]);
        assert!(answer.contains("FAILED_PRECONDITION"), "{answer}");
        assert_eq!(port(&mut bench), "3");
        // Another default ends it.
        assert_eq!(bench.write(&[&default("ecmp", &forward(6)), &member("MODIFY", 7)]), "OK\n");
        assert_eq!(port(&mut bench), "6");
        let back = bench.write_with(
            "ROLLBACK_ON_ERROR",
            &[&named, &default("ecmp", &forward(1)), "DELETE table_entry {}"],
        );
        assert!(!back.starts_with("OK"), "{back}");
        assert_eq!(bench.write(&[DELETE]), "OK\n");
        assert_eq!(port(&mut bench), "6");
    });
}

#[test]
fn other_tables_and_groups_are_refused() {
    both(|mut bench| {
        assert_eq!(bench.write(&[&member("INSERT", 2)]), "OK\n");
        for (table, run, why) in [
            ("route", NAMED, "the table has no action profile"),
            ("spread", NAMED, "there is no member 4"),
            ("ecmp", "action_profile_group_id: 1", "a group as default action"),
            ("fixed", NAMED, "the default action is constant"),
        ] {
            let answer = bench.write(&[&default(table, run)]);
            assert!(answer.contains(why), "{table}: {answer}");
        }
        assert_eq!(bench.write(&[DELETE]), "OK\n");
    });
}

#[test]
fn a_named_member_goes_along_to_the_next_program() {
    let mut bench = device();
    assert_eq!(bench.write(&[&member("INSERT", 2), &default("ecmp", NAMED)]), "OK\n");
    assert_eq!(bench.set_config_again(), "OK\n");
    assert_eq!(bench.steer(Steer::Reset), "OK\n");
    assert_eq!(port(&mut bench), "2");
    assert_eq!(bench.write(&[&member("MODIFY", 5)]), "OK\n");
    assert_eq!(port(&mut bench), "5");
}
