//! Records of entries for the engine, indexed by entry number.
//!
//! ```text
//! record = | key words (exact tables) | action | data ... | 0 ... |     stride: 1, 2, 4, 8, 16, 24, ... words
//! ```
//!
//! One contiguous array. Record 0 is the miss: its action is the table's default action, so that no branch is needed to
//! find the action of an entry number. A record of up to 8 words never straddles two cache lines. An exact table's key
//! lies with its action, so that a hit reads two lines: the bucket and the record.

use crate::cpu::{self, Line};

/// The entry number of a miss. Its record holds the default action.
pub const MISS: u32 = 0;

/// Records of the entries of a table, by entry number.
#[derive(Clone, Debug)]
pub struct Records {
    lines: Vec<Line>,
    key_words: usize,
    stride: usize,
}

/// Words from one record to the next.
pub(crate) fn stride(key_words: usize, data_words: usize) -> usize {
    let words = key_words + 1 + data_words;
    if words <= 8 { words.next_power_of_two() } else { words.next_multiple_of(8) }
}

impl Records {
    /// Record 0 alone, all zero.
    pub(crate) fn new(key_words: usize, data_words: usize) -> Records {
        let mut records = Records { lines: vec![], key_words, stride: stride(key_words, data_words) };
        records.reach(0);
        records
    }

    /// Makes room for the record of `entry`.
    pub(crate) fn reach(&mut self, entry: u32) {
        let lines = ((entry as usize + 1) * self.stride).div_ceil(8);
        if lines > self.lines.len() {
            self.lines.resize(lines, Line::default());
        }
    }

    /// Writes the key of an entry of an exact table. The record must be in [`reach`](Records::reach).
    pub(crate) fn set_key(&mut self, entry: u32, key: &[u64]) {
        let at = entry as usize * self.stride;
        cpu::words_mut(&mut self.lines)[at..at + self.key_words].copy_from_slice(key);
    }

    /// Writes action and data. The record must be in [`reach`](Records::reach).
    pub(crate) fn set_action(&mut self, entry: u32, action: &[u64]) {
        let at = entry as usize * self.stride + self.key_words;
        cpu::words_mut(&mut self.lines)[at..at + action.len()].copy_from_slice(action);
    }

    /// All words: record `n` begins at word `n * stride()`.
    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        cpu::words(&self.lines)
    }

    /// The distance of two records in words.
    #[inline(always)]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The position of the action in a record; its data follow.
    #[inline(always)]
    pub fn action_at(&self) -> usize {
        self.key_words
    }

    /// The action of an entry and its data; words after the action's own data are zero or left over.
    #[inline]
    pub fn action(&self, entry: u32) -> &[u64] {
        let at = entry as usize * self.stride;
        &self.words()[at + self.key_words..at + self.stride]
    }

    /// The key of an entry of an exact table.
    #[inline(always)]
    pub(crate) fn key(&self, entry: u32) -> &[u64] {
        let at = entry as usize * self.stride;
        &self.words()[at..at + self.key_words]
    }

    /// [`key`](Records::key) for a known number of words.
    #[inline(always)]
    pub(crate) fn key_of<const W: usize>(&self, entry: u32) -> &[u64; W] {
        let at = entry as usize * self.stride;
        self.words()[at..].first_chunk().unwrap_or(&[0; W])
    }

    /// Asks for the first cache line of a record.
    #[inline(always)]
    pub(crate) fn prefetch(&self, entry: u32) {
        if let Some(word) = self.words().get(entry as usize * self.stride) {
            cpu::prefetch(word);
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }
}
