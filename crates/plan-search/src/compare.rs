//! Dominance: when one partial plan makes another unnecessary.

use crate::Measure;
use crate::bound::{Bound, Paid};
use crate::cells::Cells;
use crate::equal::EqualDevices;
use crate::label::{Cost, Label, Trail, Use};
use crate::outcome::Matters;
use crate::problem::Problem;
use crate::remaining::Remaining;
use crate::search::Fault;
use smallvec::{SmallVec, smallvec};

/// Context of a comparison of labels, all of one level.
pub struct Compare<'p> {
    /// The problem.
    pub problem: &'p Problem,
    /// Equal devices.
    pub equal: &'p EqualDevices,
    /// Possible use by the remaining regions.
    pub remaining: &'p Remaining,
    /// Ranges of values that lead to the same tiers.
    pub cells: &'p Cells,
    /// Parts of states that matter.
    pub matters: &'p [Matters],
    /// Number of placed regions.
    pub level: usize,
    /// The set of plans that is searched.
    pub bound: &'p Bound<'p>,
    /// A mistake to make.
    pub fault: Option<Fault>,
}

/// The parts of a label that are compared.
#[derive(Clone, Debug)]
pub struct Canonical {
    /// Labels with different keys are not compared: where the live regions are, and values that have to be equal.
    pub key: SmallVec<[i64; 8]>,
    /// Number of charged devices, by class.
    pub paid: Paid,
    /// Cost, including devices that must still be charged.
    pub cost: Cost,
    /// Ends of states, so that less is better, then loads beyond their floors.
    pub figures: SmallVec<[i64; 8]>,
    /// The group of each device in use, in an order in which equal ones correspond.
    pub groups: SmallVec<[usize; 8]>,
    /// A row for each device in use: charges, 1 if it is not charged, 1 if it runs at most one region, and use beyond its floor.
    pub rows: Vec<i64>,
}

