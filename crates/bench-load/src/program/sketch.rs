//! The router's routes, TCP and UDP; flows are reported at their hundredth packet.

use super::{spoil, trace};
use crate::addresses::{PORTS, ROUTER, next_hops, prefixes, routes, within};
use crate::entry::{entry, is};
use crate::frame::{Flow, Frame, IPV4, TCP, UDP};
use crate::{Load, Packet, Shape};
use base_time::Rng;

const ROUTES: usize = 1000;
const THRESHOLD: u64 = 100;

/// One packet of 64 is dropped.
pub fn load(shape: &Shape) -> Load {
    let rng = Rng::new(shape.seed).split("sketch");
    let prefixes = prefixes(ROUTES, &mut rng.split("prefixes"));
    let mut entries = routes("routes", &prefixes, &mut rng.split("routes"));
    entries.extend(next_hops("next_hops"));
    entries.push(entry("thresholds", vec![is(0u8)], "set_threshold", &[THRESHOLD]));
    let packets = trace(shape, &rng, |flow, rng, length| {
        let port = flow.between(1, PORTS) as u16;
        let flow = Flow {
            source: within(&prefixes, flow),
            destination: within(&prefixes, flow),
            protocol: if flow.chance(8, 10) { TCP } else { UDP },
            from: flow.between(1024, 65535) as u16,
            to: 443,
        };
        let frame = Frame::ethernet(ROUTER, 0x0200_0000_2000, IPV4);
        let mut bytes = frame.then(&flow.packet(length - 14, 64, 0)).padded(length);
        spoil(&mut bytes, 14, rng);
        Packet { port, bytes }
    });
    Load { entries, packets }
}
