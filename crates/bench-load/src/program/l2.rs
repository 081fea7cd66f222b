//! Stations after access ports 1 to 14 and trunks 15 and 16, all known.

use super::trace;
use crate::addresses::station_mac;
use crate::entry::{entry, is};
use crate::frame::{Frame, IPV4, VLAN};
use crate::{Load, Packet, Shape};
use base_time::Rng;

const STATIONS: u64 = 4096;
const VLANS: u64 = 8;

struct Station {
    address: u64,
    port: u64,
    vid: u64,
}

fn station(number: u64) -> Station {
    let port = 1 + number % 16;
    let vid = if port <= 14 { access(port) } else { 100 + number / 16 % VLANS };
    Station { address: station_mac(number), port, vid }
}

fn access(port: u64) -> u64 {
    100 + (port - 1) % VLANS
}

/// Unicast between stations; one packet of 64 is for a station at the port it came in by.
pub fn load(shape: &Shape) -> Load {
    let rng = Rng::new(shape.seed).split("l2");
    let mut entries = vec![];
    entries.extend((1..=14u64).map(|port| entry("port_vlan", vec![is(port)], "set_vid", &[access(port)])));
    entries.extend((15..=16u64).map(|port| entry("trunks", vec![is(port)], "tag", &[])));
    for Station { address, port, vid } in (0..STATIONS).map(station) {
        entries.push(entry("sources", vec![is(vid), is(address)], "known", &[port]));
        entries.push(entry("destinations", vec![is(vid), is(address)], "forward", &[port]));
    }
    let packets = trace(shape, &rng, |flow, rng, length| {
        let from = station(flow.below(STATIONS));
        let stays = rng.chance(1, 64);
        let to = loop {
            let to = station(flow.below(STATIONS));
            if to.vid == from.vid && (to.port == from.port) == stays {
                break to;
            }
        };
        let frame = match from.port <= 14 {
            true => Frame::ethernet(to.address, from.address, IPV4),
            false => Frame::ethernet(to.address, from.address, VLAN).vlan(from.vid as u16, IPV4),
        };
        Packet { port: from.port as u16, bytes: frame.padded(length) }
    });
    Load { entries, packets }
}
