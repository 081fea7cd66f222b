//! Validity bits of headers in containers.
//!
//! The actions of one stage are one instruction for each container. So two units that write bits of one container are
//! in different stages, unless they are mutually exclusive. On Tofino 1, validity bits that the parser sets in one state stay
//! together: their container follows from the parser, even where this separates tables. The order of steps is that of the open compiler: a placement
//! with all bits of a half packed; if it is long, one without containers, and a packing that keeps the tables of its stages
//! apart where whole bytes of bits allow it.

use crate::device::Device;
use crate::field::{FieldId, Fields};
use crate::graph::{self, Dependency};
use crate::parde::Parde;
use crate::place::{self, Apart, Placement};
use crate::unit::{Unit, UnitId};
use std::collections::{BTreeMap, BTreeSet};

/// Bits of the widest container.
const CONTAINER_BITS: usize = 32;
/// Bits of the narrowest one.
const BYTE_BITS: usize = 8;
/// Stages beyond the longest chain of dependencies with which the first packing is kept.
const SPARE_STAGES: u32 = 2;

/// Containers of validity bits.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Validity {
    /// The bits of each container, those of both halves; without bits that have a container of their own.
    pub containers: Vec<Vec<FieldId>>,
    /// For each unit, those that write bits of a common container.
    pub apart: Apart,
    /// Stages of a placement in which no unit is kept apart from others.
    pub stages_without: u32,
}

/// Places units, with the containers that their validity bits have in this placement.
pub fn place(
    device: &Device,
    units: &[Unit],
    dependencies: &[Dependency],
    fields: &Fields,
    pardes: &[Parde; 2],
) -> (Placement, Validity) {
    let free = place::place(device, units, dependencies, &vec![]);
    let stages_without = free.stages.len() as u32;
    // The parser of Tofino 2 sets bits one by one, so that the compiler gives them containers as the stages need it.
    if device.tofino != Some(1) {
        return (free, Validity { stages_without, ..Validity::default() });
    }
    let writers = Writers::new(units, fields);
    let packed = |clash: &dyn Fn(FieldId, FieldId) -> bool| {
        let containers: Vec<Vec<FieldId>> =
            pardes.iter().flat_map(|parde| containers(parde, fields, &writers, clash)).collect();
        let apart = writers.apart(&containers);
        Validity { containers, apart, stages_without }
    };
    let first = packed(&|_, _| false);
    if !free.stages.iter().any(|stage| place::breaks(stage, &first.apart)) {
        return (free, first);
    }
    let placement = place::place(device, units, dependencies, &first.apart);
    let chain =
        graph::tails(units.len(), dependencies).and_then(|tails| tails.into_iter().max()).unwrap_or(0) + 1;
    if placement.stages.len() as u32 <= device.stages.min(chain + SPARE_STAGES) {
        return (placement, first);
    }
    let mut spans: BTreeMap<UnitId, BTreeSet<usize>> = BTreeMap::new();
    for (at, stage) in free.stages.iter().enumerate() {
        stage.parts.iter().for_each(|(unit, _)| {
            spans.entry(*unit).or_default().insert(at);
        });
    }
    let is_beside = |a: UnitId, b: UnitId| match (spans.get(&a), spans.get(&b)) {
        (Some(a), Some(b)) => !a.is_disjoint(b),
        _ => false,
    };
    let second = packed(&|a, b| writers.pairs(a, b).any(|(a, b)| is_beside(a, b)));
    (place::place(device, units, dependencies, &second.apart), second)
}

/// Units that write each validity bit.
struct Writers<'a> {
    units: &'a [Unit],
    of: BTreeMap<FieldId, BTreeSet<UnitId>>,
}

