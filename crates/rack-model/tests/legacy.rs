//! Legacy switches: connected ports, the program's view of them, and mistakes.

use rack_model::{Rack, read_rack};

const HEAD: &str = r#"
[device.left]
class = "legacy"
extends = "core"
[device.core]
class = "fpga"
[device.board]
class = "fpga"
[host.h1]
mac = "02:00:00:00:01:01"
ip = "10.0.1.1/24"
[[app]]
program = "a.p4"
origin = "core"
[[link]]
ends = ["left:1", "h1"]
rate = "1Gbit/s"
[[link]]
ends = ["left:11", "core:1"]
rate = "4Gbit/s"
mtu = 1400
"#;

const BOARD: &str = r#"
[[link]]
ends = ["core:2", "left:12"]
rate = "4Gbit/s"
[[link]]
ends = ["board:1", "left:2"]
rate = "4Gbit/s"
mtu = 2000
"#;

fn read(text: &str) -> Result<Rack, Vec<String>> {
    let (rack, found) = read_rack(text, 1);
    let reported = |d: &base_diag::Diagnostic| {
        let label = d.labels.first().map_or("", |label| label.text.as_str());
        format!("{} | {label} | {}", d.title, d.help.join(", "))
    };
    rack.ok_or_else(|| found.iter().map(reported).collect())
}

#[test]
fn cables_lead_through() {
    let rack = read(&format!("{HEAD}{BOARD}")).unwrap();
    let left = rack.device("left").unwrap();
    assert_eq!(rack.circuits(left), [(1, 11), (2, 12)]);
    let cables = rack.cables();
    let reported: Vec<_> = cables
        .iter()
        .map(|cable| {
            (
                cable.ends.map(|end| rack.end_name(end)).join(" "),
                cable.links.len(),
                cable.longest_frame(&rack),
            )
        })
        .collect();
    assert_eq!(reported, [("h1 core:1".to_string(), 2, 1414), ("core:2 board:1".to_string(), 2, 2014)]);
    assert_eq!(rack.apps_of(left).count(), 0);
}

#[test]
fn two_legacy_switches_in_a_row() {
    let far = "[device.right]\nclass = \"legacy\"\nextends = \"board\"\n\
[[link]]\nends = [\"left:2\", \"right:7\"]\nrate = \"1Gbit/s\"\n\
[[link]]\nends = [\"core:2\", \"left:12\"]\nrate = \"1Gbit/s\"\n\
[[link]]\nends = [\"board:7\", \"right:17\"]\nrate = \"1Gbit/s\"\n";
    let rack = read(&format!("{HEAD}{far}")).unwrap();
    let cables = rack.cables();
    let reported: Vec<_> =
        cables.iter().map(|cable| (cable.ends.map(|end| rack.end_name(end)), cable.links.len())).collect();
    assert_eq!(reported[1], (["core:2".to_string(), "board:7".to_string()], 3));
    assert_eq!(reported.len(), 2);
}

#[test]
fn what_is_wrong_with_a_legacy_switch() {
    for (from, to, wanted) in [
        (
            "extends = \"core\"",
            "",
            "`left` is a legacy switch without a purpose | it has no `extends` | name the device whose ports it has: `extends = \"core\"`",
        ),
        (
            "extends = \"core\"",
            "extends = \"cor\"",
            "unknown device `cor` | not known | did you mean `core`?",
        ),
        (
            "extends = \"core\"",
            "extends = \"left\"",
            "a legacy switch extends a device that runs programs | this is one itself | ",
        ),
        (
            "extends = \"core\"",
            "extends = \"board\"",
            "a legacy switch without a link to the device it extends | no cable leads from `left` to `board` | ",
        ),
        (
            "extends = \"core\"",
            "extends = \"core\"\nexterns = [\"beacon\"]",
            "a legacy switch runs no program | `left` has neither `externs` nor `entries` | ",
        ),
        (
            "class = \"legacy\"",
            "class = \"switch\"",
            "only a legacy switch extends another device | `left` runs programs itself | ",
        ),
        (
            "origin = \"core\"",
            "origin = \"left\"",
            "`left` is a legacy switch and runs no program | named here as a device of an app | name `core`, which it extends: their ports are the same",
        ),
        (
            "left:1\"",
            "left:5\"",
            "port 5 of `left` has no link | `core` has no port 5 that is plugged into `left` | add a `[[link]]` with `ends = [\"core:5\", \"left:PORT\"]`",
        ),
        (
            "[[app]]",
            "[[stage]]\nname = \"one\"\nentries = { left = \"a.stf\" }\n[[app]]",
            "entries of a switch that has no tables | `left` is a legacy switch | ",
        ),
        ("left:11", "left:1", "a port takes one link | used again here | "),
        (
            "[[app]]",
            "[[link]]\nends = [\"core:11\", \"left:12\"]\nrate = \"1Gbit/s\"\n[[app]]",
            "port 11 of `left` is taken by a cable to `core` | this port is port 11 of `left` | plug cables between the two into ports of higher numbers",
        ),
    ] {
        let reported = read(&HEAD.replacen(from, to, 1)).expect_err(to);
        assert!(reported.iter().any(|reported| reported == wanted), "{to}: {reported:#?}");
    }
}
