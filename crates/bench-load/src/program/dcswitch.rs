//! A leaf switch: access ports 1 to 16 and trunks 17 to 24 in eight bridge domains, four uplinks of two links each
//! (25 to 32), two virtual routers; 10,000 routes, 500 ternary entries, 4096 stations that are hosts too.

use super::{spoil, trace};
use crate::addresses::{ROUTER, prefixes, prefixes6, station_mac, within, within6};
use crate::entry::{any, begins, entry, is, like, ranked};
use crate::frame::{Flow, Flow6, Frame, IPV4, IPV6, TCP, UDP, VLAN};
use crate::{Load, Packet, Shape};
use base_time::Rng;
use p4_entries::Statement;

const DOMAINS: u64 = 8;
const STATIONS: u64 = 4096;
const UPLINKS: u64 = 4;
const NEXT_HOPS: u64 = 64;
const GROUPS: u64 = 32;
const MEMBERS: u64 = 16;
/// For each of the two virtual routers.
const ROUTES: usize = 4000;
const ROUTES6: usize = 1000;
/// Next hops of stations are numbered from here.
const HOSTS: u64 = 1000;

struct Station {
    number: u64,
    mac: u64,
    port: u64,
    domain: u64,
}

impl Station {
    /// Access ports have one domain, trunks all.
    fn of(number: u64) -> Station {
        let port = 1 + number % 24;
        let domain = if port <= 16 { 1 + (port - 1) % DOMAINS } else { 1 + number / 24 % DOMAINS };
        Station { number, mac: station_mac(number), port, domain }
    }

    fn ipv4(&self) -> u32 {
        0x0a00_0000 | (self.domain as u32) << 16 | self.number as u32
    }

    fn ipv6(&self) -> u128 {
        0x2001_0db8 << 96 | u128::from(self.domain) << 80 | u128::from(self.number)
    }

    /// A frame of the station; from a trunk with a tag.
    fn frame(&self, to: u64, ether_type: u16) -> Frame {
        match self.port > 16 {
            true => Frame::ethernet(to, self.mac, VLAN).vlan(100 + self.domain as u16, ether_type),
            false => Frame::ethernet(to, self.mac, ether_type),
        }
    }
}

fn vrf(domain: u64) -> u64 {
    1 + domain % 2
}

fn uplink_mac(number: u64) -> u64 {
    0x0200_0000_b000 + number
}

/// Bridged, routed up, routed down, routed between domains at 20 : 40 : 30 : 10; a quarter of what is routed is IPv6.
pub fn load(shape: &Shape) -> Load {
    let rng = Rng::new(shape.seed).split("dcswitch");
    let prefixes = prefixes(ROUTES, &mut rng.split("prefixes"));
    let prefixes6 = prefixes6(ROUTES6, &mut rng.split("prefixes6"));
    let mut entries = ports();
    entries.extend(stations());
    entries.extend(routing(&prefixes, &prefixes6, &mut rng.split("routing")));
    entries.extend(filters(&mut rng.split("filters")));
    let packets = trace(shape, &rng, |flow, rng, length| {
        let from = Station::of(flow.below(STATIONS));
        let (protocol, ports) = (if flow.chance(8, 10) { TCP } else { UDP }, (flow.next_u64() as u16, 443));
        let kind = flow.below(100);
        let v6 = flow.chance(1, 4);
        let to = loop {
            let to = Station::of(flow.below(STATIONS));
            let wanted =
                if kind < 20 { to.domain == from.domain } else { vrf(to.domain) == vrf(from.domain) };
            if wanted && to.port != from.port {
                break to;
            }
        };
        let uplink = flow.below(UPLINKS / 2) * 2 + (vrf(from.domain) - 1);
        let (world, world6) = (within(&prefixes, flow), within6(&prefixes6, flow));
        let down = (20 + 40..90).contains(&kind);
        let (source, source6) = if down { (world, world6) } else { (from.ipv4(), from.ipv6()) };
        let (destination, destination6) = match kind {
            20..60 => (world, world6),
            60..90 => (from.ipv4(), from.ipv6()),
            _ => (to.ipv4(), to.ipv6()),
        };
        let to_mac = if kind < 20 { to.mac } else { ROUTER };
        let ether_type = if v6 { IPV6 } else { IPV4 };
        let (port, frame) = match down {
            true => {
                let port = 25 + 2 * uplink + flow.below(2);
                (port, Frame::ethernet(ROUTER, uplink_mac(uplink), ether_type))
            }
            false => (from.port, from.frame(to_mac, ether_type)),
        };
        let tagged = !down && from.port > 16;
        let before = if tagged { 18 } else { 14 };
        let (from, to) = ports;
        let packet = match v6 {
            true => Flow6 { source: source6, destination: destination6, protocol, from, to }
                .packet(length - before, 64),
            false => Flow { source, destination, protocol, from, to }.packet(length - before, 64, 0),
        };
        let mut bytes = frame.then(&packet).padded(length);
        if !v6 {
            spoil(&mut bytes, before, rng);
        }
        Packet { port: port as u16, bytes }
    });
    Load { entries, packets }
}

