//! Paths of hand-overs, over other devices if no link joins the two.
//!
//! ```text
//! nic ── tor ── fpga      nic -> fpga    legs: nic -> tor (S), tor -> fpga (S, sent on)
//! ```
//!
//! Any device of the app can forward; a device without a part of the program gets a part that only forwards. Paths with
//! the fewest links win; ties go to the lowest latency, then to the path over the origin, over other origins, over
//! devices with a part, over the first in the list of devices.

use crate::placement::{DeviceIndex, Length, Placement};
use crate::section::{SectionId, Sections};
use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// A hand-over on one link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Leg {
    /// Sender.
    pub from: DeviceIndex,
    /// Receiver, at the other end of a link.
    pub to: DeviceIndex,
    /// The section it is for.
    pub section: SectionId,
    /// The device where the packet continues.
    pub target: DeviceIndex,
    /// `from` has got it from another device, and runs nothing on it.
    pub is_sent_on: bool,
}

/// All legs of all hand-overs of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Routes {
    /// In order.
    pub legs: BTreeSet<Leg>,
    /// Pairs of devices without a path between them, with a section that would be entered that way.
    pub missing: Vec<(DeviceIndex, DeviceIndex, SectionId)>,
}

impl Routes {
    /// Paths for all cut edges.
    pub fn new(sections: &Sections, placement: &Placement) -> Routes {
        let parts: BTreeSet<DeviceIndex> =
            sections.list.iter().flat_map(|s| placement.players(s.device)).collect();
        let mut known: BTreeMap<DeviceIndex, BTreeMap<DeviceIndex, DeviceIndex>> = BTreeMap::new();
        let mut routes = Routes::default();
        for (before, section) in sections.cut_edges() {
            for target in placement.players(sections.get(section).device) {
                let next = known.entry(target).or_insert_with(|| next_to(target, &parts, placement));
                for start in placement.players(sections.get(before).device) {
                    if !next.contains_key(&start) {
                        if !routes.missing.iter().any(|&(a, b, _)| (a, b) == (start, target)) {
                            routes.missing.push((start, target, section));
                        }
                        continue;
                    }
                    let mut from = start;
                    while let Some(&to) = next.get(&from) {
                        let is_sent_on = from != start;
                        routes.legs.insert(Leg { from, to, section, target, is_sent_on });
                        from = to;
                    }
                }
            }
        }
        routes
    }

    /// Device to which `device` sends hand-overs for `target`.
    pub fn next(&self, device: DeviceIndex, target: DeviceIndex) -> Option<DeviceIndex> {
        self.legs.iter().find(|leg| (leg.from, leg.target) == (device, target)).map(|leg| leg.to)
    }

    /// Hand-overs that `device` forwards: sections, and their devices.
    pub fn sent_on(&self, device: DeviceIndex) -> impl Iterator<Item = (SectionId, DeviceIndex)> + '_ {
        self.legs
            .iter()
            .filter(move |leg| leg.from == device && leg.is_sent_on)
            .map(|leg| (leg.section, leg.target))
    }
}

/// For each device, the next device on the path to `target`, if there is a path (Dijkstra's algorithm, from the end).
fn next_to(
    target: DeviceIndex,
    parts: &BTreeSet<DeviceIndex>,
    placement: &Placement,
) -> BTreeMap<DeviceIndex, DeviceIndex> {
    let origins: Vec<DeviceIndex> = placement.origins().collect();
    // Ties between paths of equal length: through an origin, then through a device that runs a part anyway.
    let rank = |device: DeviceIndex| {
        let origin = origins.iter().position(|o| *o == device).unwrap_or(origins.len());
        (origin, !parts.contains(&device), device)
    };
    let mut before: BTreeMap<DeviceIndex, Vec<DeviceIndex>> = BTreeMap::new();
    for &(from, to) in placement.ports.keys().filter(|(a, b)| placement.ports.contains_key(&(*b, *a))) {
        before.entry(to).or_default().push(from);
    }
    let mut next: BTreeMap<DeviceIndex, DeviceIndex> = BTreeMap::new();
    let mut reached = BinaryHeap::new();
    let here = Length { links: 0, time_ps: 0 };
    let mut settled = Some((here, target));
    while let Some((length, to)) = settled {
        for &from in before.get(&to).into_iter().flatten() {
            if from != target && !next.contains_key(&from) {
                let more = placement.lengths.get(&(from, to)).copied();
                let more = more.unwrap_or(Length { links: 1, time_ps: 0 });
                let whole = Length {
                    links: length.links.saturating_add(more.links),
                    time_ps: length.time_ps.saturating_add(more.time_ps),
                };
                reached.push(Reverse((whole, rank(to), from)));
            }
        }
        settled = None;
        while let Some(Reverse((length, (.., to), from))) = reached.pop() {
            if let Entry::Vacant(entry) = next.entry(from) {
                entry.insert(to);
                settled = Some((length, from));
                break;
            }
        }
    }
    next
}
