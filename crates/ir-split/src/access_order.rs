//! Do all packets use the state objects in one order?
//!
//! A packet that goes by another device may be overtaken by one that does not. If both use an object before and another
//! one after, they use them in opposite orders, which never happens on one device. So between objects that one packet
//! may use with a cut in between, all paths must pass the same devices: links and devices keep order.
//!
//! Objects used in the same section are used at one moment and count as one. The result is a graph of such groups; if
//! it is a forest and each edge keeps order, no cycle of packets can arise (the orders at a leaf are those at its
//! neighbour). Otherwise all sections of the groups must lie on one path that every packet takes, or on a *line*:
//! packets join and leave it anywhere, and pass all of it in between.
//!
//! On a line no cycle arises: two packets are in one order wherever both are, a packet is on a stretch of the line, and of
//! three stretches that meet two by two there is a place that is on all three. A longer cycle has a shorter one in it.

use crate::placement::DeviceIndex;
use crate::section::{SectionId, Sections};
use ir::{InstanceId, Program};
use ir_state::{Uses, order_matters};
use std::collections::BTreeMap;

/// Two objects that packets may use in opposite orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overtaken {
    /// One.
    pub first: InstanceId,
    /// The other.
    pub second: InstanceId,
    /// Paths between the two sections, up to their common parts.
    pub paths: Vec<Vec<DeviceIndex>>,
}

/// Paths of packets between two sections, as lists of devices.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Paths(Vec<Vec<DeviceIndex>>);

impl Paths {
    fn add(&mut self, path: Vec<DeviceIndex>) {
        if self.0.len() < 2 && !self.0.contains(&path) {
            self.0.push(path);
        }
    }
}

/// Finds the first pair that is not kept in order.
pub fn overtaken(
    program: &Program,
    sections: &Sections,
    uses: &BTreeMap<SectionId, Uses>,
) -> Option<Overtaken> {
    let ordered = |i: &InstanceId| order_matters(program, *i);
    let users: Vec<(SectionId, Vec<InstanceId>)> = uses
        .iter()
        .map(|(&id, used)| (id, used.instances.keys().copied().filter(ordered).collect::<Vec<_>>()))
        .filter(|(_, objects)| !objects.is_empty())
        .collect();
    let group = groups(&users);
    let mut edges: BTreeMap<(InstanceId, InstanceId), Paths> = BTreeMap::new();
    for (from, objects) in &users {
        let paths = paths_from(sections, *from);
        for (to, others) in users.iter().filter(|(to, _)| to > from) {
            for path in &paths[to.0 as usize].0 {
                edges.entry((group[&objects[0]], group[&others[0]])).or_default().add(path.clone());
            }
        }
    }
    // Without a cut between the two, both are used in one step.
    edges.retain(|_, paths| paths.0.iter().any(|path| path.len() > 1));
    let found = |(&(first, second), paths): (&(InstanceId, InstanceId), &Paths)| Overtaken {
        first,
        second,
        paths: paths.0.clone(),
    };
    let differ =
        edges.iter().find(|((a, b), paths)| paths.0.len() > 1 || a == b || edges.contains_key(&(*b, *a)));
    if let Some(edge) = differ {
        return Some(found(edge));
    }
    let mut joined: BTreeMap<InstanceId, InstanceId> = BTreeMap::new();
    for edge in &edges {
        let (a, b) = (root(&joined, edge.0.0), root(&joined, edge.0.1));
        if a == b && !all_on_one_path(sections, &users) && !on_a_line(sections, &users) {
            return Some(found(edge));
        }
        if a != b {
            joined.insert(a, b);
        }
    }
    None
}

/// Objects that stand together in some section have the same number.
fn groups(users: &[(SectionId, Vec<InstanceId>)]) -> BTreeMap<InstanceId, InstanceId> {
    let mut joined: BTreeMap<InstanceId, InstanceId> = BTreeMap::new();
    for (_, objects) in users {
        for other in &objects[1..] {
            let (a, b) = (root(&joined, objects[0]), root(&joined, *other));
            if a != b {
                joined.insert(a, b);
            }
        }
    }
    users.iter().flat_map(|(_, objects)| objects).map(|&o| (o, root(&joined, o))).collect()
}

fn root(joined: &BTreeMap<InstanceId, InstanceId>, mut at: InstanceId) -> InstanceId {
    while let Some(&next) = joined.get(&at) {
        at = next;
    }
    at
}

/// Paths from `start` to each section.
fn paths_from(sections: &Sections, start: SectionId) -> Vec<Paths> {
    let mut paths = vec![Paths::default(); sections.list.len()];
    paths[start.0 as usize].add(vec![sections.get(start).device]);
    for (id, _) in sections.iter().filter(|(id, _)| *id >= start) {
        let here = paths[id.0 as usize].clone();
        for next in sections.successors(id) {
            for mut path in here.0.iter().cloned() {
                let device = sections.get(next).device;
                if path.last() != Some(&device) {
                    path.push(device);
                }
                paths[next.0 as usize].add(path);
            }
        }
    }
    paths
}

/// Every packet comes to each of the sections by the same devices, and these lie one after another.
fn all_on_one_path(sections: &Sections, users: &[(SectionId, Vec<InstanceId>)]) -> bool {
    let paths = paths_from(sections, SectionId(0));
    let to: Vec<_> = users.iter().map(|(id, _)| &paths[id.0 as usize].0).collect();
    let one = to.iter().all(|paths| paths.len() == 1);
    one && to.iter().all(|a| to.iter().all(|b| a[0].starts_with(&b[0]) || b[0].starts_with(&a[0])))
}

/// True if there is one path from each section to each later one, and it passes all sections in between.
fn on_a_line(sections: &Sections, users: &[(SectionId, Vec<InstanceId>)]) -> bool {
    let paths: Vec<_> = users.iter().map(|(id, _)| paths_from(sections, *id)).collect();
    let path = |from: usize, to: usize| match paths[from][users[to].0.0 as usize].0.as_slice() {
        [path] => Some(path.as_slice()),
        _ => None,
    };
    let leads_by = |from: usize, by: usize, to: usize| {
        Some(path(from, to)? == [path(from, by)?, path(by, to)?.get(1..)?].concat())
    };
    let all = users.len();
    let triples = (0..all).flat_map(|a| (a..all).flat_map(move |b| (b..all).map(move |c| (a, b, c))));
    triples.into_iter().all(|(a, b, c)| leads_by(a, b, c) == Some(true))
}
