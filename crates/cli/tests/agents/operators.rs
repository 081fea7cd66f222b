//! What operators see and mistype.

use crate::setup::{Rack, Switch, ctl, directory, text};
use serde_json::{Deserializer, Value};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn what_has_changed_is_watched() {
    let rack = Rack::new();
    let mut watch = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    watch.args(["ctl", "--addr", &rack.controller.address, "watch", "--interval", "1"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().expect("the binary runs");
    let mut lines = BufReader::new(watch.stdout.take().expect("it is piped")).lines().map(Result::unwrap);
    // All of it first, then what is not as it was.
    assert_eq!(lines.next().as_deref(), Some("running"));
    text(&rack.ctl(&["stop"]));
    assert!(lines.any(|line| line == "held: frames wait"));
    text(&rack.ctl(&["start"]));
    assert!(lines.any(|line| line == "running"));
    watch.kill().unwrap();
    watch.wait().unwrap();
    let looks = text(&rack.ctl(&["watch", "--interval", "1", "--count", "2", "--json"]));
    let looks: Vec<Value> = Deserializer::from_str(&looks).into_iter().map(Result::unwrap).collect();
    assert_eq!(looks.iter().map(|look| &look["state"]).collect::<Vec<_>>(), ["RUNNING", "RUNNING"]);
}

#[test]
fn agents_that_were_never_reached_are_told() {
    let rack = directory().display().to_string();
    let agents = ["--agent", "tor=127.0.0.1:1", "--agent", "nic=127.0.0.1:1"];
    let controller =
        Switch::start(&[&[rack.as_str(), "--grpc-server-addr", "127.0.0.1:0"], &agents[..]].concat());
    let told = text(&ctl(&controller.address, &["devices"]));
    assert_eq!(told.matches("its agent is not connected").count(), 2, "{told}");
}

#[test]
fn links_are_a_graph() {
    let graph = text(&Rack::new().ctl(&["links", "--dot"]));
    let lines = [
        "graph rack {",
        "  \"tor\" [shape=box]",
        "  \"nic\" [shape=ellipse]",
        "  \"tor\" -- \"nic\" [taillabel=\"500\", headlabel=\"500\"]",
        "}",
    ];
    assert_eq!(graph.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn wrong_agents_are_told() {
    let rack = directory().display().to_string();
    let program = directory().join("count.p4").display().to_string();
    let (tor, nic) = ("tor=127.0.0.1:1", "nic=127.0.0.1:1");
    let cases: [(&[&str], i32, &str); 6] = [
        (&[&rack, "--agent", "tor"], 2, "an agent is written NAME=HOST:PORT"),
        (&[&rack, "--agent", tor], 1, "device `nic` has no agent: add --agent nic=HOST:PORT"),
        (&[&rack, "--agent", tor, "--agent", nic, "--agent", tor], 1, "--agent tor: it is given twice"),
        (
            &[&rack, "--agent", tor, "--agent", "spine=127.0.0.1:1"],
            1,
            "the rack has no such device; it has `tor`, `nic`",
        ),
        (&[&program, "--agent", tor], 1, "this is a program for one device"),
        (&["--agent", tor], 1, "name the RACK.toml"),
    ];
    for (args, code, why) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        let output = command.arg("switch").args(args).output().expect("the binary runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(why), "{told}");
    }
}
