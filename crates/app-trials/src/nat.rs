//! The two NATs: a controller for both, and the properties of what they send.

use crate::frames::{AtPort, Flow, TCP, UDP, flow, packet};
use crate::network::{Network, bits, entry, route, routed};
use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use control_writes::Write;
use ir::Name;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// One of the two programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `nat.p4`: tenants by port; their private addresses may be the same.
    Tenants,
    /// `vm-nat.p4`: one private address space, machines with addresses of their own.
    Machines,
}

impl Kind {
    fn control(self) -> &'static str {
        match self {
            Kind::Tenants => "NatIngress",
            Kind::Machines => "VmNatIngress",
        }
    }
}

/// A flow inside, with its tenant's number.
pub type Inside = (u8, Flow);

/// Ports of a public address. A port that is given back is used again after some time, the one given back first.
struct Pool {
    address: u32,
    never: std::ops::RangeInclusive<u16>,
    back: VecDeque<(Time, u16)>,
}

impl Pool {
    fn take(&mut self, now: Time) -> Option<u16> {
        match self.back.front() {
            Some((from, _)) if *from <= now => self.back.pop_front().map(|(_, port)| port),
            _ => self.never.next(),
        }
    }
}

/// The controller of a NAT.
pub struct Translator {
    kind: Kind,
    /// Time between the end of a flow and the next one with its port.
    hold: Duration,
    pools: BTreeMap<u8, Pool>,
    flows: BTreeMap<Inside, u16>,
    /// New flows for which no port was free.
    pub exhausted: u64,
}

impl Translator {
    /// A controller without addresses.
    pub fn new(kind: Kind, hold: Duration) -> Translator {
        Translator { kind, hold, pools: BTreeMap::new(), flows: BTreeMap::new(), exhausted: 0 }
    }

    /// The public address of a tenant, with its ports. For machines, whose tenant is 0, the address of all without one of their own.
    pub fn address(&mut self, tenant: u8, address: u32, ports: std::ops::RangeInclusive<u16>) {
        self.pools.insert(tenant, Pool { address, never: ports, back: VecDeque::new() });
    }

    /// Takes the reports of new flows, and writes their entries.
    pub fn take(&mut self, on: &mut impl Network, now: Time) -> Result<(), String> {
        for (_, fields) in on.reports() {
            let numbers: Vec<u32> = fields.iter().map(|field| *field as u32).collect();
            let (tenant, numbers) = match self.kind {
                Kind::Tenants => (numbers[0] as u8, &numbers[1..]),
                Kind::Machines => (0, &numbers[..]),
            };
            let [src, dst, protocol, src_port, dst_port] = *numbers else {
                return Err(format!("a report of {} fields", fields.len()));
            };
            let flow =
                Flow { protocol: protocol as u8, src: (src, src_port as u16), dst: (dst, dst_port as u16) };
            self.begin(on, (tenant, flow), now)?;
        }
        Ok(())
    }

    fn begin(&mut self, on: &mut impl Network, flow: Inside, now: Time) -> Result<(), String> {
        if self.flows.contains_key(&flow) {
            return Ok(());
        }
        let Some(pool) = self.pools.get_mut(&flow.0) else { return Ok(()) };
        let Some(port) = pool.take(now) else {
            self.exhausted += 1;
            return Ok(());
        };
        let address = pool.address;
        self.flows.insert(flow, port);
        // Replies pass before the first packet does.
        let [outbound, inbound] = self.entries(flow, (address, port), true);
        on.write(inbound)?;
        on.write(outbound)
    }

    /// A flow has ended: its packets are no longer translated.
    pub fn end(&mut self, on: &mut impl Network, flow: Inside, now: Time) -> Result<(), String> {
        let Some(port) = self.flows.remove(&flow) else { return Ok(()) };
        let Some(pool) = self.pools.get_mut(&flow.0) else { return Ok(()) };
        pool.back.push_back((now + self.hold, port));
        let address = pool.address;
        self.entries(flow, (address, port), false).into_iter().try_for_each(|write| on.write(write))
    }

    fn entries(&self, (tenant, flow): Inside, public: (u32, u16), add: bool) -> [Write<Name>; 2] {
        let control = self.kind.control();
        let ends = |one: (u32, u16), other: (u32, u16)| -> Vec<Bits> {
            vec![
                bits(32, one.0),
                bits(32, other.0),
                bits(8, flow.protocol),
                bits(16, one.1),
                bits(16, other.1),
            ]
        };
        let mut outbound = ends(flow.src, flow.dst);
        if self.kind == Kind::Tenants {
            outbound.insert(0, bits(8, tenant));
        }
        let made = |table: &str, key: &[Bits], action: &str, to: (u32, u16)| {
            let action = format!("{control}.{action}");
            let run = add.then(|| (action.as_str(), vec![bits(32, to.0), bits(16, to.1)]));
            entry(&format!("{control}.{table}"), key, run)
        };
        [
            made("outbound", &outbound, "source_is", public),
            made("inbound", &ends(public, flow.dst), "destination_is", flow.src),
        ]
    }
}

