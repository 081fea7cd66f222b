//! Linux interfaces as ports, in network namespaces: offloads are executed, no frame is received twice, and interfaces may be removed and created again.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod net;

use base_diag::SourceMap;
use dataplane_ports::{Cable, Lanes, Passed, Path, PortSpec, cable};
use device::Options;
use linux_net::packet::{Sender, Work};
use net::{Host, enter, ip};
use nix::sys::socket::{setsockopt, sockopt::UdpGsoSegment};
use p4_arch::Texts;
use std::io::{IoSlice, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};
use target_native::Shared;

/// Port 1 to port 2 and back, without frames longer than 1518 bytes.
fn wire() -> Path {
    let (texts, options) = ([("wire.p4", include_str!("wire.p4"))], p4_syntax::Options::default());
    let program = ir_elaborate::program("wire.p4", &Texts(&texts), &options, &mut SourceMap::new()).unwrap();
    Path::new(Shared::new(&program, Options::default()).unwrap(), None)
}

fn switch(specs: &[&str], cables: Vec<(u32, Cable)>) -> Lanes {
    let specs: Vec<PortSpec> = specs.iter().map(|spec| spec.parse().unwrap()).collect();
    let lanes = Lanes::open(&specs, cables, 1, 1 << 14, Instant::now()).unwrap();
    lanes.set(Some(&wire()), |_| ());
    lanes
}

/// Waits until it is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "not after 30 s: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn losses(lanes: &Lanes) -> Vec<(u32, &'static str, u64)> {
    lanes.ports().losses().collect()
}

/// The kind of port that is tested.
const KINDS: [&str; 2] = ["packet", "afxdp"];

