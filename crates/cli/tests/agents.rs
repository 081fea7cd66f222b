//! A rack of processes: an agent beside each of two devices, their controller, and operators who ask and steer it.

#![allow(clippy::disallowed_methods)]

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A `p4rack switch` that ends with the test.
struct Switch {
    process: Child,
    address: String,
}

impl Switch {
    fn start(args: &[&str]) -> Switch {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        command.arg("switch").args(args).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("the binary runs");
        let mut told = BufReader::new(process.stderr.take().expect("it is piped")).lines();
        let address = loop {
            let line = told.next().expect("it says where it listens").expect("it is text");
            if let Some((_, address)) = line.split_once(" listens on ") {
                break address.to_string();
            }
        };
        // It must not wait for somebody to read.
        std::thread::spawn(move || told.for_each(drop));
        Switch { process, address }
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Two devices, their controller, and the ends of the rack's two ports.
struct Rack {
    tor: Switch,
    nic: Switch,
    controller: Switch,
    inside: [String; 2],
    ports: [UdpSocket; 2],
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents")
}

/// An address where nobody listens.
fn free_udp() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn free_tcp() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

impl Rack {
    fn new() -> Rack {
        let port = || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let device = free_udp();
            socket.connect(device).unwrap();
            // Far longer than anything takes.
            socket.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
            (format!("{device},{}", socket.local_addr().unwrap()), socket)
        };
        let ((first, one), (second, two)) = (port(), port());
        let (here, there) = (free_udp(), free_udp());
        let inside = [format!("500@udp:{here},{there}"), format!("500@udp:{there},{here}")];
        let (first, second) = (format!("1@udp:{first}"), format!("2@udp:{second}"));
        let tor = ["--grpc-server-addr", &free_tcp(), "-i", &first, "-i", &second, "-i", &inside[0]];
        let tor = Switch::start(&tor);
        let nic = Switch::start(&["--grpc-server-addr", &free_tcp(), "-i", &inside[1]]);
        let rack = directory().display().to_string();
        let agents = [format!("tor={}", tor.address), format!("nic={}", nic.address)];
        let agents = ["--agent", &agents[0], "--agent", &agents[1]];
        let args = [&[rack.as_str(), "--grpc-server-addr", "127.0.0.1:0"], &agents[..]].concat();
        let controller = Switch::start(&args);
        let rack = Rack { tor, nic, controller, inside, ports: [one, two] };
        rack.wait(&rack.controller, |shown| is_running(shown) && are_sound(shown));
        rack
    }

    fn ctl(&self, args: &[&str]) -> Output {
        ctl(&self.controller.address, args)
    }

    fn show(&self) -> Value {
        shown(&self.controller.address)
    }

    /// Waits until a switch is as it is wanted.
    fn wait(&self, switch: &Switch, wanted: impl Fn(&Value) -> bool) {
        while !wanted(&shown(&switch.address)) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn send(&self, number: u32) {
        self.ports[0].send(&frame(number, 0)).unwrap();
    }

    /// What comes out next: what it was sent as, and how the rack has numbered it.
    fn receive(&self) -> (u32, u32) {
        let mut buffer = [0; 2048];
        let length = self.ports[1].recv(&mut buffer).expect("a frame comes");
        let at = |from: usize| u32::from_be_bytes(buffer[from..from + 4].try_into().unwrap());
        assert_eq!(length, 60);
        (at(14), at(18))
    }

    fn pass(&self, number: u32) -> (u32, u32) {
        self.send(number);
        self.receive()
    }
}

/// A frame that is numbered.
fn frame(sent: u32, number: u32) -> Vec<u8> {
    let mut frame = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x12, 0x34].to_vec();
    frame.extend(sent.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.resize(60, 0);
    frame
}

fn ctl(address: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    command.args(["ctl", "--addr", address]).args(args).output().expect("the binary runs")
}

fn shown(address: &str) -> Value {
    let output = ctl(address, &["show", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn is_running(shown: &Value) -> bool {
    shown["state"] == "RUNNING"
}

fn are_sound(shown: &Value) -> bool {
    shown["devices"].as_array().unwrap().iter().all(|device| device["stale"].is_null())
}

#[test]
fn an_agent_that_dies_gets_everything_when_it_is_back() {
    let mut rack = Rack::new();
    assert_eq!([rack.pass(7), rack.pass(8)], [(7, 1), (8, 2)]);
    let address = rack.nic.address.clone();
    rack.nic.process.kill().unwrap();
    rack.nic.process.wait().unwrap();
    rack.wait(&rack.controller, |shown| !are_sound(shown));
    let told = text(&rack.ctl(&["devices"]));
    assert!(["its agent cannot be reached", "no agent at"].iter().any(|why| told.contains(why)), "{told}");
    rack.nic = Switch::start(&["--grpc-server-addr", &address, "-i", &rack.inside[1]]);
    rack.wait(&rack.controller, are_sound);
    // The register was in the memory that is gone; the entries were not.
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
    rack.wait(&rack.controller, |shown| shown.to_string().contains("another controller, started later"));
    rack.controller = new;
    assert_eq!(rack.pass(2), (2, 1));
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
            // Few are on the way at once: what the system's queues lose is not the rack's loss.
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
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("there is no device `card`; there are `"), "{told}");
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
    // The controller asks its agents for what they count from time to time.
    let counted = "port_frames_received_total device=tor port=1";
    while !text(&rack.ctl(&["counters", "port_frames"])).contains(counted) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_packet_is_followed_over_its_hand_overs() {
    let rack = Rack::new();
    let hex: String = frame(77, 0).iter().map(|byte| format!("{byte:02x}")).collect();
    let told = text(&rack.ctl(&["trace", &format!("1:{hex}")]));
    let places: Vec<&str> = told.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(places.len(), 3, "{told}");
    assert!(places[0].starts_with("tor, port 1: 60 bytes"), "{told}");
    assert!(places[1].starts_with("nic, port 500: "), "{told}");
    assert!(places[2].starts_with("tor, port 500: "), "{told}");
    assert!(told.contains("table CountIngress.ports: hit"), "{told}");
    assert!(told.contains("leaves by port 2 to the outside: 60 bytes"), "{told}");
    // It was counted as any other.
    assert_eq!(rack.pass(78), (78, 2));
    let output = rack.ctl(&["trace", "500:00"]);
    assert_eq!(output.status.code(), Some(1));
    let links = text(&rack.ctl(&["links"]));
    assert_eq!(links, "tor:500  --  nic:500\n");
}
