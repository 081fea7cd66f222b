//! A host's interface by AF_XDP, in network namespaces: datagrams of the job come by its sockets, and everything else by the kernel.

#![allow(clippy::disallowed_methods)]

#[path = "../../dataplane-ports/tests/interfaces/net.rs"]
mod net;

use aggregate::Datagram;
use linux_net::packet::{Sender, Work};
use net::{Host, enter, ip};
use reduce_workers::{Attachment, Loss, Wire};
use std::io::{IoSlice, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

const PORT: u16 = 42_606;

const ONE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Longer than any test takes.
const WAIT: Duration = Duration::from_secs(20);

/// Two hosts at a bridge.
fn hosts() -> (Host, Host) {
    let hosts = (Host::new("sw1", &["10.0.0.1/24"]), Host::new("sw2", &["10.0.0.2/24"]));
    ip("link add name br0 type bridge");
    ["br0 up", "sw1 master br0", "sw2 master br0"]
        .iter()
        .for_each(|change| ip(&format!("link set {change}")));
    hosts
}

fn card(host: &Host) -> [u8; 6] {
    host.run(|| linux_net::find("eth0").unwrap().unwrap().address)
}

fn open(host: &Host, attachment: Attachment) -> Result<Wire, String> {
    host.run(move || Wire::open(attachment, PORT, Loss::new(0, 1)).map_err(|error| error.to_string()))
}

fn by_xdp(address: Ipv4Addr, interface: &str, cards: Vec<(Ipv4Addr, [u8; 6])>) -> Attachment {
    Attachment::Interface { address, interface: interface.into(), cards }
}

#[test]
fn datagrams_of_the_job_pass_and_the_kernel_has_the_rest() {
    if !enter() {
        return;
    }
    let (one, other) = hosts();
    let (card_of_one, card_of_other) = (card(&one), card(&other));
    let mut direct = open(&one, by_xdp(ONE, "eth0", vec![(OTHER, card_of_other)])).unwrap();
    let mut kernel = open(&other, Attachment::Kernel { address: OTHER }).unwrap();
    assert_eq!((direct.allowed(), kernel.allowed()), (None, Some(16 << 20)));
    // The kernel asks for the address of the card, and that of the other host answers.
    for length in [24, 100, 1472] {
        let payload: Vec<u8> = (0..length).map(|at| at as u8).collect();
        kernel.send(ONE, &payload);
        assert_eq!(direct.receive(WAIT), [(payload.clone(), false)]);
        direct.send(OTHER, &payload);
        assert_eq!(kernel.receive(WAIT), [(payload, false)]);
    }
    assert_eq!(direct.receive(Duration::from_millis(1)), []);
    // A connection beside it.
    let listener = other.run(|| TcpListener::bind((OTHER, 9600)).unwrap());
    let mut sender = one.run(|| TcpStream::connect((OTHER, 9600)).unwrap());
    let mut receiver = listener.accept().unwrap().0;
    let mut got = [0; 5];
    sender.write_all(b"hello").unwrap();
    receiver.read_exact(&mut got).unwrap();
    receiver.write_all(&got).unwrap();
    sender.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"hello");
    // A switch has marked the frame: congestion. A frame for another address or port is none of the job's.
    let datagram = |destination: Ipv4Addr, port| Datagram {
        source: OTHER.into(),
        destination: destination.into(),
        port,
        ecn: 3,
        payload: vec![7; 30],
    };
    let frames = [(OTHER, PORT), (ONE, 1), (ONE, PORT)]
        .map(|(to, port)| datagram(to, port).frame(card_of_other, card_of_one));
    other.run(move || {
        let sender = Sender::open(linux_net::find("eth0").unwrap().unwrap().index).unwrap();
        for frame in frames {
            assert_eq!(sender.send(&[Work::NONE.piece(), IoSlice::new(&frame)], &[2]).unwrap(), 1);
        }
    });
    // A frame for another address wakes the receiver, too.
    let got = (0..100).find_map(|_| direct.receive(Duration::from_millis(100)).pop());
    assert_eq!(got, Some((vec![7; 30], true)));
    assert_eq!(direct.receive(Duration::from_millis(1)), []);
}

#[test]
fn two_hosts_by_af_xdp_lose_only_what_is_to_be_lost() {
    if !enter() {
        return;
    }
    let (one, other) = hosts();
    let (card_of_one, card_of_other) = (card(&one), card(&other));
    let mut sender = open(&one, by_xdp(ONE, "eth0", vec![(OTHER, card_of_other)])).unwrap();
    let mut receiver = open(&other, by_xdp(OTHER, "eth0", vec![(ONE, card_of_one)])).unwrap();
    for number in 0..500u16 {
        sender.send(OTHER, &number.to_be_bytes().repeat(50));
        assert_eq!(receiver.receive(WAIT), [(number.to_be_bytes().repeat(50), false)]);
    }
    let attachment = by_xdp(ONE, "eth0", vec![(OTHER, card_of_other)]);
    drop(sender);
    let mut lossy = one.run(move || Wire::open(attachment, PORT, Loss::new(1_000_000, 1)).unwrap());
    lossy.send(OTHER, &[1; 40]);
    assert_eq!(receiver.receive(Duration::from_millis(50)), []);
}

#[test]
fn an_interface_that_cannot_be_used_says_why() {
    if !enter() {
        return;
    }
    let one = Host::new("sw1", &["10.0.0.1/24"]);
    let why = |interface: &str| open(&one, by_xdp(ONE, interface, vec![])).err().unwrap_or_default();
    assert_eq!(why("eth7"), "`eth7`: there is no such interface");
    let ours = open(&one, by_xdp(ONE, "eth0", vec![])).unwrap();
    assert!(why("eth0").starts_with("`eth0`: AF_XDP: "), "{}", why("eth0"));
    drop(ours);
    one.run(|| ip("link set eth0 mtu 1000"));
    assert_eq!(why("eth0"), "`eth0`: AF_XDP takes an MTU of 1500 to 1778, not 1000");
}
