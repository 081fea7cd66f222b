//! A rack of processes: an agent for each of two devices, their controller, and operators.

#![allow(clippy::disallowed_methods)]

mod controllers;
mod etcd;
#[path = "../../../state-etcd/tests/server/mod.rs"]
mod fake_etcd;
mod flows;
mod handlers;
mod merged;
#[path = "../../../p4rack/tests/support/nat.rs"]
mod nat;
mod operators;
mod ports;
mod processes;
mod saved;
mod setup;
mod spares;
mod state;
mod ticks;
mod tls;

use serde_json::Value;
use setup::{Rack, Switch, are_sound, directory, frame, is_running, text};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn an_agent_that_dies_gets_everything_when_it_is_back() {
    let mut rack = Rack::new();
    assert_eq!([rack.pass(7), rack.pass(8)], [(7, 1), (8, 2)]);
    let address = rack.nic.address.clone();
    rack.nic.process.kill().unwrap();
    rack.nic.process.wait().unwrap();
    rack.wait(&rack.controller, |shown| !are_sound(shown));
    let reported = text(&rack.ctl(&["devices"]));
    assert!(
        ["its agent cannot be reached", "no agent at"].iter().any(|why| reported.contains(why)),
        "{reported}"
    );
    rack.nic = Switch::start(&["--grpc-server-addr", &address, "-i", &rack.inside[1]]);
    rack.wait(&rack.controller, are_sound);
    // The register was in the lost memory; the entries were not.
    assert_eq!([rack.pass(9), rack.pass(10)], [(9, 1), (10, 2)]);
}

#[test]
fn a_controller_that_is_started_later_takes_over() {
    let mut rack = Rack::new();
    assert_eq!(rack.pass(1), (1, 1));
    let agents = [format!("tor={}", rack.tor.address), format!("nic={}", rack.nic.address)];
    let directory = directory().display().to_string();
    let address = ["--grpc-server-addr", "127.0.0.1:0"];
    let agents = ["--agent", &agents[0], "--agent", &agents[1]];
    let new = Switch::start(&[&[directory.as_str()], &address[..], &agents[..]].concat());
    rack.wait(&new, |shown| is_running(shown) && are_sound(shown));
    rack.wait(&rack.controller, |shown| shown.to_string().contains("a controller that was started later"));
    rack.controller = new;
    // The devices keep their state, the register included.
    assert_eq!(rack.pass(2), (2, 2));
}

#[test]
fn a_plan_is_replaced_under_traffic_without_a_loss() {
    let rack = Rack::new();
    let elsewhere = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("agents_elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    for file in ["count.p4", "entries.stf", "RACK.toml"] {
        let text = std::fs::read_to_string(directory().join(file)).unwrap();
        let text = text.replace("Number = \"nic\", Ports = \"nic\"", "Ports = \"nic\"");
        std::fs::write(elsewhere.join(file), text).unwrap();
    }
    let [there, back] = [&elsewhere, &directory()].map(|path| path.display().to_string());
    let stop = AtomicBool::new(false);
    let received = std::thread::scope(|scope| {
        let traffic = scope.spawn(|| {
            // Few frames are in flight at a time, because losses in the system's queues are not losses of the rack.
            let (mut sent, mut received) = (0, vec![]);
            while !stop.load(Ordering::Relaxed) || received.len() < sent as usize {
                if !stop.load(Ordering::Relaxed) && (sent as usize) < received.len() + 16 {
                    sent += 1;
                    rack.send(sent);
                } else {
                    received.push(rack.receive());
                }
            }
            received
        });
        for map in [&there, &back, &there] {
            text(&rack.ctl(&["replace", map]));
            rack.wait(&rack.controller, are_sound);
        }
        stop.store(true, Ordering::Relaxed);
        traffic.join().unwrap()
    });
    // In the order in which they were sent, each numbered once: the register went with its region.
    let wanted: Vec<(u32, u32)> = (1..=received.len() as u32).map(|number| (number, number)).collect();
    assert!(!received.is_empty());
    assert_eq!(received, wanted);
    let tor = &rack.show()["devices"][0];
    assert_eq!((&tor["name"], &tor["regions"]), (&"tor".into(), &Value::Null));
}

#[test]
fn a_map_that_cannot_be_changes_nothing() {
    let rack = Rack::new();
    let wrong = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("agents_wrong");
    std::fs::create_dir_all(&wrong).unwrap();
    for file in ["count.p4", "entries.stf", "RACK.toml"] {
        let text = std::fs::read_to_string(directory().join(file)).unwrap();
        std::fs::write(
            wrong.join(file),
            text.replace("nic:", "card:").replace("\"nic\"", "\"card\"").replace(".nic", ".card"),
        )
        .unwrap();
    }
    let output = rack.ctl(&["replace", &wrong.display().to_string()]);
    assert_eq!(output.status.code(), Some(1));
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(reported.contains("there is no device `card`; there are `"), "{reported}");
    assert_eq!(rack.pass(1), (1, 1));
}

#[test]
fn frames_wait_while_the_rack_is_stopped() {
    let rack = Rack::new();
    text(&rack.ctl(&["stop"]));
    assert_eq!(rack.show()["state"], "HELD");
    (1..=5).for_each(|number| rack.send(number));
    rack.wait(&rack.tor, |shown| {
        let metrics = shown["metrics"].as_array().unwrap();
        metrics.iter().any(|metric| metric["name"] == "frames_held" && metric["value"] == "5")
    });
    text(&rack.ctl(&["start"]));
    let received: Vec<_> = (1..=5).map(|_| rack.receive()).collect();
    assert_eq!(received, (1..=5).map(|number| (number, number)).collect::<Vec<_>>());
    text(&rack.ctl(&["reset"]));
    assert_eq!(rack.pass(6), (6, 1));
    // The controller reads the counters of its agents from time to time.
    let counted = "port_frames_received_total device=tor port=1";
    while !text(&rack.ctl(&["counters", "port_frames"])).contains(counted) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // A forged hand-over is a packet of the program, and an operator sees at which port it came.
    let mut forged = frame(7, 0);
    forged[12..14].copy_from_slice(&[0x88, 0xb5]);
    rack.send_frame(&forged);
    assert_eq!(rack.receive(), (7, 0), "the program numbers frames of another type");
    for counted in ["port_hand_overs_total device=nic port=500", "port_hand_overs_total device=tor port=1"] {
        while !text(&rack.ctl(&["counters", "port_hand_overs"])).contains(counted) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn a_packet_is_followed_over_its_hand_overs() {
    let rack = Rack::new();
    let hex: String = frame(77, 0).iter().map(|byte| format!("{byte:02x}")).collect();
    let reported = text(&rack.ctl(&["trace", &format!("1:{hex}")]));
    let places: Vec<&str> = reported.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(places.len(), 3, "{reported}");
    assert!(places[0].starts_with("tor, port 1: 60 bytes"), "{reported}");
    assert!(places[1].starts_with("nic, port 500: "), "{reported}");
    assert!(places[2].starts_with("tor, port 500: "), "{reported}");
    assert!(reported.contains("table CountIngress.ports: hit"), "{reported}");
    assert!(reported.contains("leaves by port 2 to the outside: 60 bytes"), "{reported}");
    // It was counted as any other.
    assert_eq!(rack.pass(78), (78, 2));
    let output = rack.ctl(&["trace", "500:00"]);
    assert_eq!(output.status.code(), Some(1));
    let links = text(&rack.ctl(&["links"]));
    assert_eq!(links, "tor:500  --  nic:500\n");
}
