//! Quick rejection of most pairs of labels.
//!
//! A label dominates another only if it is no worse in each of many figures. Some of these, and sums of the others, are
//! compared first: they are contiguous in memory, and nearly all pairs differ in one.

use crate::compare::{Canonical, Compare};
use crate::search::Fault;

/// Objectives that are looked at; there are seldom more.
const COSTS: usize = 3;
/// Number of leading figures of [`Canonical::figures`].
const OTHERS: usize = 3;
/// Sums of use; groups of devices share them.
const USES: usize = 18;

const FIGURES: usize = COSTS + OTHERS + USES;

/// Figures of a label.
#[derive(Clone, Copy)]
pub struct Head {
    figures: [i64; FIGURES],
    /// A bit for each device and variable with use beyond its floor; several may share a bit.
    used: u64,
}

/// Number of figures in a word, seven bits each.
const LANES: usize = 8;
/// The bit above each of them.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The figures of a head, rounded so that they fit into a few words. Rounding is monotonic.
#[derive(Clone, Copy)]
pub struct Glance {
    words: [u64; FIGURES / LANES],
    used: u64,
}

impl Glance {
    /// False if the label of this one does not dominate that of the other.
    pub fn may_dominate(&self, other: &Glance) -> bool {
        let is_at_most = |(a, b): (&u64, &u64)| ((b | HIGH) - a) & HIGH == HIGH;
        self.used & !other.used == 0 && self.words.iter().zip(&other.words).all(is_at_most)
    }
}

/// Range of each figure among the labels that are compared.
pub struct Scale {
    least: [i64; FIGURES],
    most: [i64; FIGURES],
}

impl Scale {
    /// The scale of some labels.
    pub fn new<'h>(heads: impl Iterator<Item = &'h Head>) -> Scale {
        let mut scale = Scale { least: [i64::MAX; FIGURES], most: [i64::MIN; FIGURES] };
        for head in heads {
            for (at, figure) in head.figures.iter().enumerate() {
                scale.least[at] = scale.least[at].min(*figure);
                scale.most[at] = scale.most[at].max(*figure);
            }
        }
        scale
    }

    /// The figures of one label in this scale.
    pub fn glance(&self, head: &Head) -> Glance {
        let mut glance = Glance { words: [0; FIGURES / LANES], used: head.used };
        for (at, figure) in head.figures.iter().enumerate() {
            // As many bits less as leave seven of the largest.
            let range = self.most[at].wrapping_sub(self.least[at]) as u64;
            let less = (u64::BITS - range.leading_zeros()).saturating_sub(7);
            let part = figure.wrapping_sub(self.least[at]) as u64 >> less;
            glance.words[at / LANES] |= part << (at % LANES * 8);
        }
        glance
    }
}

#[cfg(test)]
impl Head {
    /// False if the label of this one does not dominate that of the other.
    fn may_dominate(&self, other: &Head) -> bool {
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

    /// Sums each device's use beyond its floor, group by group; returns [`Head::used`].
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

#[cfg(test)]
mod tests {
    use super::{FIGURES, Head, Scale};
    use base_time::Rng;

    /// The quick comparison never rejects a label that is no worse in all figures, and rejects most that are worse in
    /// one.
    #[test]
    fn a_glance_never_says_no_where_all_figures_say_yes() {
        let mut rng = Rng::new(1);
        let figures =
            |rng: &mut Rng| [0; FIGURES].map(|_: i64| [i64::MIN, 0, 1, 1000, i64::MAX][rng.index(5)]);
        let heads: Vec<Head> =
            (0..300).map(|_| Head { figures: figures(&mut rng), used: rng.next_u64() & 7 }).collect();
        let scale = Scale::new(heads.iter());
        let (mut yes, mut seen) = (0, 0);
        for a in &heads {
            for b in &heads {
                let other =
                    Head { figures: std::array::from_fn(|at| b.figures[at].max(a.figures[at])), used: 7 };
                for b in [b, &other] {
                    let is_seen = scale.glance(a).may_dominate(&scale.glance(b));
                    assert!(is_seen || !a.may_dominate(b));
                    yes += u32::from(a.may_dominate(b));
                    seen += u32::from(is_seen);
                }
            }
        }
        assert!(yes >= 90_000 && seen < yes + yes / 100, "{yes} of which {seen} are seen");
    }
}