/// Port of the outside.
pub const OUTSIDE: u32 = 1;
const HOLD: Duration = Duration::from_s(10);
/// Machines with a public address of their own: address inside and outside.
const OWN: [(u32, u32); 2] = [(0x0a03_0063, 0xc000_0263), (0x0a03_0064, 0xc000_0264)];

/// The configuration of a trial: two tenants behind ports 2 and 3, or machines behind these ports.
pub fn configure(on: &mut impl Network, kind: Kind, ports: u16) -> Result<Translator, String> {
    let control = kind.control();
    let mut translator = Translator::new(kind, HOLD);
    on.write(route(control, 0, 0, OUTSIDE))?;
    for port in [2u32, 3] {
        on.write(route(control, 0x0a00_0000 | port << 16, 16, port))?;
        let key = [bits(9, port)];
        match kind {
            Kind::Tenants => {
                on.write(entry(
                    "NatIngress.tenants",
                    &key,
                    Some(("NatIngress.tenant_is", vec![bits(8, port)])),
                ))?;
                translator.address(port as u8, 0xc000_0200 + port, 61000..=61000 + ports - 1);
            }
            Kind::Machines => {
                on.write(entry("VmNatIngress.sides", &key, Some(("VmNatIngress.is_inside", vec![]))))?
            }
        }
    }
    if kind == Kind::Machines {
        translator.address(0, 0xc000_0202, 61000..=61000 + ports - 1);
        for (inside, outside) in OWN {
            let address = |to: u32| vec![bits(32, to)];
            on.write(entry(
                "VmNatIngress.own_outbound",
                &[bits(32, inside)],
                Some(("VmNatIngress.source_address", address(outside))),
            ))?;
            on.write(entry(
                "VmNatIngress.own_inbound",
                &[bits(32, outside)],
                Some(("VmNatIngress.destination_address", address(inside))),
            ))?;
        }
    }
    Ok(translator)
}

/// How a trial went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Packets sent.
    pub packets: u64,
    /// Packets that were translated, from inside and from outside.
    pub translated: [u64; 2],
    /// Flows that ended.
    pub ended: u64,
    /// New flows without a port.
    pub exhausted: u64,
    /// Ports that a later flow has had again.
    pub again: u64,
}

/// State of the flows as both sides of the NAT see it.
#[derive(Default)]
struct Seen {
    /// The public side of each flow that lives, from its first translated packet on.
    public: BTreeMap<Inside, (u32, u16)>,
    /// When a public side was last used.
    freed: BTreeMap<(u32, u16), Time>,
}

/// Random flows that begin and end. An error if a property does not hold: no two flows share a public side, a flow keeps its own, replies come to the flow's
/// sender as it would see them without a NAT, checksums are right, nothing else comes in, and a port is used again only after the time that the controller has.
pub fn trial(on: &mut impl Network, kind: Kind, packets: u64, seed: u64) -> Result<Outcome, String> {
    let mut rng = Rng::new(seed).split("nat");
    let ports = if kind == Kind::Tenants { 12 } else { 22 };
    let (mut translator, mut now) = (configure(on, kind, ports)?, Time::ZERO);
    let mut flows: Vec<(u32, Flow)> = (0..30).map(|_| drawn(kind, &mut rng)).collect();
    let (mut seen, mut outcome) = (Seen::default(), Outcome::default());
    while outcome.packets < packets {
        let at = rng.index(flows.len());
        let (port, flow) = flows[at];
        let inside = (if kind == Kind::Tenants { port as u8 } else { 0 }, flow);
        if rng.chance(1, 60) {
            translator.end(on, inside, now)?;
            if let Some(public) = seen.public.remove(&inside) {
                seen.freed.insert(public, now);
                outcome.ended += 1;
                let late = packet(Flow { src: flow.dst, dst: public, ..flow }, b"late");
                if !on.frame(OUTSIDE, &late).is_empty() && own_side(inside).is_none() {
                    return Err(format!("{flow:?} has ended, and its replies pass"));
                }
                outcome.packets += 1;
            }
            flows[at] = drawn(kind, &mut rng);
            continue;
        }
        let length = rng.index(60);
        let payload = rng.bytes(length);
        outward(on, &mut seen, &mut outcome, (port, inside), &payload, now)?;
        translator.take(on, now)?;
        if let Some(public) = seen.public.get(&inside).copied() {
            inward(on, &mut outcome, (port, flow), public, &payload)?;
        }
        // Somebody else, or a port that nobody has.
        let stranger =
            Flow { protocol: UDP, src: (0xcb00_71ff, 53), dst: (0xc000_0202, 61000 + rng.below(26) as u16) };
        outcome.packets += 1;
        if !on.frame(OUTSIDE, &packet(stranger, b"?")).is_empty() {
            return Err("a packet of no flow comes in".into());
        }
        if rng.chance(1, 10) {
            let span = Duration::from_ms(rng.below(2000));
            now += span;
            on.pass(span);
        }
    }
    outcome.exhausted = translator.exhausted;
    Ok(outcome)
}

