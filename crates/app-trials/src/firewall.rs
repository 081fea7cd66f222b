//! The stateful firewall: its controller, and a model of what may pass.

use crate::frames::{Flow, TCP, UDP, packet};
use crate::network::{Network, bits, entry, route, routed};
use base_bits::Bits;
use base_time::Rng;
use control_writes::Count;
use std::collections::{BTreeMap, BTreeSet};

/// The firewall's controller: connections that hosts inside have opened.
#[derive(Default)]
pub struct Connections {
    open: BTreeSet<Flow>,
}

impl Connections {
    /// Takes the reports of new connections, and lets their answers in.
    pub fn take(&mut self, on: &mut impl Network) -> Result<(), String> {
        for (_, fields) in on.reports() {
            let [inside, outside, protocol, inside_port, outside_port] = fields[..] else {
                return Err(format!("a report of {} fields", fields.len()));
            };
            let src = (inside as u32, inside_port as u16);
            let flow = Flow { protocol: protocol as u8, src, dst: (outside as u32, outside_port as u16) };
            if self.open.insert(flow) {
                write(on, flow, true)?;
            }
        }
        Ok(())
    }

    /// A connection has ended, or was idle for too long.
    pub fn end(&mut self, on: &mut impl Network, flow: Flow) -> Result<(), String> {
        if self.open.remove(&flow) { write(on, flow, false) } else { Ok(()) }
    }
}

/// Both directions have the same key: the host inside comes first.
fn write(on: &mut impl Network, flow: Flow, add: bool) -> Result<(), String> {
    let key: Vec<Bits> = vec![
        bits(32, flow.src.0),
        bits(32, flow.dst.0),
        bits(8, flow.protocol),
        bits(16, flow.src.1),
        bits(16, flow.dst.1),
    ];
    for table in ["FirewallIngress.inbound", "FirewallIngress.outbound"] {
        on.write(entry(table, &key, add.then(|| ("FirewallIngress.admit", vec![]))))?;
    }
    Ok(())
}

/// Port of the inside, and of the outside.
const INSIDE: u32 = 1;
const OUTSIDE: u32 = 2;
/// Hosts inside, each with a counter.
const HOSTS: u32 = 6;

/// How a trial went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Packets sent.
    pub packets: u64,
    /// Packets that passed, from inside and from outside.
    pub passed: [u64; 2],
    /// Damaged packets, and packets from outside without a connection.
    pub refused: [u64; 2],
    /// Connections that ended.
    pub ended: u64,
}

/// Random packets of connections that begin and end. An error if a packet from outside passes without a connection that a host inside has opened and that has not ended,
/// if another packet does not pass, or if a counter is wrong.
pub fn trial(on: &mut impl Network, packets: u64, seed: u64) -> Result<Outcome, String> {
    let mut rng = Rng::new(seed).split("firewall");
    on.write(route("FirewallIngress", 0x0a01_0000, 16, INSIDE))?;
    on.write(route("FirewallIngress", 0, 0, OUTSIDE))?;
    let is_inside = Some(("FirewallIngress.is_inside", vec![]));
    on.write(entry("FirewallIngress.sides", &[bits(9, INSIDE)], is_inside))?;
    for host in 0..HOSTS {
        let key = [bits(32, 0x0a01_0000 + host)];
        on.write(entry("FirewallIngress.sources", &key, Some(("FirewallIngress.known", vec![]))))?;
    }
    let (mut controller, mut known, mut outcome) =
        (Connections::default(), BTreeSet::new(), Outcome::default());
    let mut counts: BTreeMap<u32, Count> = BTreeMap::new();
    while outcome.packets < packets {
        let src = (0x0a01_0000 + rng.below(u64::from(HOSTS) + 1) as u32, 1000 + rng.below(4) as u16);
        let dst = (0xc633_6400 + rng.below(3) as u32, [53, 80][rng.index(2)]);
        let flow = Flow { protocol: [TCP, UDP][rng.index(2)], src, dst };
        if rng.chance(1, 30) {
            controller.end(on, flow)?;
            outcome.ended += u64::from(known.remove(&flow));
            continue;
        }
        let outward = rng.chance(1, 3);
        let (port, out, of) = if outward { (INSIDE, OUTSIDE, flow) } else { (OUTSIDE, INSIDE, flow.back()) };
        let length = rng.index(60);
        let mut frame = packet(of, &rng.bytes(length));
        let damaged = rng.chance(1, 15);
        if damaged {
            // The checksum of the IPv4 header.
            frame[24] ^= 1 << rng.below(8);
        }
        let passes = !damaged && (outward || known.contains(&flow));
        let wanted = if passes { vec![(out, routed(&frame, out))] } else { vec![] };
        let left = on.frame(port, &frame);
        if left != wanted {
            return Err(format!("packet {}, {of:x?}: {left:02x?}\nwanted {wanted:02x?}", outcome.packets));
        }
        outcome.packets += 1;
        match (passes, damaged) {
            (true, _) => outcome.passed[usize::from(!outward)] += 1,
            (_, true) => outcome.refused[0] += 1,
            _ => outcome.refused[1] += 1,
        }
        if outward && !damaged {
            known.insert(flow);
            let count = counts.entry(src.0).or_default();
            *count = Count { packets: count.packets + 1, bytes: count.bytes + frame.len() as u64 };
        }
        controller.take(on)?;
    }
    for (index, wanted) in outcome.refused.iter().enumerate() {
        let got = on.count("FirewallIngress.refused", index as u64).packets;
        if got != *wanted {
            return Err(format!("{got} packets are counted as refused ({index}), wanted {wanted}"));
        }
    }
    for host in 0..HOSTS {
        let address = 0x0a01_0000 + host;
        let wanted = counts.get(&address).copied().unwrap_or_default();
        let got = on.entry_count("FirewallIngress.sources", &[bits(32, address)]);
        if got.is_some_and(|got| got != wanted) {
            return Err(format!("{address:#x}: {got:?} counted, wanted {wanted:?}"));
        }
    }
    Ok(outcome)
}
