//! The values: a fixed number of entries. When all are taken, one that is asked for more often takes the place of one that
//! is asked for less.

use crate::sketch::Frequency;
use base_time::Time;
use hashbrown::HashTable;

/// An IPv4 address of a server.
pub type Server = [u8; 4];

/// A value that is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub(crate) hash: u64,
    pub(crate) server: Server,
    /// `VALUE KEY FLAGS LENGTH`, as answers begin.
    pub(crate) head: Box<[u8]>,
    pub(crate) key: u8,
    /// The number for `cas`, if it is known.
    pub(crate) unique: Option<u64>,
    pub(crate) data: Box<[u8]>,
    /// From then on it is not used.
    pub(crate) until: Time,
}

const VALUE: &[u8] = b"VALUE ";

impl Entry {
    /// The entry of `key`, which is no longer than memcached's.
    pub fn new(
        (server, hash): (Server, u64),
        key: &[u8],
        flags: u32,
        unique: Option<u64>,
        data: &[u8],
        until: Time,
    ) -> Entry {
        let head = [VALUE, key, format!(" {flags} {}", data.len()).as_bytes()].concat();
        Entry { hash, server, head: head.into(), key: key.len() as u8, unique, data: data.into(), until }
    }

    /// Its key.
    pub fn key(&self) -> &[u8] {
        &self.head[VALUE.len()..][..self.key.into()]
    }

    /// True if the server's `head` and `data` are the entry's.
    pub fn is_same(&self, other: &Entry) -> bool {
        self.head == other.head && self.data == other.data
    }

    /// Bytes of its part of an answer, at most.
    pub fn answer_length(&self) -> usize {
        self.head.len() + self.data.len() + 25
    }

    /// Writes its part of an answer.
    pub fn write(&self, unique: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        if let Some(number) = self.unique.filter(|_| unique) {
            out.extend_from_slice(format!(" {number}").as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.data);
        out.extend_from_slice(b"\r\n");
    }
}

/// The entries.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) slots: Vec<Option<Entry>>,
    pub(crate) free: Vec<u32>,
    pub(crate) hand: usize,
    pub(crate) frequency: Frequency,
    index: HashTable<u32>,
}

/// How many entries are looked at for one that makes place.
const LOOKED_AT: usize = 16;

impl Store {
    /// Place for `entries`, at least one.
    pub fn new(entries: usize) -> Store {
        let slots: Vec<Option<Entry>> = vec![None; entries.max(1)];
        let free = (0..slots.len() as u32).rev().collect();
        let frequency = Frequency::new(slots.len());
        Store::from_parts(slots, free, 0, frequency)
    }

    /// From its memory.
    pub(crate) fn from_parts(
        slots: Vec<Option<Entry>>,
        free: Vec<u32>,
        hand: usize,
        frequency: Frequency,
    ) -> Store {
        let mut store = Store { slots, free, hand, frequency, index: HashTable::new() };
        for slot in 0..store.slots.len() as u32 {
            if let Some(hash) = store.slots[slot as usize].as_ref().map(|entry| entry.hash) {
                store.insert_index(hash, slot);
            }
        }
        store
    }

    fn insert_index(&mut self, hash: u64, slot: u32) {
        let Store { slots, index, .. } = self;
        let hash_of = |slot: &u32| slots[*slot as usize].as_ref().map_or(0, |entry| entry.hash);
        index.insert_unique(hash, slot, hash_of);
    }

    fn is(entry: Option<&Entry>, server: Server, hash: u64, key: &[u8]) -> bool {
        entry.is_some_and(|entry| entry.hash == hash && entry.server == server && entry.key() == key)
    }

    /// The entry of a key.
    pub fn get(&self, (server, hash): (Server, u64), key: &[u8]) -> Option<&Entry> {
        let same = |slot: &u32| Store::is(self.slots[*slot as usize].as_ref(), server, hash, key);
        let slot = self.index.find(hash, same)?;
        self.slots[*slot as usize].as_ref()
    }

    /// Forgets a key.
    pub fn remove(&mut self, (server, hash): (Server, u64), key: &[u8]) {
        let slots = &self.slots;
        let same = |slot: &u32| Store::is(slots[*slot as usize].as_ref(), server, hash, key);
        if let Ok(found) = self.index.find_entry(hash, same) {
            let (slot, _) = found.remove();
            self.slots[slot as usize] = None;
            self.free.push(slot);
        }
    }

    /// Forgets everything but how often keys were asked for.
    pub fn clear(&mut self) {
        if self.free.len() == self.slots.len() {
            return;
        }
        self.slots.fill(None);
        self.index.clear();
        self.free = (0..self.slots.len() as u32).rev().collect();
    }

    /// Keeps `entry`, whose key is not there, if there is place or it is asked for more often than another. True if it is
    /// kept.
    pub fn keep(&mut self, entry: Entry, now: Time) -> bool {
        let Some(slot) = self.free.pop().or_else(|| self.make_place(&entry, now)) else { return false };
        let hash = entry.hash;
        self.slots[slot as usize] = Some(entry);
        self.insert_index(hash, slot);
        true
    }

    fn make_place(&mut self, wanted: &Entry, now: Time) -> Option<u32> {
        let count = self.slots.len();
        let looked_at = (0..LOOKED_AT.min(count)).map(|n| (self.hand + n) % count);
        let worth = |slot: usize| {
            let entry = self.slots[slot].as_ref()?;
            Some((if entry.until <= now { 0 } else { 1 + u16::from(self.frequency.of(entry.hash)) }, slot))
        };
        let (worth, slot) = looked_at.filter_map(worth).min()?;
        self.hand = (self.hand + LOOKED_AT) % count;
        if worth > u16::from(self.frequency.of(wanted.hash)) {
            return None;
        }
        let entry = self.slots[slot].take()?;
        if let Ok(found) = self.index.find_entry(entry.hash, |other| *other as usize == slot) {
            found.remove();
        }
        Some(slot as u32)
    }
}
