//! What rules most pairs of labels out at a glance.
//!
//! A label dominates another only if it is no worse in each of many figures. Some of these, and sums of the others, are compared first: they
//! lie in one piece, and nearly all pairs differ in one.

use crate::compare::{Canonical, Compare};
use crate::search::Fault;

/// Objectives that are looked at; there are seldom more.
const COSTS: usize = 3;
/// Of [`Canonical::figures`], the first ones.
const OTHERS: usize = 3;
/// Sums of what is used: groups of devices share them.
const USES: usize = 18;

const FIGURES: usize = COSTS + OTHERS + USES;

/// Figures of a label.
#[derive(Clone, Copy)]
pub struct Head {
    figures: [i64; FIGURES],
    /// What is used beyond what is of no account, by device and variable: several may share a bit.
    used: u64,
}

impl Head {
    /// False if the label of this one does not dominate that of the other.
    pub fn may_dominate(&self, other: &Head) -> bool {
        self.used & !other.used == 0 && self.figures.iter().zip(&other.figures).all(|(a, b)| a <= b)
    }
}

impl Compare<'_> {
    /// The figures of a label.
    pub fn head(&self, canonical: &Canonical) -> Head {
        let mut head = Head { figures: [0; FIGURES], used: 0 };
        let (costs, rest) = head.figures.split_at_mut(COSTS);
        let (others, uses) = rest.split_at_mut(OTHERS);
        if self.fault != Some(Fault::Owed) {
            costs.iter_mut().zip(&canonical.cost).for_each(|(figure, cost)| *figure = *cost);
        }
        others.iter_mut().zip(&canonical.figures).for_each(|(figure, other)| *figure = *other);
        if self.fault != Some(Fault::Uses) {
            head.used = self.sum_uses(canonical, uses);
        }
        head
    }

    /// Of each device what is used beyond its floor, group by group; gives [`Head::used`].
    fn sum_uses(&self, canonical: &Canonical, sums: &mut [i64]) -> u64 {
        let (mut bits, mut rank, mut before) = (0u64, 0, None);
        for (group, row) in canonical.groups.iter().zip(canonical.rows.chunks_exact(self.width())) {
            rank = if before == Some(*group) { rank + 1 } else { 0 };
            before = Some(*group);
            for (place, beyond) in
                row[self.charges() + 1..].iter().enumerate().filter(|(_, beyond)| **beyond > 0)
            {
                let sum = &mut sums[(group * 3 + place) % USES];
                *sum = sum.saturating_add(*beyond);
                bits |= 1 << ((group * 29 + rank * 11 + place * 3) % 64);
            }
        }
        bits
    }
}
