//! All placements of the next region of the order after a partial plan.

use crate::Measure;
use crate::charges::{Charges, Counts};
use crate::equal::{EqualDevices, Slot};
use crate::label::{Label, Live, Trail, Use};
use crate::outcome::{self, Matters, Outcome};
use crate::problem::Problem;
use crate::route::{self, Route};
use crate::state::{self, State};
use plan_model::Factor;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::rc::Rc;

/// Places regions; keeps the outcomes it has worked out.
pub struct Expander<'p> {
    problem: &'p Problem,
    equal: &'p EqualDevices,
    matters: &'p [Matters],
    /// For each region, the last position in the order at which its device matters.
    last: Vec<usize>,
    /// Outcomes by region, class and state before the region, without the variables that only shift.
    known: FxHashMap<(usize, usize, State), Rc<Vec<Outcome>>>,
    /// Path variables whose value influences no other, and to which regions add a fixed amount.
    shifts: Vec<bool>,
    charges: &'p Charges,
    /// Numbers of charged devices per class.
    counts: Counts,
    /// Whether the region may run on the group, by region and group.
    allowed: Vec<Vec<bool>>,
    /// The only device that is tried, by region.
    pinned: Option<Vec<usize>>,
    /// Equal devices are tried once.
    pub uses_symmetry: bool,
}

/// Outcomes that are kept.
const MAX_KNOWN: usize = 200_000;

/// One choice of routes to a region: loads, routes, and the state after the join.
type Arrival = (Vec<(usize, i64)>, Vec<(usize, Route)>, Option<State>);

