//! A job on hosts of its own: five network namespaces at one `p4rack switch`, with real interfaces. Their counters agree with the emulator, with reduction
//! and without, and a switch that is killed and started again in the middle changes nothing. It needs permission to create network namespaces.

#![allow(clippy::disallowed_methods)]

#[path = "../../dataplane-ports/tests/interfaces/net.rs"]
mod net;

use net::{Host, enter, ip};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Name, address and card of each host, by port of the switch from 1.
const HOSTS: [(&str, &str, &str); 5] = [
    ("h1", "10.0.1.1", "02:00:0a:00:01:01"),
    ("h2", "10.0.1.2", "02:00:0a:00:01:02"),
    ("h3", "10.0.1.3", "02:00:0a:00:01:03"),
    ("h4", "10.0.1.4", "02:00:0a:00:01:04"),
    ("master", "10.0.0.1", "02:00:0a:00:00:01"),
];

/// The reducer's host.
const MASTER: usize = 4;

/// Runs of which the one with the fewest bytes counts: packets that are repeated because a process had to wait for the processor are not the protocol's.
const RUNS: usize = 4;

fn command(place: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    command.args(args).current_dir(place).env("XDG_RUNTIME_DIR", place).env("XDG_STATE_HOME", place);
    command.stdin(Stdio::null());
    command
}

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Five hosts, and the files of the jobs.
struct Lab {
    place: PathBuf,
    hosts: Vec<Host>,
    /// Each number with its count.
    wanted: BTreeMap<String, u64>,
}

/// The network of the hosts, as a rack without jobs.
fn rack() -> String {
    let mut text = "[rack]\nname = \"lab\"\nseed = 1\n\n[device.tor]\nclass = \"switch\"\n".to_string();
    for (port, (name, address, card)) in (1..).zip(HOSTS) {
        let _ = write!(text, "\n[host.{name}]\nmac = \"{card}\"\nip = \"{address}/16\"\n");
        let _ = write!(text, "\n[[link]]\nends = [\"{name}\", \"tor:{port}\"]\nrate = \"1Gbit/s\"\n");
    }
    text
}

/// The job. Keys are numbers, so no texts of keys travel beside the pairs. The windows of all mappers fit into every queue and socket.
fn job(by: &str, rounds: u32) -> String {
    let mut text = String::new();
    for at in 1..=MASTER {
        let _ = write!(text, "dataset d{at} = \"h{at}:{at}.txt\"\nmapper m{at} = words(d{at})\n");
    }
    let _ = writeln!(
        text,
        "reducer counts = add(m1, m2, m3, m4, at = master, by = {by}, key = number, rows = 256, rounds = {rounds}, window = 16)"
    );
    text
}

