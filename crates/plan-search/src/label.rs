//! Partial plans, and when one makes another needless.

use crate::Measure;
use crate::bound::Bound;
use crate::cells::Cells;
use crate::outcome::Matters;
use crate::problem::Problem;
use crate::remaining::Remaining;
use crate::route::Route;
use crate::search::Fault;
use crate::state::State;
use crate::twins::Twins;
use std::rc::Rc;

/// The first regions of the order, placed.
#[derive(Clone, Debug)]
pub struct Label {
    /// What was chosen, the last first.
    pub trail: Option<Rc<Trail>>,
    /// Placed regions that what follows looks at.
    pub live: Vec<Live>,
    /// Devices in use, in order.
    pub uses: Vec<Use>,
    /// Loads of capacities that belong to no device.
    pub loads: Vec<i64>,
    /// By objective, so far; `i64::MIN` where there is no end yet.
    pub cost: Vec<i64>,
}

/// One choice.
#[derive(Debug)]
pub struct Trail {
    /// The choices before.
    pub before: Option<Rc<Trail>>,
    /// The region.
    pub node: usize,
    /// Its device.
    pub device: usize,
    /// Its derivations.
    pub picks: Rc<[u16]>,
    /// The ways to it.
    pub routes: Vec<(usize, Route)>,
}

impl Trail {
    /// Whether all that was chosen is as in a placement: the device of each region.
    pub fn follows(trail: Option<&Trail>, placement: &[usize]) -> bool {
        let mut steps = std::iter::successors(trail, |step| step.before.as_deref());
        steps.all(|step| placement.get(step.node) == Some(&step.device))
    }
}

/// A placed region that others follow.
#[derive(Clone, Debug)]
pub struct Live {
    /// The region.
    pub node: usize,
    /// Its device.
    pub device: usize,
    /// Packets behind it.
    pub after: State,
}

/// A device that runs something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    /// The device.
    pub device: usize,
    /// How many regions it runs.
    pub runs: u32,
    /// Charges, what is used of it, loads that belong to it.
    pub values: Vec<i64>,
}

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

/// A label's devices in an order in which equal ones correspond.
#[derive(Clone, Debug)]
pub struct Canonical {
    /// Labels with different keys are not compared: where the live regions are, and values that have to be equal.
    pub key: Vec<i64>,
    /// The group and the place among [`Label::uses`].
    pub uses: Vec<(usize, usize)>,
    /// Classes that are paid for.
    pub opened: u32,
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
        let opened = self.bound.opened(label);
        Canonical { key, uses: uses.into_iter().map(|(group, at, _)| (group, at)).collect(), opened }
    }

    /// Used area first: charges tell little.
    fn weight<'l>(&self, used: &'l Use) -> (&'l [i64], u32) {
        (&used.values[self.problem.scopes.once.len()..], used.runs)
    }

    /// Whether every completion of `b` is one of `a`, up to exchange of equal devices, that costs no more. Both have one key.
    pub fn dominates(&self, a: (&Label, &Canonical), b: (&Label, &Canonical)) -> bool {
        let (first, second) = (a.0, b.0);
        if !self.can_be_no_worse(a, b) {
            return false;
        }
        // What `a` may yet be charged that `b` has paid already.
        let mut owed: Vec<i64> = vec![0; self.problem.scopes.once.len()];
        let mut owed_devices = 0;
        let states = first.live.iter().zip(&second.live).all(|(a, b)| {
            let pairs = a.after.iter().zip(b.after.iter()).zip(self.matters);
            pairs.into_iter().all(|((a, b), matters)| matters.is_within(*a, *b))
        });
        (states || self.fault == Some(Fault::States))
            && (self.loads_are_no_worse(&first.loads, &second.loads) || self.fault == Some(Fault::Loads))
            && (self.uses_are_no_worse(a, b, &mut owed, &mut owed_devices) || self.fault == Some(Fault::Uses))
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

    fn loads_are_no_worse(&self, a: &[i64], b: &[i64]) -> bool {
        let floors = &self.remaining.global_floor[self.level];
        a.iter().zip(b).zip(floors).all(|((a, b), floor)| a.max(floor) <= b.max(floor))
    }

    fn uses_are_no_worse(
        &self,
        (a, in_a): (&Label, &Canonical),
        (b, in_b): (&Label, &Canonical),
        owed: &mut [i64],
        owed_devices: &mut i64,
    ) -> bool {
        let (mut left, mut right) = (in_a.uses.iter().peekable(), in_b.uses.iter().peekable());
        loop {
            let (mine, theirs) = match (left.peek(), right.peek()) {
                (None, None) => return true,
                (Some((g, _)), Some((h, _))) if g == h => (left.next(), right.next()),
                (Some((g, _)), Some((h, _))) if g < h => (left.next(), None),
                (Some(_), None) => (left.next(), None),
                _ => (None, right.next()),
            };
            let mine = mine.map(|(_, at)| &a.uses[*at]);
            let theirs = theirs.map(|(_, at)| &b.uses[*at]);
            if !self.use_is_no_worse(mine, theirs, owed, owed_devices) {
                return false;
            }
        }
    }

    fn use_is_no_worse(
        &self,
        mine: Option<&Use>,
        theirs: Option<&Use>,
        owed: &mut [i64],
        owed_devices: &mut i64,
    ) -> bool {
        let Some(device) = mine.or(theirs).map(|u| u.device) else { return true };
        let charges = self.problem.scopes.once.len();
        let value = |u: Option<&Use>, at: usize| u.map_or(0, |u| u.values[at]);
        for (at, owed) in owed.iter_mut().enumerate() {
            let more = value(theirs, at).saturating_sub(value(mine, at));
            *owed = owed.saturating_add(more.max(0));
        }
        *owed_devices += i64::from(mine.is_none());
        if self.problem.is_single[device] && mine.is_some() && theirs.is_none() {
            return false;
        }
        let floors = self.remaining.floors(self.level, device);
        let length = mine.or(theirs).map_or(0, |u| u.values.len());
        (charges..length)
            .zip(floors)
            .all(|(at, floor)| value(mine, at).max(*floor) <= value(theirs, at).max(*floor))
    }
}
