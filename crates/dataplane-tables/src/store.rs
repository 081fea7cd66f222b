//! Control-plane state of one table: every entry, once, however many copies the data plane has.
//!
//! ```text
//!            insert          publish            delete          publish
//!    free ───────────> fresh ────────> live ───────────> dead ──────────> free
//!      ^                 │ delete
//!      └─────────────────┘
//! ```
//!
//! Writes are checked and recorded here; [`publish`](crate::Shared::publish) brings the net effect of all writes since
//! the last publication to the data plane. An entry number is reused only when no reader can see its last owner, so a
//! table of `size` entries uses numbers up to twice that. State: for each entry its key (and mask), its action and
//! data, 13 to 33 bytes.

use crate::hash::Seed;
use crate::key::EntryKey;
use crate::layout::{KeyLayout, Order};
use crate::records::MISS;
use crate::ternary::Rank;
use crate::write_error::WriteError;
use hashbrown::HashTable;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Free,
    Fresh,
    Live,
    Dead,
}

#[derive(Clone, Copy, Debug)]
struct Status {
    state: State,
    is_const: bool,
    /// Counts insertions; of equals the least wins.
    seq: u64,
}

/// Control-plane state of one table.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) layout: KeyLayout,
    pub(crate) size: u32,
    pub(crate) data_words: usize,
    seed: Seed,
    len: usize,
    next_seq: u64,
    // By entry number.
    status: Vec<Status>,
    values: Vec<u64>,
    /// Empty where the masks of all entries are the same.
    masks: Vec<u64>,
    /// Empty in tables without priorities.
    priorities: Vec<i64>,
    actions: Vec<u64>,
    /// From keys to entry numbers.
    index: HashTable<u32>,
    free: Vec<u32>,
    pending: Changes,
    /// Changes of the batch that is being published.
    pub(crate) sealed: Changes,
}

/// Changes of a table by a batch.
#[derive(Clone, Default, Debug)]
pub(crate) struct Changes {
    pub(crate) removed: Vec<u32>,
    pub(crate) added: Vec<u32>,
    /// Entries with other actions; 0 stands for the default action.
    pub(crate) changed: Vec<u32>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty() && self.changed.is_empty()
    }
}

