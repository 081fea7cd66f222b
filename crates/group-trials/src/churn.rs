//! Traffic of many flows over a group that changes all the time: 25 new flows a tick, which live 250 ticks on average.

use crate::simulation::{Counts, LONGEST_DELAY, Setting, Simulation};
use server_groups::Member;

/// A run.
#[derive(Clone, Copy, Debug)]
pub struct Churn {
    /// Length of the run.
    pub ticks: u64,
    /// Ticks from one change to the next, at least and at most.
    pub gaps: (u64, u64),
    /// The group and its links.
    pub setting: Setting,
}

impl Churn {
    /// Runs it from a seed. The group begins with four servers and keeps two at least.
    pub fn run(&self, seed: u64) -> Counts {
        let (rate, life) = (25, 200);
        let mut group = Simulation::new(seed, 4, self.setting);
        let mut flows: Vec<(u32, u64, u32)> = vec![];
        let (mut next_flow, mut next_member, mut next_change) = (0, 4, 100);
        while group.now < self.ticks {
            group.step();
            if group.now >= next_change {
                let (least, most) = self.gaps;
                next_change = group.now + least + group.rng.below(most - least + 1);
                change(&mut group, &mut next_member);
            }
            for _ in 0..rate {
                let left = life / 2 + group.rng.below(life * 3 / 2);
                flows.push((next_flow, group.now + left, 0));
                // Its last packets have come by then.
                group.end_after(next_flow, left + 12 * LONGEST_DELAY);
                next_flow += 1;
            }
            flows.retain(|(_, end, _)| *end > group.now);
            let new = flows.len() - rate;
            let count = flows.len() as u64;
            let mut chosen: Vec<usize> = (0..count / 6).map(|_| group.rng.below(count) as usize).collect();
            chosen.extend(new..flows.len());
            for i in chosen {
                flows[i].2 += 1;
                let (flow, _, packet) = flows[i];
                group.send(flow, packet);
            }
        }
        group.settle();
        group.counts()
    }
}

fn change(group: &mut Simulation, next: &mut u16) {
    let taking = group.taking();
    if group.rng.next_bool() && taking.len() > 2 {
        let member = taking[group.rng.below(taking.len() as u64) as usize];
        group.remove(member);
    } else {
        group.add(Member(*next));
        *next += 1;
    }
}
