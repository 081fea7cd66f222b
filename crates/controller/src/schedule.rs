//! Running tasks, and the resources of each.
//!
//! A task begins when its resources are free of all earlier tasks, whether they have begun or not: tasks with common
//! resources run in the order of arrival, and none waits forever.
//!
//! To repair a device whose outcome is unknown, a task must become its only user. Two tasks may want this of each
//! other's devices, so neither waits for the other to end: a task *rests* while it waits, with no request in progress,
//! and a resting task blocks nobody.

use crate::claim::{Claim, Mode, Resource};
use std::collections::{BTreeMap, BTreeSet};

/// A task, by the order in which tasks came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct TaskId(pub(crate) u64);

/// Running tasks and the resources of each.
#[derive(Default, Debug)]
pub(crate) struct Schedule {
    /// Tasks that have begun.
    running: BTreeMap<TaskId, Claim>,
    /// Tasks that wait to be the only user of a device.
    resting: BTreeSet<TaskId>,
    /// True if a task has ended or begun to rest since the last check.
    changed: bool,
    /// True if a task has relaxed since the last check.
    relaxed: bool,
}

impl Schedule {
    /// Resources of all tasks that have begun.
    pub(crate) fn taken(&self) -> Claim {
        let mut all = Claim::default();
        self.running.values().for_each(|claim| all.join(claim));
        all
    }

    /// Number of writes of one entry that have begun, by device.
    pub(crate) fn entries_at(&self) -> BTreeMap<usize, usize> {
        let mut count = BTreeMap::new();
        let devices = self.running.values().filter_map(Claim::entry_at);
        devices.for_each(|device| *count.entry(device).or_default() += 1);
        count
    }

    /// A task begins.
    pub(crate) fn begin(&mut self, task: TaskId, claim: Claim) {
        self.running.insert(task, claim);
    }

    /// Replaces the claim of a task by a smaller one; returns the former claim.
    pub(crate) fn relax(&mut self, task: TaskId, claim: impl FnOnce(&Claim) -> Claim) -> Claim {
        let known = self.running.remove(&task).unwrap_or_default();
        self.running.insert(task, claim(&known));
        self.changed = true;
        self.relaxed = true;
        known
    }

    /// A task that had relaxed needs something else. Later tasks wait for it, and it waits until it is [free](Schedule::is_free).
    pub(crate) fn tighten(&mut self, task: TaskId, claim: Claim) {
        self.running.insert(task, claim);
        self.changed = true;
    }

    /// True if no other task that has begun uses what this one needs.
    pub(crate) fn is_free(&self, task: TaskId) -> bool {
        let Some(claim) = self.running.get(&task) else { return true };
        !self.running.iter().any(|(other, taken)| *other != task && taken.conflicts(claim))
    }

    /// True if a task needs less since the last check.
    pub(crate) fn has_relaxed(&mut self) -> bool {
        std::mem::take(&mut self.relaxed)
    }

    /// A task has ended.
    pub(crate) fn end(&mut self, task: TaskId) {
        self.running.remove(&task);
        self.changed = true;
    }

    /// True if a task that touches the whole rack has begun: then nothing else has.
    pub(crate) fn is_whole(&self) -> bool {
        self.running.values().any(Claim::is_whole)
    }

    /// True if a task is a device's only user, or waits to be.
    pub(crate) fn is_alone_at(&self, device: usize) -> bool {
        let is_alone = |claim: &Claim| claim.claims(Resource::Device(device)) == Some(Mode::Alone);
        self.running.values().any(is_alone)
    }

    /// Makes a task without requests in progress the only user of devices until it ends; false if others have requests
    /// in progress there: call again after a change. Later tasks wait from the first call on.
    pub(crate) fn alone(&mut self, task: TaskId, devices: &[usize]) -> bool {
        let Some(claim) = self.running.get_mut(&task) else { return true };
        let wanted = || devices.iter().map(|device| Resource::Device(*device));
        wanted().for_each(|device| claim.add(device, Mode::Alone));
        let is_in_the_way = |(other, claim): (&TaskId, &Claim)| {
            let is_there = wanted().any(|device| claim.claims(device).is_some());
            *other != task && is_there && !self.resting.contains(other)
        };
        let is_free = !self.running.iter().any(is_in_the_way);
        self.changed |= match is_free {
            true => self.resting.remove(&task),
            false => self.resting.insert(task),
        };
        is_free
    }

    /// The tasks that rest, to be asked again, if anything has changed.
    pub(crate) fn stirred(&mut self) -> Vec<TaskId> {
        match std::mem::take(&mut self.changed) {
            true => self.resting.iter().copied().collect(),
            false => vec![],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task that uses these devices.
    fn using(devices: &[usize]) -> Claim {
        let mut claim = Claim::nothing();
        devices.iter().for_each(|device| claim.add(Resource::Device(*device), Mode::Use));
        claim
    }

    #[test]
    fn two_that_want_each_other_s_devices_get_them_one_after_the_other() {
        let (a, b, c) = (TaskId(1), TaskId(2), TaskId(3));
        let mut schedule = Schedule::default();
        [a, b, c].into_iter().for_each(|task| schedule.begin(task, using(&[0, 1])));
        assert!(!schedule.alone(a, &[0]), "b and c work there");
        assert!(!schedule.alone(b, &[1]), "c works there");
        assert_eq!(schedule.stirred(), [a, b]);
        assert!(!schedule.alone(a, &[0]));
        schedule.end(c);
        assert_eq!(schedule.stirred(), [a, b]);
        assert!(schedule.alone(a, &[0]), "b rests");
        assert!(!schedule.alone(b, &[1]), "a works there");
        assert!(schedule.taken().conflicts(&using(&[0])), "what comes later waits");
        schedule.end(a);
        assert!(schedule.alone(b, &[1]) && schedule.is_alone_at(1) && !schedule.is_alone_at(0));
        schedule.end(b);
        assert!(!schedule.taken().conflicts(&Claim::rack()));
    }
    #[test]
    fn who_needs_a_device_no_longer_is_not_in_the_way() {
        let (a, b) = (TaskId(1), TaskId(2));
        let mut schedule = Schedule::default();
        [a, b].into_iter().for_each(|task| schedule.begin(task, using(&[0])));
        assert!(!schedule.alone(a, &[0]) && schedule.stirred() == [a] && schedule.stirred().is_empty());
        schedule.tighten(b, using(&[1]));
        assert!(schedule.stirred() == [a] && schedule.alone(a, &[0]));
        assert!(schedule.is_free(b), "it needs another device");
        schedule.tighten(b, using(&[0]));
        assert!(!schedule.is_free(b));
        schedule.end(a);
        assert!(schedule.is_free(b));
    }
}
