//! The side that adds up.

use super::message::{Cell, Kind, Merge, Push, Retired};
use super::{Sent, since};
use std::collections::{BTreeMap, BTreeSet};

/// The hub's state of one device.
#[derive(Clone, Debug)]
struct Device<C> {
    incarnation: u64,
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

impl<C: Ord> Device<C> {
    /// The epoch that a device means by its own number; `None` for one that cannot be.
    fn epoch(&self, cell: &C, own: u32) -> Option<u32> {
        self.first_epochs.get(cell).copied().unwrap_or(0).checked_add(own)
    }
}

/// Totals of ended incarnations; to be stored so that they outlive the hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Banked {
    /// Control-plane writes so far.
    pub epoch: u32,
    /// The written value, plus the counts of incarnations that have ended since.
    pub value: u128,
}

/// State of a cell, stored so that it outlives the hub.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Counts of incarnations that have ended.
    pub banked: Banked,
    /// Count of each device's present incarnation.
    pub own: Vec<Own>,
}

impl State {
    /// The value of the cell.
    pub fn total(&self, kind: Kind) -> u128 {
        let own = self.own.iter().filter_map(|own| own.value);
        own.fold(self.banked.value, |total, own| kind.combine(total, own))
    }
}

/// A device's count of a cell, as the hub knows it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Own {
    /// The epoch in which the incarnation has begun to count.
    pub first_epoch: u32,
    /// The count; `None` if it has said none.
    pub value: Option<u128>,
    /// The device has retired the cell and not used it since.
    pub is_unused: bool,
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

    /// A hub that goes on where another one has ended. `devices` are their incarnations, each with its newest push. Devices have to know that the hub
    /// is another one: see [`Agent::begin_with_another_hub`](super::Agent::begin_with_another_hub).
    pub fn resume(kind: Kind, devices: &[(u64, u64)], cells: BTreeMap<C, State>) -> Self {
        let mut hub = Self::new(kind, devices.len(), BTreeMap::new());
        for (device, (incarnation, pushed)) in hub.devices.iter_mut().zip(devices) {
            (device.incarnation, device.pushed) = (*incarnation, *pushed);
        }
        for (cell, State { banked, own }) in cells {
            for (device, own) in hub.devices.iter_mut().zip(own) {
                device.first_epochs.insert(cell.clone(), own.first_epoch);
                device.own.extend(own.value.map(|value| (cell.clone(), value & kind.mask())));
                device.unused.extend(own.is_unused.then(|| cell.clone()));
            }
            hub.banked.insert(cell.clone(), banked);
            hub.changed.insert(cell);
        }
        hub
    }

    /// State of a cell, to be stored.
    pub fn state(&self, cell: &C) -> State {
        let own = |device: &Device<C>| Own {
            first_epoch: device.first_epochs.get(cell).copied().unwrap_or(0),
            value: device.own.get(cell).copied(),
            is_unused: device.unused.contains(cell),
        };
        let banked = self.banked.get(cell).copied().unwrap_or(Banked { epoch: 0, value: Kind::ZERO });
        State { banked, own: self.devices.iter().map(own).collect() }
    }

    /// Cells of which more is known since the last merges: to be stored before the next ones are sent.
    pub fn changed(&self) -> impl Iterator<Item = &C> {
        self.changed.iter()
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
                    self.banked.entry(cell.clone()).or_insert(Banked { epoch: 0, value: Kind::ZERO });
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
            let banked = self.banked.get(cell).copied().unwrap_or(Banked { epoch: 0, value: Kind::ZERO });
            if device.epoch(cell, *epoch) == Some(banked.epoch) {
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
            if device.epoch(cell, *epoch) == Some(self.banked.get(cell).map_or(0, |banked| banked.epoch)) {
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
            let (kind, zero) = (self.kind, Kind::ZERO);
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
                // A device that shows the value of all copies already is not sent it.
                let is_shown = !kind.is_sum() && known.0 == epoch && device.own.get(&cell) == Some(&value);
                if known != (epoch, value) && !is_shown {
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

    /// A cell has ended, and its value is gone. Later counts of it must not come here: it would begin anew.
    pub fn forget(&mut self, cell: &C) {
        self.banked.remove(cell);
        self.changed.remove(cell);
        for device in &mut self.devices {
            device.first_epochs.remove(cell);
            device.own.remove(cell);
            device.sent.remove(cell);
            device.unused.remove(cell);
        }
    }

    /// The incarnation of a device that is known, and its newest push; zeros before the first one.
    pub fn newest(&self, device: usize) -> (u64, u64) {
        self.devices.get(device).map_or((0, 0), |device| (device.incarnation, device.pushed))
    }

    /// True if a device has named all that it was sent.
    pub fn has_all(&self, device: usize) -> bool {
        let is_named =
            |device: &Device<C>| device.sent.values().all(|sent| sent.since <= device.acknowledged);
        self.changed.is_empty() && self.devices.get(device).is_some_and(is_named)
    }

    /// The newest own count of a cell that a device has pushed.
    pub fn taken(&self, device: usize, cell: &C) -> u128 {
        self.devices.get(device).and_then(|device| device.own.get(cell)).copied().unwrap_or(Kind::ZERO)
    }

    /// All cells that have a value.
    pub fn cells(&self) -> BTreeSet<&C> {
        let own = self.devices.iter().flat_map(|device| device.own.keys());
        self.banked.keys().chain(own).collect()
    }

    /// How copies make one value.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The value of the cell, as far as pushes have come.
    pub fn total(&self, cell: &C) -> u128 {
        let own = self.devices.iter().filter_map(|device| device.own.get(cell));
        let banked = self.banked.get(cell).map_or(Kind::ZERO, |banked| banked.value);
        own.fold(banked, |total, own| self.kind.combine(total, *own))
    }

    fn target(&self, to: usize, cell: &C) -> (u32, u128) {
        let device = &self.devices[to];
        let first = device.first_epochs.get(cell).copied().unwrap_or(0);
        let epoch = self.banked.get(cell).map_or(0, |banked| banked.epoch) - first;
        let total = self.total(cell);
        let own = device.own.get(cell).copied().unwrap_or(Kind::ZERO);
        let value = if self.kind.is_sum() { self.kind.minus(total, own) } else { total };
        (epoch, value)
    }
}
