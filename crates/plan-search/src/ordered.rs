//! Enumeration of all plans, best first.
//!
//! ```text
//! all plans                                     best: r1 on a, r2 on b
//!   r1 not on a                                 best: r1 on c, r2 on b
//!   r1 on a, r2 not on b                        best: r1 on a, r2 on a
//! ```
//!
//! The search finds the best plan of a set of placements. The rest of the set is divided into one set for each region:
//! those before it as in the plan, it itself elsewhere, those after it anywhere (Lawler 1972). The best of all sets comes next, and
//! only its set is divided. One placement is given once, with its best rules and routes, and one of those that differ only by an
//! exchange of equal devices.

use crate::equal::EqualDevices;
use crate::goal::{Goal, Progress, Stop};
use crate::judge::Plan;
use crate::problem::Problem;
use crate::search::search;
use std::collections::BTreeMap;

/// Plans in the order of a goal.
pub struct Ordered {
    problem: Problem,
    goal: Goal,
    /// Devices that the problem allows for each region.
    open: Vec<Vec<usize>>,
    /// Group of each device; equal devices have the same number.
    group: Vec<usize>,
    /// Sets that wait, by the key of their best plan and the devices of that plan.
    waiting: BTreeMap<(Vec<i128>, Vec<usize>), Set>,
    /// Maximum number of waiting sets.
    most: usize,
    /// The first of the sets for which there was no room.
    lost: Option<(Vec<i128>, Vec<usize>)>,
    /// The set whose best plan was returned last; `None` at the start.
    given: Option<Set>,
    is_begun: bool,
    is_complete: bool,
}

/// Placements of which the best is known.
struct Set {
    /// The first `fixed` regions in the order run where the plan places them.
    fixed: usize,
    /// The next region runs on one of these devices; later regions run anywhere.
    on: Vec<usize>,
    cost: Vec<i64>,
    plan: Plan,
}

impl Ordered {
    /// Enumerates the plans of a problem. At most `most` plans are returned and at most `most` sets of plans are kept. With
    /// [`Goal::Front`], plans are in the order of the objectives, as with [`Goal::First`].
    pub fn new(problem: Problem, goal: Goal, most: usize) -> Ordered {
        let open = problem.nodes.iter().map(|node| node.on.clone()).collect();
        let group = EqualDevices::new(&problem, &[i64::MAX; 3]).group;
        Ordered {
            problem,
            goal: if goal == Goal::Front { Goal::First } else { goal },
            open,
            group,
            waiting: BTreeMap::new(),
            most: most.max(1),
            lost: None,
            given: None,
            is_begun: false,
            is_complete: true,
        }
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Nothing that comes before the next plan was left out.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The next plan with its cost; none if there is no other, or if the search was stopped, or if more than `most` were asked for:
    /// then it is not complete.
    pub fn next(&mut self, watch: &mut dyn FnMut(&Progress) -> Stop) -> Option<(Vec<i64>, Plan)> {
        match self.given.take() {
            Some(set) => self.divide(&set, watch),
            None if !self.is_begun => {
                self.is_begun = true;
                let on = self.problem.order.first().map_or(vec![], |first| self.open[*first].clone());
                self.add(0, on, watch);
            }
            None => {}
        }
        if !self.is_complete {
            return None;
        }
        let Some((place, set)) = self.waiting.pop_first() else {
            self.is_complete = self.lost.is_none();
            return None;
        };
        if self.lost.as_ref().is_some_and(|lost| *lost < place) {
            self.is_complete = false;
            return None;
        }
        let next = (set.cost.clone(), set.plan.clone());
        self.given = Some(set);
        Some(next)
    }

    /// Partitions a set without its best plan and the plans that are equal to it.
    fn divide(&mut self, set: &Set, watch: &mut dyn FnMut(&Progress) -> Stop) {
        let order = self.problem.order.clone();
        self.problem.nodes.iter_mut().zip(&self.open).for_each(|(node, open)| node.on.clone_from(open));
        for &node in &order[..set.fixed] {
            self.problem.nodes[node].on = vec![set.plan.device[node]];
        }
        for (at, &node) in order.iter().enumerate().skip(set.fixed) {
            if at == set.fixed {
                self.problem.nodes[node].on.clone_from(&set.on);
            }
            let device = set.plan.device[node];
            let is_used = |d: usize| order[..at].iter().any(|node| set.plan.device[*node] == d);
            // An equal device on which nothing runs yet would do the same.
            let is_equal = |d: usize| self.group[d] == self.group[device] && !is_used(d) && !is_used(device);
            let is_other = |d: &usize| *d != device && !is_equal(*d);
            let others: Vec<usize> = self.problem.nodes[node].on.iter().copied().filter(is_other).collect();
            if !others.is_empty() {
                self.problem.nodes[node].on.clone_from(&others);
                self.add(at, others, watch);
            }
            if !self.is_complete {
                return;
            }
            self.problem.nodes[node].on = vec![device];
        }
    }

    /// The set that the problem's devices say now, if there is a plan in it.
    fn add(&mut self, fixed: usize, on: Vec<usize>, watch: &mut dyn FnMut(&Progress) -> Stop) {
        let found = search(&self.problem, &self.goal, watch);
        self.is_complete &= found.is_complete;
        let Some((cost, plan)) = found.plans.into_iter().next() else { return };
        let Some(key) = self.goal.key(&cost) else { return };
        self.waiting.insert((key, plan.device.clone()), Set { fixed, on, cost, plan });
        if self.waiting.len() > self.most
            && let Some((place, _)) = self.waiting.pop_last()
        {
            self.lost = Some(match self.lost.take() {
                Some(lost) => lost.min(place),
                None => place,
            });
        }
    }
}