impl Store {
    pub(crate) fn new(layout: KeyLayout, size: u32, data_words: usize, seed: u64) -> Store {
        let mut store = Store {
            layout,
            // Numbers go up to twice the size and have 31 bits.
            size: size.min((1 << 30) - 1),
            data_words,
            seed: Seed::new(seed),
            len: 0,
            next_seq: 0,
            status: vec![],
            values: vec![],
            masks: vec![],
            priorities: vec![],
            actions: vec![],
            index: HashTable::new(),
            free: vec![],
            pending: Changes::default(),
            sealed: Changes::default(),
        };
        store.extend();
        store
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Makes room for `more` entries at once.
    pub(crate) fn reserve(&mut self, more: usize) {
        let more = more.min(self.size as usize - self.len);
        self.status.reserve(more);
        self.values.reserve(more * self.layout.words());
        if !self.is_exact() {
            self.masks.reserve(more * self.layout.words());
        }
        self.actions.reserve(more * (1 + self.data_words));
        let Store { index, .. } = self;
        // Hashes are needed only if something must be moved.
        if index.is_empty() {
            index.reserve(more, |_| 0);
        }
    }

    /// Adds an entry.
    pub(crate) fn insert(
        &mut self,
        key: &EntryKey,
        action: &[u64],
        is_const: bool,
    ) -> Result<u32, WriteError> {
        self.layout.check(key).map_err(WriteError::Key)?;
        self.check_action(action)?;
        let hash = self.hash(key);
        if self.find_hashed(key, hash) != MISS {
            return Err(WriteError::Duplicate);
        }
        if self.len >= self.size as usize {
            return Err(WriteError::Full(self.size));
        }
        let entry = self.free.pop().unwrap_or_else(|| self.extend());
        self.write(entry, key);
        self.write_action(entry, action);
        self.status[entry as usize] = Status { state: State::Fresh, is_const, seq: self.next_seq };
        self.next_seq += 1;
        self.len += 1;
        self.index_insert(hash, entry);
        self.pending.added.push(entry);
        Ok(entry)
    }

    /// Replaces the action of an entry that may be changed.
    pub(crate) fn modify(&mut self, entry: u32, action: &[u64]) -> Result<(), WriteError> {
        self.check_action(action)?;
        self.check_writable(entry)?;
        self.write_action(entry, action);
        self.pending.changed.push(entry);
        Ok(())
    }

    /// Removes an entry that may be removed.
    pub(crate) fn delete(&mut self, entry: u32) -> Result<(), WriteError> {
        self.check_writable(entry)?;
        let hash = self.hash(&self.key(entry));
        if let Ok(found) = self.index.find_entry(hash, |e| *e == entry) {
            found.remove();
        }
        self.len -= 1;
        match self.state(entry) {
            State::Fresh => {
                self.status[entry as usize].state = State::Free;
                self.free.push(entry);
            }
            _ => {
                self.status[entry as usize].state = State::Dead;
                self.pending.removed.push(entry);
            }
        }
        Ok(())
    }

    /// Replaces the default action.
    pub(crate) fn set_default(&mut self, action: &[u64]) -> Result<(), WriteError> {
        self.check_action(action)?;
        self.write_action(MISS, action);
        self.pending.changed.push(MISS);
        Ok(())
    }

    /// The entry with this key, or [`MISS`].
    pub(crate) fn find(&self, key: &EntryKey) -> u32 {
        match self.layout.check(key) {
            Ok(()) => self.find_hashed(key, self.hash(key)),
            Err(_) => MISS,
        }
    }

    /// All entries, the oldest first.
    pub(crate) fn entries(&self) -> Vec<u32> {
        let is_there = |entry: &u32| matches!(self.state(*entry), State::Fresh | State::Live);
        let mut entries: Vec<u32> = (1..self.status.len() as u32).filter(is_there).collect();
        entries.sort_unstable_by_key(|entry| self.status[*entry as usize].seq);
        entries
    }

    /// The key of an entry.
    pub(crate) fn key(&self, entry: u32) -> EntryKey {
        EntryKey {
            value: self.value(entry).to_vec(),
            mask: self.mask(entry).to_vec(),
            priority: self.priorities.get(entry as usize).copied().unwrap_or(0),
        }
    }

    /// The key words of an entry.
    pub(crate) fn value(&self, entry: u32) -> &[u64] {
        let at = entry as usize * self.layout.words();
        &self.values[at..at + self.layout.words()]
    }

    fn mask(&self, entry: u32) -> &[u64] {
        let at = entry as usize * self.layout.words();
        if self.is_exact() { self.layout.all_bits() } else { &self.masks[at..at + self.layout.words()] }
    }

    /// Action and data of an entry; of entry 0 the default.
    pub(crate) fn action(&self, entry: u32) -> &[u64] {
        let words = 1 + self.data_words;
        &self.actions[entry as usize * words..(entry as usize + 1) * words]
    }

    pub(crate) fn is_const(&self, entry: u32) -> bool {
        self.status[entry as usize].is_const
    }

    /// True if there is an entry with this number.
    pub(crate) fn has(&self, entry: u32) -> bool {
        let status = self.status.get(entry as usize);
        entry != MISS && status.is_some_and(|s| matches!(s.state, State::Fresh | State::Live))
    }

    /// Rank of an entry among those that match a key.
    pub(crate) fn rank(&self, entry: u32) -> Rank {
        let first = match self.layout.order() {
            Order::LongestPrefix(field) => {
                let (_, place) = self.layout.fields()[field];
                i64::from(place.leading_ones(&self.key(entry).mask))
            }
            Order::Only | Order::Priority => self.priorities.get(entry as usize).copied().unwrap_or(0),
        };
        let biased = first as u64 ^ 1 << 63;
        Rank::from(biased) << 64 | Rank::from(!self.status[entry as usize].seq)
    }

    /// All entries that may be published, to rebuild a structure.
    pub(crate) fn live(&self) -> impl Iterator<Item = u32> + '_ {
        (1..self.status.len() as u32).filter(|entry| self.state(*entry) == State::Live)
    }

