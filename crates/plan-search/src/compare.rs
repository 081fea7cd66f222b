//! When one partial plan makes another needless.

use crate::Measure;
use crate::bound::Bound;
use crate::cells::Cells;
use crate::label::{Label, Trail, Use};
use crate::outcome::Matters;
use crate::problem::Problem;
use crate::remaining::Remaining;
use crate::search::Fault;
use crate::twins::Twins;

/// What a comparison of labels needs to know; labels of one level are compared.
pub struct Compare<'p> {
    /// The problem.
    pub problem: &'p Problem,
    /// Equal devices.
    pub twins: &'p Twins,
    /// What may come.
    pub remaining: &'p Remaining,
    /// Which values lead to the same tiers.
    pub cells: &'p Cells,
    /// What of states matters.
    pub matters: &'p [Matters],
    /// So many regions are placed.
    pub level: usize,
    /// The classes that plans are searched on.
    pub bound: &'p Bound<'p>,
    /// A mistake to make.
    pub fault: Option<Fault>,
}

/// A label as it is compared.
#[derive(Clone, Debug)]
pub struct Canonical {
    /// Labels with different keys are not compared: where the live regions are, and values that have to be equal.
    pub key: Vec<i64>,
    /// Classes that are paid for.
    pub opened: u32,
    /// Ends of states, so that less is better, then loads beyond their floors.
    pub figures: Vec<i64>,
    /// The group of each device in use, in an order in which equal ones correspond.
    pub groups: Vec<usize>,
    /// A row for each of them: charges, 1 if it runs one region at most, what is used beyond its floor.
    pub rows: Vec<i64>,
}

