//! The programs, each with its load in a file of its own.

mod acl;
mod dcswitch;
mod firewall;
mod l2;
mod nat;
mod router;
mod sketch;
mod vxlan;

use crate::frame::checksum;
use crate::{Load, Packet, Shape};
use base_time::Rng;
use base_time::Zipf;

/// A program that is measured.
#[derive(Debug)]
pub struct Program {
    /// Name, here and in `examples/bench`.
    pub name: &'static str,
    /// Summary in a few words.
    pub title: &'static str,
    /// P4 source.
    pub p4: &'static str,
    /// C source with the same function, for `examples/bench/c/peer.c`.
    pub c: &'static str,
    /// DPDK SWX specification with the same function, for `examples/bench/swx/host.c`.
    pub swx: Option<&'static str>,
    /// The exponent of its flows' popularity that fits it, in thousandths.
    pub skew: u32,
    /// Makes what it is run on.
    pub load: fn(&Shape) -> Load,
}

macro_rules! bench {
    ($name:literal, $title:literal, $skew:literal, $load:path) => {
        bench!($name, $title, $skew, $load, None)
    };
    ($name:literal, $title:literal, $skew:literal, $load:path, swx) => {
        bench!(
            $name,
            $title,
            $skew,
            $load,
            Some(include_str!(concat!("../../../../examples/bench/", $name, "/", $name, ".spec")))
        )
    };
    ($name:literal, $title:literal, $skew:literal, $load:path, $swx:expr) => {
        Program {
            name: $name,
            title: $title,
            p4: include_str!(concat!("../../../../examples/bench/", $name, "/", $name, ".p4")),
            c: include_str!(concat!("../../../../examples/bench/", $name, "/", $name, ".c")),
            swx: $swx,
            skew: $skew,
            load: $load,
        }
    };
}

/// All programs.
pub const PROGRAMS: [Program; 8] = [
    bench!("l2", "Ethernet switch with VLANs, 4096 stations", 0, l2::load, swx),
    bench!("router", "IPv4 router, 1000 routes", 0, router::load, swx),
    bench!("acl", "IPv4 and IPv6 router, 1000 ternary rules each", 0, acl::load),
    bench!("firewall", "stateful firewall, Bloom filter", 0, firewall::load),
    bench!("nat", "address and port translation, a session a flow", 0, nat::load),
    bench!("vxlan", "VXLAN gateway, 256 tunnels", 0, vxlan::load),
    bench!("sketch", "count-min sketch with reports", 990, sketch::load),
    bench!("dcswitch", "data-center switch, 30 tables", 0, dcswitch::load),
];

/// The one of this name.
pub fn program(name: &str) -> Option<&'static Program> {
    const { &PROGRAMS }.iter().find(|p| p.name == name)
}

/// Packets of the flows that Zipf's law draws. `packet` gets the flow's own stream, the packet's, and a length; what
/// it draws from the first is the same for each packet of the flow.
fn trace(shape: &Shape, rng: &Rng, packet: impl FnMut(&mut Rng, &mut Rng, usize) -> Packet) -> Vec<Packet> {
    let mut packet = packet;
    let zipf = Zipf::new(shape.flows, shape.skew);
    let flows = rng.split("flow");
    let mut draws = rng.split("packets");
    let mut next = || {
        let mut flow = flows.split_index(zipf.draw(&mut draws) as u64);
        let length = shape.size.draw(&mut draws);
        packet(&mut flow, &mut draws, length)
    };
    (0..shape.packets).map(|_| next()).collect()
}

/// Now and then a packet that a router drops: the IPv4 header after `before` bytes has no hop left, or a checksum
/// that is wrong.
fn spoil(bytes: &mut [u8], before: usize, rng: &mut Rng) {
    if !rng.chance(1, 64) {
        return;
    }
    let Some(header) = bytes.get_mut(before..before + 20) else { return };
    if rng.next_bool() {
        header[8] = 1;
        header[10..12].fill(0);
        let sum = checksum(&[header]);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        header[11] ^= 1;
    }
}