/// A new flow, with the port that its packets come from.
fn drawn(kind: Kind, rng: &mut Rng) -> (u32, Flow) {
    let port = 2 + rng.below(2) as u32;
    let net = if kind == Kind::Tenants { 2 } else { port };
    let host = if rng.chance(1, 4) { 0x63 + rng.below(2) as u32 } else { rng.below(5) as u32 };
    let protocol = [TCP, UDP][rng.index(2)];
    let dst = (0xcb00_7100 + rng.below(4) as u32, [80, 443][rng.index(2)]);
    (port, Flow { protocol, src: (0x0a00_0000 | net << 16 | host, 1024 + rng.below(5000) as u16), dst })
}

/// The public side of a machine with an address of its own.
fn own_side((tenant, flow): Inside) -> Option<(u32, u16)> {
    let own = OWN.iter().find(|(inside, _)| *inside == flow.src.0 && tenant == 0);
    own.map(|(_, outside)| (*outside, flow.src.1))
}

fn outward(
    on: &mut impl Network,
    seen: &mut Seen,
    outcome: &mut Outcome,
    (port, inside): (u32, Inside),
    payload: &[u8],
    now: Time,
) -> Result<(), String> {
    let frame = packet(inside.1, payload);
    let left = on.frame(port, &frame);
    outcome.packets += 1;
    let Some(left) = only(left)? else {
        return match seen.public.contains_key(&inside) {
            true => Err(format!("a packet of {inside:?} is lost")),
            false => Ok(()),
        };
    };
    outcome.translated[0] += 1;
    let translated = flow(&left.1)?;
    let public = translated.src;
    match seen.public.get(&inside) {
        Some(known) if *known == public => {}
        Some(known) => return Err(format!("{inside:?} was {known:x?}, and is {public:x?}")),
        None => {
            let taken: BTreeSet<_> = seen.public.iter().filter(|(_, known)| **known == public).collect();
            let own = own_side(inside);
            if own.is_some_and(|own| own != public) {
                return Err(format!("{inside:x?} is {public:x?}, in spite of an address of its own"));
            }
            let own = own.is_some();
            if !taken.is_empty() && !own {
                return Err(format!("{inside:?} gets {public:x?}, which {taken:?} has"));
            }
            if let Some(freed) = seen.freed.get(&public).filter(|_| !own) {
                outcome.again += 1;
                if now.since(*freed) < HOLD {
                    return Err(format!("{public:x?} is used again too early"));
                }
            }
            seen.public.insert(inside, public);
        }
    }
    let wanted = (OUTSIDE, routed(&packet(Flow { src: public, ..inside.1 }, payload), OUTSIDE));
    if left != wanted {
        return Err(format!("{left:02x?}\nwanted {wanted:02x?}"));
    }
    Ok(())
}

fn inward(
    on: &mut impl Network,
    outcome: &mut Outcome,
    (port, inside): (u32, Flow),
    public: (u32, u16),
    payload: &[u8],
) -> Result<(), String> {
    let reply = Flow { src: inside.dst, dst: public, ..inside };
    let left = on.frame(OUTSIDE, &packet(reply, payload));
    outcome.packets += 1;
    outcome.translated[1] += 1;
    // A tenant's addresses are routed by the tenant's own network.
    let out = if inside.src.0 >> 16 & 0xff == port { port } else { inside.src.0 >> 16 & 0xff };
    let wanted = (out, routed(&packet(inside.back(), payload), out));
    match only(left)? {
        Some(left) if left == wanted => Ok(()),
        left => Err(format!("reply to {inside:?}: {left:02x?}\nwanted {wanted:02x?}")),
    }
}

fn only(mut left: Vec<AtPort>) -> Result<Option<AtPort>, String> {
    match left.len() {
        0 | 1 => Ok(left.pop()),
        many => Err(format!("{many} frames")),
    }
}
