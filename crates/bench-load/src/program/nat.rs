//! A session for each flow, up to 100,000; inside is behind ports 1 to 8.

use super::{spoil, trace};
use crate::addresses::{ROUTER, prefixes, two_sides, within};
use crate::entry::{entry, is};
use crate::frame::{Flow, Frame, IPV4, TCP, UDP};
use crate::{Load, Packet, Shape};
use base_time::Rng;

const ROUTES: usize = 1000;
const MOST_SESSIONS: u32 = 100_000;

/// Address and port inside, protocol, address and port outside.
fn session(number: u64) -> (u32, u16, u8, u32, u16) {
    let protocol = if number.is_multiple_of(5) { UDP } else { TCP };
    let inside = 0x0a00_0000 + (number / 16 * 37) as u32;
    let outside = 0xc612_0000 + (number / 50_000) as u32;
    (inside, (2000 + number % 16 * 777) as u16, protocol, outside, (1024 + number % 50_000) as u16)
}

/// Packets of both directions. One of 64 begins a flow that the controller has to see, one of 64 has a fault.
pub fn load(shape: &Shape) -> Load {
    let sessions = u64::from(shape.flows.clamp(1, MOST_SESSIONS));
    let shape = &Shape { flows: sessions as u32, ..*shape };
    let rng = Rng::new(shape.seed).split("nat");
    let prefixes = prefixes(ROUTES, &mut rng.split("prefixes"));
    let mut entries = two_sides(&prefixes, &mut rng.split("routes"));
    for (inside, from, protocol, outside, to) in (0..sessions).map(session) {
        let keys = vec![is(inside), is(protocol), is(from)];
        entries.push(entry("from_inside", keys, "translate_source", &[outside.into(), to.into()]));
        let keys = vec![is(outside), is(protocol), is(to)];
        entries.push(entry("from_outside", keys, "translate_destination", &[inside.into(), from.into()]));
    }
    let packets = trace(shape, &rng, |flow, rng, length| {
        let (inside, from, protocol, outside, to) = session(flow.below(sessions));
        let world = within(&prefixes, flow);
        let side = flow.between(1, 8) as u16;
        let outward = Flow { source: inside, destination: world, protocol, from, to: 443 };
        let (port, one_way) = match rng.below(64) {
            0 => (side, Flow { from: 999, ..outward }),
            1..32 => (side, outward),
            _ => (8 + side, Flow { source: world, destination: outside, protocol, from: 443, to }),
        };
        let frame = Frame::ethernet(ROUTER, 0x0200_0000_2000, IPV4);
        let mut bytes = frame.then(&one_way.packet(length - 14, 64, 0)).padded(length);
        spoil(&mut bytes, 14, rng);
        Packet { port, bytes }
    });
    Load { entries, packets }
}
