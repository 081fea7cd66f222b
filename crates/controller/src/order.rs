//! The order in which the updates of a batch reach the devices: in steps, each after the one before is done.
//!
//! ```text
//! insert a     in use at 1, backed up at 2     step 1   a at 2, b at 1
//! insert b     in use at 2, backed up at 1     step 2   a at 1, b at 2
//! ```
//!
//! A device may thus do an update before one that precedes it in the request. Entries that different edges lead to do not depend on each other, but for room in a table: an
//! insertion after a deletion, and anything after or before an update that all edges lead to, stay in their order. Where this needs it, later updates wait in steps of their own.

use crate::edges::Edges;
use crate::holdings::counts;
use crate::spread::Spread;
use p4runtime_proto::p4::v1::update::Type;
use p4runtime_proto::p4::v1::{Entity, Update};
use std::collections::{BTreeMap, BTreeSet};

/// The steps of a batch.
#[derive(Default)]
pub(crate) struct Steps {
    all: Vec<Step>,
    /// The first step of the updates that may change places.
    first: usize,
    /// The phases of these updates, by device.
    phases: BTreeMap<usize, Phases>,
    /// Phases of devices, by all edges.
    by_all: BTreeMap<usize, usize>,
}

/// Updates that devices do at the same time.
#[derive(Default)]
struct Step {
    forth: Spread,
    /// In the order of `forth`.
    back: Spread,
    /// For each element of `forth`, the positions of its updates in the request.
    of: BTreeMap<usize, Vec<usize>>,
}

/// The last phases in which a device has updates.
#[derive(Default)]
struct Phases {
    /// Phase of any update.
    any: usize,
    /// Phase of a deletion.
    deletes: usize,
    /// Phase of an update that all edges lead to.
    by_all: usize,
}

impl Steps {
    /// Adds one update by device, and what undoes it. `leading` are the edges that lead to what it writes, if not all do.
    pub(crate) fn add(
        &mut self,
        (index, kind): (usize, Type),
        (forth, back): (Spread, Spread),
        leading: Option<&BTreeSet<usize>>,
        edges: &Edges,
    ) {
        let by_all = &mut self.by_all;
        let phase = |device: &usize| match leading {
            Some(leading) => edges.phase(*device, Some(leading)),
            None => *by_all.entry(*device).or_insert_with(|| edges.phase(*device, None)),
        };
        let devices: BTreeSet<usize> = forth.keys().chain(back.keys()).copied().collect();
        let of_devices: BTreeMap<usize, usize> =
            devices.iter().zip(devices.iter().map(phase)).map(|(device, phase)| (*device, phase)).collect();
        let is_early = |(device, phase): (&usize, &usize)| {
            let last = self.phases.get(device);
            last.is_some_and(|last| *phase < last.least(leading.is_none(), kind))
        };
        if of_devices.iter().any(is_early) {
            self.first = self.all.len();
            self.phases.clear();
        }
        for (device, phase) in &of_devices {
            let last = self.phases.entry(*device).or_default();
            let of_kind = [
                (&mut last.any, true),
                (&mut last.deletes, kind == Type::Delete),
                (&mut last.by_all, leading.is_none()),
            ];
            of_kind.into_iter().filter(|(_, is_it)| *is_it).for_each(|(last, _)| *last = (*last).max(*phase));
        }
        for (device, list) in forth {
            let step = self.step(of_devices[&device]);
            let known = step.forth.entry(device).or_default();
            known.extend(list);
            step.of.entry(device).or_default().resize(known.len(), index);
        }
        for (device, list) in back {
            self.step(of_devices[&device]).back.entry(device).or_default().extend(list);
        }
    }

    fn step(&mut self, phase: usize) -> &mut Step {
        let at = self.first + phase;
        if self.all.len() <= at {
            self.all.resize_with(at + 1, Step::default);
        }
        &mut self.all[at]
    }

    /// Does nothing at these devices.
    pub(crate) fn leave_out(&mut self, devices: &BTreeSet<usize>) {
        for step in &mut self.all {
            step.forth.retain(|device, _| !devices.contains(device));
            step.back.retain(|device, _| !devices.contains(device));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// No device has anything to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.iter().all(|step| step.forth.is_empty())
    }

    /// Several devices have something to do, or one has more than so many updates.
    pub(crate) fn is_longer_than(&self, most: usize) -> bool {
        let lists = || self.all.iter().flat_map(|step| &step.forth);
        let devices: BTreeSet<usize> = lists().map(|(device, _)| *device).collect();
        devices.len() > 1 || lists().map(|(_, list)| list.len()).sum::<usize>() > most
    }

    /// Values of data planes that the updates write, by device.
    pub(crate) fn values(&self) -> BTreeMap<usize, Vec<Entity>> {
        let mut all: BTreeMap<usize, Vec<Entity>> = BTreeMap::new();
        for (device, list) in self.all.iter().flat_map(|step| &step.forth) {
            let written = list.iter().filter(|update| update.r#type() != Type::Delete);
            let values = written.filter_map(|update| counts(update.entity.clone()?));
            all.entry(*device).or_default().extend(values);
        }
        all
    }

    /// The updates of a step, by device.
    pub(crate) fn take_forth(&mut self, step: usize) -> Spread {
        self.all.get_mut(step).map(|step| std::mem::take(&mut step.forth)).unwrap_or_default()
    }

    /// The inverses of a device's updates in a step, in their order.
    pub(crate) fn take_back(&mut self, step: usize, device: usize) -> Vec<Update> {
        self.all.get_mut(step).and_then(|step| step.back.remove(&device)).unwrap_or_default()
    }

    /// Everything that undoes an update.
    pub(crate) fn into_back(self) -> impl Iterator<Item = Vec<Update>> {
        self.all.into_iter().flat_map(|step| step.back.into_values())
    }

    /// The position in the request of a device's update number `at` in a step.
    pub(crate) fn place(&self, step: usize, device: usize, at: usize) -> Option<usize> {
        self.all.get(step)?.of.get(&device)?.get(at).copied()
    }
}

impl Phases {
    /// The least phase of an update of this kind that is to stay after those before it.
    fn least(&self, is_by_all: bool, kind: Type) -> usize {
        match (is_by_all, kind) {
            (true, _) => self.any,
            (false, Type::Insert) => self.by_all.max(self.deletes),
            (false, _) => self.by_all,
        }
    }
}

#[cfg(test)]
mod tests;
