//! 1000 routes and 1000 rules for each of IPv4 and IPv6. Rules are drawn as firewalls have them: prefixes of both
//! addresses or one, a protocol, now and then a port or TCP's flags.

use super::{spoil, trace};
use crate::addresses::{NEXT_HOPS, PORTS, ROUTER, next_hops, prefixes, prefixes6, routes, within, within6};
use crate::entry::{any, begins, entry, like, ranked};
use crate::frame::{Flow, Flow6, Frame, IPV4, IPV6, TCP, UDP};
use crate::{Load, Packet, Shape};
use base_time::Rng;
use p4_entries::{Match, Statement};

const ROUTES: usize = 1000;
const RULES: usize = 1000;

/// Match of a rule; addresses are as wide as the family's.
struct Rule {
    source: Option<(u128, u32)>,
    destination: Option<(u128, u32)>,
    protocol: Option<u8>,
    from: Option<u16>,
    to: Option<u16>,
    flags: Option<(u8, u8)>,
    permit: bool,
}

/// Ports that rules are about.
const SERVICES: [u16; 10] = [22, 23, 25, 53, 80, 123, 443, 445, 3389, 8080];

/// `address` draws an address of `width` bits.
fn rule(rng: &mut Rng, width: u32, mut address: impl FnMut(&mut Rng) -> u128) -> Rule {
    let mut part = |rng: &mut Rng, wild: u64| {
        let length = width * rng.between(4, 8) as u32 / 8;
        let cut = (address(rng) >> (width - length)) << (width - length);
        (!rng.chance(wild, 10)).then_some((cut, length))
    };
    let source = part(rng, 4);
    let destination = part(rng, if source.is_some() { 2 } else { 0 });
    let protocol = match rng.below(10) {
        0..6 => Some(TCP),
        6..9 => Some(UDP),
        _ => None,
    };
    let to = (protocol.is_some() && rng.chance(7, 10)).then(|| SERVICES[rng.index(SERVICES.len())]);
    let from = rng.chance(1, 20).then(|| SERVICES[rng.index(SERVICES.len())]);
    // Without ACK: new connections.
    let flags = (protocol == Some(TCP) && rng.chance(1, 10)).then_some((0x02, 0x12));
    Rule { source, destination, protocol, from, to, flags, permit: rng.chance(7, 10) }
}

impl Rule {
    fn entry(&self, table: &str, priority: i64) -> Statement {
        let prefix =
            |part: Option<(u128, u32)>| part.map_or_else(any, |(number, length)| begins(number, length));
        let exact = |value: Option<u16>, mask: u16| -> Match { value.map_or_else(any, |v| like(v, mask)) };
        let keys = vec![
            prefix(self.source),
            prefix(self.destination),
            exact(self.protocol.map(u16::from), 0xff),
            exact(self.from, 0xffff),
            exact(self.to, 0xffff),
            self.flags.map_or_else(any, |(value, mask)| like(value, mask)),
        ];
        ranked(table, priority, keys, if self.permit { "permit" } else { "deny" }, &[])
    }

    /// Addresses, protocol and ports of a flow; half of the flows are what some rule is about.
    fn flow(
        rules: &[Rule],
        flow: &mut Rng,
        width: u32,
        mut address: impl FnMut(&mut Rng) -> u128,
    ) -> (u128, u128, u8, u16, u16) {
        let (source, destination) = (address(flow), address(flow));
        let protocol = if flow.chance(7, 10) { TCP } else { UDP };
        let (from, to) = (flow.between(1024, 65535) as u16, SERVICES[flow.index(SERVICES.len())]);
        let rule = &rules[flow.index(rules.len())];
        if flow.next_bool() {
            return (source, destination, protocol, from, to);
        }
        let within = |part: Option<(u128, u32)>, address: u128| match part {
            Some((cut, length)) => cut | address & ((1u128 << (width - length)) - 1),
            None => address,
        };
        (
            within(rule.source, source),
            within(rule.destination, destination),
            rule.protocol.unwrap_or(protocol),
            rule.from.unwrap_or(from),
            rule.to.unwrap_or(to),
        )
    }
}

/// Half IPv4, half IPv6.
pub fn load(shape: &Shape) -> Load {
    let rng = Rng::new(shape.seed).split("acl");
    let prefixes = prefixes(ROUTES, &mut rng.split("prefixes"));
    let prefixes6 = prefixes6(ROUTES, &mut rng.split("prefixes6"));
    let address = |rng: &mut Rng| u128::from(within(&prefixes, rng));
    let address6 = |rng: &mut Rng| within6(&prefixes6, rng);
    let mut draws = rng.split("rules");
    let rules: Vec<Rule> = (0..RULES).map(|_| rule(&mut draws, 32, address)).collect();
    let rules6: Vec<Rule> = (0..RULES).map(|_| rule(&mut draws, 128, address6)).collect();

    let mut entries = routes("routes_v4", &prefixes, &mut rng.split("routes"));
    let mut draws = rng.split("routes6");
    entries.extend(prefixes6.iter().map(|(prefix, length)| {
        let next_hop = draws.between(1, NEXT_HOPS);
        entry("routes_v6", vec![begins(*prefix, *length)], "set_next_hop", &[next_hop])
    }));
    entries.extend(next_hops("next_hops"));
    entries.extend((1..).zip(&rules).map(|(priority, rule)| rule.entry("acl_v4", priority)));
    entries.extend((1..).zip(&rules6).map(|(priority, rule)| rule.entry("acl_v6", priority)));

    let packets = trace(shape, &rng, |flow, rng, length| {
        let port = flow.between(1, PORTS) as u16;
        if flow.next_bool() {
            let (source, destination, protocol, from, to) = Rule::flow(&rules, flow, 32, address);
            let (source, destination) = (source as u32, destination as u32);
            let packet = Flow { source, destination, protocol, from, to }.packet(length - 14, 64, 0);
            let mut bytes = Frame::ethernet(ROUTER, 0x0200_0000_2000, IPV4).then(&packet).padded(length);
            spoil(&mut bytes, 14, rng);
            Packet { port, bytes }
        } else {
            let (source, destination, protocol, from, to) = Rule::flow(&rules6, flow, 128, address6);
            let packet = Flow6 { source, destination, protocol, from, to }.packet(length - 14, 64);
            let bytes = Frame::ethernet(ROUTER, 0x0200_0000_2000, IPV6).then(&packet).padded(length);
            Packet { port, bytes }
        }
    });
    Load { entries, packets }
}