impl<'a> Writers<'a> {
    fn new(units: &'a [Unit], fields: &Fields) -> Writers<'a> {
        let mut of: BTreeMap<FieldId, BTreeSet<UnitId>> = BTreeMap::new();
        for (id, unit) in units.iter().enumerate() {
            for access in unit.writes.iter().filter(|a| fields.get(a.field).kind == crate::field::Kind::Valid)
            {
                of.entry(access.field).or_default().insert(id);
            }
        }
        Writers { units, of }
    }

    fn get(&self, bit: FieldId) -> impl Iterator<Item = UnitId> {
        self.of.get(&bit).into_iter().flatten().copied()
    }

    /// Pairs of units that one packet can pass, of which the first writes `a` and the second `b`.
    fn pairs(&self, a: FieldId, b: FieldId) -> impl Iterator<Item = (UnitId, UnitId)> {
        let meet = |x: UnitId, y: UnitId| {
            x != y && (self.units[x].before.contains(&y) || self.units[y].before.contains(&x))
        };
        self.get(a).flat_map(move |x| self.get(b).filter(move |y| meet(x, *y)).map(move |y| (x, y)))
    }

    fn apart(&self, containers: &[Vec<FieldId>]) -> Apart {
        let mut apart = vec![BTreeSet::new(); self.units.len()];
        for bits in containers {
            let written: Vec<FieldId> = bits.iter().copied().filter(|b| self.of.contains_key(b)).collect();
            for (at, a) in written.iter().enumerate() {
                for (x, y) in written[at + 1..].iter().flat_map(|b| self.pairs(*a, *b)) {
                    apart[x].insert(y);
                    apart[y].insert(x);
                }
            }
        }
        apart
    }
}

/// The containers of a half's validity bits, where bits that `clash` are to be in different ones; without those bits that are alone.
fn containers(
    parde: &Parde,
    fields: &Fields,
    writers: &Writers<'_>,
    clash: &dyn Fn(FieldId, FieldId) -> bool,
) -> Vec<Vec<FieldId>> {
    let sets = sets(parde, fields, writers);
    let mut lists: Vec<Vec<FieldId>> = vec![vec![]];
    for set in sets {
        let list = lists.last().map_or(&[][..], Vec::as_slice);
        // Only bits of different sets are separated here: those of one set come together.
        if set.iter().any(|b| list.iter().any(|a| clash(*a, *b))) {
            continue;
        }
        for bit in set {
            match lists.last_mut().filter(|list| list.len() < CONTAINER_BITS) {
                Some(list) => list.push(bit),
                None => lists.push(vec![bit]),
            }
        }
    }
    let mut containers: Vec<Vec<FieldId>> = vec![];
    for list in lists {
        let mut open: Vec<FieldId> = vec![];
        for byte in list.chunks(BYTE_BITS) {
            if open.iter().any(|a| byte.iter().any(|b| clash(*a, *b))) {
                containers.push(std::mem::take(&mut open));
            }
            open.extend(byte);
        }
        containers.push(open);
    }
    containers.retain(|bits| bits.len() > 1);
    containers
}

/// Validity bits in the order of their first use. Those of a set are set by the parser in one state, or in one with a third bit of the set. Elements of
/// stacks are not included.
fn sets(parde: &Parde, fields: &Fields, writers: &Writers<'_>) -> Vec<Vec<FieldId>> {
    let candidates: BTreeSet<FieldId> = parde
        .headers
        .keys()
        .chain(&parde.emitted)
        .copied()
        .filter(|b| fields.get(*b).stack.is_none())
        .collect();
    let chains = |bit: &FieldId| parde.headers.get(bit).map(|h| parde.chains_of(h)).unwrap_or_default();
    let mut sets: Vec<(Vec<FieldId>, BTreeSet<usize>)> = vec![];
    for bit in candidates {
        let states = chains(&bit);
        // Bits that no stage writes and that the parser sets together are one bit.
        let is_same = |other: &FieldId| !writers.of.contains_key(other) && chains(other) == states;
        let is_written = writers.of.contains_key(&bit);
        if !is_written && !states.is_empty() && sets.iter().any(|(set, _)| set.iter().any(is_same)) {
            continue;
        }
        let (mut joined, mut set) = (states, vec![]);
        let mut at = None;
        let mut kept = vec![];
        for (bits, of) in sets {
            if of.is_disjoint(&joined) {
                kept.push((bits, of));
            } else {
                at.get_or_insert(kept.len());
                set.extend(bits);
                joined.extend(of);
            }
        }
        set.push(bit);
        kept.insert(at.unwrap_or(kept.len()), (set, joined));
        sets = kept;
    }
    sets.into_iter().map(|(bits, _)| bits).collect()
}
