//! Flows between 10.0.0.0/8 inside, ports 1 to 8, and the world outside, ports 9 to 16: packets of both directions.

use super::{spoil, trace};
use crate::addresses::{ROUTER, prefixes, two_sides, within};
use crate::entry::{entry, is};
use crate::frame::{Flow, Frame, IPV4, TCP, UDP};
use crate::{Load, Packet, Shape};
use base_time::Rng;

const ROUTES: usize = 1000;
const SERVICES: u64 = 256;

/// One packet of 64 comes from outside for a flow that never began, one of 64 has a fault.
pub fn load(shape: &Shape) -> Load {
    let rng = Rng::new(shape.seed).split("firewall");
    let prefixes = prefixes(ROUTES, &mut rng.split("prefixes"));
    let mut entries = two_sides(&prefixes, &mut rng.split("routes"));
    entries.extend((0..SERVICES).map(|n| {
        let keys = vec![is(0x0a00_0000 + n), is(TCP), is(if n % 2 == 0 { 80u16 } else { 443 })];
        entry("services", keys, "admit", &[])
    }));
    let packets = trace(shape, &rng, |flow, rng, length| {
        let outward = Flow {
            source: 0x0a00_0000 | flow.below(1 << 24) as u32,
            destination: within(&prefixes, flow),
            protocol: if flow.chance(8, 10) { TCP } else { UDP },
            from: flow.between(1024, 65535) as u16,
            to: 443,
        };
        let side = flow.between(1, 8) as u16;
        let (port, one_way) = match rng.below(64) {
            0 => (8 + side, Flow { from: rng.next_u64() as u16, ..outward.back() }),
            1..32 => (8 + side, outward.back()),
            _ => (side, outward),
        };
        let frame = Frame::ethernet(ROUTER, 0x0200_0000_2000, IPV4);
        let mut bytes = frame.then(&one_way.packet(length - 14, 64, 0)).padded(length);
        spoil(&mut bytes, 14, rng);
        Packet { port, bytes }
    });
    Load { entries, packets }
}
