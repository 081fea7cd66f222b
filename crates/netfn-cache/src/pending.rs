//! Requests that went on to a server and have no answer yet. A fixed number: the oldest make place.

use crate::store::Server;
use base_time::Time;
use hashbrown::HashTable;
use smallvec::SmallVec;

/// Maximum number of pending requests.
pub const MOST: usize = 8192;

/// Identity of a request: client, server, request id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asker {
    pub(crate) client: ([u8; 4], u16),
    pub(crate) server: Server,
    pub(crate) id: u16,
}

impl Asker {
    fn hash(&self) -> u64 {
        let (address, port) = self.client;
        let high = u64::from(u32::from_be_bytes(address)) << 32 | u64::from(u32::from_be_bytes(self.server));
        crate::mix(high, u64::from(port) << 16 | u64::from(self.id))
    }
}

/// Keys with spaces between them; most requests have one.
pub type List = SmallVec<[u8; 24]>;
/// A stamp for each key.
pub type Stamps = SmallVec<[u64; 1]>;

/// Subject of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum About {
    /// Nothing that is kept.
    Nothing,
    /// Nobody knows.
    Unknown,
    /// A read.
    Read {
        /// The keys, with spaces between them.
        list: List,
        /// Stamp of each key when the request was forwarded.
        stamps: Stamps,
        /// When that was.
        at: Time,
    },
    /// A change.
    Write {
        /// The keys.
        list: List,
        /// Value to store if the answer is `STORED`, and the stamp that the key must still have then.
        value: Option<(u64, Written)>,
    },
}

/// A value in flight to a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    pub(crate) flags: u32,
    pub(crate) until: Time,
    pub(crate) data: Box<[u8]>,
}

/// A request without an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    pub(crate) asker: Asker,
    pub(crate) about: About,
    /// Datagrams of its answer that have come.
    pub(crate) come: u16,
}

/// The requests.
#[derive(Clone, Default, Debug)]
pub struct Pending {
    pub(crate) slots: Vec<Option<Record>>,
    pub(crate) next: usize,
    index: HashTable<u32>,
}

impl Pending {
    /// From its memory.
    pub(crate) fn from_parts(slots: Vec<Option<Record>>, next: usize) -> Pending {
        let mut pending = Pending { slots, next, index: HashTable::new() };
        for slot in 0..pending.slots.len() {
            if let Some(hash) = pending.slots[slot].as_ref().map(|record| record.asker.hash()) {
                pending.insert_index(hash, slot as u32);
            }
        }
        pending
    }

    fn insert_index(&mut self, hash: u64, slot: u32) {
        let Pending { slots, index, .. } = self;
        index.insert_unique(hash, slot, |slot| {
            slots[*slot as usize].as_ref().map_or(0, |record| record.asker.hash())
        });
    }

    fn find(&self, asker: Asker) -> Option<usize> {
        let same = |slot: &u32| self.slots[*slot as usize].as_ref().is_some_and(|r| r.asker == asker);
        self.index.find(asker.hash(), same).map(|slot| *slot as usize)
    }

    /// A request was forwarded. If another one with its id has no answer yet, their answers cannot be distinguished.
    pub fn add(&mut self, asker: Asker, about: About) {
        if let Some(slot) = self.find(asker) {
            self.slots[slot] = Some(Record { asker, about: About::Unknown, come: 0 });
            return;
        }
        let slot = self.next;
        match self.slots.get(slot) {
            Some(Some(old)) => drop(self.take_at(old.asker.hash(), slot)),
            Some(None) => {}
            None => self.slots.push(None),
        }
        self.next = (slot + 1) % MOST;
        self.slots[slot] = Some(Record { asker, about, come: 0 });
        self.insert_index(asker.hash(), slot as u32);
    }

    /// One of `datagrams` datagrams of an answer: its subject.
    pub fn answered(&mut self, asker: Asker, datagrams: u16) -> Option<About> {
        let slot = self.find(asker)?;
        if let Some(Some(record)) = self.slots.get_mut(slot).filter(|_| datagrams > 1) {
            record.come += 1;
            if record.come < datagrams {
                return Some(record.about.clone());
            }
        }
        self.take_at(asker.hash(), slot).map(|record| record.about)
    }

    fn take_at(&mut self, hash: u64, slot: usize) -> Option<Record> {
        if let Ok(found) = self.index.find_entry(hash, |other| *other as usize == slot) {
            found.remove();
        }
        // The place of the last one is the next one's: memory that was just used.
        if (slot + 1) % MOST == self.next {
            self.next = slot;
        }
        self.slots[slot].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(id: u16) -> Asker {
        Asker { client: ([10, 0, 0, 1], 4000), server: [10, 0, 0, 2], id }
    }

    #[test]
    fn the_oldest_make_place_whatever_was_answered_meanwhile() {
        let mut pending = Pending::default();
        for id in 0..MOST as u16 {
            pending.add(asker(id), About::Nothing);
            // The last place is used again and again.
            for again in [20_000, 20_001] {
                pending.add(asker(again), About::Unknown);
                assert_eq!(pending.answered(asker(again), 1), Some(About::Unknown));
            }
            assert!(pending.slots.len() <= usize::from(id) + 2);
        }
        let mut all = (0..MOST as u16).filter(|id| pending.answered(asker(*id), 1).is_some());
        // The last one that was asked and answered had the place of the first.
        assert!(all.next() == Some(1) && all.count() == MOST - 2);
        assert_eq!(pending.answered(asker(1), 1), None);
    }
}