impl Compare<'_> {
    /// The order of a label's devices.
    pub fn canonical(&self, label: &Label) -> Canonical {
        let lives_on = |device: usize| -> Vec<usize> {
            (0..label.live.len()).filter(|at| label.live[*at].device == device).collect()
        };
        let relevant = &self.remaining.groups[self.level];
        let mut uses: Vec<(usize, usize, Vec<usize>)> = label
            .uses
            .iter()
            .enumerate()
            .map(|(at, u)| (self.twins.group[u.device], at, lives_on(u.device)))
            .filter(|(group, _, lives)| relevant[*group] || !lives.is_empty())
            .collect();
        uses.sort_by(|a, b| {
            let heaviest = || self.weight(&label.uses[b.1]).cmp(&self.weight(&label.uses[a.1]));
            a.0.cmp(&b.0)
                .then_with(|| a.2.is_empty().cmp(&b.2.is_empty()))
                .then_with(|| a.2.cmp(&b.2))
                .then_with(heaviest)
        });
        let mut key = vec![];
        for live in &label.live {
            let group = self.twins.group[live.device];
            let rank = uses
                .iter()
                .filter(|(g, ..)| *g == group)
                .position(|(_, at, _)| label.uses[*at].device == live.device);
            if self.fault != Some(Fault::Places) {
                key.push(group as i64);
                key.push(rank.map_or(-1, |rank| rank as i64));
            }
            for (var, (matters, (low, high))) in self.matters.iter().zip(live.after.iter()).enumerate() {
                let ends = [(matters.low, *low), (matters.high, *high)];
                for (_, value) in ends.into_iter().filter(|(matters_here, _)| matters.exact && *matters_here)
                {
                    let (is_shared, cell) = self.cells.cell(self.level, var, value);
                    key.extend([i64::from(is_shared), cell]);
                }
            }
        }
        let refused = &self.problem.settings.refused;
        key.extend(
            refused.iter().map(|placement| i64::from(Trail::follows(label.trail.as_deref(), placement))),
        );
        let mut rows = vec![];
        for (_, at, _) in &uses {
            self.add_row(&label.uses[*at], &mut rows);
        }
        Canonical {
            key,
            opened: self.bound.opened(label),
            figures: self.figures(label),
            groups: uses.into_iter().map(|(group, ..)| group).collect(),
            rows,
        }
    }

    /// See [`Canonical::rows`].
    fn add_row(&self, used: &Use, rows: &mut Vec<i64>) {
        let (charges, rest) = used.values.split_at(self.charges());
        let floors = self.remaining.floors(self.level, used.device);
        rows.extend(charges);
        rows.push(i64::from(self.problem.is_single[used.device]));
        rows.extend(rest.iter().zip(floors).map(|(value, floor)| beyond(*value, *floor)));
    }

    /// See [`Canonical::figures`].
    fn figures(&self, label: &Label) -> Vec<i64> {
        let mut figures = vec![];
        if self.fault != Some(Fault::States) {
            for live in &label.live {
                for (matters, (low, high)) in self.matters.iter().zip(live.after.iter()) {
                    figures.extend(matters.low.then(|| low.saturating_neg()));
                    figures.extend(matters.high.then_some(*high));
                }
            }
        }
        if self.fault != Some(Fault::Loads) {
            let floors = &self.remaining.global_floor[self.level];
            figures.extend(label.loads.iter().zip(floors).map(|(load, floor)| beyond(*load, *floor)));
        }
        figures
    }

    /// The width of the charges of a row.
    pub fn charges(&self) -> usize {
        self.problem.scopes.once.len()
    }

    /// The width of a row.
    pub fn width(&self) -> usize {
        self.charges() + 1 + self.problem.scopes.device.len() + self.twins.private
    }

    /// Used area first: charges tell little.
    fn weight<'l>(&self, used: &'l Use) -> (&'l [i64], u32) {
        (&used.values[self.charges()..], used.runs)
    }

    /// Whether every completion of `b` is one of `a`, up to exchange of equal devices, that costs no more. Both have one key.
    pub fn dominates(&self, a: (&Label, &Canonical), b: (&Label, &Canonical)) -> bool {
        let (mine, theirs) = (a.1, b.1);
        if !self.can_be_no_worse(a, b) || !is_at_most(&mine.figures, &theirs.figures) {
            return false;
        }
        // What `a` may yet be charged that `b` has paid already.
        let mut owed = [0; plan_model::MAX_VARIABLES];
        let mut owed_devices = 0;
        (self.uses_are_no_worse(mine, theirs, &mut owed, &mut owed_devices)
            || self.fault == Some(Fault::Uses))
            && (self.cost_is_no_worse(a, b, &owed, owed_devices) || self.fault == Some(Fault::Owed))
    }

    /// Costs without what is owed: this rules most pairs out.
    fn can_be_no_worse(&self, a: (&Label, &Canonical), b: (&Label, &Canonical)) -> bool {
        const NOTHING_OWED: [i64; plan_model::MAX_VARIABLES] = [0; plan_model::MAX_VARIABLES];
        self.fault == Some(Fault::Owed) || self.cost_is_no_worse(a, b, &NOTHING_OWED, 0)
    }

    fn cost_is_no_worse(
        &self,
        (a, in_a): (&Label, &Canonical),
        (b, in_b): (&Label, &Canonical),
        owed: &[i64],
        owed_devices: i64,
    ) -> bool {
        // Classes that `a` has paid for, and that `b` yet has to.
        let due = self.bound.due(in_a.opened, in_b.opened);
        let objectives = self.problem.settings.objectives.iter().zip(a.cost.iter().zip(&b.cost));
        objectives.into_iter().all(|(objective, (a, b))| match objective.measure {
            Measure::Charges(at) => {
                a.saturating_add(owed[at]) <= b.saturating_add(self.bound.opening_of(due, at))
            }
            Measure::Devices => a.saturating_add(owed_devices) <= *b,
            _ => a <= b,
        })
    }

    fn uses_are_no_worse(
        &self,
        mine: &Canonical,
        theirs: &Canonical,
        owed: &mut [i64],
        owed_devices: &mut i64,
    ) -> bool {
        let width = self.width();
        let mut left = mine.groups.iter().zip(mine.rows.chunks_exact(width)).peekable();
        let mut right = theirs.groups.iter().zip(theirs.rows.chunks_exact(width)).peekable();
        let charges = self.charges();
        loop {
            let (mine, theirs) = match (left.peek(), right.peek()) {
                (None, None) => return true,
                (Some((g, _)), Some((h, _))) if g == h => (left.next(), right.next()),
                (Some((g, _)), Some((h, _))) if g < h => (left.next(), None),
                (Some(_), None) => (left.next(), None),
                _ => (None, right.next()),
            };
            *owed_devices += i64::from(mine.is_none());
            let (mine, theirs) = (mine.map(|(_, row)| row), theirs.map(|(_, row)| row));
            let (paid, used) = mine.map_or((&[][..], &[][..]), |row| row.split_at(charges));
            match theirs {
                Some(row) => {
                    let (theirs_paid, theirs_used) = row.split_at(charges);
                    for (at, owed) in owed.iter_mut().enumerate().take(charges) {
                        let more = theirs_paid[at].saturating_sub(paid.get(at).copied().unwrap_or(0));
                        *owed = owed.saturating_add(more.max(0));
                    }
                    if !is_at_most(used, theirs_used) {
                        return false;
                    }
                }
                None if used.iter().any(|beyond| *beyond > 0) => return false,
                None => {}
            }
        }
    }
}

/// What is used beyond what is of no account.
fn beyond(value: i64, floor: i64) -> i64 {
    value.saturating_sub(floor.max(0)).max(0)
}

fn is_at_most(a: &[i64], b: &[i64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a <= b)
}
