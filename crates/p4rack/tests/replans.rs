//! `examples/pinned/shares.toml`: two apps change their shares of the traffic, and their flows are planned again.

use p4rack::up;
use rack_emulator::RunReport;
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The example with some values replaced.
fn run(changes: &[(&str, &str)]) -> RunReport {
    let examples = examples();
    let mut text = include_str!("../../../examples/pinned/shares.toml").to_string();
    for (from, to) in changes {
        assert!(text.contains(from), "the example has no {from}");
        text = text.replace(from, to);
    }
    text = text.replace("../apps", &examples.join("apps").display().to_string());
    text = text.replace("west.toml", &examples.join("pinned/west.toml").display().to_string());
    let name = changes.iter().map(|(_, to)| to.len()).sum::<usize>() + changes.len();
    let racked = crate::moves::load(&text, &format!("replans-{name}"));
    up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}")).run().expect("a run")
}

fn notes(report: &RunReport) -> Vec<&str> {
    report.notes.iter().map(|note| note.what.as_str()).filter(|note| note.contains("plan of flows")).collect()
}

/// Packets after this time of all apps that the switch has processed, of a thousand.
fn late_share(report: &RunReport, ms: u64) -> u64 {
    let late =
        report.pinned.iter().flat_map(|app| &app.shares).filter(|share| share.until_ps > ms * 1_000_000_000);
    let (packets, at_switch) = late.fold((0, 0), |sum, one| (sum.0 + one.packets, sum.1 + one.at_switch));
    at_switch * 1000 / packets
}

#[test]
fn flows_are_planned_again_when_shares_have_changed() {
    let report = run(&[]);
    let reported = notes(&report);
    let [begun, done] = reported.as_slice() else { panic!("{:#?}", report.notes) };
    let expected = "shares of the traffic have changed (east 20.0 %, west 80.0 %): another plan of flows at the switch is taking over: east 5, west 28";
    assert_eq!(*begun, expected);
    assert_eq!(*done, "the other plan of flows has taken over");
    let totals: Vec<_> = report.pinned.iter().filter_map(|app| app.totals).collect();
    let resident: Vec<u64> = totals.iter().map(|totals| totals.resident).collect();
    assert_eq!(resident, [5, 28], "as planned: {totals:?}");
    assert!(totals.iter().all(|totals| totals.full == 0), "tables have room for what is planned: {totals:?}");
    // Nothing is lost while tables change their sizes.
    for load in &report.workloads {
        assert_eq!((load.lost, load.received), (0, load.sent), "{load:#?}");
    }
}

#[test]
fn the_new_plan_has_more_packets_at_the_switch() {
    let (again, never) = (run(&[]), run(&[(r#"{ differs = "10%", after = "20ms" }"#, r#""never""#)]));
    assert_eq!(notes(&never), [] as [&str; 0]);
    let (again, never) = (late_share(&again, 150), late_share(&never, 150));
    assert!(again > never + 50, "{again} and {never} of 1000");
}

/// One program takes a little more memory than its apps alone: the plan of the alone did not fit 12,000 bits.
#[test]
fn plans_fit_the_memory_that_apps_take_together() {
    for memory in ["11000", "12000", "13000"] {
        let report =
            run(&[("24000", memory), ("count = 10000", "count = 10"), ("count = 2500", "count = 10")]);
        assert_eq!(report.pinned.len(), 2, "{memory}");
    }
}

#[test]
fn shares_that_differ_for_less_time_change_nothing() {
    let report = run(&[(r#"after = "20ms""#, r#"after = "500ms""#)]);
    assert_eq!(notes(&report), [] as [&str; 0]);
}

#[test]
fn a_share_that_differs_by_less_changes_nothing() {
    let report = run(&[(r#"differs = "10%""#, r#"differs = "70%""#)]);
    assert_eq!(notes(&report), [] as [&str; 0]);
}

/// Each device has cells of its own of a register with `@soft`. Another plan would have one value of each: it is refused, once.
#[test]
fn the_old_plan_stays_where_devices_have_cells_of_their_own() {
    let program = std::fs::read_to_string(examples().join("apps/acl.p4")).expect("it is there");
    let counter = "    ROUTES(1024)\n";
    let filter = "            filtered.count(meta.tenant);\n";
    assert!(program.contains(counter) && program.contains(filter));
    let program = program
        .replace(counter, &format!("    @soft register<bit<8>, bit<8>>(256) seen;\n\n{counter}"))
        .replace(filter, &format!("{filter}            seen.write(meta.tenant, 1);\n"));
    let directory = std::env::temp_dir().join(format!("p4rack-replans-soft-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("acl.p4"), program).expect("a file");
    std::fs::copy(examples().join("apps/headers.p4"), directory.join("headers.p4")).expect("a copy");
    let path = directory.join("acl.p4").display().to_string();
    let report = run(&[("../apps/acl.p4", &path)]);
    std::fs::remove_dir_all(&directory).expect("it was there");
    let reported = notes(&report);
    let [begun, stays] = reported.as_slice() else { panic!("{:#?}", report.notes) };
    assert!(begun.contains("another plan of flows at the switch is taking over"), "{begun}");
    let why = "each device has cells of its own of `east.AclIngress.seen`, and another plan would mix them";
    assert_eq!(*stays, format!("the plan of flows stays: {why}"));
    for load in &report.workloads {
        assert_eq!((load.lost, load.received), (0, load.sent), "{load:#?}");
    }
}
