//! Devices whose state may differ from the desired state.
//!
//! Marks are numbered, since a device may restart while it is asked or repaired. Answers show the state before that:
//!
//! ```text
//! controller   read the last number: 4        answers are right: clear marks up to 4
//! device       ........ answers ........ restarts, mark 5 ........ mark 5 remains, and the device is repaired
//! ```

use p4runtime_proto::p4::v1::Entity;
use std::collections::BTreeMap;

/// The number of a mark: larger than those of all marks before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Mark(u64);

/// A device that must be repaired.
#[derive(Clone, Debug)]
pub(crate) struct Stale {
    pub(crate) why: String,
    /// Counts of the entities of a failed write, read before the write: repair restores them.
    pub(crate) before: Vec<Entity>,
    /// Edges with spares do not use the device.
    pub(crate) is_barred: bool,
    /// The last mark of the device.
    mark: Mark,
}

/// All devices with marks.
#[derive(Default)]
pub(crate) struct Marks {
    by_device: BTreeMap<usize, Stale>,
    last: Mark,
}

impl Marks {
    /// The number of the last mark of any device.
    pub(crate) fn last(&self) -> Mark {
        self.last
    }

    /// Marks a device. Counts that are known from before an earlier mark stay.
    pub(crate) fn mark(&mut self, device: usize, why: &str, mut before: Vec<Entity>, bars: bool) {
        self.last.0 += 1;
        let (why, mark, mut is_barred) = (why.to_string(), self.last, bars);
        if let Some(known) = self.by_device.remove(&device) {
            // Of duplicates, the last counts.
            before.extend(known.before);
            is_barred |= known.is_barred;
        }
        self.by_device.insert(device, Stale { why, before, is_barred, mark });
    }

    /// The device had the desired state after the mark `until`. False if it has been marked since: it remains stale, without its earlier counts, which
    /// it had.
    pub(crate) fn clear(&mut self, device: usize, until: Mark) -> bool {
        match self.by_device.get_mut(&device) {
            Some(stale) if stale.mark > until => {
                stale.before.clear();
                return false;
            }
            _ => drop(self.by_device.remove(&device)),
        }
        true
    }

    /// All devices had the desired state after the mark `until`. Returns those that have been marked since.
    pub(crate) fn clear_all(&mut self, until: Mark) -> Vec<(usize, Stale)> {
        let devices: Vec<usize> = self.by_device.keys().copied().collect();
        for device in devices {
            self.clear(device, until);
        }
        self.by_device.iter().map(|(device, stale)| (*device, stale.clone())).collect()
    }

    /// Forgets a device of which nothing is wanted.
    pub(crate) fn forget(&mut self, device: usize) {
        self.by_device.remove(&device);
    }

    pub(crate) fn get(&self, device: usize) -> Option<&Stale> {
        self.by_device.get(&device)
    }

    pub(crate) fn contains(&self, device: usize) -> bool {
        self.by_device.contains_key(&device)
    }

    /// The marked devices in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Stale)> {
        self.by_device.iter().map(|(device, stale)| (*device, stale))
    }
}
