//! The side of a device, beside its data plane.

use super::message::{Cell, Change, Kind, Merge, Push, Retired};
use super::{Sent, since};
use std::collections::{BTreeMap, BTreeSet};

/// One device's side, beside its data plane.
#[derive(Clone, Debug)]
pub struct Agent<C> {
    kind: Kind,
    incarnation: u64,
    sequence: u64,
    /// The newest merge that has come.
    merged: u64,
    /// The newest merge that was taken whole.
    whole: u64,
    /// The newest push that the hub has named.
    acknowledged: u64,
    /// Part of each cell's value that was counted elsewhere, and the cell's epoch.
    others: BTreeMap<C, (u32, u128)>,
    /// Contents of the pushes.
    sent: BTreeMap<C, Sent>,
    /// Retired cells that the hub has not named yet.
    retired: BTreeMap<C, Retired<C>>,
    /// Retired cells: the hub has to hear when they are used again.
    unused: BTreeSet<C>,
}

impl<C: Clone + Ord> Agent<C> {
    /// A device whose cells show [`Kind::ZERO`]. `incarnation` is larger than at any start before.
    pub fn new(kind: Kind, incarnation: u64) -> Self {
        Self {
            kind,
            incarnation,
            sequence: 0,
            merged: 0,
            whole: 0,
            acknowledged: 0,
            others: BTreeMap::new(),
            sent: BTreeMap::new(),
            retired: BTreeMap::new(),
            unused: BTreeSet::new(),
        }
    }

    /// A push, at the hub's pull or at a timer. `shown`: the data plane's value of every cell that has changed since
    /// the last call, read atomically with respect to the changes of [`Agent::merge`]; unchanged cells may be included.
    pub fn push(&mut self, shown: impl IntoIterator<Item = (C, u128)>) -> Push<C> {
        self.sequence += 1;
        for (cell, value) in shown {
            self.note(cell, value);
        }
        self.said()
    }

    /// [`Agent::push`] with the value of every cell that is not zero.
    pub fn push_all(&mut self, shown: &BTreeMap<C, u128>) -> Push<C> {
        self.sequence += 1;
        for (cell, value) in shown {
            self.note(cell.clone(), *value);
        }
        let zero = |cell: &&C| !shown.contains_key(*cell);
        let known: BTreeSet<C> = self.others.keys().chain(self.sent.keys()).filter(zero).cloned().collect();
        for cell in known {
            self.note(cell, Kind::ZERO);
        }
        self.said()
    }

    /// The data plane's value of a cell, for the push that is being made.
    fn note(&mut self, cell: C, shown: u128) {
        if self.retired.contains_key(&cell) {
            return;
        }
        let (epoch, own) = self.own(&cell, shown);
        let is_used_again = self.unused.remove(&cell);
        let known = self.sent.get(&cell).map_or((0, Kind::ZERO), |sent| (sent.epoch, sent.value));
        // A value from the hub need not go back: the merged value contains it already.
        let is_theirs = !self.kind.is_sum() && self.others.get(&cell) == Some(&(epoch, shown));
        if is_used_again || known != (epoch, own) && !is_theirs {
            self.sent.insert(cell, Sent { epoch, value: own, since: self.sequence });
        }
    }

    fn said(&self) -> Push<C> {
        let cells = since(&self.sent, self.acknowledged);
        let retired = self.retired.values().cloned().collect();
        Push { incarnation: self.incarnation, sequence: self.sequence, seen: self.whole, cells, retired }
    }

    /// The device does not use a cell any more. `shown`: the data plane's last value; it begins with [`Kind::ZERO`] if it is used again.
    pub fn retire(&mut self, cell: C, shown: u128) {
        if self.retired.contains_key(&cell) {
            return;
        }
        let (epoch, value) = self.own(&cell, shown);
        self.others.remove(&cell);
        self.sent.remove(&cell);
        self.unused.insert(cell.clone());
        let last = Cell { cell: cell.clone(), epoch, value };
        self.retired.insert(cell, Retired { last, since: self.sequence + 1 });
    }

    /// True if a retired cell may not be used again yet: the hub may not have its last count.
    pub fn is_retiring(&self, cell: &C) -> bool {
        self.retired.contains_key(cell)
    }

    /// The cell's epoch, and what this device has counted of the value that is shown.
    fn own(&self, cell: &C, shown: u128) -> (u32, u128) {
        let (epoch, others) = self.others.get(cell).copied().unwrap_or((0, Kind::ZERO));
        (epoch, if self.kind.is_sum() { self.kind.minus(shown, others) } else { shown })
    }

    /// The hub names the newest push that it has. Returns false if it does not mean this incarnation.
    pub fn named(&mut self, incarnation: u64, seen: u64) -> bool {
        let is_meant = incarnation == self.incarnation;
        if is_meant {
            self.acknowledged = self.acknowledged.max(seen.min(self.sequence));
            let acknowledged = self.acknowledged;
            self.retired.retain(|_, retired| retired.since > acknowledged);
        }
        is_meant
    }

    /// Number of this start.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Another hub has taken over: it may know nothing of what the one before has named, and counts merges anew.
    pub fn begin_with_another_hub(&mut self) {
        (self.merged, self.whole, self.acknowledged) = (0, 0, 0);
    }

    /// The part of the shown value that this device has counted.
    pub fn counted(&self, cell: &C, shown: u128) -> u128 {
        self.own(cell, shown).1
    }

    /// The device has no other cells any more: their counts are gone, and the hub forgets them, too.
    pub fn keep(&mut self, is_here: impl Fn(&C) -> bool) {
        self.others.retain(|cell, _| is_here(cell));
        self.sent.retain(|cell, _| is_here(cell));
    }

    /// Handles a merge. Returns the changes of the data plane's cells; none if the message is old.
    pub fn merge(&mut self, message: &Merge<C>) -> Vec<(C, Change)> {
        self.merge_some(message, |_| true)
    }

    /// [`Agent::merge`] where the device may not have some of the cells yet: the hub says these again, until the device has taken all of a merge.
    pub fn merge_some(&mut self, message: &Merge<C>, is_here: impl Fn(&C) -> bool) -> Vec<(C, Change)> {
        if message.sequence <= self.merged || !self.named(message.incarnation, message.seen) {
            return vec![];
        }
        self.merged = message.sequence;
        if message.cells.iter().all(|cell| is_here(&cell.cell)) {
            self.whole = message.sequence;
        }
        let mut changes = vec![];
        // A cell that is not used is not shown.
        for Cell { cell, epoch, value } in
            message.cells.iter().filter(|cell| is_here(&cell.cell) && !self.unused.contains(&cell.cell))
        {
            let (known, others) = self.others.get(cell).copied().unwrap_or((0, Kind::ZERO));
            if *epoch < known {
                continue;
            }
            let change = if *epoch > known {
                Change::Set(*value)
            } else if self.kind.is_sum() {
                Change::Add(self.kind.minus(*value, others))
            } else {
                Change::Combine(*value)
            };
            self.others.insert(cell.clone(), (*epoch, *value));
            changes.push((cell.clone(), change));
        }
        changes
    }
}