/// Two hosts and a switch between them.
fn hosts(kind: &str) -> (Host, Host, Lanes) {
    let one = Host::new("sw1", &["10.0.0.1/24", "fd00::1/64"]);
    let other = Host::new("sw2", &["10.0.0.2/24", "fd00::2/64"]);
    let lanes = switch(&[&format!("1@{kind}:sw1"), &format!("2@{kind}:sw2")], vec![]);
    (one, other, lanes)
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn a_stream_of_tcp_passes_in_frames_of_at_most_the_mtu() {
    if !enter() {
        return;
    }
    const BYTES: usize = 4 << 20;
    for kind in KINDS {
        let (one, other, lanes) = hosts(kind);
        for address in ["10.0.0.2", "fd00::2"] {
            let address: IpAddr = address.parse().unwrap();
            let (listener, port) = other.run(move || {
                let listener = TcpListener::bind((address, 0)).unwrap();
                let port = listener.local_addr().unwrap().port();
                (listener, port)
            });
            // Sockets stay in the namespace that they were made in.
            let mut sender = one.run(move || TcpStream::connect((address, port)).unwrap());
            let mut receiver = listener.accept().unwrap().0;
            let sending = std::thread::spawn(move || {
                sender.write_all(&pattern(BYTES)).unwrap();
                sender.shutdown(Shutdown::Write).unwrap();
            });
            let mut got = vec![];
            receiver.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            receiver.read_to_end(&mut got).unwrap();
            sending.join().unwrap();
            assert!(got == pattern(BYTES), "{} of {BYTES} bytes", got.len());
        }
        // The program drops frames that are too long; segments have at most 1460 bytes.
        assert!(lanes.counts()[&1].received > 2 * BYTES as u64 / 1460);
        assert_eq!(losses(&lanes).iter().filter(|(_, why, _)| *why != "receive ring full").count(), 0);
    }
}

#[test]
fn large_sends_of_udp_are_cut() {
    if !enter() {
        return;
    }
    let (one, other, _lanes) = hosts("packet");
    for (from, to) in [("10.0.0.1:0", "10.0.0.2:7000"), ("[fd00::1]:0", "[fd00::2]:7000")] {
        let receiver = other.run(move || UdpSocket::bind(to).unwrap());
        let sender = one.run(move || UdpSocket::bind(from).unwrap());
        sender.connect(to).unwrap();
        setsockopt(&sender, UdpGsoSegment, &1000).unwrap();
        sender.send(&pattern(20_500)).unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut datagrams = vec![];
        let mut buffer = [0; 2000];
        while datagrams.len() < 21 {
            let length = receiver.recv(&mut buffer).unwrap();
            datagrams.push(buffer[..length].to_vec());
        }
        assert_eq!(datagrams.concat(), pattern(20_500));
        assert!(datagrams[..20].iter().all(|datagram| datagram.len() == 1000));
    }
}

/// An interface at port 1, and a cable at port 2.
fn beside_a_cable(addresses: &[&str]) -> (Host, Cable, Lanes) {
    beside_a_cable_by("packet", addresses)
}

fn beside_a_cable_by(kind: &str, addresses: &[&str]) -> (Host, Cable, Lanes) {
    let host = Host::new("sw1", addresses);
    let (inside, outside) = cable(1 << 12);
    (host, outside, switch(&[&format!("1@{kind}:sw1")], vec![(2, inside)]))
}

/// True for frames to an address that does not exist.
fn is_for_nobody(frame: &[u8]) -> bool {
    frame.starts_with(&[2, 0, 0, 0, 0, 9])
}

fn received(cable: &mut Cable, what: &str, is_it: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut found = None;
    until(what, || {
        found = std::iter::from_fn(|| cable.receive()).find(|frame| is_it(frame));
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_tag_that_the_kernel_has_taken_off_is_put_back() {
    if !enter() {
        return;
    }
    let (host, mut cable, _lanes) = beside_a_cable(&[]);
    for tag in [[0x81, 0, 0x20, 7], [0x88, 0xa8, 0, 9]] {
        let mut frame = [&[2, 0, 0, 0, 0, 9], &[2; 6], tag.as_slice(), &[0x88, 0xb5]].concat();
        frame.extend(pattern(100));
        let sent = frame.clone();
        host.run(move || {
            let sender = Sender::open(linux_net::find("eth0").unwrap().unwrap().index).unwrap();
            assert_eq!(sender.send(&[Work::NONE.piece(), IoSlice::new(&sent)], &[2]).unwrap(), 1);
        });
        assert_eq!(received(&mut cable, "a frame with a tag", is_for_nobody), frame);
    }
}

#[test]
fn a_partial_checksum_is_completed() {
    if !enter() {
        return;
    }
    for kind in KINDS {
        let (host, mut cable, _lanes) = beside_a_cable_by(kind, &["10.0.0.1/24"]);
        host.run(|| {
            ip("neighbour add 10.0.0.2 lladdr 02:00:00:00:00:09 dev eth0");
            UdpSocket::bind("10.0.0.1:0").unwrap().send_to(&pattern(100), "10.0.0.2:9").unwrap();
        });
        let frame = received(&mut cable, "a datagram", is_for_nobody);
        assert_eq!(frame[14 + 28..], pattern(100));
        let covered = [&frame[26..34], &[0, 17, 0, 108], &frame[34..]].concat();
        let sum: u32 = covered.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!(sum % 0xffff, 0);
    }
}

#[test]
fn what_is_sent_by_an_interface_does_not_come_in_by_it() {
    if !enter() {
        return;
    }
    let (host, mut cable, lanes) = beside_a_cable(&[]);
    let mut frame = [&[0xff; 6], &[2; 6], [0x88, 0xb5].as_slice()].concat();
    frame.resize(100, 7);
    for _ in 0..100 {
        assert!(cable.send(&frame));
    }
    until("all are sent", || lanes.counts().get(&2).is_some_and(|count| count.received == 100));
    // Wait until a later frame has arrived.
    host.run(|| {
        ip("address add 10.0.0.1/24 dev eth0");
        ip("neighbour add 10.0.0.2 lladdr 02:00:00:00:00:09 dev eth0");
        UdpSocket::bind("10.0.0.1:0").unwrap().send_to(&[1], "10.0.0.2:9").unwrap();
    });
    let mut came = vec![];
    until("a datagram", || {
        came.extend(std::iter::from_fn(|| cable.receive()));
        came.iter().any(|frame| is_for_nobody(frame))
    });
    assert!(!came.contains(&frame));
    assert_eq!(losses(&lanes), []);
}

#[test]
fn frames_longer_than_the_mtu_are_counted() {
    if !enter() {
        return;
    }
    let mut frame = [&[0xff; 6], &[2; 6], [0x88, 0xb5].as_slice()].concat();
    frame.resize(1400, 7);
    for kind in KINDS {
        let (_host, mut cable, lanes) = beside_a_cable_by(kind, &[]);
        ip("link set sw1 mtu 1000");
        // The port learns of its MTU a little later.
        until("it is counted", || {
            assert!(cable.send(&frame));
            losses(&lanes).iter().any(|(port, why, _)| (*port, *why) == (1, "longer than the MTU"))
        });
    }
}

#[test]
fn an_interface_that_goes_and_comes_back_is_used_again() {
    if !enter() {
        return;
    }
    let (host, mut cable, lanes) = beside_a_cable(&["10.0.0.1/24"]);
    let wait_for = |port: u32, is_up: bool| {
        until("the owner is told", || lanes.passed().try_iter().any(|one| one == Passed::Link(port, is_up)));
        assert_eq!(lanes.links()[&port], is_up);
    };
    let sends = |host: &Host| {
        host.run(|| {
            ip("neighbour replace 10.0.0.2 lladdr 02:00:00:00:00:09 dev eth0");
            UdpSocket::bind("10.0.0.1:0").unwrap().send_to(&[1], "10.0.0.2:9").unwrap();
        });
    };
    sends(&host);
    received(&mut cable, "a datagram", is_for_nobody);
    host.run(|| ip("link set eth0 down"));
    wait_for(1, false);
    host.run(|| ip("link set eth0 up"));
    wait_for(1, true);
    ip("link delete sw1");
    wait_for(1, false);
    let mut frame = [&[0xff; 6], &[2; 6], [0x88, 0xb5].as_slice()].concat();
    frame.resize(60, 0);
    assert!(cable.send(&frame));
    until("it is counted", || losses(&lanes) == [(1, "interface down", 1)]);
    host.attach("sw1", &["10.0.0.1/24"]);
    wait_for(1, true);
    sends(&host);
    received(&mut cable, "a datagram after it has come back", is_for_nobody);
    assert!(cable.send(&frame));
    until("it is sent", || lanes.counts()[&1].sent >= 1 && losses(&lanes) == [(1, "interface down", 1)]);
}

#[test]
fn ports_come_and_go_while_frames_pass() {
    if !enter() {
        return;
    }
    let (host, mut cable, mut lanes) = beside_a_cable(&["10.0.0.1/24"]);
    host.run(|| ip("neighbour replace 10.0.0.2 lladdr 02:00:00:00:00:09 dev eth0"));
    let send = |host: &Host| {
        host.run(|| UdpSocket::bind("10.0.0.1:0").unwrap().send_to(&[1], "10.0.0.2:9").unwrap());
    };
    send(&host);
    received(&mut cable, "a datagram", is_for_nobody);
    lanes.remove(1).unwrap();
    assert_eq!(lanes.remove(1).unwrap_err().to_string(), "there is no port 1");
    assert!(!lanes.links().contains_key(&1));
    let before = lanes.counts()[&1].received;
    send(&host);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!((lanes.counts()[&1].received, std::iter::from_fn(|| cable.receive()).count()), (before, 0));
    lanes.add(&"1@sw1".parse().unwrap()).unwrap();
    send(&host);
    received(&mut cable, "a datagram", is_for_nobody);
}

#[test]
fn how_frames_come_is_said() {
    if !enter() {
        return;
    }
    let _host = Host::new("sw1", &[]);
    // Its driver runs no XDP programs.
    ip("link set lo mtu 1500");
    let lanes = switch(&["1@sw1"], vec![]);
    let kinds = |lanes: &Lanes| lanes.ports().kinds().map(|(_, kind)| kind).collect::<Vec<_>>();
    assert_eq!(kinds(&lanes), ["packet:sw1"]);
    drop(lanes);
    let lanes = switch(&["1@afxdp:sw1", "2@afxdp:lo"], vec![]);
    assert_eq!(kinds(&lanes), ["afxdp:sw1 (native)", "afxdp:lo (generic)"]);
}

#[test]
fn a_port_that_cannot_be_opened_says_why() {
    if !enter() {
        return;
    }
    let _host = Host::new("sw1", &[]);
    let why = |specs: &[&str]| {
        let specs: Vec<PortSpec> = specs.iter().map(|spec| spec.parse().unwrap()).collect();
        match Lanes::open(&specs, vec![], 1, 1, Instant::now()) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(why(&["1@sw1"]), "");
    assert_eq!(why(&["1@sw9"]), "port 1: there is no interface `sw9`; there are `lo`, `sw1`");
    assert_eq!(why(&["1@sw1", "1@lo"]), "port 1 is given twice");
    assert_eq!(why(&["1@sw1", "2@packet:sw1"]), "port 2: `sw1` is port 1 already");
    let ours = Lanes::open(&["1@afxdp:sw1".parse().unwrap()], vec![], 1, 1, Instant::now()).unwrap();
    assert!(why(&["1@afxdp:sw1"]).starts_with("port 1: `sw1` is in use: it has an XDP program"));
    drop(ours);
    ip("link set sw1 mtu 3000");
    assert_eq!(
        why(&["1@afxdp:sw1"]),
        "port 1: `sw1`: AF_XDP takes an MTU of at most 1738, not 3000: use packet:sw1, or `ip link set sw1 mtu 1738`"
    );
    ip("link add name br0 type bridge");
    ip("link set sw1 master br0");
    assert_eq!(
        why(&["1@sw1"]),
        "port 1: `sw1` is in use by `br0`, which forwards its frames too: take it out with `ip link set sw1 nomaster`"
    );
}
