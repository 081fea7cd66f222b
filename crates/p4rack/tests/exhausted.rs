//! `examples/snat` with no port left: the sender gets "host unreachable" about its packet, on one device and over a cut.

use crate::support::{self, nat};

use base_diag::SourceMap;
use base_time::{Duration, Time};
use device::Options;
use nat::{Flow, ICMP, TCP, UDP, folded, packet};
use p4rack::{Racked, rack, up};
use rack_model::HostId;
use std::path::Path;
use std::sync::Arc;
use support::text;

const CLIENT: HostId = HostId(0);
const SERVER: (u32, u16) = (0xc633_6401, 53);

/// The rack of the example with one block of ports and no traffic.
fn racked() -> Racked {
    let mut map = SourceMap::new();
    let defines = [
        "SNAT_CONFIG=\"address=203.0.113.1 first=1024 last=1087 idle=120 quarantine=30\"".to_string(),
        "SNAT_KEEPS=\"122s\"".to_string(),
    ];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/snat/RACK.toml");
    rack::load_as(&path, &defines, &mut map, &|rack| rack.workloads.clear(), &mut |_| ())
        .unwrap_or_else(|found| panic!("{}", text(&found, &map)))
}

/// The error about a packet, byte for byte (RFC 792).
fn error(sent: &[u8]) -> Vec<u8> {
    let quoted = &sent[14..14 + 28];
    let mut icmp = [&[3, 1, 0, 0, 0, 0, 0, 0], quoted].concat();
    let sum = !folded(icmp.iter().copied());
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut ip =
        [&[0x45, 0, 0, 56, 0, 0, 0x40, 0, 64, ICMP, 0, 0, 10, 0, 0, 254][..], &sent[26..30]].concat();
    let sum = !folded(ip.iter().copied());
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&[2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 1, 8, 0][..], &ip, &icmp].concat()
}

/// Packets that take all 64 ports, and then one of each protocol, of different lengths.
fn sent() -> Vec<Vec<u8>> {
    let udp = |n: u16| Flow { protocol: UDP, src: (0x0a00_0001, 5000 + n), dst: SERVER };
    let mut all: Vec<Vec<u8>> = (0..64).map(|n| packet(udp(n), b"fills", true)).collect();
    for (protocol, length) in [(UDP, 0), (UDP, 700), (TCP, 0), (TCP, 33), (ICMP, 0), (ICMP, 5)] {
        let dst = (SERVER.0, if protocol == ICMP { 9000 } else { 443 });
        let mut frame = packet(Flow { protocol, src: (0x0a00_0001, 9000), dst }, &vec![7; length], true);
        // A type of service, and a sequence number with different bytes.
        frame[15] = 0x10;
        frame[24..26].fill(0);
        let sum = !folded(frame[14..34].iter().copied());
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        if protocol == TCP {
            frame[38..42].copy_from_slice(&[1, 2, 3, 4]);
        }
        all.push(frame);
    }
    all
}

fn at(n: usize) -> Time {
    Time::ZERO + Duration::from_us(100 * n as u64)
}

#[test]
fn a_sender_without_a_port_gets_an_error() {
    let racked = racked();
    let (app, sent) = (&racked.apps[0], sent());
    let options = || Options { registry: app.offers.registry.clone(), ..Options::default() };
    let mut devices = [
        ir_interp::switch(Arc::clone(&app.whole), options()).expect("it runs"),
        target_native::Engine::compile(&app.whole, options()).expect("it compiles").into_switch(),
    ];
    let wanted: Vec<Vec<u8>> = sent[64..].iter().map(|frame| error(frame)).collect();
    for device in &mut devices {
        let mut came = vec![];
        for (n, frame) in sent.iter().enumerate() {
            let outputs = device.process(1, frame, at(n));
            assert_eq!(outputs.len(), 1, "packet {n}");
            came.extend(outputs.into_iter().filter(|output| output.port == 1).map(|output| output.frame));
        }
        assert_eq!(came, wanted);
        assert_eq!(device.counter_read("SnatIngress.dropped", 1).expect("a cell").packets, 6);
        // Neither an answer to a port without a mapping nor a packet to many causes an error.
        let stranger = Flow { protocol: UDP, src: SERVER, dst: (nat::PUBLIC, 2000) };
        assert_eq!(device.process(2, &packet(stranger, b"x", true), at(100)), []);
        let mut to_many = sent[64].clone();
        to_many[0] |= 1;
        assert_eq!(device.process(1, &to_many, at(100)), []);
    }
    let mut running = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}"));
    running.emulator.listen(CLIENT);
    let begin = Time::ZERO + Duration::from_ms(10);
    for (n, frame) in sent.iter().enumerate() {
        assert!(running.emulator.send(CLIENT, frame.clone(), begin + Duration::from_us(100 * n as u64)));
    }
    running.run_until(begin + Duration::from_ms(50)).unwrap_or_else(|violation| panic!("{violation}"));
    let came = running.emulator.take_received(CLIENT).into_iter().map(|received| received.frame);
    assert_eq!(came.collect::<Vec<_>>(), wanted, "over a cut");
}
