//! The access lists: their controller, and a model that looks at all rules.

use crate::frames::{Flow, TCP, UDP, packet};
use crate::network::{Network, bits, route, routed};
use base_time::Rng;
use control_writes::{ActionCall, Count, Entry, EntryKey, Match, Run, Write};
use ir::Name;
use std::collections::BTreeMap;

/// A rule of a tenant's list. The greater priority wins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The tenant.
    pub tenant: u8,
    /// Unique among the rules of all tenants, 1 or more.
    pub priority: i64,
    /// Value and mask of the source's and the destination's address.
    pub addresses: [(u32, u32); 2],
    /// Protocol; any if there is none.
    pub protocol: Option<u8>,
    /// First and last port of the destination.
    pub ports: (u16, u16),
    /// The verdict.
    pub permits: bool,
}

impl Rule {
    /// True for a packet that the rule is about.
    pub fn is_for(&self, tenant: u8, flow: &Flow) -> bool {
        let within = |address: u32, (value, mask): (u32, u32)| address & mask == value & mask;
        self.tenant == tenant
            && within(flow.src.0, self.addresses[0])
            && within(flow.dst.0, self.addresses[1])
            && self.protocol.is_none_or(|protocol| protocol == flow.protocol)
            && (self.ports.0..=self.ports.1).contains(&flow.dst.1)
    }

    fn write(&self, add: bool) -> Write<Name> {
        let ternary = |(value, mask): (u32, u32)| match mask {
            0 => Match::Any,
            _ => Match::Ternary { value: bits(32, value & mask), mask: bits(32, mask) },
        };
        let protocol = |one: u8| Match::Ternary { value: bits(8, one), mask: bits(8, 0xffu8) };
        let range = |first: u16, last: u16| match (first, last) {
            (0, u16::MAX) => Match::Any,
            _ => Match::Range { lo: bits(16, first), hi: bits(16, last) },
        };
        let matches = vec![
            Match::Exact(bits(8, self.tenant)),
            ternary(self.addresses[0]),
            ternary(self.addresses[1]),
            self.protocol.map_or(Match::Any, protocol),
            range(0, u16::MAX),
            range(self.ports.0, self.ports.1),
        ];
        let action = if self.permits { "AclIngress.permit" } else { "AclIngress.deny" };
        entry("AclIngress.rules", matches, self.priority, action, vec![], add)
    }
}

fn entry(
    table: &str,
    matches: Vec<Match>,
    priority: i64,
    action: &str,
    args: Vec<base_bits::Bits>,
    add: bool,
) -> Write<Name> {
    let run = Run::Action(ActionCall { action: action.into(), args });
    let to = add.then(|| Box::new(Entry::new(run)));
    Write::Entry { table: table.into(), key: EntryKey { matches: matches.into(), priority }, to, count: None }
}

/// The controller: rules that operators add and remove.
#[derive(Default)]
pub struct Lists {
    rules: BTreeMap<i64, Rule>,
}

impl Lists {
    /// Adds a rule. An error if another one has its priority.
    pub fn add(&mut self, on: &mut impl Network, rule: Rule) -> Result<(), String> {
        if self.rules.contains_key(&rule.priority) {
            return Err(format!("another rule has priority {}", rule.priority));
        }
        on.write(rule.write(true))?;
        self.rules.insert(rule.priority, rule);
        Ok(())
    }

    /// Removes a rule.
    pub fn remove(&mut self, on: &mut impl Network, priority: i64) -> Result<(), String> {
        match self.rules.remove(&priority) {
            Some(rule) => on.write(rule.write(false)),
            None => Ok(()),
        }
    }
}

/// Tenants, by network, each with the verdict where no rule is for a packet.
const TENANTS: u8 = 4;

/// How a trial went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Packets sent.
    pub packets: u64,
    /// Packets that passed.
    pub passed: u64,
    /// Packets decided by a rule.
    pub by_rule: u64,
    /// Rules added and removed.
    pub changes: u64,
}