impl Compare<'_> {
    /// The order of a label's devices.
    pub fn canonical(&self, label: &Label) -> Canonical {
        type Lives = SmallVec<[usize; 2]>;
        let lives_on = |device: usize| -> Lives {
            (0..label.live.len()).filter(|at| label.live[*at].device == device).collect()
        };
        let relevant = &self.remaining.groups[self.level];
        let mut uses: SmallVec<[(usize, usize, Lives); 8]> = label
            .uses
            .iter()
            .enumerate()
            .map(|(at, u)| (self.equal.group[u.device], at, lives_on(u.device)))
            .filter(|(group, _, lives)| relevant[*group] || !lives.is_empty())
            .collect();
        // Devices of live regions first, because the key says where these are; the others by use, so that heavy ones are compared with heavy ones.
        uses.sort_by(|a, b| {
            let heaviest = || self.weight(&label.uses[b.1]).cmp(&self.weight(&label.uses[a.1]));
            a.0.cmp(&b.0)
                .then_with(|| a.2.is_empty().cmp(&b.2.is_empty()))
                .then_with(|| a.2.cmp(&b.2))
                .then_with(heaviest)
        });
        let mut key = SmallVec::new();
        for live in &label.live {
            let group = self.equal.group[live.device];
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
        let mut rows = Vec::with_capacity(uses.len() * self.width());
        for (_, at, _) in &uses {
            self.add_row(&label.uses[*at], &mut rows);
        }
        let paid = self.bound.paid(label);
        Canonical {
            key,
            cost: self.bound.nominal(label, &paid),
            paid,
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
        rows.push(i64::from(!used.is_paid));
        rows.push(i64::from(self.problem.is_single[used.device]));
        rows.extend(rest.iter().zip(floors).map(|(value, floor)| beyond(*value, *floor)));
    }

    /// See [`Canonical::figures`].
    fn figures(&self, label: &Label) -> SmallVec<[i64; 8]> {
        let mut figures = SmallVec::new();
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
        self.charges() + 2 + self.problem.scopes.device.len() + self.equal.private
    }

    /// Used area first: charges distinguish few.
    fn weight<'l>(&self, used: &'l Use) -> (&'l [i64], u32) {
        (&used.values[self.charges()..], used.runs)
    }

    /// Whether every completion of `b` is one of `a`, up to exchange of equal devices, that costs no more. Both have one key.
    pub fn dominates(&self, a: &Canonical, b: &Canonical) -> bool {
        // Compare costs without debts first: this excludes most pairs.
        if !(is_at_most(&a.cost, &b.cost) || self.fault == Some(Fault::Owed))
            || !is_at_most(&a.figures, &b.figures)
        {
            return false;
        }
        if !self.uses_at_most(a, b) && self.fault != Some(Fault::Uses) {
            return false;
        }
        let classes = smallvec![Tally::default(); self.problem.classes];
        let mut owed = Owed { levels: [0; plan_model::MAX_VARIABLES], classes };
        (self.uses_are_no_worse(a, b, &mut owed) || self.fault == Some(Fault::Uses))
            && (self.cost_is_no_worse(a, b, &owed) || self.fault == Some(Fault::Owed))
    }

    /// Whether the cost of `a`, plus the charges that `a` may still have to pay and `b` has paid, is at most that of `b`.
    ///
    /// Let A and B be the devices charged by `a` and `b`, and let a completion of `b` charge X. Then `a` pays for X without A, which is at most X without B plus
    /// B without A. If all devices of a class are equal, the devices new to `b` may as well be those that only `a` has charged.
    fn cost_is_no_worse(&self, a: &Canonical, b: &Canonical, owed: &Owed) -> bool {
        let charges = self.bound.charges();
        let counts = self.bound.counts();
        let mut sums = [0i64; plan_model::MAX_VARIABLES];
        let mut is_possible = true;
        for class in 0..self.problem.classes {
            let least = counts.least[class];
            let tally = owed.classes[class];
            let (lacking, surplus) = (i64::from(tally.lacking), i64::from(tally.surplus));
            let (mine, theirs) = (least.saturating_sub(a.paid[class]), least.saturating_sub(b.paid[class]));
            let is_alike = charges.is_alike(class);
            if counts.is_exact[class] && !is_alike {
                // Charged devices to which no further region can be added.
                let elsewhere = |paid: u16, here: u16| i64::from(paid) - i64::from(here);
                let mine = elsewhere(a.paid[class], tally.mine);
                is_possible &= mine + surplus <= elsewhere(b.paid[class], tally.theirs);
            }
            let saved = if is_alike { surplus.min(i64::from(theirs)) } else { 0 };
            let more = (lacking + i64::from(theirs) - i64::from(mine) - saved).max(0);
            for (sum, opening) in sums.iter_mut().zip(charges.opening(class)) {
                *sum = sum.saturating_add(more.saturating_mul(*opening));
            }
        }
        let mut charge = 0;
        let objectives = self.problem.settings.objectives.iter().zip(a.cost.iter().zip(&b.cost));
        is_possible
            && objectives.into_iter().all(|(objective, (a, b))| {
                let more = match objective.measure {
                    Measure::Charges(at) => owed.levels[at].saturating_add(sums[charge]),
                    Measure::Devices => sums[charge],
                    _ => 0,
                };
                charge += usize::from(matches!(objective.measure, Measure::Charges(_) | Measure::Devices));
                a.saturating_add(more) <= *b
            })
    }

    /// Whether nothing more is used: device by device in the order of both, and of devices that only one has nothing.
    fn uses_at_most(&self, a: &Canonical, b: &Canonical) -> bool {
        let (width, skipped) = (self.width(), self.charges() + 1);
        let (mut mine, mut theirs) = (0, 0);
        while mine < a.groups.len() {
            while theirs < b.groups.len() && b.groups[theirs] < a.groups[mine] {
                theirs += 1;
            }
            let row = &a.rows[mine * width + skipped..(mine + 1) * width];
            let is_less = match theirs < b.groups.len() && b.groups[theirs] == a.groups[mine] {
                true => {
                    theirs += 1;
                    is_at_most(row, &b.rows[(theirs - 1) * width + skipped..theirs * width])
                }
                false => row.iter().all(|used| *used <= 0),
            };
            if !is_less {
                return false;
            }
            mine += 1;
        }
        true
    }

    fn uses_are_no_worse(&self, mine: &Canonical, theirs: &Canonical, owed: &mut Owed) -> bool {
        let width = self.width();
        let mut left = mine.groups.iter().zip(mine.rows.chunks_exact(width)).peekable();
        let mut right = theirs.groups.iter().zip(theirs.rows.chunks_exact(width)).peekable();
        loop {
            let (mine, theirs) = match (left.peek(), right.peek()) {
                (None, None) => return true,
                (Some((g, _)), Some((h, _))) if g == h => (left.next(), right.next()),
                (Some((g, _)), Some((h, _))) if g < h => (left.next(), None),
                (Some(_), None) => (left.next(), None),
                _ => (None, right.next()),
            };
            let group = mine.or(theirs).map_or(0, |(group, _)| *group);
            if !self.row_is_no_worse(group, mine.map(|(_, row)| row), theirs.map(|(_, row)| row), owed) {
                return false;
            }
        }
    }

    /// Compares one device of each label; `None` if the device is not in use.
    fn row_is_no_worse(
        &self,
        group: usize,
        mine: Option<&[i64]>,
        theirs: Option<&[i64]>,
        owed: &mut Owed,
    ) -> bool {
        let charges = self.charges();
        let class = self.bound.class(group);
        let is_paid = |row: Option<&[i64]>| row.is_some_and(|row| row[charges] == 0);
        let (paid, used) = mine.map_or((&[][..], &[][..]), |row| row.split_at(charges));
        let (is_mine, is_theirs) = (is_paid(mine), is_paid(theirs));
        let tally = &mut owed.classes[class];
        tally.mine += u16::from(is_mine);
        tally.theirs += u16::from(is_theirs);
        tally.lacking += u16::from(is_theirs && !is_mine);
        tally.surplus += u16::from(is_mine && !is_theirs);
        let Some(row) = theirs else {
            // The first column says that the device is not charged, which the tally compares.
            return used.iter().skip(1).all(|beyond| *beyond <= 0);
        };
        let (theirs_paid, theirs_used) = row.split_at(charges);
        for (at, owed) in owed.levels.iter_mut().enumerate().take(charges) {
            let known = match is_theirs && !is_mine {
                true => self.bound.charges().opening_of(class, at),
                false => paid.get(at).copied().unwrap_or(0),
            };
            *owed = owed.saturating_add(theirs_paid[at].saturating_sub(known).max(0));
        }
        used.iter().zip(theirs_used).skip(1).all(|(a, b)| a <= b)
    }
}

/// Charges that one label may still incur and another has paid.
struct Owed {
    /// Charges above the minimum charge of a device, by charge.
    levels: [i64; plan_model::MAX_VARIABLES],
    /// Tallies, by class.
    classes: SmallVec<[Tally; 16]>,
}

/// Numbers of charged devices among those that are compared.
#[derive(Clone, Copy, Default)]
struct Tally {
    mine: u16,
    theirs: u16,
    /// Only by the other.
    lacking: u16,
    /// Only by this one.
    surplus: u16,
}

/// Use beyond the floor below which it does not matter.
fn beyond(value: i64, floor: i64) -> i64 {
    value.saturating_sub(floor.max(0)).max(0)
}

fn is_at_most(a: &[i64], b: &[i64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a <= b)
}
