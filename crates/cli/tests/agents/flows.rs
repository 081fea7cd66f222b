//! A switch and two helpers as processes: connections come to the switch, by an operator or since they have many packets, and go on there while
//! processes die and come back. Each packet that comes out is as one device would have made it.

use crate::processes::Processes;
use crate::setup::{PATIENCE, are_sound, ctl, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Instant;

const NAMES: [&str; 3] = ["edge", "nic1", "nic2"];

/// An example with other values.
fn directory(name: &str, example: &str, changes: &[(&str, &str)]) -> PathBuf {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let copy = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&copy).unwrap();
    let mut rack = std::fs::read_to_string(examples.join("pinned").join(example)).unwrap();
    // Sections that only `p4rack up` runs.
    let end = rack.find("[[move]]").or(rack.find("[[workload]]")).unwrap();
    rack.truncate(end);
    rack = rack.replace("../apps", &examples.join("apps").display().to_string());
    for (from, to) in changes {
        assert!(rack.contains(from), "the example has no {from}");
        rack = rack.replace(from, to);
    }
    std::fs::write(copy.join("RACK.toml"), rack).unwrap();
    std::fs::copy(examples.join("pinned/connections.toml"), copy.join("connections.toml")).unwrap();
    copy
}

impl Processes {
    /// Sends packets of a connection until one of them has come. All that come are as they should be.
    fn pass(&self, number: u16) {
        let begun = Instant::now();
        let mut buffer = [0; 256];
        let mut is_there = false;
        while !is_there {
            self.ports[0].send(&packet(number, 64)).unwrap();
            while let Ok(length) = self.ports[1].recv(&mut buffer) {
                let came = &buffer[..length];
                let known = (0..3).find(|number| came == packet(*number, 63));
                let known = known.unwrap_or_else(|| panic!("{came:02x?}"));
                is_there |= known == number;
            }
            assert!(begun.elapsed() < PATIENCE, "nothing passes");
        }
    }

    /// Frames that the switch has handed over.
    fn handed_over(&self) -> u64 {
        let shown = self.shown_at(&self.addresses[0]);
        let is_sent = |metric: &&Value| {
            metric["name"] == "port_frames_sent_total"
                && ["5", "6"].iter().any(|port| metric["labels"]["port"] == *port)
        };
        let metrics = shown["metrics"].as_array().unwrap().iter().filter(is_sent);
        metrics.map(number).sum()
    }

    fn is_at_switch(&self, number: u16) -> bool {
        let before = self.handed_over();
        self.pass(number);
        self.handed_over() == before
    }

    /// Waits until the switch processes a connection.
    fn comes_to_switch(&self, number: u16) {
        let begun = Instant::now();
        while !self.is_at_switch(number) {
            (0..20).for_each(|_| self.pass(number));
            assert!(begun.elapsed() < PATIENCE, "{}", self.shown()["pinnedApps"]);
        }
    }

    /// The controller dies, and another one takes its place after `meanwhile`.
    fn restart_controller(&mut self, meanwhile: impl FnOnce(&Processes)) {
        self.kill_controller();
        meanwhile(self);
        self.start_controller();
        self.is_ready();
    }

    fn app(&self) -> Value {
        self.shown()["pinnedApps"][0].clone()
    }

    /// An operator's command about a connection.
    fn moves(&self, command: &str, number: u16) -> std::process::Output {
        let name = self.app()["name"].as_str().unwrap().to_string();
        let (src, dst) =
            (format!("udp.src={}", 49152 + number), format!("udp.dst={}", PORTS[number as usize]));
        let of = ["ipv4.src=10.1.0.1", "ipv4.dst=198.51.100.1", "ipv4.protocol=17", "ingress_port=1"];
        ctl(&self.controller.address, &[&[command, &name, &src, &dst], &of[..]].concat())
    }
}

fn number(metric: &Value) -> u64 {
    metric["value"].as_str().map_or(0, |value| value.parse().unwrap())
}

/// Ports of the telephone, the name server and the clock.
const PORTS: [u16; 3] = [5060, 53, 123];

/// A packet of a connection from the campus as it comes (with a TTL of 64), and as it leaves (63).
fn packet(number: u16, ttl: u8) -> Vec<u8> {
    let macs = match ttl {
        64 => [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1],
        _ => [2, 0, 0, 0, 4, 1, 2, 0, 0, 0, 0, 4],
    };
    let mut ip = vec![0x45, 0, 0, 48, 0, 0, 0, 0, ttl, 17, 0, 0, 10, 1, 0, 1, 198, 51, 100, 1];
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let ports = [(49152 + number).to_be_bytes(), PORTS[number as usize].to_be_bytes()].concat();
    [&macs[..], &[8, 0], &ip, &ports, &[0, 28, 0, 0], &[7; 20]].concat()
}

#[test]
fn an_operator_moves_connections_between_processes() {
    let mut rack = Processes::new(directory("agents_moves", "moving.toml", &[]), &NAMES, [1, 4]);
    assert!((0..3).all(|number| !rack.is_at_switch(number)), "helpers have all");
    text(&rack.moves("promote", 0));
    rack.comes_to_switch(0);
    assert!(!rack.is_at_switch(1));
    let app = rack.app();
    assert_eq!((&app["resident"], &app["switch"]), (&"1".into(), &"edge".into()), "{app}");
    // Without helpers the switch goes on with it.
    rack.kill(1);
    rack.kill(2);
    rack.comes_to_switch(0);
    rack.agents[1].restart();
    rack.agents[2].restart();
    rack.wait(are_sound);
    rack.comes_to_switch(0);
    assert!(!rack.is_at_switch(1));
    // The switch has it again when it is back.
    rack.kill(0);
    rack.agents[0].restart();
    rack.wait(are_sound);
    rack.comes_to_switch(0);
    // A new controller takes it away, since it does not know that an operator wanted it.
    rack.restart_controller(|rack| rack.comes_to_switch(0));
    let begun = Instant::now();
    while rack.is_at_switch(0) {
        assert!(begun.elapsed() < PATIENCE, "{}", rack.app());
    }
    text(&rack.moves("promote", 1));
    rack.comes_to_switch(1);
    assert_eq!(rack.app()["resident"], "1");
    text(&rack.moves("demote", 1));
    assert!(!rack.is_at_switch(1));
    let refused = rack.moves("demote", 1);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("it is not at the switch"));
}

#[test]
fn connections_with_many_packets_come_to_the_switch_and_stay_there() {
    let changes = [("window = \"5ms\"", "window = \"100ms\"")];
    let mut rack = Processes::new(directory("agents_popular", "popular.toml", &changes), &NAMES, [1, 4]);
    rack.comes_to_switch(0);
    let top = text(&ctl(&rack.controller.address, &["flows", "--top", "5"]));
    assert!(top.contains("udp.src=49152"), "{top}");
    rack.kill(1);
    rack.comes_to_switch(0);
    rack.agents[1].restart();
    rack.kill(0);
    rack.agents[0].restart();
    rack.wait(are_sound);
    rack.comes_to_switch(0);
    rack.restart_controller(|rack| rack.pass(0));
    rack.comes_to_switch(0);
    (0..3).for_each(|number| rack.pass(number));
}
