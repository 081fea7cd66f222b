//! What a rack's files say: entries of the origin's traffic manager, and policies.

mod support;

use base_diag::SourceMap;
use p4rack::{bmv2, rack, up};
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

/// A rack of these files, loaded; the directory is gone afterwards.
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
        let origin = bmv2::commands(racked, 0);
        assert!(origin.ends_with(ENTRIES), "{origin}");
        assert!(!bmv2::commands(racked, 1).contains("mc_"), "{}", bmv2::commands(racked, 1));
    });
}

/// Of the app, or of one region: then control comes back to the caller before it goes on.
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
                let section = racked.split.sections.iter().find(|s| s.name == name);
                format!("{:?}", section.expect("it is a section").call)
            };
            assert_eq!(["R", "S"].map(call), expected, "{map}");
        });
    }
}
