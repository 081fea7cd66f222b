//! The values: a fixed number of entries. When all are taken, one that is asked for more often takes the place of one that
//! is asked for less.

use crate::packet::{Text, checksum};
use crate::sketch::Frequency;
use crate::text::Value;
use base_time::Time;
use hashbrown::HashTable;

/// An IPv4 address of a server.
pub type Server = [u8; 4];

/// A value that is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub(crate) hash: u64,
    pub(crate) server: Server,
    pub(crate) flags: u32,
    /// The number for `cas`, if it is known.
    pub(crate) unique: Option<u64>,
    /// From then on it is not used.
    pub(crate) until: Time,
    /// Text of the entry in an answer: `VALUE KEY FLAGS LENGTH`, a line's end, the value, another line's end.
    text: Box<[u8]>,
    checksum: u16,
    key: u8,
    head: u16,
}

const VALUE: &[u8] = b"VALUE ";
const LINE: &[u8] = b"\r\n";
/// The longest decimal number of 64 bits.
const DIGITS: usize = 20;

impl Entry {
    /// The entry of a value, whose key is no longer than memcached's.
    pub fn new((server, hash): (Server, u64), value: &Value<'_>, until: Time) -> Entry {
        let Value { key, flags, unique, data } = *value;
        let mut digits = ([0; DIGITS], [0; DIGITS]);
        let flags_text = decimal(flags.into(), &mut digits.0);
        let parts = [VALUE, key, b" ", flags_text, b" ", decimal(data.len() as u64, &mut digits.1)];
        let head = parts.iter().map(|part| part.len()).sum::<usize>();
        let mut text = Vec::with_capacity(head + data.len() + 2 * LINE.len());
        parts.into_iter().chain([LINE, data, LINE]).for_each(|part| text.extend_from_slice(part));
        let checksum = checksum(&text);
        let (text, key, head) = (text.into(), key.len() as u8, head as u16);
        Entry { hash, server, flags, unique, until, text, checksum, key, head }
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.text[VALUE.len()..][..self.key.into()]
    }

    /// The value.
    pub fn data(&self) -> &[u8] {
        &self.text[usize::from(self.head) + LINE.len()..self.text.len() - LINE.len()]
    }

    /// True if the value has the entry's flags and bytes.
    pub fn is_same(&self, value: &Value<'_>) -> bool {
        self.flags == value.flags && self.data() == value.data
    }

    /// Bytes of a value's part of an answer, at most.
    pub fn answer_length_of(value: &Value<'_>) -> usize {
        let digits = |number: u64| number.checked_ilog10().map_or(1, |power| power as usize + 1);
        let head = VALUE.len() + value.key.len() + 2 + digits(value.flags.into());
        head + digits(value.data.len() as u64) + value.data.len() + 2 * LINE.len() + 1 + DIGITS
    }

    /// Length of the entry's part of an answer.
    pub fn answer_length(&self) -> usize {
        self.text.len() + 1 + DIGITS
    }

    /// Writes its part of an answer.
    pub fn write(&self, unique: bool, out: &mut Text) {
        let Some(number) = self.unique.filter(|_| unique) else {
            return out.put_known(&self.text, self.checksum);
        };
        let (head, rest) = self.text.split_at(self.head.into());
        out.put(head);
        out.put(b" ");
        out.put(decimal(number, &mut [0; DIGITS]));
        out.put(rest);
    }
}

/// A number in decimal.
fn decimal(mut number: u64, digits: &mut [u8; DIGITS]) -> &[u8] {
    let mut first = DIGITS;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        first -= 1;
        if number == 0 {
            break;
        }
    }
    &digits[first..]
}

/// The entries.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) slots: Vec<Option<Entry>>,
    pub(crate) free: Vec<u32>,
    pub(crate) hand: usize,
    /// The slot that was worth least when some were looked at last.
    pub(crate) weakest: usize,
    pub(crate) frequency: Frequency,
    index: HashTable<u32>,
}

/// Number of entries compared for an eviction, besides the one that was worth least before.
const LOOKED_AT: usize = 4;

impl Store {
    /// Place for `entries`, at least one.
    pub fn new(entries: usize) -> Store {
        let slots: Vec<Option<Entry>> = vec![None; entries.max(1)];
        let free = (0..slots.len() as u32).rev().collect();
        let frequency = Frequency::new(slots.len());
        Store::from_parts(slots, free, (0, 0), frequency)
    }

    /// From its memory.
    pub(crate) fn from_parts(
        slots: Vec<Option<Entry>>,
        free: Vec<u32>,
        (hand, weakest): (usize, usize),
        frequency: Frequency,
    ) -> Store {
        let mut store = Store { slots, free, hand, weakest, frequency, index: HashTable::new() };
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

    /// Place for an entry with this hash, whose key is not there, if there is some or it is asked for more often than another.
    /// It is for [`put`](Store::put).
    pub fn place(&mut self, hash: u64, now: Time) -> Option<u32> {
        self.free.pop().or_else(|| self.make_place(hash, now))
    }

    /// Keeps an entry in its place.
    pub fn put(&mut self, place: u32, entry: Entry) {
        let hash = entry.hash;
        self.slots[place as usize] = Some(entry);
        self.insert_index(hash, place);
    }

    fn make_place(&mut self, wanted: u64, now: Time) -> Option<u32> {
        let count = self.slots.len();
        let next = (0..LOOKED_AT.min(count)).map(|n| (self.hand + n) % count);
        let worth = |slot: usize| {
            let entry = self.slots[slot].as_ref()?;
            Some((if entry.until <= now { 0 } else { 1 + u16::from(self.frequency.of(entry.hash)) }, slot))
        };
        let (worth, slot) = next.chain([self.weakest]).filter_map(worth).min()?;
        self.hand = (self.hand + LOOKED_AT) % count;
        self.weakest = slot;
        if worth > u16::from(self.frequency.of(wanted)) {
            return None;
        }
        let entry = self.slots[slot].take()?;
        if let Ok(found) = self.index.find_entry(entry.hash, |other| *other as usize == slot) {
            found.remove();
        }
        Some(slot as u32)
    }
}
