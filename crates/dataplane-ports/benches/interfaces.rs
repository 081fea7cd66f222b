//! Ports on veth pairs beside what else forwards frames here, in one run: `cargo bench -p dataplane-ports --bench interfaces`;
//! `-- SECONDS NAME ...` says how long each is measured (2), and which. Needs root; iperf3, ping and Open vSwitch are measured where they are installed.
//!
//! ```text
//! host 1, eth0 ── sw1 │ what is measured │ sw2 ── eth0, host 2
//! ```
//!
//! One thread sends as fast as it can. A share of the sender's rate is what a contestant takes; the first one, an XDP program that drops all frames, is what nothing is
//! faster than. Processor time of the thread that forwards is counted, too: on a busy machine packets a second of it say more than packets a second.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

#[path = "../tests/interfaces/net.rs"]
mod net;

use base_diag::SourceMap;
use dataplane_ports::{Lanes, Path, PortSpec};
use device::Options;
use linux_net::packet::{Sender, Work};
use linux_net::xdp::Dropping;
use net::{Host, enter, ip};
use p4_arch::Texts;
use std::fs;
use std::io::IoSlice;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use target_native::Shared;

fn wire() -> Path {
    let (texts, options) =
        ([("wire.p4", include_str!("../tests/interfaces/wire.p4"))], p4_syntax::Options::default());
    let program = ir_elaborate::program("wire.p4", &Texts(&texts), &options, &mut SourceMap::new()).unwrap();
    Path::new(Shared::new(&program, Options::default()).unwrap(), None)
}

/// Contestants that forward frames; stopped when dropped.
enum Contestant {
    Nothing,
    Dropping(#[allow(dead_code)] Dropping),
    Ours(#[allow(dead_code)] Box<Lanes>),
    Bridge,
    OpenVSwitch(Vec<Child>, String),
}

impl Drop for Contestant {
    fn drop(&mut self) {
        match self {
            Contestant::Bridge => ip("link delete br0"),
            Contestant::OpenVSwitch(children, folder) => {
                children.iter_mut().for_each(|child| drop(child.kill().and_then(|()| child.wait())));
                let _ = fs::remove_dir_all(folder);
            }
            _ => {}
        }
    }
}

/// Starts one; `None` if it is not installed.
fn start(name: &str) -> Option<Contestant> {
    let ours = |kind: &str| {
        let specs: Vec<PortSpec> =
            ["1@K:sw1", "2@K:sw2"].iter().map(|spec| spec.replace('K', kind).parse().unwrap()).collect();
        let lanes = Lanes::open(&specs, vec![], 1, 1 << 14, Instant::now()).unwrap();
        lanes.set(Some(&wire()), |_| ());
        Contestant::Ours(Box::new(lanes))
    };
    Some(match name {
        "XDP, drops all" => {
            let index = linux_net::find("sw1").unwrap().unwrap().index;
            Contestant::Dropping(Dropping::at(index).unwrap())
        }
        "p4rack packet:" => ours("packet"),
        "p4rack afxdp:" => ours("afxdp"),
        "Linux bridge" => {
            ip("link add name br0 type bridge");
            ip("link set br0 up");
            ip("link set sw1 master br0");
            ip("link set sw2 master br0");
            Contestant::Bridge
        }
        "Open vSwitch (userspace)" => return open_vswitch(),
        _ => Contestant::Nothing,
    })
}

/// Open vSwitch with its userspace datapath and a separate database.
fn open_vswitch() -> Option<Contestant> {
    let folder = format!("/tmp/ovs-{}", std::process::id());
    fs::create_dir_all(&folder).unwrap();
    let (database, socket) = (format!("{folder}/db"), format!("unix:{folder}/db.sock"));
    let quiet = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("OVS_RUNDIR", &folder).env("OVS_DBDIR", &folder).env("OVS_LOGDIR", &folder);
        command
    };
    let schema = "/usr/share/openvswitch/vswitch.ovsschema";
    quiet("ovsdb-tool", &["create", &database, schema]).status().ok().filter(|status| status.success())?;
    let remote = format!("--remote=p{socket}");
    let mut children = vec![quiet("ovsdb-server", &[&database, &remote]).spawn().ok()?];
    std::thread::sleep(Duration::from_millis(500));
    let set = |arguments: &[&str]| {
        let database = format!("--db={socket}");
        let all: Vec<&str> = [&database, "--no-wait"].into_iter().chain(arguments.iter().copied()).collect();
        quiet("ovs-vsctl", &all).status().is_ok_and(|status| status.success())
    };
    set(&["init"]);
    children.push(quiet("ovs-vswitchd", &[&socket]).spawn().ok()?);
    set(&["add-br", "ovs0", "--", "set", "bridge", "ovs0", "datapath_type=netdev"]);
    set(&["add-port", "ovs0", "sw1"]);
    set(&["add-port", "ovs0", "sw2"]);
    std::thread::sleep(Duration::from_secs(2));
    Some(Contestant::OpenVSwitch(children, folder))
}

/// Frames received on an interface of the thread's namespace.
fn came(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{name}:"))).unwrap();
    line.split_once(':').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Seconds of processor time of the threads with this name.
fn busy(thread: &str) -> f64 {
    let mut ticks = 0;
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let text = fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default();
        if let Some((name, rest)) = text.rsplit_once(')')
            && name.ends_with(&format!("({thread}"))
        {
            let fields: Vec<u64> =
                rest.split_whitespace().skip(11).take(2).map(|n| n.parse().unwrap()).collect();
            ticks += fields.iter().sum::<u64>();
        }
    }
    ticks as f64 / 100.0
}

struct Rate {
    offered: f64,
    taken: f64,
    busy: f64,
}

/// Frames a second that are offered, and that arrive.
fn rate(one: &Host, other: &Host, is_dropped: bool, bytes: usize, time: Duration) -> Rate {
    let ends = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&ends);
    let sending = one.spawn(move || {
        let sender = Sender::open(linux_net::find("eth0").unwrap().unwrap().index).unwrap();
        let frames: Vec<Vec<u8>> = (0..64u8)
            .map(|flow| {
                let mut frame =
                    [&[2, 0, 0, 0, 0, 2], &[2, 0, 0, 0, 0, 1], [0x88, 0xb5, flow].as_slice()].concat();
                frame.resize(bytes, 0);
                frame
            })
            .collect();
        let pieces: Vec<IoSlice> =
            frames.iter().flat_map(|frame| [Work::NONE.piece(), IoSlice::new(frame)]).collect();
        let ends: Vec<usize> = (1..=frames.len()).map(|end| 2 * end).collect();
        let mut sent = 0;
        while !is_over.load(Ordering::Relaxed) {
            sent += sender.send(&pieces, &ends).unwrap_or(0) as u64;
        }
        sent
    });
    let count = || if is_dropped { came("sw1") } else { other.run(|| came("eth0")) };
    std::thread::sleep(Duration::from_millis(200));
    let (start, before, busy_before) = (Instant::now(), count(), busy("lane"));
    std::thread::sleep(time);
    let (taken, busy, seconds) =
        (count() - before, busy("lane") - busy_before, start.elapsed().as_secs_f64());
    ends.store(true, Ordering::Relaxed);
    let offered = sending.recv().unwrap() as f64 / (seconds + 0.2);
    Rate { offered, taken: taken as f64 / seconds, busy: taken as f64 / busy.max(0.01) }
}

