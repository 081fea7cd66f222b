//! What a rack's entries say of the origin's traffic manager.

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

#[test]
fn groups_and_sessions_go_to_the_origin() {
    let directory = std::env::temp_dir().join(format!("p4rack-rack-entries-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for the rack");
    let program = small_program("", "@region(\"R\") { std.mcast_grp = 1; }", "");
    for (name, content) in [("RACK.toml", RACK), ("entries.stf", ENTRIES), ("copies.p4", program.as_str())] {
        std::fs::write(directory.join(name), content).expect("a file of the rack");
    }
    let mut map = SourceMap::new();
    let racked =
        rack::load(&directory, &[], &mut map).unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    up::bring_up(&racked).unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let origin = bmv2::commands(&racked, 0);
    assert!(origin.ends_with(ENTRIES), "{origin}");
    assert!(!bmv2::commands(&racked, 1).contains("mc_"), "{}", bmv2::commands(&racked, 1));
    // Best effort: the system clears its directory for temporary files.
    let _ = std::fs::remove_dir_all(&directory);
}