impl Lab {
    /// `None` where there may be no namespaces.
    fn new(name: &str) -> Option<Lab> {
        if !enter() {
            return None;
        }
        let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).unwrap();
        let mut wanted = BTreeMap::new();
        for host in 1..=MASTER {
            let mut state = host as u64;
            let mut text = String::new();
            for _ in 0..60_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let number = (state >> 33) % 20_000;
                let word = (number * number / 20_000).to_string();
                text += &word;
                text += "\n";
                *wanted.entry(word).or_default() += 1;
            }
            std::fs::write(place.join(format!("{host}.txt")), text).unwrap();
        }
        std::fs::write(place.join("RACK.toml"), rack()).unwrap();
        for (name, by, rounds) in [("switch", "switch", 12), ("hosts", "hosts", 1), ("long", "switch", 48)] {
            std::fs::write(place.join(format!("{name}.job")), job(by, rounds)).unwrap();
            let up = format!("{}\n[[job]]\nfile = \"{name}.job\"\npatience = \"10s\"\n", rack());
            std::fs::write(place.join(format!("up-{name}.toml")), up).unwrap();
        }
        let host = |(port, (_, address, card)): (usize, (&str, &'static str, &'static str))| {
            let host = Host::new(&format!("sw{port}"), &[&format!("{address}/16")]);
            host.run(move || {
                ip(&format!("link set eth0 address {card}"));
                // The switch forwards IPv4 alone: no host can ask for a card.
                for (_, other, card) in HOSTS.iter().filter(|(_, other, _)| *other != address) {
                    ip(&format!("neighbour replace {other} lladdr {card} dev eth0"));
                }
            });
            host
        };
        let hosts = (1..).zip(HOSTS).map(host).collect();
        Some(Lab { place, hosts, wanted })
    }

    /// A process on a host.
    fn spawn(&self, host: usize, args: &[&str]) -> Child {
        let place = self.place.clone();
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        self.hosts[host].run(move || {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let mut command = command(&place, &args);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
    }

    /// The switch, at all interfaces.
    fn switch(&self, name: &str) -> Process {
        let ports: Vec<String> = (1..=HOSTS.len()).map(|port| format!("{port}@sw{port}")).collect();
        let file = format!("out-{name}/tor.toml");
        let mut args = vec!["switch", &file, "--grpc-server-addr", "127.0.0.1:0"];
        ports.iter().for_each(|port| args.extend(["-i", port.as_str()]));
        let log = std::fs::File::create(self.place.join(format!("{name}.log"))).unwrap();
        let mut command = command(&self.place, &args);
        Process(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap())
    }

    /// Bytes that the master's interface has received.
    fn received(&self) -> u64 {
        self.hosts[MASTER].run(|| {
            let shown =
                Command::new("ip").args(["-s", "-j", "link", "show", "dev", "eth0"]).output().unwrap();
            let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
            shown[0]["stats64"]["rx"]["bytes"].as_u64().unwrap()
        })
    }

    /// Runs a job; gives the report, and the bytes that the master's interface received. `on_line` gets each line of the master's messages and the switch.
    fn run(
        &self,
        name: &str,
        (master_args, worker_args): (&[&str], &[&str]),
        on_line: &mut dyn FnMut(&str, &mut Process),
    ) -> (Value, u64) {
        let (file, out) = (format!("{name}.job"), format!("out-{name}"));
        let compiled = command(&self.place, &["job", "compile", &file, "-o", &out]).output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let mut switch = self.switch(name);
        let before = self.received();
        let args = [
            "job",
            "run",
            &file,
            "-o",
            &out,
            "--listen",
            "10.0.0.1:9600",
            "--patience",
            "120",
            "--format",
            "json",
        ];
        let mut master = Process(self.spawn(MASTER, &[&args, master_args].concat()));
        let mut workers = vec![];
        let mut said = String::new();
        for line in BufReader::new(master.0.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            // It listens.
            if line.starts_with("start on h4") {
                for (host, (mapper, _, _)) in HOSTS[..MASTER].iter().enumerate() {
                    let mapper = mapper.replace('h', "m");
                    let args = ["job", "worker", &mapper, "--master", "10.0.0.1:9600"];
                    workers.push(Process(self.spawn(host, &[&args, worker_args].concat())));
                }
            }
            on_line(&line, &mut switch);
            said += &format!("{line}\n");
        }
        let mut answer = String::new();
        master.0.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
        let log = || std::fs::read_to_string(self.place.join(format!("{name}.log"))).unwrap_or_default();
        assert!(master.0.wait().unwrap().success(), "{said}{answer}{}", log());
        let bytes = self.received() - before;
        let text = std::fs::read_to_string(self.place.join(&out).join("counts.csv")).unwrap();
        let row =
            |line: &str| line.split_once(',').map(|(key, value)| (key.to_string(), value.parse().unwrap()));
        let counts: BTreeMap<String, u64> = text.lines().filter_map(row).collect();
        assert!(counts == self.wanted, "{said}{answer}");
        (serde_json::from_str(&answer).unwrap(), bytes)
    }

    /// Bytes that the emulator sends to the master.
    fn predicted(&self, name: &str) -> u64 {
        let done =
            command(&self.place, &["up", &format!("up-{name}.toml"), "--format", "json"]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let said: Value = serde_json::from_slice(&done.stdout).unwrap();
        let links = said["report"]["links"].as_array().expect("a list");
        links.iter().find(|link| link["to"] == "master").expect("it has a link")["bytes"].as_u64().unwrap()
    }
}

#[test]
fn counters_of_interfaces_agree_with_the_emulator_with_and_without_reduction() {
    let Some(lab) = Lab::new("job-hosts") else { return };
    let mut all = vec![];
    for name in ["hosts", "switch"] {
        let predicted = lab.predicted(name);
        // Counters of interfaces have Ethernet's headers and no checksums, as the emulator's.
        let close = |bytes: u64| bytes.abs_diff(predicted) * 20 <= predicted;
        let mut bytes = u64::MAX;
        for _ in 0..RUNS {
            bytes = bytes.min(lab.run(name, (&[], &[]), &mut |_, _| {}).1);
            if close(bytes) {
                break;
            }
        }
        assert!(close(bytes), "{name}: {bytes} bytes, and {predicted} in the emulator");
        all.push(bytes);
    }
    assert!(all[1] * 10 < all[0] * 9, "the switch saves bytes: {all:?}");
}

#[test]
fn a_switch_that_is_killed_in_the_middle_changes_nothing() {
    let Some(lab) = Lab::new("job-hosts-killed") else { return };
    let mut is_killed = false;
    // Losses make it slow enough.
    let (report, _) = lab.run("long", (&["--loss", "5"], &[]), &mut |line, switch| {
        if line.starts_with("counts: 3 of") && !is_killed {
            is_killed = true;
            let _ = switch.0.kill();
            let _ = switch.0.wait();
            // Boot numbers are seconds.
            std::thread::sleep(Duration::from_millis(1100));
            *switch = lab.switch("long");
        }
    });
    assert!(is_killed && report["reducers"][0]["restarts"].as_u64().unwrap() >= 1, "{report}");
}

#[test]
fn pairs_travel_by_af_xdp() {
    let Some(lab) = Lab::new("job-hosts-xdp") else { return };
    let by = ["--xdp", "eth0"];
    let (report, _) = lab.run("switch", (&by, &by), &mut |_, _| {});
    assert!(report["reducers"][0]["read_from_slots"].as_u64().unwrap() > 0, "{report}");
}
