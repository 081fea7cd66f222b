//! Handlers in C of racks: in one process, and on a group of agents.

use crate::nat::{Flow, PUBLIC, UDP, back, flow, packet};
use crate::setup::{PATIENCE, Switch, free_tcp, free_udp, text};
use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn example(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/snat").join(file);
    path.display().to_string()
}

/// The hosts of the example.
struct Hosts {
    client: UdpSocket,
    net: UdpSocket,
    /// The switch's ports.
    ports: [String; 2],
}

impl Hosts {
    fn new() -> Hosts {
        let [client, net] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let here = [free_udp(), free_udp()];
        let port = |number: usize, socket: &UdpSocket| {
            socket.connect(here[number - 1]).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            format!("{number}@udp:{},{}", here[number - 1], socket.local_addr().unwrap())
        };
        let ports = [port(1, &client), port(2, &net)];
        Hosts { client, net, ports }
    }

    /// Sends until a frame of the wanted flow comes; a frame may come before its device has a program, and so frames sent before may still come.
    fn pass(from: &UdpSocket, to: &UdpSocket, of: Flow, is_it: impl Fn(Flow) -> bool) -> Flow {
        let (begun, mut frame) = (Instant::now(), [0; 2000]);
        loop {
            from.send(&packet(of, b"hello", true)).unwrap();
            while let Ok(length) = to.recv(&mut frame) {
                let came = flow(&frame[..length]);
                if is_it(came) {
                    return came;
                }
            }
            assert!(begun.elapsed() < PATIENCE, "{of:?} does not arrive");
        }
    }

    /// A packet to a port of the far end, and one back.
    fn translate(&self, far: u16) -> Flow {
        let inside = Flow { protocol: UDP, src: (0x0a00_0001, 40_000), dst: (0xcb00_7102, far) };
        let outside = Hosts::pass(&self.client, &self.net, inside, |came| came.dst == inside.dst);
        assert_eq!(outside.src.0, PUBLIC);
        Hosts::pass(&self.net, &self.client, back(outside), |came| came == back(inside));
        outside
    }
}

#[test]
fn a_rack_in_one_process_runs_its_handlers() {
    let hosts = Hosts::new();
    let [client, net] = &hosts.ports;
    let args = [&example("RACK.toml"), "--grpc-server-addr", "127.0.0.1:0", "-i", client, "-i", net];
    let _rack = Switch::start(&args);
    let first = hosts.translate(53);
    assert_ne!(hosts.translate(54).src, first.src);
    assert_eq!(hosts.translate(53), first, "the mapping is kept");
}

/// A handler's crash is reported when it happens, and the next packet is handled.
#[test]
fn a_switch_reports_calls_that_fail() {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("crashing-handler");
    std::fs::create_dir_all(&place).unwrap();
    let source = std::fs::read_to_string(example("snat.c")).unwrap();
    let begins = "int snat(p4r_ctx *ctx, const snat_request_t *q, snat_response_t *r) {\n";
    let crash = "    if (snat_request_t_peer_port(q) == 99) __builtin_trap();\n";
    assert!(source.contains(begins));
    std::fs::write(place.join("snat.c"), source.replace(begins, &format!("{begins}{crash}"))).unwrap();
    let hosts = Hosts::new();
    let [client, net] = &hosts.ports;
    let source = place.join("snat.c").display().to_string();
    let args = [&example("snat.p4"), "--grpc-server-addr", "127.0.0.1:0", "--handlers", &source];
    let switch = Switch::start(&[&args[..], &["-i", client, "-i", net]].concat());
    hosts.translate(53);
    let wrong = Flow { protocol: UDP, src: (0x0a00_0001, 40_000), dst: (0xcb00_7102, 99) };
    hosts.client.send(&packet(wrong, b"hello", true)).unwrap();
    let line = switch.reports("P4R1407");
    assert!(line.contains("handler `snat`: signal 4") && line.contains("peer_port = 0x63"), "{line}");
    hosts.translate(54);
    // A second crash ends the flow.
    hosts.client.send(&packet(wrong, b"hello", true)).unwrap();
    let line = switch.reports("P4R1407");
    assert!(line.ends_with("; later packets of its flow are not handled"), "{line}");
}

/// An agent of each device of the example's group, and their controller.
struct Group {
    agents: Vec<Switch>,
    controller: Switch,
}

