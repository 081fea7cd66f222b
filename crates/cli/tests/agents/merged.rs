//! Objects with copies on both devices of the rack: what the controller merges, and what is left of it when processes are killed.

use crate::saved::base64;
use crate::setup::{Rack, are_sound, changed, directory, is_running, text};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The rack with a register and a counter in which each packet counts once at each device.
fn program(name: &str) -> PathBuf {
    let count = |local: &str| {
        format!(
            "bit<32> {local}; all.read({local}, 0); {local} = {local} + 1; all.write(0, {local}); both.count(1);"
        )
    };
    let copy = changed(
        name,
        "register<bit<32>>(1) seen;",
        "register<bit<32>>(1) seen;\n    @merge(\"add\") register<bit<32>>(1) all;\n    @merge(\"add\") counter(2, CounterType.packets) both;",
    );
    let path = copy.join("count.p4");
    let text = std::fs::read_to_string(&path).unwrap();
    let region = "@region(\"Number\") {";
    std::fs::write(
        &path,
        text.replace(region, &format!("{}\n        {region}\n            {}", count("here"), count("there"))),
    )
    .unwrap();
    copy
}

/// The register's and the counter's value, as the controller reads them.
fn totals(rack: &Rack, directory: &Path) -> (u64, u64) {
    let file = directory.join("totals.json").display().to_string();
    text(&rack.ctl(&["save", &file]));
    let saved: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let entities = saved["entities"].as_array().unwrap();
    let shown = rack.show();
    let merged: Vec<_> =
        shown["merged"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap()).collect();
    assert_eq!(merged, ["CountIngress.both", "CountIngress.all"]);
    // `seen` is the other register: its number is at the first device alone.
    let registers =
        entities.iter().filter_map(|entity| entity["registerEntry"]["data"]["bitstring"].as_str());
    let values = registers.map(|bytes| base64(bytes).iter().fold(0, |all, byte| all << 8 | u64::from(*byte)));
    let counted = entities.iter().filter_map(|entity| entity["counterEntry"]["data"]["packetCount"].as_str());
    (values.max().unwrap_or(0), counted.map(|count| count.parse::<u64>().unwrap()).sum())
}

#[test]
fn copies_in_several_processes_are_merged_and_a_killed_controller_loses_nothing() {
    let path = program("agents_merged");
    let file = path.join("rack.state").display().to_string();
    let _ = std::fs::remove_file(&file);
    let mut rack = Rack::of(&path, &["--state", &file]);
    assert_eq!((1..=5).map(|number| rack.pass(number).0).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(totals(&rack, &path), (10, 10));
    let status = text(&rack.ctl(&["merge", "status", "CountIngress.all"]));
    assert!(status.starts_with("CountIngress.all: add, 1 cells with a value\n"), "{status}");
    assert!(status.contains("tor") && status.contains("nic") && !status.contains("both"), "{status}");
    assert!(!status.contains("not heard"), "{status}");
    let unknown = rack.ctl(&["merge", "status", "seen"]);
    assert!(
        String::from_utf8_lossy(&unknown.stderr).contains("the switch has no merged object `seen`; it has ")
    );

    // Devices count on without a controller.
    rack.controller.process.kill().unwrap();
    rack.controller.process.wait().unwrap();
    assert_eq!((6..=8).map(|number| rack.pass(number).0).collect::<Vec<_>>(), [6, 7, 8]);
    rack.controller.restart();
    rack.wait(&rack.controller, |shown| is_running(shown) && are_sound(shown));
    assert_eq!(totals(&rack, &path), (16, 16));

    // A device and the controller end: what the device had said is in the file.
    rack.controller.process.kill().unwrap();
    rack.controller.process.wait().unwrap();
    rack.nic.process.kill().unwrap();
    rack.nic.process.wait().unwrap();
    rack.nic.restart();
    rack.controller.restart();
    rack.wait(&rack.controller, |shown| is_running(shown) && are_sound(shown));
    rack.pass(9);
    assert_eq!(totals(&rack, &path), (18, 18));
    let refused = rack.show()["merging"]["refused"].as_str().map_or(0, |n| n.parse::<u64>().unwrap());
    assert_eq!(refused, 0, "no message was one that cannot be");
}

#[test]
fn a_rack_without_merged_objects_says_so() {
    let rack = Rack::of(&directory(), &[]);
    assert_eq!(text(&rack.ctl(&["merge", "status"])), "no object has copies that are merged\n");
}
