//! 1000 routes over 64 next hops, addresses drawn within the routes.

use super::{spoil, trace};
use crate::addresses::{PORTS, ROUTER, next_hops, prefixes, routes, within};
use crate::frame::{Flow, Frame, IPV4, UDP};
use crate::{Load, Packet, Shape};
use base_time::Rng;

const ROUTES: usize = 1000;

/// UDP; one packet of 64 is dropped.
pub fn load(shape: &Shape) -> Load {
    let rng = Rng::new(shape.seed).split("router");
    let prefixes = prefixes(ROUTES, &mut rng.split("prefixes"));
    let mut entries = routes("routes", &prefixes, &mut rng.split("routes"));
    entries.extend(next_hops("next_hops"));
    let packets = trace(shape, &rng, |flow, rng, length| {
        let destination = within(&prefixes, flow);
        let source = within(&prefixes, flow);
        let (from, to) = (flow.next_u64() as u16, 53);
        let port = flow.between(1, PORTS) as u16;
        let flow = Flow { source, destination, protocol: UDP, from, to };
        let frame = Frame::ethernet(ROUTER, 0x0200_0000_2000, IPV4);
        let mut bytes = frame.then(&flow.packet(length - 14, 64, 0)).padded(length);
        spoil(&mut bytes, 14, rng);
        Packet { port, bytes }
    });
    Load { entries, packets }
}
