//! 64 networks with 8192 stations at access ports 1 to 8 and 32,768 after 256 tunnels, network ports 9 to 16.

use super::{spoil, trace};
use crate::addresses::{station_mac, within};
use crate::entry::{entry, is};
use crate::frame::{Flow, Frame, IPV4, UDP, VLAN};
use crate::{Load, Packet, Shape};
use base_time::Rng;

const NETWORKS: u64 = 64;
const LOCAL: u64 = 8192;
/// Numbered after the local ones.
const REMOTE: u64 = 32_768;
const TUNNELS: u64 = 256;
const OURS: u32 = 0x0a09_0001;

/// Half of the packets go into a tunnel, half come out of one; one of 64 of these has a fault.
pub fn load(shape: &Shape) -> Load {
    let rng = Rng::new(shape.seed).split("vxlan");
    let port = |number: u64| 1 + number / NETWORKS % 8;
    let mut entries = vec![entry("tunnel_ends", vec![is(OURS)], "NoAction", &[])];
    for (port, network) in (1..=8u64).flat_map(|port| (0..NETWORKS).map(move |network| (port, network))) {
        entries.push(entry("access", vec![is(port), is(100 + network)], "set_vni", &[5000 + network]));
    }
    for number in 0..LOCAL {
        let network = number % NETWORKS;
        let keys = vec![is(5000 + network), is(station_mac(number))];
        entries.push(entry("stations", keys, "to_access", &[port(number), 100 + network]));
    }
    for number in 0..REMOTE {
        let keys = vec![is(5000 + number % NETWORKS), is(station_mac(LOCAL + number))];
        entries.push(entry("stations", keys, "to_tunnel", &[1 + number / NETWORKS % TUNNELS]));
    }
    for tunnel in 1..=TUNNELS {
        let port = 9 + tunnel % 8;
        let args =
            [port, 0x0200_0000_9000 + port, 0x0200_0000_a000 + tunnel, OURS.into(), 0x0a09_1000 + tunnel];
        entries.push(entry("tunnels", vec![is(tunnel)], "encapsulate", &args));
    }
    let packets = trace(shape, &rng, |flow, rng, length| {
        let network = flow.below(NETWORKS);
        let local = network + NETWORKS * flow.below(LOCAL / NETWORKS);
        let remote = network + NETWORKS * flow.below(REMOTE / NETWORKS);
        let (here, there) = (station_mac(local), station_mac(LOCAL + remote));
        let inner = Flow {
            source: within(&[(0x0a00_0000, 8)], flow),
            destination: within(&[(0x0a00_0000, 8)], flow),
            protocol: UDP,
            from: flow.between(1024, 65535) as u16,
            to: 53,
        };
        if flow.next_bool() {
            let frame = Frame::ethernet(there, here, VLAN).vlan(100 + network as u16, IPV4);
            let bytes = frame.then(&inner.packet(length - 18, 64, 0)).padded(length);
            return Packet { port: port(local) as u16, bytes };
        }
        let tunnel = 1 + remote / NETWORKS % TUNNELS;
        let frame = Frame::ethernet(here, there, IPV4);
        let frame = frame.then(&inner.packet(length - 14, 64, 0)).padded(length);
        let source = 0x0a09_1000 + tunnel as u32;
        let outer = Flow { source, destination: OURS, protocol: UDP, from: 0xc000 | inner.from, to: 4789 };
        let mut header = outer.packet(20 + 8 + 8 + frame.len(), 60, 0);
        // The gateway's peers send no UDP checksum (RFC 7348, section 5).
        header[26..28].fill(0);
        header.truncate(28);
        let vxlan = (8u64 << 56 | (5000 + network) << 8).to_be_bytes();
        let port = 9 + tunnel % 8;
        let outer = Frame::ethernet(0x0200_0000_9000 + port, 0x0200_0000_a000 + tunnel, IPV4);
        let mut bytes = outer.then(&header).then(&vxlan).then(&frame).padded(0);
        // No hop left is no fault here: the tunnel ends at this switch.
        spoil(&mut bytes, 14, rng);
        Packet { port: port as u16, bytes }
    });
    Load { entries, packets }
}