impl Group {
    fn new(hosts: &Hosts) -> Group {
        Group::of(hosts, &example("group.toml"), &example("snat.c"))
    }

    /// A group of another rack with the same devices, and its handler.
    fn of(hosts: &Hosts, rack: &str, source: &str) -> Group {
        let inner: Vec<[SocketAddr; 2]> = (0..3).map(|_| [free_udp(), free_udp()]).collect();
        let of_tor = (3..).zip(&inner).map(|(port, [here, there])| format!("{port}@udp:{here},{there}"));
        let of_tor: Vec<String> = hosts.ports.iter().cloned().chain(of_tor).collect();
        let of_servers = inner.iter().map(|[here, there]| vec![format!("1@udp:{there},{here}")]);
        let agent = |ports: Vec<String>| {
            // One that starts again is found there.
            let address = free_tcp();
            let mut args = vec!["--grpc-server-addr", &address, "--handlers", source];
            args.extend(ports.iter().flat_map(|port| ["-i", port]));
            Switch::start(&args)
        };
        let agents: Vec<Switch> = std::iter::once(of_tor).chain(of_servers).map(agent).collect();
        let named: Vec<String> = ["tor", "s1", "s2", "s3"]
            .iter()
            .zip(&agents)
            .map(|(name, one)| format!("{name}={}", one.address))
            .collect();
        let mut args = vec![rack, "--grpc-server-addr", "127.0.0.1:0"];
        args.extend(named.iter().flat_map(|agent| ["--agent", agent]));
        Group { controller: Switch::start(&args), agents }
    }

    fn ctl(&self, change: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        command.args(["ctl", "--addr", &self.controller.address, "group", "nat"]).args(change);
        crate::setup::secret(&mut command).output().unwrap()
    }

    /// Leased blocks of each server.
    fn blocks(&self) -> Vec<u64> {
        let shown = text(&self.ctl(&[]));
        let blocks = |line: &str| line.split(" blocks").next()?.split_whitespace().last()?.parse().ok();
        shown.lines().skip(1).filter_map(blocks).collect()
    }