/// Ports, interfaces, domains.
fn ports() -> Vec<Statement> {
    let mut entries = vec![];
    for port in 1..=32u64 {
        let interface = if port <= 24 { port } else { 101 + (port - 25) / 2 };
        entries.push(entry("admission.ports", vec![is(port)], "set_ifindex", &[interface]));
        let trunk = (17..=24).contains(&port);
        entries.push(entry("DcEgress.ports", vec![is(port)], "set_port", &[trunk.into()]));
        entries.push(entry("lag_members", vec![is(port)], "set_port", &[port]));
        if port <= 16 {
            let keys = vec![is(port), is(0u8), is(0u8)];
            entries.push(entry("port_vlans", keys, "set_bd", &[1 + (port - 1) % DOMAINS]));
        }
        for domain in (1..=DOMAINS).filter(|_| trunk) {
            let keys = vec![is(port), is(1u8), is(100 + domain)];
            entries.push(entry("port_vlans", keys, "set_bd", &[domain]));
            entries.push(entry("DcEgress.vlans", vec![is(port), is(domain)], "tag", &[100 + domain]));
        }
        if port <= 24 {
            entries.push(entry("lag_groups", vec![is(port)], "set_members", &[port, 0]));
        }
    }
    for uplink in 0..UPLINKS {
        let interface = 101 + uplink;
        let domain = 101 + uplink;
        entries.push(entry("port_vlans", vec![is(interface), is(0u8), is(0u8)], "set_bd", &[domain]));
        entries.push(entry("lag_groups", vec![is(interface)], "set_members", &[25 + 2 * uplink, 1]));
        let keys = vec![is(domain), is(uplink_mac(uplink))];
        entries.push(entry("sources", keys, "known", &[interface]));
    }
    for domain in (1..=DOMAINS).chain(101..101 + UPLINKS) {
        let inner = domain <= DOMAINS;
        // An uplink is in the virtual router that the flows drawn for it are in.
        let vrf = if inner { vrf(domain) } else { 1 + (domain - 101) % 2 };
        let args = [vrf, 1, domain, domain, inner.into()];
        entries.push(entry("admission.domains", vec![is(domain)], "set_domain", &args));
        entries.push(entry("DcEgress.domains", vec![is(domain)], "set_domain", &[domain, 1]));
        entries.push(entry("source_macs", vec![is(domain)], "set_source", &[ROUTER]));
    }
    entries.push(entry("spanning_tree", vec![is(24u8), is(8u8)], "blocked", &[]));
    entries.push(entry("mtus", vec![is(1u8)], "check_mtu", &[1600]));
    entries.push(entry("router_macs", vec![is(1u8), is(ROUTER)], "route", &[]));
    for class in 1..8u64 {
        entries.push(entry("class_marks", vec![is(class)], "set_dscp", &[class * 8]));
    }
    entries
}

/// Entries for stations: location and port.
fn stations() -> Vec<Statement> {
    let mut entries = vec![];
    for station in (0..STATIONS).map(Station::of) {
        let Station { number, mac, port, domain } = station;
        entries.push(entry("sources", vec![is(domain), is(mac)], "known", &[port]));
        entries.push(entry("stations", vec![is(domain), is(mac)], "to_interface", &[port]));
        let next_hop = HOSTS + number;
        let keys = vec![is(vrf(domain)), is(station.ipv4())];
        entries.push(entry("ipv4_hosts", keys, "set_next_hop", &[next_hop]));
        let keys = vec![is(vrf(domain)), is(station.ipv6())];
        entries.push(entry("ipv6_hosts", keys, "set_next_hop", &[next_hop]));
        entries.push(entry("forwarding.next_hops", vec![is(next_hop)], "set_egress", &[port, domain, mac]));
    }
    entries
}

/// Routes to the world over next hops at the uplinks, half of them over sets of paths.
fn routing(prefixes: &[(u32, u32)], prefixes6: &[(u128, u32)], rng: &mut Rng) -> Vec<Statement> {
    let mut entries = vec![];
    for domain in 1..=DOMAINS {
        let keys = vec![is(vrf(domain)), begins(0x0a00_0000 | domain << 16, 16)];
        entries.push(entry("reverse_paths", keys, "NoAction", &[]));
    }
    for vrf in 1..=2u64 {
        let choice = |rng: &mut Rng| match rng.next_bool() {
            true => ("set_ecmp", rng.between(1, GROUPS)),
            false => ("set_next_hop", rng.between(1, NEXT_HOPS)),
        };
        for (prefix, length) in prefixes {
            let (action, number) = choice(rng);
            entries.push(entry("ipv4_routes", vec![is(vrf), begins(*prefix, *length)], action, &[number]));
        }
        for (prefix, length) in prefixes6 {
            let (action, number) = choice(rng);
            entries.push(entry("ipv6_routes", vec![is(vrf), begins(*prefix, *length)], action, &[number]));
        }
    }
    for group in 1..=GROUPS {
        let mask = [3, 7, 15][(group % 3) as usize];
        entries.push(entry("ecmp_groups", vec![is(group)], "set_members", &[group * MEMBERS, mask]));
        for member in 0..MEMBERS {
            let number = group * MEMBERS + member;
            entries.push(entry(
                "ecmp_members",
                vec![is(number)],
                "set_next_hop",
                &[rng.between(1, NEXT_HOPS)],
            ));
        }
    }
    for next_hop in 1..=NEXT_HOPS {
        let domain = 101 + next_hop % UPLINKS;
        let args = [domain, domain, 0x0200_0000_c000 + next_hop];
        entries.push(entry("forwarding.next_hops", vec![is(next_hop)], "set_egress", &args));
    }
    entries
}

