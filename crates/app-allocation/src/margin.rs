//! Gains from more memory or more helpers: the problem is solved again with each.

use crate::allocate::{Allocation, Objective, allocate};
use crate::choose::Effort;
use crate::options::Limit;
use crate::problem::Problem;

/// A change and the allocation that it makes possible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Margin {
    /// The resource that is increased.
    pub more: More,
    /// Mean latency with it, in picoseconds.
    pub latency: u64,
    /// The smallest part of its traffic that a class takes with it, in billionths.
    pub throughput: u64,
}

/// More of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum More {
    /// A memory of the switch, and units of it.
    Units(usize, u64),
    /// A helper of a class.
    Helper(usize),
}

/// The gain of a block and of ten blocks of each memory of the switch, and of a helper of each class.
pub fn margins(problem: &Problem, objective: Objective, effort: &Effort, now: &Allocation) -> Vec<Margin> {
    let mut changes = vec![];
    for used in &now.used {
        let Limit::Switch(row) = used.limit else { continue };
        let step = step(problem, row);
        changes.extend([step, 10 * step].map(|units| More::Units(row, units)));
    }
    changes.extend((0..problem.classes.len()).map(More::Helper));
    let one = |more: More| {
        let mut changed = problem.clone();
        match more {
            More::Units(row, units) => {
                changed.switch[row].capacity = changed.switch[row].capacity.saturating_add(units);
            }
            More::Helper(class) => changed.classes[class].count += 1,
        }
        let found = allocate(&changed, objective, effort).ok()?;
        let throughput = found.throughput.iter().copied().min().unwrap_or(crate::WHOLE);
        Some(Margin { more, latency: found.latency, throughput })
    };
    changes.into_iter().filter_map(one).collect()
}

/// Units of a block; where blocks are single entries, those of a flow.
fn step(problem: &Problem, row: usize) -> u64 {
    let flow = |app: &crate::App| {
        let objects = app.at_switch.iter().flat_map(|place| &place.objects);
        let single = objects.filter(|object| object.row == row && object.block == 1);
        single.map(|object| object.units).sum::<u64>()
    };
    problem.apps.iter().map(flow).max().unwrap_or(1).clamp(1, 1 << 40)
}
