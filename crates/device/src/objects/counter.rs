//! `counter` and `direct_counter`: packets and bytes, both always kept.

use control_writes::Count;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Counts one packet more.
pub(crate) fn add(count: &mut Count, bytes: u64) {
    count.packets = count.packets.wrapping_add(1);
    count.bytes = count.bytes.wrapping_add(bytes);
}

/// The counter of one entry. Compiled code counts in it, once it has asked for it.
#[derive(Default, Debug)]
pub(crate) struct EntryCounter(OnceLock<Arc<[AtomicU64]>>);

impl EntryCounter {
    /// What it counted.
    pub(crate) fn read(&self) -> Count {
        self.0.get().map_or(Count::default(), |words| flat_cell(words))
    }

    /// Sets it.
    pub(crate) fn write(&self, count: Count) {
        if count != Count::default() || self.0.get().is_some() {
            let words = self.share();
            words[0].store(count.packets, Relaxed);
            words[1].store(count.bytes, Relaxed);
        }
    }

    /// One packet more.
    pub(crate) fn count(&self, bytes: u64) {
        let mut count = self.read();
        add(&mut count, bytes);
        self.write(count);
    }

    /// Its two words, packets and bytes.
    pub(crate) fn share(&self) -> Arc<[AtomicU64]> {
        Arc::clone(self.0.get_or_init(|| (0..2).map(|_| AtomicU64::new(0)).collect()))
    }
}

/// A copy counts on its own.
impl Clone for EntryCounter {
    fn clone(&self) -> EntryCounter {
        let copy = EntryCounter::default();
        copy.write(self.read());
        copy
    }
}

impl PartialEq for EntryCounter {
    fn eq(&self, other: &EntryCounter) -> bool {
        self.read() == other.read()
    }
}

impl Eq for EntryCounter {}

/// An array of counters.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub(crate) size: u64,
    cells: Cells,
}

/// Where the counters are.
#[derive(Clone, Debug)]
enum Cells {
    /// Those that are not zero.
    Sparse(BTreeMap<u64, Count>),
    /// All, as two words each, packets and bytes: compiled code counts in them.
    Flat(Arc<[AtomicU64]>),
}

impl Counter {
    /// `size` counters at zero.
    pub(crate) fn new(size: u64) -> Counter {
        Counter { size, cells: Cells::Sparse(BTreeMap::new()) }
    }

    /// Counts a packet; out of range nothing happens.
    pub(crate) fn count(&mut self, index: u64, bytes: u64) {
        if let Some(mut count) = self.read(index) {
            add(&mut count, bytes);
            self.write(index, count);
        }
    }

    /// A counter; `None` out of range.
    pub(crate) fn read(&self, index: u64) -> Option<Count> {
        if index >= self.size {
            return None;
        }
        Some(match &self.cells {
            Cells::Sparse(cells) => cells.get(&index).copied().unwrap_or_default(),
            Cells::Flat(words) => flat_cell(&words[index as usize * 2..][..2]),
        })
    }

    /// Sets a counter; false out of range.
    pub(crate) fn write(&mut self, index: u64, count: Count) -> bool {
        if index >= self.size {
            return false;
        }
        match &mut self.cells {
            Cells::Sparse(cells) if count == Count::default() => {
                cells.remove(&index);
            }
            Cells::Sparse(cells) => {
                cells.insert(index, count);
            }
            Cells::Flat(words) => {
                words[index as usize * 2].store(count.packets, Relaxed);
                words[index as usize * 2 + 1].store(count.bytes, Relaxed);
            }
        }
        true
    }

    /// Those that are not zero, in order.
    pub(crate) fn cells(&self) -> Vec<(u64, Count)> {
        self.cells_of(0..self.size)
    }

    /// The same of some cells, which are there.
    pub(crate) fn cells_of(&self, wanted: Range<u64>) -> Vec<(u64, Count)> {
        match &self.cells {
            Cells::Sparse(cells) => cells.range(wanted).map(|(index, count)| (*index, *count)).collect(),
            Cells::Flat(words) => {
                let words = &words[wanted.start as usize * 2..wanted.end as usize * 2];
                let counts = wanted.zip(words.chunks_exact(2).map(flat_cell));
                counts.filter(|(_, count)| *count != Count::default()).collect()
            }
        }
    }

    /// Brings the counters into an array that compiled code can share, two words for each; `None` if they are more
    /// than `most`.
    pub(crate) fn flatten(&mut self, most: u64) -> Option<Arc<[AtomicU64]>> {
        if self.size > most {
            return None;
        }
        if let Cells::Flat(words) = &self.cells {
            return Some(Arc::clone(words));
        }
        let words: Arc<[AtomicU64]> = (0..self.size * 2).map(|_| AtomicU64::new(0)).collect();
        let old = std::mem::replace(&mut self.cells, Cells::Flat(Arc::clone(&words)));
        if let Cells::Sparse(old) = old {
            for (index, count) in old {
                self.write(index, count);
            }
        }
        Some(words)
    }
}

fn flat_cell(words: &[AtomicU64]) -> Count {
    Count { packets: words[0].load(Relaxed), bytes: words[1].load(Relaxed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_counters_are_those_of_the_map() {
        let mut sparse = Counter::new(4);
        for (index, bytes) in [(0, 60), (3, 1500), (3, 64), (4, 1)] {
            sparse.count(index, bytes);
        }
        let mut flat = sparse.clone();
        flat.flatten(4).unwrap();
        assert_eq!(flat.cells(), sparse.cells());
        for counter in [&mut sparse, &mut flat] {
            counter.count(3, 10);
            counter.write(0, Count::default());
        }
        assert_eq!(flat.cells(), sparse.cells());
        assert_eq!(flat.cells(), [(3, Count { packets: 3, bytes: 1574 })]);
        assert_eq!(flat.read(4), None);
    }
}