/// Gbit/s of one stream of TCP.
fn tcp(one: &Host, other: &Host, time: Duration) -> Option<f64> {
    let mut server = other.run(|| {
        Command::new("iperf3").args(["-s", "-1"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
    })?;
    std::thread::sleep(Duration::from_millis(300));
    let seconds = time.as_secs().max(1).to_string();
    let out =
        one.run(move || Command::new("iperf3").args(["-c", "10.0.0.2", "-J", "-t", &seconds]).output().ok())?;
    let _ = server.kill().and_then(|()| server.wait());
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let received = text.split("\"sum_received\"").nth(1)?.split("\"bits_per_second\":").nth(1)?;
    let bits: f64 = received.split([',', '}', '\n']).next()?.trim().parse().ok()?;
    Some(bits / 1e9)
}

/// Microseconds of a round trip: the median.
fn ping(one: &Host) -> Option<f64> {
    let out =
        one.run(|| Command::new("ping").args(["-c", "300", "-i", "0.002", "10.0.0.2"]).output().ok())?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let times =
        text.lines().filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse::<f64>().ok());
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).map(|time| time * 1000.0)
}

fn main() {
    if !enter() {
        return;
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let seconds: f64 = words.iter().find_map(|word| word.parse().ok()).unwrap_or(2.0);
    let time = Duration::from_secs_f64(seconds);
    let chosen: Vec<&String> = words.iter().filter(|word| word.parse::<f64>().is_err()).collect();
    let all =
        ["XDP, drops all", "Linux bridge", "Open vSwitch (userspace)", "p4rack packet:", "p4rack afxdp:"];
    println!(
        "{:<26}{:>9}{:>9}{:>8}{:>12}{:>9}{:>9}{:>10}{:>9}",
        "", "64 B", "offered", "share", "per CPU s", "1500 B", "offered", "TCP", "ping"
    );
    println!(
        "{:<26}{:>9}{:>9}{:>8}{:>12}{:>9}{:>9}{:>10}{:>9}",
        "", "Mpps", "Mpps", "", "Mpps", "Mpps", "Mpps", "Gbit/s", "us"
    );
    for name in
        all.iter().filter(|name| chosen.is_empty() || chosen.iter().any(|word| name.contains(word.as_str())))
    {
        let one = Host::new("sw1", &["10.0.0.1/24"]);
        let other = Host::new("sw2", &["10.0.0.2/24"]);
        other.run(|| ip("link set eth0 promisc on"));
        let Some(_contestant) = start(name) else {
            println!("{name:<26} is not installed");
            continue;
        };
        let is_dropped = name.starts_with("XDP");
        std::thread::sleep(Duration::from_millis(500));
        let (small, large) =
            (rate(&one, &other, is_dropped, 64, time), rate(&one, &other, is_dropped, 1514, time));
        let number = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.2}"));
        let (tcp, ping) = if is_dropped { (None, None) } else { (tcp(&one, &other, time), ping(&one)) };
        let own = name.starts_with("p4rack").then_some(small.busy / 1e6);
        println!(
            "{name:<26}{:>9.3}{:>9.3}{:>8.2}{:>12}{:>9.3}{:>9.3}{:>10}{:>9}",
            small.taken / 1e6,
            small.offered / 1e6,
            small.taken / small.offered,
            number(own),
            large.taken / 1e6,
            large.offered / 1e6,
            number(tcp),
            number(ping),
        );
    }
}