    /// Waits until the group has this state.
    fn wait(&self, wanted: &str) {
        let begun = Instant::now();
        loop {
            let shown = self.ctl(&[]);
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            let words: Vec<&str> = shown.split_whitespace().collect();
            if words.join(" ").contains(wanted) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{shown}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_group_of_agents_runs_a_handler_and_changes() {
    let hosts = Hosts::new();
    let group = Group::new(&hosts);
    let before: Vec<Flow> = (1..=12).map(|far| hosts.translate(far)).collect();
    group.wait("nat at tor: steady, 0 changes");
    text(&group.ctl(&["add", "s3"]));
    group.wait("s3 member");
    text(&group.ctl(&["remove", "s1"]));
    group.wait("s1 leaving weight 1 0 buckets");
    let after: Vec<Flow> = (1..=12).map(|far| hosts.translate(far)).collect();
    assert_eq!(after, before, "every mapping is where it was");
    let refused = group.ctl(&["remove", "tor"]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && why.contains("`tor` is no server of group `nat`"), "{why}");
}

/// The leases of a group end with its switch: servers forget what they knew, and get their blocks anew, moved ones too.
#[test]
fn a_switch_that_restarts_leases_blocks_again() {
    let hosts = Hosts::new();
    let mut group = Group::new(&hosts);
    hosts.translate(1);
    group.wait("nat at tor: steady, 0 changes");
    let [first, second, 0] = group.blocks()[..] else { panic!("{:?}", group.blocks()) };
    assert!(first.min(second) >= 341 && first + second == 1023, "{first} and {second} blocks");
    // Blocks of the third server move to it, and those of the first are still its own.
    text(&group.ctl(&["add", "s3"]));
    group.wait("nat at tor: steady, 1 changes");
    for far in 2..=12 {
        hosts.translate(far);
    }
    let third = group.blocks()[2];
    assert!((339..=341).contains(&third), "{third} blocks");
    let tor = &mut group.agents[0];
    tor.process.kill().unwrap();
    tor.process.wait().unwrap();
    tor.restart();
    // A packet passes once the switch has its program again; its server may still have leases of before, and forgets them before the group is steady.
    hosts.translate(13);
    group.wait("nat at tor: steady");
    let mut ports = BTreeSet::new();
    for far in 1..=12 {
        let public = hosts.translate(far);
        assert!(ports.insert(public.src.1), "{public:?}");
        assert_eq!(hosts.translate(far), public, "the mapping is kept");
    }
}

#[test]
fn an_agent_without_the_handler_says_what_is_missing() {
    let agents: Vec<Switch> = (0..2).map(|_| Switch::start(&["--grpc-server-addr", "127.0.0.1:0"])).collect();
    let rack = example("RACK.toml");
    let [tor, nat] =
        ["tor", "nat"].map(|name| format!("{name}={}", agents[usize::from(name == "nat")].address));
    let args = ["switch", &rack, "--grpc-server-addr", "127.0.0.1:0", "--agent", &tor, "--agent", &nat];
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    let ended = crate::setup::secret(command.args(args)).output().unwrap();
    let why = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success(), "{why}");
    assert!(
        why.contains("the handler `snat` is not on this device: start it with `--handlers FILE.c`"),
        "{why}"
    );
    let source = PathBuf::from(example("snat.c")).display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    let ended = command.args(["switch", &rack, "--handlers", &source]).output().unwrap();
    let why = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && why.contains("a RACK.toml names its own"), "{why}");
}

/// A group whose handler looks up a table with hot entries; a second is between two reports of the switch.
fn hot() -> PathBuf {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hot-entries");
    std::fs::create_dir_all(&place).unwrap();
    let program = include_str!("../../../p4rack/tests/support/look.p4").replace("\"2ms\"", "\"1s\"");
    std::fs::write(place.join("look.p4"), program).unwrap();
    std::fs::write(place.join("look.c"), include_str!("../../../p4rack/tests/support/look.c")).unwrap();
    // The mark is the port that packets have: their checksums stay right. A packet without an entry is dropped.
    let entry = |port: u16| format!("[[table.t]]\nkey = [{port}]\naction = \"mark\"\nargs = [40000]\n");
    std::fs::write(place.join("entries.toml"), (7000..7003).map(entry).collect::<String>()).unwrap();
    let rack = std::fs::read_to_string(example("group.toml")).unwrap();
    let rack = rack
        .replace("\"snat.p4\"", "\"look.p4\"\nentries = \"entries.toml\"")
        .replace("snat.c", "look.c")
        .replace("{ snat =", "{ look =")
        .replace("idle = \"130s\"", "variant = \"pin\"");
    std::fs::write(place.join("RACK.toml"), rack).unwrap();
    place
}

/// The entry with many packets comes to the switch, which then needs no server for them, and goes back when no packet looks it up.
#[test]
fn a_busy_entry_comes_to_the_switch_of_a_group() {
    let (hosts, place) = (Hosts::new(), hot());
    let file = |name: &str| place.join(name).display().to_string();
    let group = Group::of(&hosts, &file("RACK.toml"), &file("look.c"));
    let inside = |port: u16| Flow { protocol: UDP, src: (0x0a00_0001, 40_000), dst: (0xcb00_7102, port) };
    let pass = |port: u16| {
        Hosts::pass(&hosts.client, &hosts.net, inside(port), |came| came == inside(port));
    };
    let resident = || {
        let shown = text(&crate::setup::ctl(&group.controller.address, &["show", "--json"]));
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown["pinnedApps"][0]["resident"].as_str().map_or(0, |count| count.parse::<u64>().unwrap())
    };
    let wait = |wanted: u64, port: Option<u16>| {
        let begun = Instant::now();
        while resident() != wanted {
            port.map_or_else(|| std::thread::sleep(Duration::from_millis(50)), pass);
            assert!(begun.elapsed() < PATIENCE, "{}", resident());
        }
    };
    (7000..7003).for_each(pass);
    wait(1, Some(7001));
    let handed_over = || {
        let shown = text(&crate::setup::ctl(&group.agents[0].address, &["show", "--json"]));
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let metrics = shown["metrics"].as_array().unwrap().iter();
        let of = metrics.filter(|one| {
            one["name"] == "port_frames_sent_total"
                && ["3", "4", "5"].iter().any(|port| one["labels"]["port"] == *port)
        });
        of.filter_map(|one| one["value"].as_str()?.parse::<u64>().ok()).sum::<u64>()
    };
    let begun = Instant::now();
    loop {
        let before = handed_over();
        pass(7001);
        if handed_over() == before {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "servers have its packets");
    }
    wait(0, None);
    (7000..7003).for_each(pass);
}
