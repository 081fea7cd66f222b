//! One value of the copies that several devices count in: a hub adds up the devices' counts, and sends each device the
//! counts of the others (ExoPlane, section 4.3 and appendix B, with a protocol that is exact when devices restart and
//! messages are lost, duplicated or reordered).
//!
//! ```text
//! device:  shown = own + others          own: counted by packets here since the device started
//!          Push { incarnation, sequence, own of cells that have changed }  ══>  hub
//! hub:     total = banked + sum of own over devices                    banked: of incarnations that have ended
//!          device d  <══  Merge { incarnation, sequence, total - own(d) of cells that have changed }
//! ```
//!
//! Every count is in `own` of exactly one incarnation, so none counts twice; `own` only grows and messages with an
//! older sequence number are dropped, so no copy goes back; when traffic has stopped, one push and one merge of each
//! device make all copies equal and exact. When a device restarts, only its counts since the last push that arrived are
//! lost.
//!
//! A message names the newest message from the other side, and has all cells that have changed since the newest that
//! the other side has named: the next message makes up for a lost one, and the size of messages is proportional to the
//! changes.
//!
//! A control-plane write gives a cell a new epoch, in which every device counts from zero. Counts that race with the write are in one
//! epoch or the other, never in both.
//!
//! A device that does not need a cell any more *retires* it: its last count goes to the hub, which banks it. The device keeps
//! the count until the hub has named the push, and may use the cell again only then.
//!
//! `max`, `min` and `or` need no subtraction: a device pushes its present value, and combines it with the merged value.

use state_modes::Merge as Operator;
use std::collections::{BTreeMap, BTreeSet};

/// Counts of a device. `C` identifies a cell.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Push<C> {
    /// Number of starts of the device.
    pub incarnation: u32,
    /// Counts the pushes of this incarnation, from 1.
    pub sequence: u64,
    /// The newest merge that has come, 0 for none.
    pub seen: u64,
    /// Cells that have changed since the push that the hub has named last.
    pub cells: Vec<Cell<C>>,
    /// Cells that the device has retired since then.
    pub retired: Vec<Retired<C>>,
}

/// Counts of all other devices.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Merge<C> {
    /// The incarnation it is for.
    pub incarnation: u32,
    /// Counts the merges to this incarnation, from 1.
    pub sequence: u64,
    /// The newest push that has come.
    pub seen: u64,
    /// Cells that have changed since the merge that the device has named last.
    pub cells: Vec<Cell<C>>,
}

/// A cell in a message.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cell<C> {
    /// The cell.
    pub cell: C,
    /// Control-plane writes since the hub has first heard of the incarnation.
    pub epoch: u32,
    /// In a push, the device's count in this epoch; in a merge, the sum of all others' counts and the written value.
    pub value: u128,
}

/// A cell that a device has retired, in a push.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Retired<C> {
    /// The cell, with the device's last count.
    pub last: Cell<C>,
    /// The first push that says so. Every later one says it again until it is named, so who has taken one of them has taken this.
    pub since: u64,
}

/// Effect of a merge on a cell of the data plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Adds, modulo the cell's width, in one atomic step.
    Add(u128),
    /// Takes the value in by the operator, in one atomic step.
    Combine(u128),
    /// Replaces the value, in one atomic step: a new epoch.
    Set(u128),
}

/// The operator and the width of an object's cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// How copies make one value.
    pub operator: Operator,
    /// Bits of a cell, 1 to 128. Sums wrap.
    pub width: u32,
}

impl Kind {
    /// The value of no counts.
    pub fn zero(self) -> u128 {
        if self.operator == Operator::Min { self.mask() } else { 0 }
    }

    /// The value of two copies together.
    pub fn combine(self, a: u128, b: u128) -> u128 {
        match self.operator {
            Operator::Add => a.wrapping_add(b) & self.mask(),
            Operator::Max => a.max(b),
            Operator::Min => a.min(b),
            Operator::Or => a | b,
        }
    }

    fn minus(self, a: u128, b: u128) -> u128 {
        a.wrapping_sub(b) & self.mask()
    }

    fn mask(self) -> u128 {
        u128::MAX >> (128 - self.width.clamp(1, 128))
    }
}