impl<'p> Expander<'p> {
    /// For the regions of a problem in its order.
    pub fn new(
        problem: &'p Problem,
        equal: &'p EqualDevices,
        charges: &'p Charges,
        matters: &'p [Matters],
    ) -> Expander<'p> {
        let mut rank = vec![0; problem.nodes.len()];
        problem.order.iter().enumerate().for_each(|(at, node)| rank[*node] = at);
        let last = problem.nodes.iter().enumerate().map(|(node, region)| {
            let after = region.out.iter().map(|arc| rank[problem.arcs[*arc].to]);
            after.chain(region.together.iter().map(|other| rank[*other])).max().unwrap_or(rank[node])
        });
        Expander {
            last: last.collect(),
            known: FxHashMap::default(),
            shifts: outcome::shifts(problem),
            counts: Counts::default(),
            allowed: vec![],
            pinned: None,
            charges,
            uses_symmetry: true,
            problem,
            equal,
            matters,
        }
    }

    /// Restricts placement to these groups of devices and numbers of charged devices.
    pub fn open(&mut self, counts: &Counts, allowed: &[Vec<usize>]) {
        self.counts = counts.clone();
        let row = |groups: &Vec<usize>| {
            let mut row = vec![false; self.equal.groups()];
            groups.iter().for_each(|group| row[*group] = true);
            row
        };
        self.allowed = allowed.iter().map(row).collect();
        self.pinned = None;
    }

    /// Restricts the search to plans with this placement.
    pub fn pin(&mut self, devices: &[usize]) {
        self.pinned = Some(devices.to_vec());
    }

    /// Whether another device may still be charged, if this one is not charged.
    fn may_pay(&self, label: &Label, node: usize, device: usize) -> bool {
        let class = self.problem.class[device];
        if !self.charges.is_charged(node, class) {
            return true;
        }
        let paid =
            || label.uses.iter().filter(|used| used.is_paid && self.problem.class[used.device] == class);
        paid().any(|used| used.device == device)
            || paid().count() < usize::from(self.counts.most(class, self.charges))
    }

    /// Nothing placed.
    pub fn root(&self) -> Label {
        let none_yet = |measure: &Measure| match measure {
            Measure::Worst(_) | Measure::Least(_) => i64::MIN,
            _ => 0,
        };
        Label {
            trail: None,
            live: SmallVec::new(),
            uses: vec![],
            loads: smallvec![0; self.equal.global],
            cost: self.problem.settings.objectives.iter().map(|o| none_yet(&o.measure)).collect(),
        }
    }

    /// All placements of region number `level` of the order after a partial plan, except those that `is_good`
    /// rejects.
    pub fn expand(
        &mut self,
        label: &Label,
        level: usize,
        is_good: &dyn Fn(&Label) -> bool,
        next: &mut Vec<Label>,
    ) {
        let node = self.problem.order[level];
        for device in self.candidates(label, node) {
            if self.problem.offer(node, device).is_none() {
                continue;
            }
            if !self.allowed[node][self.equal.group[device]] || !self.may_pay(label, node, device) {
                continue;
            }
            for arrival in self.arrivals(label, node, device) {
                self.place(label, level, device, arrival, is_good, next);
            }
        }
    }

    /// Devices for a region; of equal ones in equal condition the first.
    fn candidates(&self, label: &Label, node: usize) -> Vec<usize> {
        let region = &self.problem.nodes[node];
        if let Some(devices) = &self.pinned {
            return vec![devices[node]];
        }
        let forced = label.live.iter().find(|live| region.together.contains(&live.node));
        if let Some(live) = forced {
            return region.on.iter().copied().filter(|d| *d == live.device).collect();
        }
        if !self.uses_symmetry {
            return region.on.clone();
        }
        let mut seen: Vec<(usize, Option<&Use>)> = vec![];
        let mut tried = vec![];
        for &device in &region.on {
            let used = label.uses.iter().find(|u| u.device == device);
            let is_live = label.live.iter().any(|live| live.device == device);
            let group = self.equal.group[device];
            let is_same = |other: Option<&Use>| match (other, used) {
                (None, None) => true,
                (Some(a), Some(b)) => (a.runs, a.is_paid, &a.values) == (b.runs, b.is_paid, &b.values),
                _ => false,
            };
            // A device with a live region differs from its equals: a hand-over from that region costs nothing only there.
            if !is_live {
                if seen.iter().any(|(g, other)| *g == group && is_same(*other)) {
                    continue;
                }
                seen.push((group, used));
            }
            tried.push(device);
        }
        tried
    }

    /// All choices of paths over the edges that lead to the region.
    fn arrivals(&self, label: &Label, node: usize, device: usize) -> Vec<Arrival> {
        let network = &self.problem.network;
        let mut from_outside = vec![];
        if self.problem.nodes[node].into.is_empty() {
            let start = &self.problem.nodes[node].start;
            let frames = route::frames_of(&self.problem.roles, Factor::ONE, start);
            network.add_frames(device, frames, 1, &mut from_outside);
        }
        let mut arrivals: Vec<Arrival> = vec![(from_outside, vec![], None)];
        for &arc in &self.problem.nodes[node].into {
            let edge = &self.problem.arcs[arc];
            let Some(from) = label.live.iter().find(|live| live.node == edge.from) else { return vec![] };
            let mut longer: Vec<Arrival> = vec![];
            for path in self.problem.network.routes(from.device, device).iter() {
                let mut values = from.after.to_vec();
                let mut loads = vec![];
                if from.device != device {
                    let leaves = &self.problem.model.devices[from.device];
                    route::leave(&self.problem.roles, edge, leaves, &mut values);
                    if leaves.recirculates {
                        let frames = route::frames_of(&self.problem.roles, edge.share, &values);
                        network.add_frames(from.device, frames, edge.passes, &mut loads);
                    }
                }
                let passes = path.iter().all(|hop| {
                    let link = &network.hops[*hop];
                    let load = route::cross(link, &self.problem.roles, edge, &mut values);
                    load.map(|load| network.add_hop(link, &load, &mut loads)).is_some()
                });
                if !passes {
                    continue;
                }
                let values: State = values.into();
                for (before, paths, joined) in &arrivals {
                    let joined = joined.as_ref().map_or(values.clone(), |other| state::join(other, &values));
                    let loads = before.iter().chain(&loads).copied().collect();
                    let paths = paths.iter().cloned().chain([(arc, path.clone())]).collect();
                    longer.push((loads, paths, Some(joined)));
                }
            }
            arrivals = longer;
        }
        arrivals
    }

    fn outcomes(&mut self, node: usize, device: usize, before: &State) -> Rc<Vec<Outcome>> {
        let class = self.problem.class[device];
        // One entry serves all values of a variable that outcomes only shift: `place` adds the value before again.
        let still =
            before.iter().zip(&self.shifts).map(|(range, shifts)| if *shifts { (0, 0) } else { *range });
        let key = (node, class, still.collect::<State>());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let share = self.problem.nodes[node].share;
        let found = self
            .problem
            .offer(node, device)
            .map_or(vec![], |offer| outcome::outcomes(self.problem, offer, &key.2, share, self.matters));
        let found = Rc::new(found);
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(key, found.clone());
        found
    }

    fn place(
        &mut self,
        label: &Label,
        level: usize,
        device: usize,
        (loads, routes, joined): Arrival,
        is_good: &dyn Fn(&Label) -> bool,
        next: &mut Vec<Label>,
    ) {
        let problem = self.problem;
        let node = problem.order[level];
        let mut loaded = label.clone();
        if !self.load(&mut loaded, &loads) {
            return;
        }
        let before = joined.unwrap_or_else(|| problem.nodes[node].start.clone());
        let outcomes = self.outcomes(node, device, &before);
        for (at, outcome) in outcomes.iter().enumerate() {
            // The last one has it.
            let is_last = at + 1 == outcomes.len();
            let mut more = if is_last { std::mem::take(&mut loaded) } else { loaded.clone() };
            let shifted = outcome.after.iter().zip(before.iter()).zip(&self.shifts);
            let after: State = shifted
                .map(|((range, before), shifts)| match shifts {
                    true => (range.0.saturating_add(before.0), range.1.saturating_add(before.1)),
                    false => *range,
                })
                .collect();
            if !self.run(&mut more, node, device, outcome, &after) {
                continue;
            }
            let live = Live { node, device, after };
            more.live.push(live);
            // A region's state is needed until its last successor is placed.
            more.live.retain(|live| self.last[live.node] > level);
            if !is_good(&more) {
                continue;
            }
            more.trail = Some(Rc::new(Trail {
                before: label.trail.clone(),
                node,
                device,
                picks: outcome.picks.clone(),
                routes: routes.clone(),
            }));
            next.push(more);
        }
    }

    /// Adds loads; false if something is overloaded.
    fn load(&self, label: &mut Label, loads: &[(usize, i64)]) -> bool {
        loads.iter().all(|(capacity, load)| {
            let limit = self.problem.network.capacities[*capacity].limit;
            let sum = match self.equal.slot[*capacity] {
                Slot::Free => return true,
                Slot::Global(at) => &mut label.loads[at],
                Slot::Private(device, place) => {
                    let at = self.private(place);
                    &mut self.used(label, device).values[at]
                }
            };
            *sum = sum.saturating_add(*load);
            *sum <= limit
        })
    }

    fn private(&self, place: usize) -> usize {
        self.problem.scopes.once.len() + self.problem.scopes.device.len() + place
    }

    /// The record of a device, which from now on is in use.
    fn used<'l>(&self, label: &'l mut Label, device: usize) -> &'l mut Use {
        let at = match label.uses.binary_search_by_key(&device, |u| u.device) {
            Ok(at) => at,
            Err(at) => {
                let values = smallvec![0; self.private(self.equal.private)];
                label.uses.insert(at, Use { device, runs: 0, is_paid: false, values });
                at
            }
        };
        &mut label.uses[at]
    }

    /// Runs a region on a device; false if the device has not enough.
    fn run(&self, label: &mut Label, node: usize, device: usize, outcome: &Outcome, after: &State) -> bool {
        let problem = self.problem;
        let charges = problem.scopes.once.len();
        let mut charged: SmallVec<[(usize, i64); 4]> = SmallVec::new();
        let used = self.used(label, device);
        used.runs += 1;
        used.is_paid |= self.charges.is_charged(node, problem.class[device]);
        if problem.is_single[device] && used.runs > 1 {
            return false;
        }
        let is_new = used.runs == 1;
        // A charge counts once per device: rules with the same charge share the largest, so only the difference is new.
        for (at, value) in outcome.once.iter().chain(&problem.charges[device]) {
            let more = (*value - used.values[*at]).max(0);
            used.values[*at] += more;
            charged.push((*at, more));
        }
        for (at, value) in &outcome.adds {
            let sum = &mut used.values[charges + at];
            *sum = sum.saturating_add(*value);
            if *sum > problem.limits[device][*at] {
                return false;
            }
        }
        let is_end = problem.nodes[node].out.is_empty();
        for (objective, cost) in problem.settings.objectives.iter().zip(&mut label.cost) {
            match &objective.measure {
                Measure::Worst(var) if is_end => *cost = (*cost).max(after[*var].1),
                // The search minimises, so a value that is to be large is kept with its sign turned.
                Measure::Least(var) if is_end => {
                    *cost = (*cost).max(after[*var].0.saturating_neg());
                }
                Measure::Worst(_) | Measure::Least(_) => {}
                Measure::Charges(place) => {
                    let more = charged.iter().filter(|(at, _)| at == place).map(|(_, more)| *more);
                    *cost = more.fold(*cost, i64::saturating_add);
                }
                Measure::Used(places) => {
                    let more = outcome.adds.iter().filter(|(at, _)| places.contains(at)).map(|(_, v)| *v);
                    *cost = more.fold(*cost, i64::saturating_add);
                }
                Measure::Devices => *cost += i64::from(is_new),
            }
        }
        true
    }
}
