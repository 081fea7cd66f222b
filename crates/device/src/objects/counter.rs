//! `counter`: packets and bytes, both always kept.
//!
//! ```text
//! counter = base                what the control plane set, and what the interpreter counts
//!         + cells of worker 0   where compiled code counts, each worker in cells of its own
//!         + cells of worker 1
//! ```
//!
//! **Invariant**: one worker alone writes its cells, and only adds to them, mod 2^64. Whoever sets a counter changes the base, so that no count is
//! lost whatever workers do meanwhile.

use control_writes::Count;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Cells in memory that compiled code shares.
pub type SharedCells = Arc<[AtomicU64]>;

/// Words that stay free after the cells of a worker: no line that it writes has cells of another, and none is loaded with one that has.
pub(crate) const GAP: usize = 16;

/// Counts one packet more.
pub(crate) fn add(count: &mut Count, bytes: u64) {
    *count = sum(*count, Count { packets: 1, bytes });
}

pub(crate) fn sum(one: Count, other: Count) -> Count {
    Count { packets: one.packets.wrapping_add(other.packets), bytes: one.bytes.wrapping_add(other.bytes) }
}

pub(crate) fn difference(one: Count, other: Count) -> Count {
    Count { packets: one.packets.wrapping_sub(other.packets), bytes: one.bytes.wrapping_sub(other.bytes) }
}

/// Cells of a worker for `counters` counters, two words each: packets and bytes.
pub(crate) fn cells(counters: usize) -> SharedCells {
    (0..counters * 2 + GAP).map(|_| AtomicU64::new(0)).collect()
}

/// Sum of all workers' counts for one cell.
pub(crate) fn counted(workers: &[SharedCells], at: usize) -> Count {
    let of = |cells: &SharedCells| match cells.get(at * 2..at * 2 + 2) {
        Some([packets, bytes]) => Count { packets: packets.load(Relaxed), bytes: bytes.load(Relaxed) },
        _ => Count::default(),
    };
    workers.iter().map(of).fold(Count::default(), sum)
}

/// An array of counters.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) size: u64,
    /// Cells that are not zero.
    base: BTreeMap<u64, Count>,
    workers: Vec<SharedCells>,
}

impl Counter {
    /// `size` counters at zero.
    pub(crate) fn new(size: u64) -> Counter {
        Counter { size, base: BTreeMap::new(), workers: vec![] }
    }

    /// Counts a packet; out of range nothing happens.
    pub(crate) fn count(&mut self, index: u64, bytes: u64) {
        if index < self.size {
            add(self.base.entry(index).or_default(), bytes);
        }
    }

    /// A counter; `None` out of range.
    pub(crate) fn read(&self, index: u64) -> Option<Count> {
        (index < self.size).then(|| sum(self.base_of(index), counted(&self.workers, index as usize)))
    }

    fn base_of(&self, index: u64) -> Count {
        self.base.get(&index).copied().unwrap_or_default()
    }

    /// Sets a counter; false out of range.
    pub(crate) fn write(&mut self, index: u64, count: Count) -> bool {
        if index >= self.size {
            return false;
        }
        let base = difference(count, counted(&self.workers, index as usize));
        if base == Count::default() {
            self.base.remove(&index);
        } else {
            self.base.insert(index, base);
        }
        true
    }

    /// Cells that are not zero, in order.
    pub(crate) fn cells(&self) -> Vec<(u64, Count)> {
        self.cells_of(0..self.size)
    }

    /// Cells of a range that are not zero, in order. The range must exist.
    pub(crate) fn cells_of(&self, wanted: Range<u64>) -> Vec<(u64, Count)> {
        if self.workers.is_empty() {
            let used = self.base.range(wanted).map(|(index, count)| (*index, *count));
            return used.filter(|(_, count)| *count != Count::default()).collect();
        }
        let counts = wanted.filter_map(|index| Some((index, self.read(index)?)));
        counts.filter(|(_, count)| *count != Count::default()).collect()
    }

    /// The cells that compiled code of this worker counts in.
    pub(crate) fn share(&mut self, worker: usize) -> SharedCells {
        while self.workers.len() <= worker {
            self.workers.push(cells(self.size as usize));
        }
        SharedCells::clone(&self.workers[worker])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_the_sum_of_all_who_count() {
        let mut counter = Counter::new(4);
        for (index, bytes) in [(0, 60), (3, 1500), (3, 64), (4, 1)] {
            counter.count(index, bytes);
        }
        let (first, third) = (counter.share(0), counter.share(2));
        for (cells, packets) in [(&first, 5), (&third, 7)] {
            cells[6].fetch_add(packets, Relaxed);
            cells[7].fetch_add(packets * 100, Relaxed);
        }
        let count = |packets, bytes| Count { packets, bytes };
        assert_eq!(counter.cells(), [(0, count(1, 60)), (3, count(14, 2764))]);
        assert_eq!(counter.cells_of(1..3), []);
        assert!(counter.write(0, Count::default()) && counter.write(3, count(1, 2)));
        assert!(!counter.write(4, count(1, 2)));
        assert_eq!(counter.cells(), [(3, count(1, 2))]);
        // Counts after a write add to it.
        first[6].fetch_add(1, Relaxed);
        counter.count(3, 8);
        assert_eq!(counter.read(3), Some(count(3, 10)));
        assert!(counter.write(3, Count::default()));
        assert_eq!(counter.cells(), []);
        assert_eq!(counter.read(4), None);
    }

    #[test]
    fn cells_of_two_workers_share_no_line() {
        let mut counter = Counter::new(2);
        let [one, other] = [counter.share(0), counter.share(1)].map(|cells| cells.as_ptr().addr());
        let used = 2 * 2 * size_of::<AtomicU64>();
        assert!(one.abs_diff(other) >= used + 64, "{one} {other}");
    }
}