    /// Entries of the batch, not yet published.
    pub(crate) fn fresh(&self) -> impl Iterator<Item = u32> + '_ {
        self.pending.added.iter().copied().filter(|entry| self.state(*entry) == State::Fresh)
    }

    /// Ends the batch: its changes are in `sealed`.
    pub(crate) fn seal(&mut self) {
        let Changes { removed, mut added, mut changed } = std::mem::take(&mut self.pending);
        changed.retain(|entry| *entry == MISS || self.state(*entry) == State::Live);
        added.retain(|entry| {
            let is_fresh = self.state(*entry) == State::Fresh;
            if is_fresh {
                self.status[*entry as usize].state = State::Live;
            }
            is_fresh
        });
        self.sealed = Changes { removed, added, changed };
    }

    /// All copies have the sealed changes, and no reader sees removed entries.
    pub(crate) fn settle(&mut self) {
        let sealed = std::mem::take(&mut self.sealed);
        for entry in sealed.removed {
            self.status[entry as usize].state = State::Free;
            self.free.push(entry);
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let words = self.values.capacity() + self.masks.capacity() + self.actions.capacity();
        words * 8
            + self.priorities.capacity() * 8
            + self.status.capacity() * size_of::<Status>()
            + self.index.allocation_size()
            + self.free.capacity() * 4
    }

    fn is_exact(&self) -> bool {
        self.layout.order() == Order::Only
    }

    fn state(&self, entry: u32) -> State {
        self.status[entry as usize].state
    }

    fn check_writable(&self, entry: u32) -> Result<(), WriteError> {
        match entry {
            MISS => Err(WriteError::NotFound),
            _ if self.is_const(entry) => Err(WriteError::Constant),
            _ => Ok(()),
        }
    }

    fn check_action(&self, action: &[u64]) -> Result<(), WriteError> {
        if action.is_empty() || action.len() > 1 + self.data_words { Err(WriteError::Data) } else { Ok(()) }
    }

    fn hash(&self, key: &EntryKey) -> u64 {
        self.hash_parts(&key.value, &key.mask, key.priority)
    }

    fn hash_parts(&self, value: &[u64], mask: &[u64], priority: i64) -> u64 {
        let value = self.seed.hash(value);
        if self.is_exact() { value } else { self.seed.hash(&[value, self.seed.hash(mask), priority as u64]) }
    }

    fn find_hashed(&self, key: &EntryKey, hash: u64) -> u32 {
        let words = self.layout.words();
        let is_it = |entry: &u32| {
            let at = *entry as usize;
            self.values[at * words..][..words] == key.value
                && (self.masks.is_empty() || self.masks[at * words..][..words] == key.mask)
                && self.priorities.get(at).is_none_or(|priority| *priority == key.priority)
        };
        self.index.find(hash, is_it).copied().unwrap_or(MISS)
    }

    fn index_insert(&mut self, hash: u64, entry: u32) {
        let mut index = std::mem::take(&mut self.index);
        index.insert_unique(hash, entry, |entry| {
            let priority = self.priorities.get(*entry as usize).copied().unwrap_or(0);
            self.hash_parts(self.value(*entry), self.mask(*entry), priority)
        });
        self.index = index;
    }

    /// A number that was never used.
    fn extend(&mut self) -> u32 {
        let (entry, words) = (self.status.len(), self.layout.words());
        self.status.push(Status { state: State::Free, is_const: false, seq: 0 });
        self.values.resize((entry + 1) * words, 0);
        if !self.is_exact() {
            self.masks.resize((entry + 1) * words, 0);
        }
        if self.layout.order() == Order::Priority {
            self.priorities.push(0);
        }
        self.actions.resize((entry + 1) * (1 + self.data_words), 0);
        entry as u32
    }

    fn write(&mut self, entry: u32, key: &EntryKey) {
        let (at, words) = (entry as usize, self.layout.words());
        self.values[at * words..][..words].copy_from_slice(&key.value);
        if !self.masks.is_empty() {
            self.masks[at * words..][..words].copy_from_slice(&key.mask);
        }
        if let Some(priority) = self.priorities.get_mut(at) {
            *priority = key.priority;
        }
    }

    fn write_action(&mut self, entry: u32, action: &[u64]) {
        let words = 1 + self.data_words;
        let to = &mut self.actions[entry as usize * words..][..words];
        to[..action.len()].copy_from_slice(action);
        to[action.len()..].fill(0);
    }
}
