//! A job on hosts of its own: network namespaces at one `p4rack switch`, with real interfaces. Their counters agree with the emulator, with reduction
//! and without, and a switch that is killed and started again in the middle changes nothing. There are five; with `P4RACK_ALL`, twelve, too. Control connections
//! have a network of their own, a bridge. It needs permission to create network namespaces.

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

/// Words of each mapper, of the vocabulary for each mapper, and rounds of a job: a third of these without `P4RACK_ALL`.
const WORDS: u64 = 60_000;
const VOCABULARY: u64 = 5_000;
const ROUNDS: u64 = 12;

/// A third of a number without `P4RACK_ALL`.
fn short(number: u64) -> u64 {
    if features::is_long() { number } else { number / 3 }
}

/// The master's address for control connections. The emulator does not have them, and their bytes grow with the time that a job takes.
const CONTROL: &str = "10.1.0.1:9600";

/// No packet is sent again because a process had to wait for the processor.
const PATIENT: [&str; 2] = ["--wait", "5000"];

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

/// A host of the network.
#[derive(Clone)]
struct Place {
    name: String,
    address: String,
    card: String,
    /// Address in the network of control connections.
    control: String,
}

/// Hosts, and the files of the jobs.
struct Lab {
    place: PathBuf,
    hosts: Vec<Host>,
    /// By port of the switch from 1. The last one is the reducer's.
    places: Vec<Place>,
    /// Each number with its count.
    wanted: BTreeMap<String, u64>,
}

/// The hosts of so many mappers, and the master's.
fn places(mappers: usize) -> Vec<Place> {
    let place = |name: String, last: [usize; 2]| {
        let [high, low] = last;
        let (address, card) = (format!("10.0.{high}.{low}"), format!("02:00:0a:00:{high:02x}:{low:02x}"));
        Place { name, address, card, control: format!("10.1.{high}.{low}") }
    };
    let hosts = (1..=mappers).map(|at| place(format!("h{at}"), [1, at]));
    hosts.chain([place("master".into(), [0, 1])]).collect()
}

/// The network of the hosts, as a rack without jobs.
fn rack(places: &[Place]) -> String {
    let mut text = "[rack]\nname = \"lab\"\nseed = 1\n\n[device.tor]\nclass = \"switch\"\n".to_string();
    for (port, Place { name, address, card, .. }) in (1..).zip(places) {
        let _ = write!(text, "\n[host.{name}]\nmac = \"{card}\"\nip = \"{address}/16\"\n");
        let _ = write!(text, "\n[[link]]\nends = [\"{name}\", \"tor:{port}\"]\nrate = \"1Gbit/s\"\n");
    }
    text
}

/// The job. Keys are numbers, so no texts of keys travel beside the pairs. The windows of all mappers fit into every queue and socket.
fn job(mappers: usize, by: &str, rounds: u64) -> String {
    let mut text = String::new();
    for at in 1..=mappers {
        let _ = write!(text, "dataset d{at} = \"h{at}:{at}.txt\"\nmapper m{at} = words(d{at})\n");
    }
    let names: Vec<String> = (1..=mappers).map(|at| format!("m{at}")).collect();
    let _ = writeln!(
        text,
        "reducer counts = add({}, at = master, by = {by}, key = number, rows = 256, rounds = {rounds}, window = 16)",
        names.join(", ")
    );
    text
}

