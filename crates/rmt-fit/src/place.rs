//! Units to stages: a greedy search that fills stage by stage, and an exact one where there are few units.
//!
//! Among the units that may run in a stage, the greedy search places those first that have the longest chain of
//! dependent units after them. A table that does not fit into an empty stage is divided over several.

use crate::amount::{Amounts, Resource};
use crate::device::Device;
use crate::graph::{self, Dependency};
use crate::layout;
use crate::stage::Stage;
use crate::unit::{Hashed, Kind, Unit, UnitId};
use std::collections::BTreeSet;

/// Most units for which the exact search is tried, and the steps that it may take.
const EXACT_UNITS: usize = 16;
const EXACT_STEPS: u32 = 20_000;
/// Stages that a placement may use at most, times those of the device.
const MOST_TIMES: u32 = 16;

/// Units in stages.
#[derive(Clone, Default, Debug)]
pub struct Placement {
    /// The stages in use, first to last.
    pub stages: Vec<Stage>,
    /// No placement takes fewer stages.
    pub at_least: u32,
    /// Units that do not fit into an empty stage, or into the maximum number of stages, with the resource that they lack.
    pub unplaced: Vec<(UnitId, Option<Resource>)>,
}

/// For each unit, those that no stage has beside it, in both directions; empty if there are none at all.
pub type Apart = Vec<BTreeSet<UnitId>>;

/// Places units that wait for each other by `dependencies`, which form no circle.
pub fn place(device: &Device, units: &[Unit], dependencies: &[Dependency], apart: &Apart) -> Placement {
    let search = Search::new(device, units, dependencies, apart);
    let mut placement = search.greedy();
    placement.at_least = search.bound(&placement);
    let used = placement.stages.len() as u32;
    if placement.unplaced.is_empty()
        && used > placement.at_least
        && units.len() <= EXACT_UNITS
        && let Some(stages) = search.exact(used, &mut placement.at_least)
    {
        placement.stages = stages;
    }
    placement
}

/// Like [`place`], without the exact search and without a bound.
pub fn greedy(device: &Device, units: &[Unit], dependencies: &[Dependency], apart: &Apart) -> Placement {
    Search::new(device, units, dependencies, apart).greedy()
}

/// True if two units of `stage` are to be apart.
pub fn breaks(stage: &Stage, apart: &Apart) -> bool {
    stage.parts.iter().any(|(unit, _)| is_beside(stage, *unit, apart))
}

/// True if `stage` has a unit that is to be apart from `unit`.
fn is_beside(stage: &Stage, unit: UnitId, apart: &Apart) -> bool {
    apart.get(unit).is_some_and(|others| stage.parts.iter().any(|(u, _)| others.contains(u)))
}

struct Search<'a> {
    device: &'a Device,
    units: &'a [Unit],
    /// For each unit, its dependencies on earlier units.
    waits: Vec<Vec<&'a Dependency>>,
    tails: Vec<u32>,
    /// Units in the order of dependencies.
    order: Vec<UnitId>,
    /// For each unit, those that share an object with it: they go to one stage.
    together: Vec<Vec<UnitId>>,
    apart: &'a Apart,
}

/// A partial placement.
#[derive(Clone)]
struct State {
    stages: Vec<Stage>,
    /// The last stage of each unit that is placed.
    done: Vec<Option<u32>>,
    /// Entries that are not placed yet.
    left: Vec<u64>,
}

