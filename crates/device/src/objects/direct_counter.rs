//! `direct_counter`: a counter for each entry of a table.
//!
//! An entry's counter is the sum of a base and of the workers' counts in its *slot*, as in [`counter`](super::counter).
//! Slots are numbers; each worker has an array with a cell for each slot, which it extends itself between two batches.
//!
//! ```text
//! Added ──> EntryCounter::share ──> slot 5 ──> record of the entry ──> code: cells of the worker [5]
//! Removed: when neither the entry nor code has the slot any more, another entry may have it
//! ```

use super::counter::{GAP, SharedCells, add, cells, counted, difference, sum};
use control_writes::Count;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The counter of one entry.
#[derive(Default, Debug)]
pub(crate) struct EntryCounter {
    base: Count,
    /// Once compiled code has asked for it.
    slot: OnceLock<Arc<CountSlot>>,
}

impl EntryCounter {
    /// The count.
    pub(crate) fn read(&self) -> Count {
        sum(self.base, self.slot.get().map_or(Count::default(), |slot| slot.counted()))
    }

    /// Sets it.
    pub(crate) fn write(&mut self, count: Count) {
        self.base = difference(count, self.slot.get().map_or(Count::default(), |slot| slot.counted()));
    }

    /// One packet more.
    pub(crate) fn count(&mut self, bytes: u64) {
        add(&mut self.base, bytes);
    }

    /// Slot for compiled code to count in.
    pub(crate) fn share(&self, slots: &CountSlots) -> Arc<CountSlot> {
        Arc::clone(self.slot.get_or_init(|| slots.take()))
    }
}

/// A copy counts on its own.
impl Clone for EntryCounter {
    fn clone(&self) -> EntryCounter {
        EntryCounter { base: self.read(), slot: OnceLock::new() }
    }
}

impl PartialEq for EntryCounter {
    fn eq(&self, other: &EntryCounter) -> bool {
        self.read() == other.read()
    }
}

impl Eq for EntryCounter {}

/// The slots of a table. A clone is the same.
#[derive(Clone, Default, Debug)]
pub struct CountSlots(Arc<Mutex<Slots>>);

#[derive(Default, Debug)]
struct Slots {
    /// Slots that there have been.
    made: u32,
    free: Vec<u32>,
    workers: Vec<SharedCells>,
}

/// A place to count for one entry. It is free when this is dropped.
#[derive(Debug)]
pub struct CountSlot {
    at: u32,
    /// Count of the slot's former users.
    before: Count,
    of: Arc<Mutex<Slots>>,
}

fn lock(slots: &Mutex<Slots>) -> MutexGuard<'_, Slots> {
    slots.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CountSlots {
    /// Takes a free slot.
    pub fn take(&self) -> Arc<CountSlot> {
        let mut slots = lock(&self.0);
        let at = slots.free.pop().unwrap_or(slots.made);
        slots.made = slots.made.max(at + 1);
        let before = counted(&slots.workers, at as usize);
        Arc::new(CountSlot { at, before, of: Arc::clone(&self.0) })
    }

    /// The cells of a worker, two words for each slot, packets and bytes; long enough for all slots that there are now. The worker counts in them until
    /// it asks again, and in none that it got before.
    pub fn cells(&self, worker: usize) -> SharedCells {
        let mut slots = lock(&self.0);
        let made = slots.made as usize;
        while slots.workers.len() <= worker {
            slots.workers.push(cells(made));
        }
        let all = &mut slots.workers[worker];
        if all.len() < 2 * made + GAP {
            let longer = cells(made.next_power_of_two());
            all.iter().zip(&*longer).for_each(|(old, new)| new.store(old.load(Relaxed), Relaxed));
            *all = longer;
        }
        SharedCells::clone(all)
    }
}

impl CountSlot {
    /// Number of the slot.
    pub fn at(&self) -> u32 {
        self.at
    }

    fn counted(&self) -> Count {
        difference(counted(&lock(&self.of).workers, self.at as usize), self.before)
    }
}

impl Drop for CountSlot {
    fn drop(&mut self) {
        lock(&self.of).free.push(self.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(packets: u64, bytes: u64) -> Count {
        Count { packets, bytes }
    }

    fn hit(slots: &CountSlots, worker: usize, slot: &CountSlot, bytes: u64) {
        let cells = slots.cells(worker);
        cells[2 * slot.at() as usize].fetch_add(1, Relaxed);
        cells[2 * slot.at() as usize + 1].fetch_add(bytes, Relaxed);
    }

    #[test]
    fn the_next_entry_of_a_slot_begins_at_zero() {
        let slots = CountSlots::default();
        let mut first = EntryCounter::default();
        first.count(10);
        let slot = first.share(&slots);
        hit(&slots, 0, &slot, 100);
        hit(&slots, 1, &slot, 1000);
        assert_eq!(first.read(), count(3, 1110));
        first.write(count(7, 7));
        hit(&slots, 1, &slot, 1);
        assert_eq!(first.read(), count(8, 8));
        assert_eq!(first.clone().read(), count(8, 8));
        // Code still holds the slot after the removal of the entry.
        drop(first);
        let other = EntryCounter::default();
        assert_ne!(other.share(&slots).at(), slot.at());
        let at = slot.at();
        drop(slot);
        let next = EntryCounter::default();
        assert_eq!(next.share(&slots).at(), at);
        assert_eq!(next.read(), Count::default());
        hit(&slots, 0, &next.share(&slots), 5);
        assert_eq!((next.read(), other.read()), (count(1, 5), Count::default()));
    }

    #[test]
    fn nothing_is_lost_when_cells_grow() {
        let slots = CountSlots::default();
        let counters: Vec<EntryCounter> = (0..100).map(|_| EntryCounter::default()).collect();
        for (bytes, counter) in (0..).zip(&counters) {
            hit(&slots, 0, &counter.share(&slots), bytes);
        }
        hit(&slots, 0, &counters[3].share(&slots), 1);
        for (bytes, counter) in (0..).zip(&counters) {
            let more = u64::from(bytes == 3);
            assert_eq!(counter.read(), count(1 + more, bytes + more));
        }
    }
}
