//! Placements of all regions together: depth first, so that devices bear what they run and no path gets too long.
//!
//! ```text
//! pay for a device more, until there are as many as the set of plans says   one of those that regions want which do not fit on the others
//!   place the largest region                                                others may have fewer devices left then, or one
//!     ...
//!       a placement                                                         whoever asks finds its plans, and may lower the bound on paths
//! ```
//!
//! Uses and growth are lower bounds, and links are unlimited: a placement that is left out belongs to no plan, one that
//! is found may belong to one. Partial placements without a result are remembered, reduced to the state that still
//! matters.

mod state;
#[cfg(test)]
pub(crate) mod tests;

use crate::charges::{Charges, Counts};
use crate::equal::EqualDevices;
use crate::least::fraction;
use crate::overflow::{Item, Overflow, overflow};
use crate::price::{Distances, NEVER};
use crate::problem::Problem;
use rustc_hash::FxHashSet;
use state::State;
use std::rc::Rc;

/// Maximum number of partial placements that are remembered.
const MAX_FAILED: usize = 200_000;

/// Constraints on the placements to find.
pub struct Pack<'p> {
    /// The problem.
    pub problem: &'p Problem,
    /// Equal devices.
    pub equal: &'p EqualDevices,
    /// Charges of devices.
    pub charges: &'p Charges,
    /// Numbers of charged devices per class.
    pub counts: Counts,
    /// Class of each group of equal devices.
    pub class: Vec<usize>,
    /// Groups on which each region may run.
    pub allowed: Vec<Vec<usize>>,
    /// Minimum use, by region, class and device variable; empty where the region cannot run.
    pub uses: Rc<Vec<Vec<Vec<i64>>>>,
    /// The path variable that is bounded.
    pub var: usize,
    /// Minimum growth of the path variable, by region and class.
    pub grows: Rc<Vec<Vec<i64>>>,
    /// Minimum growth from group to group.
    pub distances: Rc<Distances>,
    /// Minimum load of a hand-over, by edge.
    pub flow: Vec<i64>,
    /// For each class whose devices have one link: maximum rates that a device receives in all, receives over its link, and sends.
    pub ports: Vec<Option<[i64; 3]>>,
}

/// The device of each region, and a lower bound on the path variable at the ends.
pub struct Placement {
    /// Device of each region.
    pub devices: Vec<usize>,
    /// The path variable.
    pub least: i64,
}

/// Result of a step of the search.
pub enum Packed {
    /// One.
    Placement(Placement),
    /// There is no other.
    NoMore,
    /// There is more to be looked at.
    NotYet,
}

/// The next step of a partial placement.
enum Step {
    /// No change.
    Still,
    /// The device with this index in the list is charged; those before it are not.
    Open(Rc<[usize]>, usize),
    /// A region runs on a device.
    Put(usize, usize),
}

enum Frame {
    Step(Rc<State>, Step),
    /// All successors of a partial placement have been visited. Has its key, and the number of placements found before it.
    Done(Box<[u64]>, u64),
}

/// A depth-first search for placements.
pub struct Packing<'p> {
    of: Pack<'p>,
    /// Exclusive upper bound on the path variable; it may only be lowered.
    pub below: i64,
    /// Smallest lower bound among the placements that `below` has excluded.
    pub nearest: i64,
    /// Number of partial placements visited.
    pub looked: u64,
    /// Regions of each program, in topological order.
    apps: Vec<Vec<usize>>,
    /// Position of each region in its program.
    rank: Vec<usize>,
    /// Minimum part of a device that each region takes, in millionths.
    bulk: Vec<i64>,
    frames: Vec<Frame>,
    failed: FxHashSet<Box<[u64]>>,
    found: u64,
    /// Lower bound on the path variable after the region, by region and group.
    after: Vec<i64>,
    /// Lower bound on the growth of the path variable from the region to the end of the program, by region and group.
    ahead: Vec<i64>,
}

