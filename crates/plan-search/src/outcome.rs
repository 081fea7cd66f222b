//! Effects of a region on packets and its device: one outcome for each useful choice of derivations.

use crate::derive::{self, Derivation};
use crate::problem::{Offer, Problem, Tiers};
use crate::state::{self, State};
use plan_model::{Change, Factor};
use std::rc::Rc;

/// A region run on a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// For each need of the offer: which of its derivations.
    pub picks: Rc<[u16]>,
    /// Packets after the region.
    pub after: State,
    /// Charges of the device, by place.
    pub once: Vec<(usize, i64)>,
    /// Use of the device, by variable.
    pub adds: Vec<(usize, i64)>,
}

/// The derivations that may be used in a state.
pub fn usable<'o>(
    derivations: &'o [Derivation],
    state: &State,
    share: Factor,
    problem: &Problem,
) -> Vec<(u16, &'o Derivation)> {
    let rate = problem.roles.rate;
    let covers = |states: &derive::Admits| state::is_admitted(state, states, rate, share);
    let is_any = problem.settings.tiers == Tiers::Any;
    let is_usable = |d: &&Derivation| covers(&d.admits) && (is_any || !d.beaten.iter().any(covers));
    (0..).zip(derivations).filter(|(_, d)| is_usable(d)).collect()
}

/// State after a region with a pick for each of its needs.
pub fn after(offer: &Offer, before: &State, picks: &[u16]) -> State {
    let mut along = Along::new(offer, before);
    along.follow(offer, picks);
    hull(&along.boxes)
}

/// Packets on their way through a region, along each path.
#[derive(Clone)]
struct Along {
    boxes: Vec<Vec<(i64, i64)>>,
    /// Number of needs already passed, by path.
    passed: Vec<usize>,
}

impl Along {
    fn new(offer: &Offer, before: &State) -> Along {
        let paths = offer.paths.len();
        Along { boxes: vec![before.to_vec(); paths], passed: vec![0; paths] }
    }

    /// Follows each path up to the first need without a pick. The needs of a path change packets in order.
    fn follow(&mut self, offer: &Offer, picks: &[u16]) {
        for ((path, values), passed) in offer.paths.iter().zip(&mut self.boxes).zip(&mut self.passed) {
            let known = path[*passed..].iter().take_while(|need| **need < picks.len());
            for need in known {
                for (var, change) in &offer.needs[*need].1[usize::from(picks[*need])].path {
                    state::change(values, *var, *change);
                }
                *passed += 1;
            }
        }
    }

    /// Needs that some path has yet to come to.
    fn ahead<'o>(&self, offer: &'o Offer) -> impl Iterator<Item = usize> + use<'o, '_> {
        let left = offer.paths.iter().zip(&self.passed);
        left.flat_map(|(path, passed)| path[*passed..].iter().copied())
    }
}

/// The box around what comes out of all paths.
fn hull(boxes: &[Vec<(i64, i64)>]) -> State {
    let mut hull = boxes[0].clone();
    for other in &boxes[1..] {
        for (around, value) in hull.iter_mut().zip(other) {
            *around = (around.0.min(value.0), around.1.max(value.1));
        }
    }
    hull.into()
}

#[derive(Clone)]
struct Partial {
    picks: Vec<u16>,
    along: Along,
    once: Vec<(usize, i64)>,
    adds: Vec<(usize, i64)>,
}

/// The outcomes of a region's offer in a state; of equal or worse ones only the first is kept. `matters` says for each path variable
/// whether a lower low end or a higher high end can be worse, and whether it may differ at all.
pub fn outcomes(
    problem: &Problem,
    offer: &Offer,
    state: &State,
    share: Factor,
    matters: &[Matters],
) -> Vec<Outcome> {
    let mut partials =
        vec![Partial { picks: vec![], along: Along::new(offer, state), once: vec![], adds: vec![] }];
    for (need, (_, derivations)) in offer.needs.iter().enumerate() {
        let usable = usable(derivations, state, share, problem);
        let mut next: Vec<Partial> = vec![];
        for partial in &partials {
            for (pick, derivation) in &usable {
                let mut more = partial.clone();
                more.picks.push(*pick);
                more.along.follow(offer, &more.picks);
                derivation.once.iter().for_each(|(at, value)| derive::charge(&mut more.once, *at, *value));
                derivation.adds.iter().for_each(|(at, value)| derive::add(&mut more.adds, *at, *value));
                // Picks that are not passed yet take effect later.
                let open: Vec<usize> = more.along.ahead(offer).filter(|ahead| *ahead <= need).collect();
                let ends_alike =
                    |a: &Partial, b: &Partial| open.iter().all(|at| a.picks[*at] == b.picks[*at]);
                let is_no_worse = |a: &Partial, b: &Partial| ends_alike(a, b) && is_no_worse(a, b, matters);
                if next.iter().any(|other| is_no_worse(other, &more)) {
                    continue;
                }
                next.retain(|other| !is_no_worse(&more, other));
                next.push(more);
            }
        }
        partials = next;
    }
    let done = |partial: Partial| Outcome {
        picks: partial.picks.into(),
        after: hull(&partial.along.boxes),
        once: partial.once,
        adds: partial.adds,
    };
    partials.into_iter().map(done).collect()
}

