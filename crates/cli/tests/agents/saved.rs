//! The state of a switch in a file.

use crate::setup::{Rack, Switch, ctl, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of a test.
fn file(name: &str) -> String {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("agents_saved");
    fs::create_dir_all(&directory).unwrap();
    directory.join(name).display().to_string()
}

fn program(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents").join(name).display().to_string()
}

#[test]
fn a_rack_gets_back_what_it_had() {
    let rack = Rack::new();
    let (before, after) = (file("rack.txtpb"), file("rack-after.txtpb"));
    assert_eq!([rack.pass(1), rack.pass(2)], [(1, 1), (2, 2)]);
    let reported = text(&rack.ctl(&["save", &before, "--stop"]));
    assert!(reported.starts_with("saved ") && reported.contains(&before), "{reported}");
    // It runs on.
    assert_eq!([rack.pass(3), rack.pass(4)], [(3, 3), (4, 4)]);
    text(&rack.ctl(&["restore", &before]));
    text(&rack.ctl(&["save", &after]));
    assert_eq!(fs::read_to_string(&after).unwrap(), fs::read_to_string(&before).unwrap());
    // The register continues from there, and frames find the entries.
    assert_eq!(rack.pass(5), (5, 3));
}

/// The last eight bytes of what leaves: the sample and the average.
fn average(switch: &Switch, sample: u32) -> u32 {
    let output = ctl(&switch.address, &["trace", &format!("1:{sample:08x}00000000"), "--json"]);
    let traced: Value = serde_json::from_str(&text(&output)).unwrap();
    let frame = traced["hops"][0]["leaves"][0]["frame"].as_str().expect("it leaves");
    u32::from_be_bytes(base64(frame)[4..8].try_into().unwrap())
}

/// The bytes of standard base64.
pub fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').map(digit).collect();
    let bits = |four: &[u8]| four.iter().fold(0u32, |all, digit| all << 6 | u32::from(*digit));
    let bytes = |four: &[u8]| {
        let bits = bits(four) << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(bytes).collect()
}

#[test]
fn the_memory_of_an_extern_comes_back_in_every_form_of_the_file() {
    let switch = Switch::start(&[&program("average.p4"), "--grpc-server-addr", "127.0.0.1:0"]);
    average(&switch, 1000);
    let files = ["average.state", "average.json", "average.txtpb"].map(file);
    files.iter().for_each(|file| drop(text(&ctl(&switch.address, &["save", file]))));
    let next = average(&switch, 10);
    assert_ne!(average(&switch, 10), next, "the average must depend on what was before");
    for file in &files {
        text(&ctl(&switch.address, &["restore", file]));
        assert_eq!(average(&switch, 10), next, "{file}");
    }
    // A reset empties it.
    text(&ctl(&switch.address, &["reset"]));
    assert_ne!(average(&switch, 10), next);
}

#[test]
fn what_cannot_be_restored_changes_nothing() {
    let rack = Rack::new();
    assert_eq!(rack.pass(1), (1, 1));
    let (own, other) = (file("own.txtpb"), file("other.txtpb"));
    text(&rack.ctl(&["save", &own]));
    let switch = Switch::start(&[&program("average.p4"), "--grpc-server-addr", "127.0.0.1:0"]);
    text(&ctl(&switch.address, &["save", &other]));
    let saved = fs::read_to_string(&own).unwrap();
    // An entity that no program has, after all others.
    let broken = file("broken.txtpb");
    fs::write(&broken, format!("{saved}entities {{ counter_entry {{ counter_id: 3 }} }}\n")).unwrap();
    let version = file("version.txtpb");
    fs::write(&version, saved.replace("p4rack state 1", "p4rack state 9")).unwrap();
    let cases = [
        (&other, "the P4Info does not match the program"),
        (&broken, "there is no counter 3"),
        (&version, "has the format `p4rack state 9`: this command reads `p4rack state 1`"),
        (
            &program("count.p4"),
            "is not a file that `p4rack ctl save` or `serialize_state` of p4rack has written",
        ),
        (&file("nothing.state"), "cannot be read"),
    ];
    for (file, why) in cases {
        let output = rack.ctl(&["restore", file]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(reported.contains(why), "{reported}");
    }
    assert_eq!(rack.pass(2), (2, 2));
    // Nothing waits to be committed: writes go to what runs, and another state can be restored.
    text(&rack.ctl(&["restore", &own]));
    assert_eq!(rack.pass(3), (3, 2));
}
