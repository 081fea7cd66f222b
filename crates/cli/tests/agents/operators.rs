//! Output for operators, and their typing errors.

use crate::setup::{Rack, Switch, ctl, directory, secret, text};
use serde_json::{Deserializer, Value};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn what_has_changed_is_watched() {
    let rack = Rack::new();
    let mut watch = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    secret(watch.args(["ctl", "--addr", &rack.controller.address, "watch", "--interval", "1"]));
    let mut watch = watch.stdout(Stdio::piped()).spawn().expect("the binary runs");
    let mut lines = BufReader::new(watch.stdout.take().expect("it is piped")).lines().map(Result::unwrap);
    // Everything first, then changes.
    assert_eq!(lines.next().as_deref(), Some("running"));
    text(&rack.ctl(&["stop"]));
    assert!(lines.any(|line| line == "held: frames are queued"));
    text(&rack.ctl(&["start"]));
    assert!(lines.any(|line| line == "running"));
    watch.kill().unwrap();
    watch.wait().unwrap();
    let looks = text(&rack.ctl(&["watch", "--interval", "1", "--count", "2", "--json"]));
    let looks: Vec<Value> = Deserializer::from_str(&looks).into_iter().map(Result::unwrap).collect();
    assert_eq!(looks.iter().map(|look| &look["state"]).collect::<Vec<_>>(), ["RUNNING", "RUNNING"]);
}

#[test]
fn agents_that_were_never_reached_are_reported() {
    let rack = directory().display().to_string();
    let agents = ["--agent", "tor=127.0.0.1:1", "--agent", "nic=127.0.0.1:1"];
    let controller =
        Switch::start(&[&[rack.as_str(), "--grpc-server-addr", "127.0.0.1:0"], &agents[..]].concat());
    let reported = text(&ctl(&controller.address, &["devices"]));
    assert_eq!(reported.matches("its agent is not connected").count(), 2, "{reported}");
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
fn the_ways_of_hand_overs_are_listed() {
    let rack = Rack::new();
    let edges = text(&rack.ctl(&["edges"]));
    let rows: Vec<Vec<&str>> = edges.lines().map(|line| line.split_whitespace().collect()).collect();
    let there = |row: &[&str]| row.first() == Some(&"tor") && row.ends_with(&["->", "nic", "port", "500"]);
    let back = |row: &[&str]| row.first() == Some(&"nic") && row.ends_with(&["->", "tor", "port", "500"]);
    assert!(rows.iter().any(|row| there(row)) && rows.iter().any(|row| back(row)), "{edges}");
    // All of it has that, too.
    assert!(text(&rack.ctl(&["show"])).contains(edges.lines().next().expect("a line").trim()));
    // By its other name.
    text(&rack.ctl(&["drain"]));
    assert_eq!(rack.show()["state"], "HELD");
}

#[test]
fn who_says_nothing_else_listens_on_the_loopback() {
    let mut switch = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    let mut switch = switch.arg("switch").stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut reported = BufReader::new(switch.stderr.take().expect("it is piped")).lines().map(Result::unwrap);
    // Somebody else may have the port.
    let line = reported.find(|line| line.contains("listen")).expect("it says where");
    switch.kill().unwrap();
    switch.wait().unwrap();
    assert!(line.contains(" 127.0.0.1:9559"), "{line}");
}

#[test]
fn wrong_agents_are_reported() {
    let rack = directory().display().to_string();
    let program = directory().join("count.p4").display().to_string();
    let (tor, nic) = ("tor=127.0.0.1:1", "nic=127.0.0.1:1");
    let cases: [(&[&str], i32, &str); 6] = [
        (&[&rack, "--agent", "tor"], 2, "an agent is written NAME=HOST:PORT"),
        (&[&rack, "--agent", tor], 1, "device `nic` has no agent: add --agent nic=HOST:PORT"),
        (&[&rack, "--agent", tor, "--agent", nic, "--agent", tor], 1, "--agent tor is given twice"),
        (
            &[&rack, "--agent", tor, "--agent", "spine=127.0.0.1:1"],
            1,
            "the rack has no such device; it has `tor`, `nic`",
        ),
        (&[&program, "--agent", tor], 1, "name a RACK.toml instead of a program"),
        (&["--agent", tor], 1, "name its RACK.toml"),
    ];
    for (args, code, why) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        let output = secret(command.arg("switch").args(args)).output().expect("the binary runs");
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{reported}");
        assert!(reported.contains(why), "{reported}");
    }
}