impl Lab {
    /// `None` where there may be no namespaces.
    fn new(name: &str, mappers: usize) -> Option<Lab> {
        if !enter() {
            return None;
        }
        let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).unwrap();
        let mut wanted = BTreeMap::new();
        let places = places(mappers);
        let vocabulary = short(VOCABULARY) * mappers as u64;
        for host in 1..=mappers {
            let mut state = host as u64;
            let mut text = String::new();
            for _ in 0..short(WORDS) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let number = (state >> 33) % vocabulary;
                let word = (number * number / vocabulary).to_string();
                text += &word;
                text += "\n";
                *wanted.entry(word).or_default() += 1;
            }
            std::fs::write(place.join(format!("{host}.txt")), text).unwrap();
        }
        std::fs::write(place.join("RACK.toml"), rack(&places)).unwrap();
        let rounds = short(ROUNDS);
        for (name, by, rounds) in
            [("switch", "switch", rounds), ("hosts", "hosts", 1), ("long", "switch", 4 * rounds)]
        {
            std::fs::write(place.join(format!("{name}.job")), job(mappers, by, rounds)).unwrap();
            let up = format!("{}\n[[job]]\nfile = \"{name}.job\"\npatience = \"10s\"\n", rack(&places));
            std::fs::write(place.join(format!("up-{name}.toml")), up).unwrap();
        }
        ip("link add control type bridge");
        ip("link set control up");
        let host = |(port, own): (usize, &Place)| {
            let host = Host::new(&format!("sw{port}"), &[&format!("{}/16", own.address)]);
            let outside = format!("control{port}");
            host.attach_as("eth1", &outside, &[&format!("{}/16", own.control)]);
            ip(&format!("link set {outside} master control"));
            let (own, places) = (own.clone(), places.clone());
            host.run(move || {
                ip(&format!("link set eth0 address {}", own.card));
                // The switch forwards IPv4 alone: no host can ask for a card.
                for Place { address, card, .. } in places.iter().filter(|other| other.name != own.name) {
                    ip(&format!("neighbour replace {address} lladdr {card} dev eth0"));
                }
            });
            host
        };
        let hosts = (1..).zip(&places).map(host).collect();
        Some(Lab { place, hosts, places, wanted })
    }

    /// Mappers; also the number of the master's host.
    fn mappers(&self) -> usize {
        self.places.len() - 1
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
        let ports: Vec<String> = (1..=self.places.len()).map(|port| format!("{port}@sw{port}")).collect();
        let file = format!("out-{name}/tor.toml");
        let mut args = vec!["switch", &file, "--grpc-server-addr", "127.0.0.1:0"];
        ports.iter().for_each(|port| args.extend(["-i", port.as_str()]));
        let log = std::fs::File::create(self.place.join(format!("{name}.log"))).unwrap();
        let mut command = command(&self.place, &args);
        Process(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap())
    }

    /// Bytes that the master's interface has received.
    fn received(&self) -> u64 {
        self.hosts[self.mappers()].run(|| {
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
        self.compile(name);
        let mut switch = self.switch(name);
        let mut on_line = |line: &str, switch: &mut Process| {
            on_line(line, switch);
            false
        };
        self.run_at(&mut switch, name, (master_args, worker_args), &mut on_line).expect("nobody ends it")
    }

    /// The files of a job's switch.
    fn compile(&self, name: &str) {
        let (file, out) = (format!("{name}.job"), format!("out-{name}"));
        let compiled = command(&self.place, &["job", "compile", &file, "-o", &out]).output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }

    /// The same at a switch that runs. If `is_over` says so, master and workers are killed, and there is no report.
    fn run_at(
        &self,
        switch: &mut Process,
        name: &str,
        (master_args, worker_args): (&[&str], &[&str]),
        is_over: &mut dyn FnMut(&str, &mut Process) -> bool,
    ) -> Option<(Value, u64)> {
        let (file, out) = (format!("{name}.job"), format!("out-{name}"));
        let before = self.received();
        let args =
            ["job", "run", &file, "-o", &out, "--listen", CONTROL, "--patience", "120", "--format", "json"];
        let mut master = Process(self.spawn(self.mappers(), &[&args, master_args].concat()));
        let mut workers = vec![];
        let mut said = String::new();
        let last = format!("start on h{}", self.mappers());
        for line in BufReader::new(master.0.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            // It listens.
            if line.starts_with(&last) {
                for host in 0..self.mappers() {
                    let mapper = format!("m{}", host + 1);
                    let args = ["job", "worker", &mapper, "--master", CONTROL];
                    workers.push(Process(self.spawn(host, &[&args, worker_args].concat())));
                }
            }
            if is_over(&line, switch) {
                return None;
            }
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
        Some((serde_json::from_str(&answer).unwrap(), bytes))
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

fn counters_agree(name: &str, mappers: usize) {
    let Some(lab) = Lab::new(name, mappers) else { return };
    let mut all = vec![];
    for name in ["hosts", "switch"] {
        let predicted = lab.predicted(name);
        // Counters of interfaces have Ethernet's headers and no checksums, as the emulator's.
        let close = |bytes: u64| bytes.abs_diff(predicted) * 20 <= predicted;
        let bytes = lab.run(name, (&PATIENT, &[]), &mut |_, _| {}).1;
        println!("{mappers} mappers, by {name}: {bytes} bytes, {predicted} in the emulator");
        assert!(close(bytes), "{name}: {bytes} bytes, and {predicted} in the emulator");
        all.push(bytes);
    }
    assert!(all[1] * 10 < all[0] * 9, "the switch saves bytes: {all:?}");
}

#[test]
fn counters_of_interfaces_agree_with_the_emulator_with_and_without_reduction() {
    counters_agree("job-hosts", 4);
}

#[test]
fn counters_of_twelve_hosts_agree_with_the_emulator() {
    if features::is_long() {
        counters_agree("job-hosts-twelve", 11);
    }
}

#[test]
fn a_switch_that_is_killed_in_the_middle_changes_nothing() {
    let Some(lab) = Lab::new("job-hosts-killed", 4) else { return };
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

/// Runs that were killed, runs that ended well, and runs with other rounds leave nothing that a later one would notice.
#[test]
fn a_job_runs_again_at_a_switch_that_keeps_running() {
    let Some(lab) = Lab::new("job-hosts-again", 4) else { return };
    ["long", "switch"].into_iter().for_each(|name| lab.compile(name));
    let mut switch = lab.switch("long");
    let lossy: (&[&str], &[&str]) = (&["--loss", "5"], &[]);
    for (name, killed_at) in
        [("long", Some("counts: 6 of")), ("switch", Some("counts: 1 of")), ("long", None), ("switch", None)]
    {
        let mut is_over = |line: &str, _: &mut Process| killed_at.is_some_and(|at| line.starts_with(at));
        let report = lab.run_at(&mut switch, name, lossy, &mut is_over);
        assert_eq!(report.is_none(), killed_at.is_some(), "{name}, {killed_at:?}");
        if let Some((report, _)) = report {
            let reducer = &report["reducers"][0];
            assert_eq!(reducer["restarts"], 0, "{report}");
            assert!(reducer["read_from_slots"].as_u64().unwrap() > 0, "{report}");
        }
    }
}

#[test]
fn pairs_travel_by_af_xdp() {
    let Some(lab) = Lab::new("job-hosts-xdp", 4) else { return };
    let by = ["--xdp", "eth0"];
    let (report, _) = lab.run("switch", (&by, &by), &mut |_, _| {});
    assert!(report["reducers"][0]["read_from_slots"].as_u64().unwrap() > 0, "{report}");
}
