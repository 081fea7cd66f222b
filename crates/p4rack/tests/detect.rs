//! `examples/detect`: reports beside exact sets.

use crate::support::{both_engines, example};
use base_time::{Duration, Rng, Time};
use dataplane_api::Device;
use device::Switch;
use std::collections::{BTreeMap, BTreeSet};

const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// A packet: addresses, ports, TCP's flags; none of UDP.
#[derive(Clone, Copy, Debug)]
struct Sent {
    from: u32,
    to: u32,
    ports: (u16, u16),
    flags: Option<u8>,
}

impl Sent {
    fn frame(self) -> Vec<u8> {
        let mut frame = vec![0; 80];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        frame[14] = 0x45;
        frame[23] = if self.flags.is_some() { 6 } else { 17 };
        frame[26..30].copy_from_slice(&self.from.to_be_bytes());
        frame[30..34].copy_from_slice(&self.to.to_be_bytes());
        frame[34..36].copy_from_slice(&self.ports.0.to_be_bytes());
        frame[36..38].copy_from_slice(&self.ports.1.to_be_bytes());
        frame[47] = self.flags.unwrap_or(0);
        frame
    }

    /// Kind of the report, its subject, and the thing, if the packet counts.
    fn touches(self) -> Option<(u32, u32, (u32, u16))> {
        match self.flags {
            Some(flags) if flags & (SYN | ACK) == SYN => Some((1, self.from, (self.to, self.ports.1))),
            None if self.ports.0 == 123 => Some((2, self.to, (self.from, 0))),
            _ => None,
        }
    }
}

/// Kind and subject of the reports that a device has made.
fn reports(switch: &mut Switch) -> Vec<(u32, u32)> {
    let digests = switch.take_digests().into_iter();
    let values = |digest: device::Digest| {
        let ir_value::Value::Struct(fields) = digest.data else { panic!("{digest:?}") };
        let values: Vec<u32> = fields
            .iter()
            .map(|field| match field {
                ir_value::Value::Bits(bits) => bits.low_u64() as u32,
                other => panic!("{other:?}"),
            })
            .collect();
        (values[0], values[1])
    };
    digests.map(values).collect()
}

/// Traffic of a window: sources with up to 40 targets, scanners, busy servers, clients of NTP, and victims of reflectors.
fn traffic(rng: &mut Rng) -> Vec<Sent> {
    let mut all = vec![];
    for host in 0..30u32 {
        let from = 0x0a00_0000 | host;
        // Two of them scan: one host's ports, or one port of many hosts.
        let targets = if host < 2 { 120 + rng.below(100) } else { 1 + rng.below(40) } as u32;
        for target in 0..targets {
            let (to, port) =
                if host == 0 { (0x0a01_0000, target as u16) } else { (0x0a01_0000 | target, 80) };
            let sent = Sent { from, to, ports: (40_000, port), flags: Some(SYN) };
            // Repeated SYNs and the packets after them are no more.
            all.extend([sent; 2]);
            all.push(Sent { flags: Some(ACK), ports: (40_000, port.wrapping_add(1000)), ..sent });
            all.push(Sent { from: to, to: from, ports: (port, 40_000), flags: Some(SYN | ACK) });
        }
        let servers = if host == 5 { 120 + rng.below(100) } else { 1 + rng.below(10) } as u32;
        for server in 0..servers {
            let server = 0x0a02_0000 | server;
            all.push(Sent { from: server, to: from, ports: (123, 123 + host as u16), flags: None });
            // Forged requests: many sources, and no report.
            all.push(Sent { from: rng.next_u64() as u32, to: server, ports: (5000, 123), flags: None });
            all.push(Sent { from: rng.next_u64() as u32, to: from, ports: (5000, 53), flags: None });
        }
    }
    // A server that answers many, and one that refuses many.
    for client in 0..150 {
        let answer =
            Sent { from: 0x0a03_0000, to: 0x0a04_0000 | client, ports: (80, 40_000), flags: Some(SYN | ACK) };
        all.extend([answer, Sent { from: 0x0a03_0001, flags: Some(RST), ..answer }]);
    }
    rng.shuffle(&mut all);
    all
}

#[test]
fn who_touches_many_is_reported_once_in_a_window() {
    let mut switches = both_engines(&example("detect"));
    let mut rng = Rng::new(1);
    for window in 1..6u64 {
        let mut touched: BTreeMap<(u32, u32), BTreeSet<(u32, u16)>> = BTreeMap::new();
        let mut reported: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for (packet, sent) in traffic(&mut rng).into_iter().enumerate() {
            let now = Time::ZERO + Duration::from_us((window << 20) + packet as u64);
            if let Some((kind, subject, thing)) = sent.touches() {
                touched.entry((kind, subject)).or_default().insert(thing);
            }
            let found = switches.each_mut().map(|switch| {
                assert_eq!(switch.ingress(1, sent.frame(), now).len(), 1);
                reports(switch)
            });
            assert_eq!(found[0], found[1]);
            for report in &found[0] {
                let things = touched[report].len();
                assert!((64..100).contains(&things), "{report:?} after {things}");
                assert_eq!(reported.insert(*report, things), None, "{report:?} twice");
            }
        }
        let many = touched.iter().filter(|(_, things)| things.len() >= 100).map(|(of, _)| *of);
        let many: Vec<_> = many.collect();
        assert_eq!(many, [(1, 0x0a00_0000), (1, 0x0a00_0001), (2, 0x0a00_0005)]);
        assert_eq!(reported.keys().copied().collect::<Vec<_>>(), many, "window {window}");
    }
}