/// Random packets, and rules that come and go. An error if a verdict is not that of the rules at its time, or a tenant's counter is wrong.
pub fn trial(on: &mut impl Network, packets: u64, seed: u64) -> Result<Outcome, String> {
    let mut rng = Rng::new(seed).split("acl");
    on.write(route("AclIngress", 0, 0, 2))?;
    let denies = |tenant: u8| tenant % 2 == 1;
    for tenant in 0..TENANTS {
        let network = 0x0a00_0000 | u32::from(tenant) << 16;
        let key = vec![Match::Lpm { value: bits(32, network), prefix_len: 16 }];
        let args = vec![bits(8, tenant), bits(1, u8::from(denies(tenant)))];
        on.write(entry("AclIngress.tenants", key, 0, "AclIngress.tenant_is", args, true))?;
    }
    let (mut lists, mut rules, mut outcome) = (Lists::default(), Vec::<Rule>::new(), Outcome::default());
    let mut filtered = [Count::default(); TENANTS as usize];
    let mut next = 1;
    while outcome.packets < packets {
        if rng.chance(1, 20) {
            outcome.changes += 1;
            if rules.len() > 12 || !rules.is_empty() && rng.chance(1, 3) {
                let rule = rules.swap_remove(rng.index(rules.len()));
                lists.remove(on, rule.priority)?;
            } else {
                // Priorities neither rise nor fall with time.
                let rule = drawn(next * 7919 % 10_007 + 1, &mut rng);
                next += 1;
                lists.add(on, rule.clone())?;
                rules.push(rule);
            }
            continue;
        }
        let tenant = rng.below(TENANTS.into()) as u8;
        let src = (0xc633_6400 + rng.below(4) as u32, 5000);
        let dst = (0x0a00_0000 | u32::from(tenant) << 16 | rng.below(4) as u32, 20 + rng.below(6) as u16);
        let flow = Flow { protocol: [TCP, UDP][rng.index(2)], src, dst };
        let frame = packet(flow, &[0; 20]);
        let best = rules.iter().filter(|rule| rule.is_for(tenant, &flow)).max_by_key(|rule| rule.priority);
        let passes = best.map_or(!denies(tenant), |rule| rule.permits);
        let wanted = if passes { vec![(2, routed(&frame, 2))] } else { vec![] };
        let left = on.frame(1, &frame);
        if left != wanted {
            return Err(format!("packet {}, {flow:x?}, {best:?}: {left:02x?}", outcome.packets));
        }
        outcome.packets += 1;
        outcome.passed += u64::from(passes);
        outcome.by_rule += u64::from(best.is_some());
        if !passes {
            let count = &mut filtered[usize::from(tenant)];
            *count = Count { packets: count.packets + 1, bytes: count.bytes + frame.len() as u64 };
        }
    }
    for (tenant, wanted) in filtered.iter().enumerate() {
        let got = on.count("AclIngress.filtered", tenant as u64);
        if got != *wanted {
            return Err(format!("tenant {tenant}: {got:?} filtered, wanted {wanted:?}"));
        }
    }
    Ok(outcome)
}

fn drawn(priority: i64, rng: &mut Rng) -> Rule {
    let tenant = rng.below(TENANTS.into()) as u8;
    let mask = [0, 0xffff_ffff, 0xffff_fffe, 0xffff_ff00][rng.index(4)];
    let source = (0xc633_6400 + rng.below(4) as u32, mask);
    let mask = [0, 0xffff_ffff, 0xffff_0000, 0x0000_0001][rng.index(4)];
    let destination = (0x0a00_0000 | u32::from(tenant) << 16 | rng.below(4) as u32, mask);
    let first = 20 + rng.below(6) as u16;
    let ports = [(0, u16::MAX), (first, first), (first, first + 2)][rng.index(3)];
    let protocol = [None, Some(TCP), Some(UDP)][rng.index(3)];
    Rule { tenant, priority, addresses: [source, destination], protocol, ports, permits: rng.chance(1, 2) }
}
