//! `counter` and `direct_counter`: packets and bytes, both always kept.

use std::collections::BTreeMap;

/// One counter.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// Packets counted.
    pub packets: u64,
    /// Their lengths as they came in, in bytes.
    pub bytes: u64,
}

impl Count {
    /// One packet more.
    pub(crate) fn count(&mut self, bytes: u64) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

/// An array of counters.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub(crate) size: u64,
    /// Those that are not zero.
    cells: BTreeMap<u64, Count>,
}

impl Counter {
    /// `size` counters at zero.
    pub(crate) fn new(size: u64) -> Counter {
        Counter { size, cells: BTreeMap::new() }
    }

    /// Counts a packet; out of range nothing happens.
    pub(crate) fn count(&mut self, index: u64, bytes: u64) {
        if index < self.size {
            self.cells.entry(index).or_default().count(bytes);
        }
    }

    /// A counter; `None` out of range.
    pub(crate) fn read(&self, index: u64) -> Option<Count> {
        (index < self.size).then(|| self.cells.get(&index).copied().unwrap_or_default())
    }

    /// Sets a counter; false out of range.
    pub(crate) fn write(&mut self, index: u64, count: Count) -> bool {
        if index >= self.size {
            return false;
        }
        if count == Count::default() {
            self.cells.remove(&index);
        } else {
            self.cells.insert(index, count);
        }
        true
    }

    /// Those that are not zero, in order.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (u64, Count)> {
        self.cells.iter().map(|(index, count)| (*index, *count))
    }
}