impl<'a> Search<'a> {
    fn new(
        device: &'a Device,
        units: &'a [Unit],
        dependencies: &'a [Dependency],
        apart: &'a Apart,
    ) -> Search<'a> {
        let mut waits: Vec<Vec<&Dependency>> = vec![vec![]; units.len()];
        dependencies.iter().for_each(|d| waits[d.to].push(d));
        let tails = graph::tails(units.len(), dependencies).unwrap_or_else(|| vec![0; units.len()]);
        let order = graph::order(units.len(), dependencies).unwrap_or_default();
        let shares = |a: &Unit, b: &Unit| a.side.iter().any(|s| s.cells.is_some() && b.side.contains(s));
        let together = (0..units.len())
            .map(|a| (0..units.len()).filter(|b| a != *b && shares(&units[a], &units[*b])).collect())
            .collect();
        Search { device, units, waits, tails, order, together, apart }
    }

    fn start(&self) -> State {
        let left =
            self.units.iter().map(|u| if let Kind::Table(of) = &u.kind { of.entries.max(1) } else { 1 });
        State { stages: vec![], done: vec![None; self.units.len()], left: left.collect() }
    }

    /// True if all that `unit` waits for is placed early enough for `stage`.
    fn is_ready(&self, state: &State, unit: UnitId, stage: u32) -> bool {
        let early = |d: &&Dependency| state.done[d.from].is_some_and(|s| s + d.reason.stages() <= stage);
        self.units[unit].stage.is_none_or(|pinned| stage >= pinned) && self.waits[unit].iter().all(early)
    }

    /// Units that may go to `stage`, those first from which the longest chain leads on.
    fn ready(&self, state: &State, stage: u32) -> Vec<UnitId> {
        let with = |unit: UnitId| {
            self.together[unit].iter().all(|other| {
                let is_inside = |d: &&Dependency| d.from == unit || self.together[unit].contains(&d.from);
                state.done[*other].is_some()
                    || self.waits[*other]
                        .iter()
                        .filter(|d| !is_inside(d))
                        .all(|d| state.done[d.from].is_some_and(|s| s + d.reason.stages() <= stage))
            })
        };
        let mut ready: Vec<UnitId> = (0..self.units.len())
            .filter(|u| state.done[*u].is_none() && self.is_ready(state, *u, stage) && with(*u))
            .collect();
        ready.sort_by_key(|u| (std::cmp::Reverse(self.tails[*u]), *u));
        ready
    }

    fn greedy(&self) -> Placement {
        let mut state = self.start();
        let mut unplaced = vec![];
        let most = self.device.stages.saturating_mul(MOST_TIMES).saturating_add(self.units.len() as u32);
        let mut stage = 0;
        while state.done.iter().any(Option::is_none) && stage < most {
            state.stages.push(Stage::default());
            self.fill(&mut state, stage);
            self.divide(&mut state, stage);
            if state.stages[stage as usize].parts.is_empty() {
                // Nothing fits an empty stage: the first that may run never will.
                let Some(unit) = self.ready(&state, stage).first().copied().or_else(|| self.stuck(&state))
                else {
                    stage += 1;
                    continue;
                };
                // Dependent units are placed as if the unit were in this stage.
                unplaced.push((unit, self.lacks(unit)));
                state.done[unit] = Some(stage);
            }
            stage += 1;
        }
        let rest = (0..self.units.len()).filter(|u| state.done[*u].is_none());
        unplaced.extend(rest.map(|u| (u, None)));
        Placement { stages: state.stages, at_least: 0, unplaced }
    }

    /// A unit that nothing but units of one object holds back.
    fn stuck(&self, state: &State) -> Option<UnitId> {
        let pinned =
            |u: &UnitId| self.units[*u].stage.is_some_and(|pinned| pinned as usize >= state.stages.len());
        let open: Vec<UnitId> = self.order.iter().copied().filter(|u| state.done[*u].is_none()).collect();
        if open.iter().any(pinned) { None } else { open.first().copied() }
    }

    /// Puts all into `stage` that finds room as a whole. Tables that wait for these in the same stage are placed in the next round.
    fn fill(&self, state: &mut State, stage: u32) {
        loop {
            let ready = self.ready(state, stage);
            let placed = ready.into_iter().filter(|unit| self.put(state, *unit, stage)).count();
            if placed == 0 {
                return;
            }
        }
    }

    /// Puts a unit into `stage` if there is room for all that is left of it.
    fn put(&self, state: &mut State, unit: UnitId, stage: u32) -> bool {
        let left = state.left[unit];
        if is_beside(&state.stages[stage as usize], unit, self.apart) {
            return false;
        }
        let offer = state.stages[stage as usize].offer(self.device, self.units, unit, left);
        let Some(part) = offer.filter(|part| part.entries >= left || !self.is_table(unit)) else {
            return false;
        };
        state.stages[stage as usize].add(self.units, unit, part);
        state.done[unit] = Some(stage);
        true
    }

    fn is_table(&self, unit: UnitId) -> bool {
        matches!(self.units[unit].kind, Kind::Table(_))
    }

    /// Fills `stage` with parts of tables that no empty stage could hold.
    fn divide(&self, state: &mut State, stage: u32) {
        for unit in self.ready(state, stage) {
            let left = state.left[unit];
            let fits = |part: &layout::Part| part.entries >= left;
            let whole = Stage::default().offer(self.device, self.units, unit, left);
            if !self.is_table(unit) || whole.as_ref().is_some_and(fits) {
                continue;
            }
            if is_beside(&state.stages[stage as usize], unit, self.apart) {
                continue;
            }
            if let Some(part) = state.stages[stage as usize].offer(self.device, self.units, unit, left)
                && part.entries > 0
                && !state.stages[stage as usize].parts.iter().any(|(u, _)| *u == unit)
            {
                state.left[unit] = left.saturating_sub(part.entries);
                state.stages[stage as usize].add(self.units, unit, part);
                if state.left[unit] == 0 {
                    state.done[unit] = Some(stage);
                }
            }
        }
    }

    /// The resource of which an empty stage has too little for a unit.
    fn lacks(&self, unit: UnitId) -> Option<Resource> {
        let limit = Amounts::of(&self.device.stage);
        let stage = Stage::default();
        let mut needs = stage.fixed(self.units, unit);
        needs += layout::objects(self.device, &self.units[unit], &|_| false).amounts;
        let large = layout::largest_object(self.device, &self.units[unit]);
        match needs.beyond(&limit) {
            Some(resource) => Some(resource),
            None if large.is_some_and(|(_, rams)| rams > self.device.memory.object_rams) => {
                Some(Resource::MapRam)
            }
            None if self.units[unit].is_ternary() => Some(Resource::Tcam),
            None => Some(Resource::Sram),
        }
    }

    /// Stages that every placement takes: by chains of dependencies, and by memory.
    fn bound(&self, placement: &Placement) -> u32 {
        // A divided table takes a stage for each part at least, as a stage holds no more of it than an empty one does.
        let mut last = vec![0u32; self.units.len()];
        let mut longest = 0;
        for &unit in &self.order {
            let after = self.waits[unit].iter().map(|d| last[d.from] + d.reason.stages());
            let first = after.max().unwrap_or(0).max(self.units[unit].stage.unwrap_or(0));
            last[unit] = first + self.least_stages(unit).saturating_sub(1);
            longest = longest.max(last[unit] + 1);
        }
        if placement.stages.is_empty() { 0 } else { longest.max(self.bound_by_units(placement)) }
    }

    /// Stages that one unit takes alone.
    fn least_stages(&self, unit: UnitId) -> u32 {
        let Kind::Table(of) = &self.units[unit].kind else { return 1 };
        let whole = Stage::default().offer(self.device, self.units, unit, of.entries);
        match whole {
            Some(part) if part.entries > 0 => {
                u32::try_from(of.entries.div_ceil(part.entries)).unwrap_or(u32::MAX)
            }
            _ => 1,
        }
    }

    /// Stages for the TCAM, the gateways and the hash units of all together.
    fn bound_by_units(&self, placement: &Placement) -> u32 {
        let limit = Amounts::of(&self.device.stage);
        let mut all = Amounts::default();
        for unit in self.units {
            all[Resource::Gateway] += unit.fixed.gateways;
        }
        let hashes: BTreeSet<&Hashed> = self.units.iter().flat_map(|unit| &unit.hashes).collect();
        all[Resource::HashUnits] = hashes.iter().map(|hash| hash.units).sum();
        all[Resource::Tcam] = placement.stages.iter().map(|s| s.used[Resource::Tcam]).sum();
        let sure = [Resource::Tcam, Resource::HashUnits, Resource::Gateway];
        sure.into_iter().map(|r| all[r].div_ceil(limit[r].max(1))).max().unwrap_or(0)
    }

    /// A placement of fewer than `used` stages, if there is one. If the search ends, `at_least` becomes exact.
    fn exact(&self, used: u32, at_least: &mut u32) -> Option<Vec<Stage>> {
        let mut steps = EXACT_STEPS;
        for stages in *at_least..used {
            let mut state = self.start();
            state.stages.push(Stage::default());
            match self.extend(state, 0, stages, 0, &mut steps) {
                Found::Yes(found) => {
                    *at_least = stages;
                    return Some(found);
                }
                Found::No => *at_least = stages + 1,
                Found::Unknown => return None,
            }
        }
        None
    }

    /// Fills `stage` and those after it, up to `stages`, with whole units in every way; units before `from` in the list of
    /// those ready were decided.
    fn extend(&self, state: State, stage: u32, stages: u32, skipped: u64, steps: &mut u32) -> Found {
        if state.done.iter().all(Option::is_some) {
            return Found::Yes(state.stages);
        }
        if *steps == 0 {
            return Found::Unknown;
        }
        *steps -= 1;
        // The units that depend on it would need more stages than are left.
        let late = |u: UnitId| state.done[u].is_none() && stage + self.tails[u] >= stages;
        if (0..self.units.len()).any(late) {
            return Found::No;
        }
        let ready = self.ready(&state, stage);
        let next = ready.iter().copied().find(|u| skipped & (1 << u) == 0);
        let Some(unit) = next else {
            let mut state = state;
            state.stages.push(Stage::default());
            return self.extend(state, stage + 1, stages, 0, steps);
        };
        let mut with = state.clone();
        let mut unknown = false;
        if self.put(&mut with, unit, stage) {
            match self.extend(with, stage, stages, skipped, steps) {
                Found::No => {}
                Found::Unknown => unknown = true,
                found => return found,
            }
        }
        match self.extend(state, stage, stages, skipped | 1 << unit, steps) {
            // The first branch was given up: it may have had a placement.
            Found::No if unknown => Found::Unknown,
            found => found,
        }
    }
}