impl<'p> Packing<'p> {
    /// A search for placements whose paths are below a bound.
    pub fn new(of: Pack<'p>, below: i64) -> Packing<'p> {
        let problem = of.problem;
        let nodes = problem.nodes.len();
        let mut apps = vec![vec![]; problem.model.apps.len()];
        let mut rank = vec![0; nodes];
        for node in &problem.order {
            let app: &mut Vec<usize> = &mut apps[problem.nodes[*node].app];
            rank[*node] = app.len();
            app.push(*node);
        }
        let bulk = |node: usize| {
            let on = |device: &usize| {
                let uses = &of.uses[node][problem.class[*device]];
                let parts = uses.iter().zip(&problem.limits[*device]).map(|(part, of)| fraction(*part, *of));
                parts.max().unwrap_or(0)
            };
            let may_run = |device: &&usize| of.allowed[node].contains(&of.equal.group[**device]);
            problem.nodes[node].on.iter().filter(may_run).map(on).min().unwrap_or(0)
        };
        let root = State::new(&of, apps.len(), below);
        Packing {
            below,
            nearest: NEVER,
            looked: 0,
            rank,
            bulk: (0..nodes).map(bulk).collect(),
            apps,
            frames: vec![Frame::Step(Rc::new(root), Step::Still)],
            failed: FxHashSet::default(),
            found: 0,
            after: vec![NEVER; nodes * of.equal.groups()],
            ahead: vec![NEVER; nodes * of.equal.groups()],
            of,
        }
    }

    /// The next placement; `most` partial ones are looked at, those of earlier calls counted.
    pub fn next(&mut self, most: u64) -> Packed {
        while self.looked < most {
            let (state, step) = match self.frames.pop() {
                None => return Packed::NoMore,
                Some(Frame::Step(state, step)) => (state, step),
                Some(Frame::Done(key, found)) => {
                    // A placement found below this state would have raised `found`: then it is no failure.
                    if found == self.found && self.failed.len() < MAX_FAILED {
                        self.failed.insert(key);
                    }
                    continue;
                }
            };
            self.looked += 1;
            let mut state = (*state).clone();
            // The bound may have been lowered since this state was pushed.
            state.look_below(self.below);
            match step {
                Step::Still => {}
                Step::Put(node, device) => state.choose(node, device),
                Step::Open(devices, at) => {
                    // This branch has the sets in which `at` is the first charged device of the list, so no set is visited twice.
                    devices[..at].iter().for_each(|device| state.close(&self.of, *device));
                    devices.get(at).iter().for_each(|device| state.open(&self.of, **device));
                }
            }
            if !self.follow(&mut state) {
                continue;
            }
            let Some(devices) = self.to_open(&state) else { continue };
            if !devices.is_empty() {
                let (state, devices): (_, Rc<[usize]>) = (Rc::new(state), devices.into());
                let step = |at: usize| Frame::Step(state.clone(), Step::Open(devices.clone(), at));
                self.frames.extend((0..=devices.len()).rev().map(step));
                continue;
            }
            let Some(node) = self.next_region(&state) else {
                self.found += 1;
                return Packed::Placement(self.placement(&state));
            };
            let key = state.key(&self.of, &self.apps);
            if !self.failed.contains(&key) {
                let devices = self.candidates(&state, node);
                self.frames.push(Frame::Done(key, self.found));
                let state = Rc::new(state);
                let step = |device| Frame::Step(state.clone(), Step::Put(node, device));
                self.frames.extend(devices.into_iter().rev().map(step));
            }
        }
        Packed::NotYet
    }

    /// The largest region; of equal ones that with the fewest devices left.
    fn next_region(&self, state: &State) -> Option<usize> {
        state.unplaced().min_by_key(|node| (-self.bulk[*node], state.devices(*node).count()))
    }

    /// The devices left of a region, those that it fits best first; one of those that are equal.
    fn candidates(&self, state: &State, node: usize) -> Vec<usize> {
        let problem = self.of.problem;
        let mut devices: Vec<usize> = state.devices(node).collect();
        let left = |device: &usize| {
            let uses = &self.of.uses[node][problem.class[*device]];
            let of = uses.iter().zip(state.free(*device)).zip(&problem.limits[*device]);
            of.map(|((uses, free), limit)| fraction(free.saturating_sub(*uses), *limit)).sum::<i64>()
        };
        devices.sort_by_key(left);
        let mut seen: Vec<usize> = vec![];
        devices.retain(|device| {
            let is_new = !seen.iter().any(|other| state.is_alike(&self.of, *device, *other));
            seen.push(*device);
            is_new
        });
        devices
    }

    fn placement(&self, state: &State) -> Placement {
        let devices: Vec<usize> =
            (0..self.rank.len()).filter_map(|node| state.devices(node).next()).collect();
        let group = |node: usize| self.of.equal.group[devices[node]];
        let after = (0..devices.len()).map(|node| self.after[node * self.of.equal.groups() + group(node)]);
        Placement { least: after.max().unwrap_or(0), devices }
    }

    /// Propagates consequences of the partial placement. False if a region has no device left.
    fn follow(&mut self, state: &mut State) -> bool {
        let mut is_changed = true;
        while is_changed {
            for app in 0..self.apps.len() {
                if std::mem::take(&mut state.dirty[app]) && !self.shorten(state, app) {
                    return false;
                }
            }
            is_changed = false;
            for node in 0..self.rank.len() {
                if state.is_placed(node) {
                    continue;
                }
                is_changed |=
                    state.retain(&self.of, node, |state, device| state.cost(&self.of, node, device));
                let mut devices = state.devices(node);
                match (devices.next(), devices.next()) {
                    (None, _) => return false,
                    (Some(device), None) => {
                        drop(devices);
                        state.put(&self.of, node, device);
                        is_changed = true;
                    }
                    _ => {}
                }
            }
        }
        true
    }

    /// Removes devices on which a program's paths would be too long. False if nothing is left of a region.
    fn shorten(&mut self, state: &mut State, app: usize) -> bool {
        let Pack { problem, equal, class, var, grows, distances, .. } = &self.of;
        let groups = equal.groups();
        let nodes = &self.apps[app];
        let open: Vec<Vec<usize>> = nodes.iter().map(|node| state.groups(equal, *node)).collect();
        // The shortest path through a region on a device is the earliest end there, forwards, plus the shortest rest, backwards.
        for (&node, here) in nodes.iter().zip(&open) {
            let region = &problem.nodes[node];
            for &group in here {
                let from = |arc: &usize| {
                    let before = problem.arcs[*arc].from;
                    let distance = |other: &usize| {
                        self.after[before * groups + other].saturating_add(distances.add(*arc, *other, group))
                    };
                    open[self.rank[before]].iter().map(distance).min().unwrap_or(NEVER)
                };
                let begins = region.into.iter().map(from).max().unwrap_or(region.start[*var].1);
                self.after[node * groups + group] = begins.saturating_add(grows[node][class[group]]);
            }
        }
        for (&node, here) in nodes.iter().zip(&open).rev() {
            for &group in here {
                let to_end = |arc: &usize| {
                    let to = problem.arcs[*arc].to;
                    let distance = |next: &usize| {
                        let passing = distances.add(*arc, group, *next);
                        let running = passing.saturating_add(grows[to][class[*next]]);
                        running.saturating_add(self.ahead[to * groups + next])
                    };
                    open[self.rank[to]].iter().map(distance).min().unwrap_or(NEVER)
                };
                let ends = problem.nodes[node].out.iter().map(to_end);
                self.ahead[node * groups + group] = ends.max().unwrap_or(0);
            }
        }
        for &node in nodes {
            let end = |group: usize| {
                self.after[node * groups + group].saturating_add(self.ahead[node * groups + group])
            };
            let nearest = &mut self.nearest;
            let below = self.below;
            state.retain(&self.of, node, |_, device| {
                let end = end(equal.group[device]);
                if end >= below {
                    *nearest = end.min(*nearest);
                }
                end < below && end < NEVER
            });
            if state.devices(node).next().is_none() {
                return false;
            }
        }
        true
    }

    /// Devices of which one must be charged next; empty if none can be. `None` if the remaining capacity is too small.
    fn to_open(&self, state: &State) -> Option<Vec<usize>> {
        let problem = self.of.problem;
        let devices = problem.class.len();
        let may_open: Vec<bool> = (0..devices).map(|device| state.may_open(&self.of, device)).collect();
        let mut wanting: Option<Overflow> = None;
        for var in 0..=problem.scopes.device.len() {
            let short = self.overflow(state, var, &may_open);
            if short.size == 0 {
                continue;
            }
            // Charging all devices that may be charged would not suffice.
            if self.most_opened(state, var, &may_open) < short.size
                || self.overflow(state, var, &vec![false; devices]).size > 0
            {
                return None;
            }
            wanting.get_or_insert(short);
        }
        let mut wanted = vec![0i64; devices];
        let regions = wanting.map_or_else(|| state.unplaced().collect(), |short| short.items);
        for node in regions {
            let is_paid = |device: &usize| self.of.charges.is_charged(node, problem.class[*device]);
            for device in state.devices(node).filter(|d| may_open[*d] && is_paid(d)) {
                wanted[device] += 1 + self.bulk[node];
            }
        }
        let mut open: Vec<usize> = (0..devices).filter(|device| wanted[*device] > 0).collect();
        open.sort_by_key(|device| -wanted[*device]);
        let mut seen: Vec<usize> = vec![];
        open.retain(|device| {
            let is_new = !seen.iter().any(|other| state.is_alike(&self.of, *device, *other));
            seen.push(*device);
            is_new
        });
        Some(open)
    }

    /// Largest capacity of a variable that uncharged devices can add.
    fn most_opened(&self, state: &State, var: usize, may_open: &[bool]) -> i64 {
        let of_class = |class: usize| {
            let here = (0..may_open.len()).filter(|d| may_open[*d] && self.of.problem.class[*d] == class);
            let mut free: Vec<i64> = here.map(|device| state.free(device)[var]).collect();
            free.sort_unstable_by(|a, b| b.cmp(a));
            free.into_iter().take(usize::from(state.left[class])).fold(0, i64::saturating_add)
        };
        (0..state.left.len()).map(of_class).fold(0, i64::saturating_add)
    }

    /// Minimum use of the remaining regions that does not fit, if regions could be divided; devices in `is_shut` take
    /// no charged regions.
    fn overflow(&self, state: &State, var: usize, is_shut: &[bool]) -> Overflow {
        let problem = self.of.problem;
        let mut nodes = vec![];
        let mut items = vec![];
        for node in state.unplaced() {
            // Last the number of regions.
            let uses =
                |device: usize| self.of.uses[node][problem.class[device]].get(var).copied().unwrap_or(1);
            let size = state.devices(node).map(uses).min().unwrap_or(0);
            if size > 0 {
                let is_open = |device: &usize| {
                    !is_shut[*device] || !self.of.charges.is_charged(node, problem.class[*device])
                };
                items.push(Item { size, bins: state.devices(node).filter(is_open).collect() });
                nodes.push(node);
            }
        }
        let room: Vec<i64> = (0..problem.class.len()).map(|device| state.free(device)[var]).collect();
        let mut found = overflow(&items, &room);
        found.items.iter_mut().for_each(|item| *item = nodes[*item]);
        found
    }
}