/// 500 entries of eight ternary tables; few packets are refused.
fn filters(rng: &mut Rng) -> Vec<Statement> {
    let mut entries = vec![];
    // Multicast and zero as a source; a wrong version; no hop left on arrival; all ones.
    let wrong = [
        vec![like(1u64 << 40, 1u64 << 40), any(), any(), any()],
        vec![like(0u64, 0xffff_ffff_ffffu64), any(), any(), any()],
        vec![any(), like(IPV4, 0xffffu16), like(0u8, 4u8), any()],
        vec![any(), like(IPV6, 0xffffu16), like(0u8, 2u8), any()],
        vec![any(), like(IPV4, 0xffffu16), any(), like(0u8, 0xffu8)],
        vec![any(), like(IPV6, 0xffffu16), any(), like(0u8, 0xffu8)],
        vec![like(0xffff_ffff_ffffu64, 0xffff_ffff_ffffu64), any(), any(), any()],
        vec![any(), like(0x88ccu16, 0xffffu16), like(0u8, 15u8), like(0xffu8, 0xffu8)],
    ];
    entries.extend((1..).zip(wrong).map(|(rank, keys)| ranked("sanity", rank, keys, "insane", &[])));
    for class in 0..16u64 {
        let keys = vec![like(4 + 2 * (class % 2), 15u8), like(class / 2 * 8, 0x38u8)];
        entries.push(ranked("classes", 1 + class as i64, keys, "set_class", &[class / 2]));
    }
    for rank in 1..=40 {
        let label = like(rng.between(1, DOMAINS), 0xffffu16);
        let group = like(rng.below(1 << 24) << 24, 0xffff_ff00_0000u64);
        let ether_type = like(0x8800 + rng.below(256), 0xffffu16);
        entries.push(ranked("mac_acl", rank, vec![label, any(), group, ether_type], "deny", &[5]));
    }
    for (table, count, wide) in [("ipv4_acl", 250, false), ("ipv6_acl", 120, true)] {
        for rank in 1..=count {
            let label = if rng.next_bool() { like(rng.between(1, DOMAINS), 0xffffu16) } else { any() };
            let block = rng.between(8, 24) as u32;
            let source = match (rng.chance(4, 10), wide) {
                (true, _) => any(),
                (_, false) => begins((rng.next_u64() as u32) >> (32 - block) << (32 - block), block),
                (_, true) => {
                    let length = 32 + block;
                    begins(
                        (0x2001u128 << 112 | rng.next_u128() >> 16) >> (128 - length) << (128 - length),
                        length,
                    )
                }
            };
            let protocol = like(if rng.next_bool() { TCP } else { UDP }, 0xffu8);
            let to = like([22u16, 23, 25, 443, 445, 3389][rng.index(6)], 0xffffu16);
            let keys = vec![label, source, any(), protocol, any(), to, any()];
            let entry = match rng.below(10) {
                0..5 => ranked(table, rank, keys, "permit", &[]),
                5..8 => ranked(table, rank, keys, "permit_as", &[rng.below(8)]),
                _ => ranked(table, rank, keys, "deny", &[6]),
            };
            entries.push(entry);
        }
    }
    for rank in 1..=30 {
        let port = like(rng.between(1, 24), 0x1ffu16);
        let to = like(rng.below(1024) | 1 << 15, 0xffffu16);
        let keys = vec![port, like(IPV4, 0xffffu16), like(UDP, 0xffu8), to];
        entries.push(ranked("egress_acl", rank, keys, "drop", &[]));
    }
    for rank in 1..=36u64 {
        // The switch's own protocols: link-local multicast, DHCP, BGP.
        let keys = match rank {
            1 => vec![any(), any(), any(), like(UDP, 0xffu8), like(67u8, 0xffffu16)],
            2 => vec![any(), any(), any(), like(UDP, 0xffu8), like(68u8, 0xffffu16)],
            3 => vec![any(), any(), any(), like(TCP, 0xffu8), like(179u8, 0xffffu16)],
            _ => vec![any(), like(0x0180_c200_0000 + rank, 0xffff_ffff_ffffu64), any(), any(), any()],
        };
        entries.push(ranked("system_acl", rank as i64, keys, "to_controller", &[]));
    }
    entries
}