enum Found {
    Yes(Vec<Stage>),
    No,
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Half;
    use crate::unit::{Fixed, Match};
    use base_diag::Span;

    /// A ternary table with this number of TCAM blocks and no dependencies.
    fn table(blocks: u64) -> Unit {
        let of = Match {
            ternary: true,
            key_bits: 32,
            entries: 512 * blocks,
            rows_per_100: 100,
            actions: 1,
            data_bits: 8,
            pointer_bits: 0,
            indirect: false,
        };
        Unit {
            name: format!("t{blocks}"),
            span: Span::NONE,
            half: Half::Ingress,
            kind: Kind::Table(of),
            matches: vec![],
            reads: vec![],
            writes: vec![],
            instructions: 1,
            fixed: Fixed::default(),
            hashes: vec![],
            side: vec![],
            before: BTreeSet::new(),
            guards: vec![],
            stage: None,
        }
    }

    fn tofino() -> Device {
        Device::built_in("tofino1").expect("it is built in")
    }

    #[test]
    fn the_exact_search_finds_what_the_greedy_one_misses() {
        let units: Vec<Unit> = [8, 12, 8, 12, 8].map(table).into();
        assert_eq!(greedy(&tofino(), &units, &[], &vec![]).stages.len(), 3);
        let best = place(&tofino(), &units, &[], &vec![]);
        assert_eq!((best.stages.len(), best.at_least), (2, 2));
    }

    #[test]
    fn a_pinned_table_waits_for_its_stage() {
        let mut units: Vec<Unit> = [1, 1].map(table).into();
        units[1].stage = Some(3);
        let placed = place(&tofino(), &units, &[], &vec![]);
        assert_eq!(placed.stages.iter().map(|s| s.parts.len()).collect::<Vec<_>>(), [1, 0, 0, 1]);
    }

    #[test]
    fn no_stage_holds_more_than_it_has() {
        let units: Vec<Unit> = (1..40).map(table).collect();
        let placed = place(&tofino(), &units, &[], &vec![]);
        let limit = Amounts::of(&tofino().stage);
        assert!(placed.unplaced.is_empty());
        assert!(placed.stages.iter().all(|s| s.used.beyond(&limit).is_none()));
        let placed: u64 = placed.stages.iter().flat_map(|s| &s.parts).map(|(_, p)| p.entries).sum();
        assert_eq!(placed, (1..40).map(|blocks| 512 * blocks).sum::<u64>());
    }
}
