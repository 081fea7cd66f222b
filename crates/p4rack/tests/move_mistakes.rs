//! Moves of flows that cannot be: each with its message.

use base_diag::{SourceMap, Style, render};
use expect_test::{Expect, expect};
use p4rack::rack;
use std::path::Path;

/// Diagnostics for a rack whose file and programs have these texts.
pub(crate) fn reported(rack: &str, files: &[(&str, &str)]) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let rack = rack.replace("../apps/", &format!("{}/", examples.join("apps").display()));
    let all: usize = files.iter().map(|(_, text)| text.len()).sum();
    let name = format!("p4rack-mistakes-{}-{}", all + rack.len(), std::process::id());
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&directory).expect("a directory");
    for (name, text) in files.iter().copied().chain([("RACK.toml", rack.as_str())]) {
        std::fs::write(directory.join(name), text).expect("a file");
    }
    let mut map = SourceMap::new();
    let found = rack::load(&directory.join("RACK.toml"), &[], &mut map).err();
    std::fs::remove_dir_all(&directory).expect("it was there");
    let found = found.expect("it has a mistake");
    let reported: Vec<String> = found.iter().map(|one| render(one, &map, Style::Plain)).collect();
    let reported = reported.join("\n").replace(&format!("{}/", directory.display()), "");
    reported.replace(&examples.display().to_string(), "examples")
}

/// The rack of `examples/pinned` without moves and workloads.
pub(crate) fn example() -> String {
    let text = include_str!("../../../examples/pinned/moving.toml");
    text.split_once("# The call comes").expect("it has moves").0.to_string()
}

/// The rack with `app` among the keys of its app, and `more` after it.
fn check(entries: &str, app: &str, more: &str, expected: Expect) {
    let text = match entries {
        "entries.toml" => include_str!("../../../examples/pinned/entries.toml"),
        _ => include_str!("../../../examples/pinned/connections.toml"),
    };
    let rack = format!("{}{app}{more}", example().replace("connections.toml", entries));
    expected.assert_eq(&reported(&rack, &[(entries, text)]));
}

const MOVE: &str = "[[move]]\nat = \"1ms\"\nto = \"switch\"\n";

#[test]
fn a_flow_has_a_value_for_each_part_of_its_key() {
    let flow = "flow = { \"hdr.ipv4.src\" = \"10.1.0.1\", \"hdr.ipv4.dst\" = 1, \"hdr.udp.src\" = 0 }\n";
    check(
        "connections.toml",
        "",
        &format!("{MOVE}{flow}"),
        expect![[r#"
        error[P4R1302]: a flow's key lacks parts
          --> RACK.toml:74:8
           |
        74 | flow = { "hdr.ipv4.src" = "10.1.0.1", "hdr.ipv4.dst" = 1, "hdr.udp.src" = 0 }
           |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ several flows match
           |
           = note: missing are `hdr.ipv4.protocol`, `hdr.tcp.dst`, `hdr.tcp.src`, `hdr.udp.dst`, `standard_metadata.ingress_port`
           = help: write 0 for fields of headers that the flow's packets do not have
    "#]],
    );
}

#[test]
fn parts_have_names_and_values() {
    let flow =
        "flow = { \"hdr.ipv4.scr\" = \"10.1.0.1\", \"hdr.ipv4.dst\" = \"host\", \"hdr.udp.src\" = 70000 }\n";
    check(
        "connections.toml",
        "",
        &format!("{MOVE}{flow}"),
        expect![[r#"
        error[P4R1302]: `hdr.ipv4.scr` is no part of a flow's key
          --> RACK.toml:74:10
           |
        74 | flow = { "hdr.ipv4.scr" = "10.1.0.1", "hdr.ipv4.dst" = "host", "hdr.udp.src" = 70000 }
           |          ^^^^^^^^^^^^^^ packets of one flow could differ in it
           |
           = help: did you mean `hdr.ipv4.src`?

        error[P4R1302]: not a value of `hdr.ipv4.dst`
          --> RACK.toml:74:56
           |
        74 | flow = { "hdr.ipv4.scr" = "10.1.0.1", "hdr.ipv4.dst" = "host", "hdr.udp.src" = 70000 }
           |                                                        ^^^^^^ `host` is not a number or address

        error[P4R1302]: not a value of `hdr.udp.src`
          --> RACK.toml:74:80
           |
        74 | flow = { "hdr.ipv4.scr" = "10.1.0.1", "hdr.ipv4.dst" = "host", "hdr.udp.src" = 70000 }
           |                                                                                ^^^^^ it has 16 bits: this does not fit
    "#]],
    );
}

#[test]
fn flows_with_a_key_of_their_own_stay() {
    let key = "flow_key = [\"hdr.ipv4.src\", \"hdr.ipv4.dst\", \"hdr.udp.src\", \"hdr.udp.dst\", \"hdr.tcp.src\", \"hdr.tcp.dst\"]\n";
    check(
        "connections.toml",
        key,
        &format!("{MOVE}flow = {{ \"hdr.ipv4.src\" = 1 }}\n"),
        expect![[r#"
        error[P4R1301]: flows of `firewall` cannot move
          --> RACK.toml:72:1
           |
        71 | flow_key = ["hdr.ipv4.src", "hdr.ipv4.dst", "hdr.udp.src", "hdr.udp.dst", "hdr.tcp.src", "hdr.tcp.dst"]
           |             -------------- a key of your own
        72 | [[move]]
           | ^^^^^^^^ it is not known what packets of a flow look up
           |
           = help: leave `flow_key` out: the union key names the flows then
    "#]],
    );
}

#[test]
fn resident_flows_by_hand_and_moves_exclude_each_other() {
    check(
        "entries.toml",
        "",
        &format!("{MOVE}flow = {{ \"hdr.ipv4.src\" = 1 }}\n"),
        expect![[r#"
        error[P4R1301]: flows of `firewall` cannot move
          --> RACK.toml:71:1
           |
        63 | entries = "entries.toml"
           |           -------------- has entries of `FirewallIngress.outbound_resident`
        ...
        71 | [[move]]
           | ^^^^^^^^ the controller decides which flows are resident
           |
           = help: leave them out; a `[[move]]` at "0s" makes a flow resident
    "#]],
    );
}

#[test]
fn tables_that_cannot_be_copied_by_entry_are_named() {
    let objects = "[app.objects.sources]\nresident = 2\n";
    check(
        "connections.toml",
        objects,
        &format!("{MOVE}flow = {{ \"hdr.ipv4.src\" = 1 }}\n"),
        expect![[r#"
            error[P4R1301]: flows that look up `FirewallIngress.sources` cannot move
              --> examples/apps/firewall.p4:51:5
               |
            51 | /     table sources {
            52 | |         key = { hdr.ipv4.src: exact; }
            53 | |         actions = { known; NoAction; }
            54 | |         default_action = NoAction();
            55 | |         counters = from_source;
            56 | |         size = 4096;
            57 | |     }
               | |_____^ counts of a copy would be lost with it
               |
               = help: copy the whole table: `resident = "all"` under `[app.objects]`
        "#]],
    );
}
