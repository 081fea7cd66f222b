//! The state that BMv2's clients get (`serialize_state`), and switches that start with it.

use crate::thrift::Running;
use agent::Setup;
use bmv2::cli::Cli;
use bmv2_thrift::Client;
use p4runtime_proto::from_text;
use p4runtime_proto::p4rack::v1::SavedState;
use std::fs;
use std::path::PathBuf;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../device-control/tests/p4runtime/all.p4");

/// Runs commands, and returns the text of each.
fn run<const N: usize>(switch: &Running, lines: [&str; N]) -> [String; N] {
    let mut cli = Cli::new(Client::connect(&switch.thrift.to_string()).unwrap()).unwrap();
    lines.map(|line| cli.run(line).unwrap_or_else(|why| panic!("{line}: {why}")))
}

/// The state of a switch, by `serialize_state`.
fn state(switch: &Running, name: &str) -> String {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("restored-{name}"));
    run(switch, [&format!("serialize_state {}", file.display())]);
    fs::read_to_string(file).unwrap()
}

#[test]
fn a_switch_continues_from_the_state_of_another_one() {
    let before = Running::start();
    let empty = state(&before, "empty");
    run(
        &before,
        [
            "table_add route forward 0a:00:00:00:00:00/16 => 3",
            "table_set_default route forward 5",
            "act_prof_create_member members forward 2",
            "act_prof_create_group members",
            "act_prof_add_member_to_group members 0 0",
            "table_indirect_add_with_group ecmp 3 => 0",
            "table_indirect_set_default ecmp 0",
            "mc_mgrp_create 1",
            "mc_node_create 5 0 2",
            "mc_node_associate 1 0",
            "mirroring_add 7 3",
            "register_write cells 2 0x10",
            "counter_write packets 1 2 100",
            "meter_set_rates rate 1 0.5:10 1:20",
            "pvs_add types 0x1234",
        ],
    );
    let saved = state(&before, "before");
    assert!(saved.starts_with("format: \"p4rack state 1\"\n"), "{saved}");
    assert_ne!(saved, empty);
    let shown = [
        "table_dump route",
        "table_dump ecmp",
        "register_read cells",
        "counter_read packets 1",
        "meter_get_rates rate 1",
        "mirroring_get 7",
        "pvs_get types",
    ];
    let had = run(&before, shown);
    let restored: SavedState = from_text(&saved).unwrap();
    let after = Running::start_with(PROGRAM, |setup| Setup { restored: Some(restored), ..setup });
    assert_eq!(run(&after, shown), had);
    assert_eq!(state(&after, "after"), saved);
    // The state of multicast groups is there; the nodes of Thrift clients are made of it.
    assert!(run(&after, ["mc_dump"])[0].contains(r#""ports":[0,2]"#));
    // It is a switch like any other.
    run(&after, ["table_delete route 0", "register_write cells 2 0"]);
    assert_ne!(state(&after, "later"), saved);
}

#[test]
fn a_state_needs_its_program() {
    let switch = Running::start();
    let saved: SavedState = from_text(&state(&switch, "own")).unwrap();
    let none = Setup { restored: Some(saved.clone()), ..Setup::new(agent::Switch::One(None)) };
    let refused = agent::run(none, |_| panic!("it runs")).unwrap_err().to_string();
    assert_eq!(refused, "the state to restore has no program: name the program that the switch ran");
    let learn = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/learn.p4");
    let options = p4_syntax::Options::default();
    let mut map = base_diag::SourceMap::new();
    let compiled = compiler::compile(learn, &p4rack::Disk, &options, compiler::Until::Elaborated, &mut map);
    let other = Setup { restored: Some(saved), ..Setup::new(agent::Switch::One(compiled.program)) };
    let refused = agent::run(other, |_| panic!("it runs")).unwrap_err().to_string();
    assert!(refused.contains("the P4Info does not match the program"), "{refused}");
}
