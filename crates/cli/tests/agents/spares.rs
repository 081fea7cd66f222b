//! A switch and three devices, one of which runs the region, as processes: the thresholds are those of processes, and the switch goes over
//! to a spare without the controller.

use crate::processes::Processes;
use crate::setup::{PATIENCE, ctl, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Instant;

const NAMES: [&str; 4] = ["tor", "nic1", "nic2", "nic3"];

/// A copy of the example. A busy machine may be slower than the defaults bear.
fn directory(name: &str, more: &str) -> PathBuf {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/spares");
    let copy = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&copy).unwrap();
    for file in ["wall.p4", "entries.stf", "RACK.toml"] {
        let text = std::fs::read_to_string(example.join(file)).unwrap();
        std::fs::write(copy.join(file), if file == "RACK.toml" { text + more } else { text }).unwrap();
    }
    copy
}

fn started(directory: PathBuf) -> Processes {
    Processes::new(directory, &NAMES, [1, 2])
}

/// Sends frames until one of them has come.
fn pass(rack: &Processes) {
    let begun = Instant::now();
    let mut buffer = [0; 256];
    while rack.ports[1].recv(&mut buffer).is_ok() {}
    loop {
        rack.ports[0].send(&frame()).unwrap();
        if rack.ports[1].recv(&mut buffer).is_ok_and(|length| length == frame().len()) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "nothing passes");
    }
}

/// A datagram from h1 to h2.
fn frame() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1, 8, 0];
    frame.extend([0x45, 0, 0, 48, 0, 0, 0, 0, 64, 17, 0x63, 0xbc, 10, 0, 1, 1, 10, 0, 2, 1]);
    frame.extend([0x1b, 0x57, 0x1b, 0x58, 0, 28, 0, 0]);
    frame.extend([7; 20]);
    frame
}

fn state_of(shown: &Value, target: usize) -> &str {
    shown["spares"][0]["targets"][target]["state"].as_str().unwrap_or("")
}

#[test]
fn a_process_that_dies_is_left_without_a_controller() {
    let more = "\n[failover]\nprocesses = { patience = \"300ms\" }\n";
    let mut rack = started(directory("agents_spares", more));
    pass(&rack);
    let spares = text(&ctl(&rack.controller.address, &["spares"]));
    assert!(spares.starts_with("tor  ->  Wall  nic1: "), "{spares}");
    assert!(spares.contains("patience 300ms"), "{spares}");
    assert!(spares.contains("hold_down 10ms"), "the file's: {spares}");
    rack.kill(1);
    rack.kill(2);
    rack.kill_controller();
    // Two have failed, and the third takes over.
    pass(&rack);
    rack.start_controller();
    for dead in [1, 2] {
        rack.agents[dead].restart();
    }
    rack.is_ready();
    rack.wait(|shown| {
        pass(&rack);
        ["IN_USE", "READY"].contains(&state_of(shown, 0)) && state_of(shown, 1) == "READY"
    });
}

#[test]
fn operators_set_thresholds_and_keep_devices_out() {
    let rack = started(directory("agents_thresholds", ""));
    let spares = |args: &[&str]| ctl(&rack.controller.address, &[&["spares"], args].concat());
    let reported = text(&spares(&[]));
    assert!(
        reported.contains("thresholds: ask_every 64, ask_after 1ms, patience 20ms, most_missed 3"),
        "{reported}"
    );
    text(&spares(&["set", "--patience", "50ms", "--most-missed", "5", "--hold-down", "1s"]));
    let reported = text(&spares(&[]));
    assert!(reported.contains("ask_after 1ms, patience 50ms, most_missed 5"), "{reported}");
    assert!(reported.contains("hold_down 1s"), "{reported}");
    pass(&rack);
    let refused = spares(&["set", "--window", "1000"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`window` is a power of two"));
    for wrong in [&["set"][..], &["set", "--patience", "1500ns"], &["set", "--tolerance", "many"]] {
        assert_eq!(spares(wrong).status.code(), Some(2), "{wrong:?}");
    }
    text(&spares(&["keep-out", "nic1"]));
    rack.wait(|shown| {
        pass(&rack);
        state_of(shown, 1) == "IN_USE"
    });
    let reported = text(&spares(&["list"]));
    assert!(reported.contains("nic1: kept out") && reported.contains("nic2: in use"), "{reported}");
    text(&spares(&["let-back", "nic1"]));
    rack.wait(|shown| state_of(shown, 0) != "KEPT_OUT");
    let shown = rack.shown();
    assert_eq!(shown["spares"][0]["thresholds"]["patienceUs"], "50000", "{shown}");
}