/// For each path variable, whether rules have no bounds on it and only add to it.
pub fn shifts(problem: &Problem) -> Vec<bool> {
    let mut shifts = vec![true; problem.scopes.path.len()];
    for (_, derivations) in problem.offers.iter().flatten().flatten().flat_map(|offer| &offer.needs) {
        for derivation in derivations {
            let bounds = derivation.bounds();
            bounds.for_each(|(var, ..)| shifts[*var] = false);
            let others = derivation.path.iter().filter(|(_, change)| !matches!(change, Change::Add(_)));
            others.for_each(|(var, _)| shifts[*var] = false);
        }
    }
    shifts
}

/// Parts of a path variable on which the rest of a plan can depend.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Matters {
    /// Higher low ends are better.
    pub low: bool,
    /// Lower high ends are better.
    pub high: bool,
    /// Neither direction is better: the tightest rule depends on the value.
    pub exact: bool,
}

impl Matters {
    /// Whether `a` is at least as good as `b`.
    pub fn is_no_worse(self, a: (i64, i64), b: (i64, i64)) -> bool {
        match self.exact {
            true => (!self.low || a.0 == b.0) && (!self.high || a.1 == b.1),
            false => self.is_within(a, b),
        }
    }

    /// Whether range `a` is within range `b` in the ends that matter.
    pub fn is_within(self, a: (i64, i64), b: (i64, i64)) -> bool {
        (!self.low || a.0 >= b.0) && (!self.high || a.1 <= b.1)
    }
}

fn is_no_worse(a: &Partial, b: &Partial, matters: &[Matters]) -> bool {
    let values = |list: &[(usize, i64)], place: usize| {
        list.iter().find(|(known, _)| *known == place).map_or(0, |(_, value)| *value)
    };
    let at_most =
        |a: &[(usize, i64)], b: &[(usize, i64)]| a.iter().all(|(place, value)| *value <= values(b, *place));
    at_most(&a.once, &b.once)
        && at_most(&a.adds, &b.adds)
        && a.along
            .boxes
            .iter()
            .zip(&b.along.boxes)
            .all(|(a, b)| a.iter().zip(b).zip(matters).all(|((a, b), matters)| matters.is_no_worse(*a, *b)))
}

/// Parts of each path variable that can matter in a problem.
pub fn matters(problem: &Problem) -> Vec<Matters> {
    let mut matters = vec![Matters::default(); problem.scopes.path.len()];
    let mut bounded = |(var, low, high): &(usize, i64, i64), of_tiers: bool| {
        let m = &mut matters[*var];
        m.low |= *low > i64::MIN;
        m.high |= *high < i64::MAX;
        m.exact |= of_tiers && problem.settings.tiers == Tiers::Tightest;
    };
    for offer in problem.offers.iter().flatten().flatten() {
        for (_, derivations) in &offer.needs {
            // If there is only one derivation, it is always the tightest.
            let of_tiers = derivations.len() > 1;
            derivations.iter().flat_map(Derivation::bounds).for_each(|bound| bounded(bound, of_tiers));
        }
    }
    let hops = problem.network.hops.iter();
    hops.flat_map(|hop| &hop.admits.0).for_each(|bound| bounded(bound, false));
    for objective in &problem.settings.objectives {
        match &objective.measure {
            crate::Measure::Worst(var) => matters[*var].high = true,
            crate::Measure::Least(var) => matters[*var].low = true,
            _ => {}
        }
    }
    let roles = &problem.roles;
    if let Some(rate) = roles.rate {
        matters[rate].high = true;
    }
    if let Some(size) = roles.size {
        matters[size].low = true;
        matters[size].high = true;
    }
    matters
}
