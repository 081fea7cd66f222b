//! A group that grows and shrinks by itself while traffic rises to five times as much and falls again.

use crate::simulation::{Counts, LONGEST_DELAY, Setting, Simulation};
use server_groups::Member;
use server_groups::scaling::{Rules, Scaling, Wanted};
use std::collections::BTreeMap;

/// Packets that a server handles in a tick at full load.
const CAPACITY: u64 = 250;

/// Ticks from one look at the load to the next.
const LOOK: u64 = 10;

/// Ticks of each of the three parts of a run, and new flows in a tick.
const PART: u64 = 900;
const RATES: [usize; 3] = [5, 25, 5];

/// In ticks.
pub const RULES: Rules =
    Rules { min: 2, max: 8, up: 750, up_for: 20, down: 300, down_for: 100, cooldown: 60 };

/// A run.
#[derive(Clone, Debug)]
pub struct Autoscale {
    /// Servers that take new flows, at each look.
    pub servers: Vec<usize>,
    /// Counts of the whole run.
    pub counts: Counts,
}

/// Runs it from a seed. The group begins with two servers.
pub fn autoscale(seed: u64) -> Autoscale {
    let mut group = Simulation::new(seed, 2, Setting { pins: 256, ..Setting::default() });
    let mut scaling = Scaling::new(RULES);
    let mut servers = vec![];
    let mut flows: Vec<(u32, u64, u32)> = vec![];
    let mut before = BTreeMap::new();
    let (mut next_flow, mut next_member) = (0, 2);
    while group.now < PART * RATES.len() as u64 {
        let rate = RATES[(group.now / PART) as usize];
        group.step();
        if group.now.is_multiple_of(LOOK) {
            let taking = group.taking();
            servers.push(taking.len());
            let count = |at: &BTreeMap<Member, u64>, member| at.get(&member).copied().unwrap_or(0);
            let load = |member| {
                let handled = count(group.at_server(), member) - count(&before, member);
                (member, (handled * 1000 / (LOOK * CAPACITY)) as u32)
            };
            let loads = taking.into_iter().map(load).collect();
            before.clone_from(group.at_server());
            match scaling.step(group.now, &loads) {
                Some(Wanted::Grow) => {
                    group.add(Member(next_member));
                    next_member += 1;
                }
                Some(Wanted::Shrink(member)) => {
                    group.remove(member);
                }
                None => {}
            }
        }
        for _ in 0..rate {
            let left = 100 + group.rng.below(300);
            flows.push((next_flow, group.now + left, 0));
            group.end_after(next_flow, left + 12 * LONGEST_DELAY);
            next_flow += 1;
        }
        flows.retain(|(_, end, _)| *end > group.now);
        let now = group.now;
        // Each flow sends every sixth tick.
        for (flow, _, packet) in flows.iter_mut().filter(|(flow, _, _)| u64::from(*flow) % 6 == now % 6) {
            *packet += 1;
            group.send(*flow, *packet);
        }
    }
    group.settle();
    Autoscale { servers, counts: group.counts() }
}
