//! Pairs on links, for each set of switches that may fold.

use super::switch_of;
use crate::job::Reducer;
use crate::topology::{Node, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Keys of a mapper where the job says nothing.
const USUAL_KEYS: u64 = 1_000_000;

/// Load of links. Less is better, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Cost {
    /// Nanoseconds of the busiest link, for a byte a pair.
    busiest: u128,
    /// Pairs on all links.
    pairs: u64,
    switches: usize,
    /// Pairs at the reducer.
    pub arrives: u64,
}

/// Pairs on links, by the keys of each mapper and of all.
pub(super) struct Estimate<'t> {
    paths: &'t [Vec<(usize, Node)>],
    topology: &'t Topology,
    /// Keys of each mapper, distinct keys of all, slots of a switch in all rounds.
    keys: u64,
    distinct: u64,
    slots: u64,
}

impl<'t> Estimate<'t> {
    pub fn new(reducer: &Reducer, paths: &'t [Vec<(usize, Node)>], topology: &'t Topology) -> Estimate<'t> {
        let (keys, distinct) = reducer.keys.unwrap_or((USUAL_KEYS, USUAL_KEYS));
        let (layout, chunks) = (&reducer.layout, u64::from(reducer.chunks()));
        let slots = u64::from(layout.lanes) * u64::from(layout.rows()) * u64::from(reducer.rounds);
        // With eviction, mappers in step need few slots; an array has as many rounds as it needs.
        let slots = if layout.evict || layout.is_dense() { u64::MAX } else { slots };
        Estimate { paths, topology, keys: keys * chunks, distinct: distinct.max(keys) * chunks, slots }
    }

    pub fn sent(&self) -> u64 {
        self.keys * self.paths.len() as u64
    }

    /// Distinct keys of so many mappers, each with random keys of all: `distinct * (1 - (1 - keys / distinct)^mappers)`, in whole numbers.
    fn union(&self, mappers: usize) -> u64 {
        let mut missing = u128::from(self.distinct);
        for _ in 0..mappers {
            missing = missing * u128::from(self.distinct - self.keys) / u128::from(self.distinct.max(1));
        }
        self.distinct - missing as u64
    }

    /// The switch of a set that is on the paths of all channels after all others of the set.
    pub fn parent(&self, set: &BTreeSet<usize>) -> Option<usize> {
        let last = |path: &Vec<(usize, Node)>| {
            path.iter().rev().filter_map(|(_, node)| switch_of(*node)).find(|switch| set.contains(switch))
        };
        let mut lasts = self.paths.iter().map(last);
        let first = lasts.next()??;
        (set.len() > 1 && lasts.all(|other| other == Some(first))).then_some(first)
    }

    /// None if the set is no placement: a channel without a switch, more than two levels.
    pub fn cost(&self, set: &BTreeSet<usize>) -> Option<Cost> {
        let parent = self.parent(set);
        let mut links: BTreeMap<usize, u64> = BTreeMap::new();
        // Mappers by their first switch.
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, path) in self.paths.iter().enumerate() {
            let of_set: Vec<usize> =
                path.iter().filter_map(|(_, node)| switch_of(*node)).filter(|at| set.contains(at)).collect();
            let (first, rest) = of_set.split_first()?;
            if rest.iter().any(|switch| Some(*switch) != parent) {
                return None;
            }
            groups.entry(*first).or_default().push(at);
        }
        // A switch without channels of its own is of use only as a parent.
        if set.iter().any(|switch| !groups.contains_key(switch) && parent != Some(*switch)) {
            return None;
        }
        let folded = |mappers: usize, arrives: u64| {
            let union = self.union(mappers);
            let resident = union.min(self.slots);
            // Pairs of keys without a slot travel on.
            let overflowed = (arrives - union.min(arrives)) as u128 * u128::from(union - resident)
                / u128::from(union.max(1));
            (union + overflowed as u64).min(arrives)
        };
        let mut arrives = 0;
        let mut at_parent = 0;
        for (switch, members) in &groups {
            let sent = self.keys * members.len() as u64;
            let left = if Some(*switch) == parent { sent } else { folded(members.len(), sent) };
            let mut after = BTreeSet::new();
            for at in members {
                let mut is_before = true;
                for (link, node) in &self.paths[*at] {
                    if is_before {
                        *links.entry(*link).or_default() += self.keys;
                    } else {
                        after.insert(*link);
                    }
                    is_before &= *node != Node::Switch(*switch);
                }
            }
            let path = &self.paths[members[0]];
            let until = path.iter().position(|(_, node)| switch_of(*node) == parent && parent.is_some());
            for (place, (link, _)) in path.iter().enumerate().filter(|(_, (link, _))| after.contains(link)) {
                if until.is_none_or(|until| place <= until) {
                    *links.entry(*link).or_default() += left;
                }
            }
            if parent.is_some() { at_parent += left } else { arrives += left }
        }
        if let Some(parent) = parent {
            arrives = folded(self.paths.len(), at_parent);
            let path = &self.paths[0];
            let from = path.iter().position(|(_, node)| *node == Node::Switch(parent)).map_or(0, |at| at + 1);
            for (link, _) in &path[from..] {
                *links.entry(*link).or_default() += arrives;
            }
        }
        let time = |(link, pairs): (&usize, &u64)| {
            u128::from(*pairs) * 8_000_000_000 / u128::from(self.topology.links[*link].rate.max(1))
        };
        Some(Cost {
            busiest: links.iter().map(time).max().unwrap_or(0),
            pairs: links.values().sum(),
            switches: set.len(),
            arrives,
        })
    }
}