/// A value and the message that carried it first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sent {
    epoch: u32,
    value: u128,
    since: u64,
}

/// One device's side, beside its data plane.
#[derive(Clone, Debug)]
pub struct Agent<C> {
    kind: Kind,
    incarnation: u32,
    sequence: u64,
    /// The newest merge that has come.
    merged: u64,
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
    /// A device whose cells show [`Kind::zero`]. `incarnation` is larger than at any start before.
    pub fn new(kind: Kind, incarnation: u32) -> Self {
        Self {
            kind,
            incarnation,
            sequence: 0,
            merged: 0,
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
            if self.retired.contains_key(&cell) {
                continue;
            }
            let (epoch, own) = self.own(&cell, value);
            let is_used_again = self.unused.remove(&cell);
            let known = self.sent.get(&cell).map_or((0, self.kind.zero()), |sent| (sent.epoch, sent.value));
            if is_used_again || known != (epoch, own) {
                self.sent.insert(cell, Sent { epoch, value: own, since: self.sequence });
            }
        }
        let cells = since(&self.sent, self.acknowledged);
        let retired = self.retired.values().cloned().collect();
        Push { incarnation: self.incarnation, sequence: self.sequence, seen: self.merged, cells, retired }
    }

    /// The device does not use a cell any more. `shown`: the data plane's last value; it begins with [`Kind::zero`] if it is used again.
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
        let (epoch, others) = self.others.get(cell).copied().unwrap_or((0, self.kind.zero()));
        (epoch, if self.kind.operator == Operator::Add { self.kind.minus(shown, others) } else { shown })
    }

    /// Handles a merge. Returns the changes of the data plane's cells; none if the message is old.
    pub fn merge(&mut self, message: &Merge<C>) -> Vec<(C, Change)> {
        if message.incarnation != self.incarnation || message.sequence <= self.merged {
            return vec![];
        }
        self.merged = message.sequence;
        self.acknowledged = self.acknowledged.max(message.seen.min(self.sequence));
        let acknowledged = self.acknowledged;
        self.retired.retain(|_, retired| retired.since > acknowledged);
        let mut changes = vec![];
        // A cell that is not used is not shown.
        for Cell { cell, epoch, value } in
            message.cells.iter().filter(|cell| !self.unused.contains(&cell.cell))
        {
            let (known, others) = self.others.get(cell).copied().unwrap_or((0, self.kind.zero()));
            if *epoch < known {
                continue;
            }
            let change = if *epoch > known {
                Change::Set(*value)
            } else if self.kind.operator == Operator::Add {
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

/// The hub's state of one device.
#[derive(Clone, Debug)]
struct Device<C> {
    incarnation: u32,
    /// The newest push of the incarnation.
    pushed: u64,
    /// The epochs in which the incarnation has begun to count; 0 if not listed.
    first_epochs: BTreeMap<C, u32>,
    /// Counts of the incarnation, each in its cell's epoch.
    own: BTreeMap<C, u128>,
    sequence: u64,
    /// The newest merge that the device has named.
    acknowledged: u64,
    /// Contents of the merges.
    sent: BTreeMap<C, Sent>,
    /// Cells that the device has retired and not used since.
    unused: BTreeSet<C>,
}

/// Totals of ended incarnations; to be stored so that they outlive the hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Banked {
    /// Control-plane writes so far.
    pub epoch: u32,
    /// The written value, plus the counts of incarnations that have ended since.
    pub value: u128,
}

/// The side that adds up.
#[derive(Clone, Debug)]
pub struct Hub<C> {
    kind: Kind,
    devices: Vec<Device<C>>,
    banked: BTreeMap<C, Banked>,
    /// Cells whose total may have changed since the last merges.
    changed: BTreeSet<C>,
}

impl<C: Clone + Ord> Hub<C> {
    /// A hub of `devices` devices. `banked` are the totals that an earlier hub has stored.
    pub fn new(kind: Kind, devices: usize, banked: BTreeMap<C, Banked>) -> Self {
        let device = || Device {
            incarnation: 0,
            pushed: 0,
            first_epochs: BTreeMap::new(),
            own: BTreeMap::new(),
            sequence: 0,
            acknowledged: 0,
            sent: BTreeMap::new(),
            unused: BTreeSet::new(),
        };
        let changed = banked.keys().cloned().collect();
        Self { kind, devices: (0..devices).map(|_| device()).collect(), banked, changed }
    }

    /// A push has come; nothing happens if it is old. Gives the cells of which something was banked: to be kept before the next merges
    /// are sent.
    pub fn push(&mut self, from: usize, message: &Push<C>) -> Vec<(C, Banked)> {
        let kind = self.kind;
        let Some(device) = self.devices.get_mut(from) else { return vec![] };
        if (message.incarnation, message.sequence) <= (device.incarnation, device.pushed) {
            return vec![];
        }
        let mut kept = vec![];
        if message.incarnation > device.incarnation {
            device.incarnation = message.incarnation;
            (device.pushed, device.sequence, device.acknowledged) = (0, 0, 0);
            // The new incarnation knows nothing, and needs every total.
            device.sent.clear();
            device.unused.clear();
            for (cell, own) in std::mem::take(&mut device.own) {
                let banked =
                    self.banked.entry(cell.clone()).or_insert(Banked { epoch: 0, value: kind.zero() });
                banked.value = kind.combine(banked.value, own);
                kept.push((cell, *banked));
            }
            self.changed.extend(self.banked.keys().cloned());
            self.changed.extend(self.devices.iter().flat_map(|device| device.own.keys().cloned()));
        }
        let Some(device) = self.devices.get_mut(from) else { return kept };
        if device.pushed == 0 {
            device.first_epochs =
                self.banked.iter().map(|(cell, banked)| (cell.clone(), banked.epoch)).collect();
        }
        let before = std::mem::replace(&mut device.pushed, message.sequence);
        device.acknowledged = device.acknowledged.max(message.seen.min(device.sequence));
        for Retired { last: Cell { cell, epoch, value }, since } in &message.retired {
            // An earlier push has said it.
            if *since <= before {
                continue;
            }
            let banked = self.banked.get(cell).copied().unwrap_or(Banked { epoch: 0, value: kind.zero() });
            if device.first_epochs.get(cell).copied().unwrap_or(0) + epoch == banked.epoch {
                let value = kind.combine(banked.value, *value & kind.mask());
                self.banked.insert(cell.clone(), Banked { value, ..banked });
                kept.push((cell.clone(), Banked { value, ..banked }));
            }
            device.own.remove(cell);
            device.sent.remove(cell);
            device.unused.insert(cell.clone());
            self.changed.insert(cell.clone());
        }
        for Cell { cell, epoch, value } in &message.cells {
            if device.unused.remove(cell) {
                let epoch = self.banked.get(cell).map_or(0, |banked| banked.epoch);
                device.first_epochs.insert(cell.clone(), epoch);
            }
            // Counts from before a write are not in the value any more.
            let first = device.first_epochs.get(cell).copied().unwrap_or(0);
            if first + epoch == self.banked.get(cell).map_or(0, |banked| banked.epoch) {
                device.own.insert(cell.clone(), *value & kind.mask());
                self.changed.insert(cell.clone());
            }
        }
        kept
    }

    /// The merge for each device that has started, with the cells it does not know of yet; none where there is nothing to say.
    pub fn merges(&mut self) -> Vec<(usize, Merge<C>)> {
        let changed = std::mem::take(&mut self.changed);
        let mut merges = vec![];
        for to in 0..self.devices.len() {
            let targets: Vec<_> = changed.iter().map(|cell| (cell.clone(), self.target(to, cell))).collect();
            let zero = self.kind.zero();
            let device = &mut self.devices[to];
            if device.incarnation == 0 {
                continue;
            }
            device.sequence += 1;
            for (cell, (epoch, value)) in targets {
                if device.unused.contains(&cell) {
                    continue;
                }
                let known = device.sent.get(&cell).map_or((0, zero), |sent| (sent.epoch, sent.value));
                if known != (epoch, value) {
                    device.sent.insert(cell, Sent { epoch, value, since: device.sequence });
                }
            }
            let cells = since(&device.sent, device.acknowledged);
            let (incarnation, sequence, seen) = (device.incarnation, device.sequence, device.pushed);
            merges.push((to, Merge { incarnation, sequence, seen, cells }));
        }
        merges
    }

    /// A control-plane write: the cell has this value, whatever was counted before. To be kept before the next merges are sent.
    pub fn write(&mut self, cell: C, value: u128) -> Banked {
        let banked = self.banked.entry(cell.clone()).or_insert(Banked { epoch: 0, value: 0 });
        *banked = Banked { epoch: banked.epoch + 1, value: value & self.kind.mask() };
        let banked = *banked;
        for device in &mut self.devices {
            device.own.remove(&cell);
        }
        self.changed.insert(cell);
        banked
    }

    /// The value of the cell, as far as pushes have come.
    pub fn total(&self, cell: &C) -> u128 {
        let own = self.devices.iter().filter_map(|device| device.own.get(cell));
        let banked = self.banked.get(cell).map_or(self.kind.zero(), |banked| banked.value);
        own.fold(banked, |total, own| self.kind.combine(total, *own))
    }

    fn target(&self, to: usize, cell: &C) -> (u32, u128) {
        let device = &self.devices[to];
        let first = device.first_epochs.get(cell).copied().unwrap_or(0);
        let epoch = self.banked.get(cell).map_or(0, |banked| banked.epoch) - first;
        let total = self.total(cell);
        let own = device.own.get(cell).copied().unwrap_or(self.kind.zero());
        let value = if self.kind.operator == Operator::Add { self.kind.minus(total, own) } else { total };
        (epoch, value)
    }
}

/// The cells whose value was said first after this message.
fn since<C: Clone + Ord>(sent: &BTreeMap<C, Sent>, acknowledged: u64) -> Vec<Cell<C>> {
    let new = sent.iter().filter(|(_, sent)| sent.since > acknowledged);
    new.map(|(cell, sent)| Cell { cell: cell.clone(), epoch: sent.epoch, value: sent.value }).collect()
}

#[cfg(test)]
mod tests {
    use super::{Agent, Banked, Change, Hub, Kind, Merge, Push};
    use state_modes::Merge as Operator;
    use std::collections::BTreeMap;

    const ADD: Kind = Kind { operator: Operator::Add, width: 8 };

    fn hub(kind: Kind) -> Hub<char> {
        Hub::new(kind, 2, BTreeMap::new())
    }

    /// The merge for device `to`, after the pushes of both.
    fn exchange(hub: &mut Hub<char>, pushes: [&Push<char>; 2], to: usize) -> Merge<char> {
        hub.push(0, pushes[0]);
        hub.push(1, pushes[1]);
        hub.merges().into_iter().find(|(device, _)| *device == to).unwrap().1
    }

    #[test]
    fn sums_wrap_at_the_width_of_a_cell() {
        let (mut a, mut b) = (Agent::new(ADD, 1), Agent::new(ADD, 1));
        let merge = exchange(&mut hub(ADD), [&a.push([('x', 200)]), &b.push([('x', 100)])], 0);
        assert_eq!(a.merge(&merge), [('x', Change::Add(100))]);
        assert_eq!(ADD.combine(200, 100), 44);
    }

    #[test]
    fn max_min_and_or_are_taken_in() {
        for (operator, total) in [(Operator::Max, 9), (Operator::Min, 5), (Operator::Or, 13)] {
            let kind = Kind { operator, width: 8 };
            let (mut a, mut b) = (Agent::new(kind, 1), Agent::new(kind, 1));
            let mut hub = hub(kind);
            let merge = exchange(&mut hub, [&a.push([('x', 9)]), &b.push([('x', 5)])], 1);
            assert_eq!(b.merge(&merge), [('x', Change::Combine(total))]);
            assert_eq!(hub.total(&'x'), total);
        }
    }

    #[test]
    fn a_message_holds_what_has_changed_and_is_not_known_to_have_come() {
        let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
        let lost = a.push([('x', 1)]);
        assert_eq!(lost.cells.len(), 1);
        let push = a.push([('y', 1)]);
        assert_eq!(push.cells.len(), 2, "the first has not been named");
        let merge = exchange(&mut hub, [&push, &b.push([])], 0);
        a.merge(&merge);
        assert_eq!(a.push([('x', 1), ('y', 1)]).cells, [], "all has come");
        assert_eq!(merge.cells, [], "nobody else has counted");
    }

    #[test]
    fn a_write_begins_an_epoch_in_which_nothing_is_counted_twice() {
        let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
        let merge = exchange(&mut hub, [&a.push([('x', 7)]), &b.push([('x', 2)])], 0);
        a.merge(&merge);
        assert_eq!(hub.write('x', 50), Banked { epoch: 1, value: 50 });
        // A push from before the write does not count any more.
        let old = b.push([('x', 3)]);
        let merge = exchange(&mut hub, [&a.push([]), &old], 1);
        assert_eq!(hub.total(&'x'), 50);
        assert_eq!(b.merge(&merge), [('x', Change::Set(50))]);
        hub.push(1, &b.push([('x', 51)]));
        assert_eq!(hub.total(&'x'), 51);
    }

    #[test]
    fn what_a_device_counts_after_a_start_is_in_the_epoch_of_its_start() {
        let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
        hub.write('x', 50);
        let merge = exchange(&mut hub, [&a.push([('x', 4)]), &b.push([])], 0);
        assert_eq!(hub.total(&'x'), 54);
        assert_eq!(a.merge(&merge), [('x', Change::Add(50))]);
    }

    #[test]
    fn what_an_ended_incarnation_has_counted_is_kept() {
        let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
        exchange(&mut hub, [&a.push([('x', 4)]), &b.push([])], 0);
        let mut again = Agent::new(ADD, 2);
        assert_eq!(hub.push(0, &again.push([('x', 1)])), [('x', Banked { epoch: 0, value: 4 })]);
        assert_eq!(hub.push(0, &a.push([('x', 9)])), [], "the old incarnation is not heard");
        assert_eq!(hub.total(&'x'), 5);
        let merges = hub.merges();
        assert_eq!(again.merge(&merges[0].1), [('x', Change::Add(4))]);
        let kept = BTreeMap::from([('x', Banked { epoch: 0, value: 4 })]);
        assert_eq!(Hub::new(ADD, 2, kept).total(&'x'), 4);
    }

    #[test]
    fn a_retired_cell_is_banked_once_and_begins_anew() {
        let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
        exchange(&mut hub, [&a.push([('x', 4)]), &b.push([('x', 1)])], 0);
        a.retire('x', 6);
        assert!(a.is_retiring(&'x'));
        let (one, two) = (a.push([]), a.push([]));
        assert_eq!(hub.push(0, &one), [('x', Banked { epoch: 0, value: 6 })]);
        assert_eq!(hub.push(0, &two), [], "it has come already");
        assert_eq!(hub.total(&'x'), 7);
        let merges = hub.merges();
        assert_eq!(a.merge(&merges[0].1), [], "it is not shown there");
        assert!(!a.is_retiring(&'x'));
        assert_eq!(b.merge(&merges[1].1), [('x', Change::Add(6))]);
        // It is used again, and counts from zero.
        hub.push(0, &a.push([('x', 0)]));
        let merges = hub.merges();
        assert_eq!(a.merge(&merges[0].1), [('x', Change::Add(7))]);
        hub.push(0, &a.push([('x', 9)]));
        assert_eq!(hub.total(&'x'), 9);
    }

    #[test]
    fn a_write_to_a_retired_cell_begins_an_epoch_too() {
        let (mut a, mut b, mut hub) = (Agent::new(ADD, 1), Agent::new(ADD, 1), hub(ADD));
        exchange(&mut hub, [&a.push([('x', 4)]), &b.push([])], 0);
        a.retire('x', 4);
        hub.push(0, &a.push([]));
        a.merge(&hub.merges()[0].1);
        hub.write('x', 50);
        hub.push(0, &a.push([('x', 1)]));
        assert_eq!(hub.total(&'x'), 51);
        assert_eq!(a.merge(&hub.merges()[0].1), [('x', Change::Add(50))]);
    }

    #[test]
    fn a_device_may_claim_to_have_seen_what_was_never_sent() {
        let (mut a, mut hub) = (Agent::new(ADD, 1), hub(ADD));
        let push = Push { seen: u64::MAX, ..a.push([('x', 1)]) };
        hub.push(0, &push);
        hub.push(7, &push);
        hub.push(1, &Push { incarnation: 1, sequence: 1, seen: 0, cells: vec![], retired: vec![] });
        assert_eq!(hub.merges()[1].1.cells.len(), 1);
    }
}
