//! Matches of ternary, range and optional entries, indexed by entry number.
//!
//! ```text
//! rule = | rank : 2 | next, tag | home | value ... | mask ... | least ..., greatest ... of each range |
//! ```
//!
//! For ranges, `value` and `mask` have the leading bits that all numbers of the range share, so that a rule is first
//! compared by words and then, if its table has ranges, by bounds. State: 8 words and a cache line for two words of key
//! without ranges.

use crate::cpu::{self, Line};
use crate::key::EntryKey;
use crate::layout::{KeyLayout, MatchKind, Place, ones};

/// Rank of an entry among those that match a key: the greatest wins. 0 is below every entry's.
pub(crate) type Rank = u128;

const RANK: usize = 0;
const LINK: usize = 2;
const HOME: usize = 3;
const VALUE: usize = 4;

/// Matches of ternary, range and optional entries, by entry number.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    lines: Vec<Line>,
    stride: usize,
    words: usize,
    plain: Vec<u64>,
    ranges: Vec<(Place, bool)>,
}

impl Rules {
    pub(crate) fn new(layout: &KeyLayout) -> Rules {
        let range = |(field, place): &(_, Place)| match field {
            crate::layout::Field { kind: MatchKind::Range { signed }, .. } => Some((*place, *signed)),
            _ => None,
        };
        let ranges: Vec<_> = layout.fields().iter().filter_map(range).filter(|(p, _)| p.width > 0).collect();
        let bounds: usize = ranges.iter().map(|(place, _)| 2 * place.word_range().len()).sum();
        Rules {
            lines: vec![],
            stride: (VALUE + 2 * layout.words() + bounds).next_multiple_of(8),
            words: layout.words(),
            plain: layout.bits_of(|kind| !matches!(kind, MatchKind::Range { .. })),
            ranges,
        }
    }

    /// Writes the rule of an entry.
    pub(crate) fn set(&mut self, entry: u32, key: &EntryKey, rank: Rank) {
        let end = (entry as usize + 1) * self.stride / 8;
        if end > self.lines.len() {
            self.lines.resize(end, Line::default());
        }
        let mut rule = vec![0; self.stride];
        (rule[RANK], rule[RANK + 1]) = ((rank >> 64) as u64, rank as u64);
        let (value, rest) = rule[VALUE..].split_at_mut(self.words);
        let (mask, mut bounds) = rest.split_at_mut(self.words);
        for i in 0..self.words {
            (value[i], mask[i]) = (key.value[i] & self.plain[i], key.mask[i] & self.plain[i]);
        }
        for (place, signed) in &self.ranges {
            put_shared(place, key, value, mask);
            for limit in [&key.value, &key.mask] {
                let (these, others) = bounds.split_at_mut(place.word_range().len());
                (0..these.len()).for_each(|i| these[i] = number(place, *signed, limit, i));
                bounds = others;
            }
        }
        let at = entry as usize * self.stride;
        cpu::words_mut(&mut self.lines)[at..at + self.stride].copy_from_slice(&rule);
    }

    #[inline(always)]
    fn rule(&self, entry: u32) -> &[u64] {
        let at = entry as usize * self.stride;
        &cpu::words(&self.lines)[at..at + self.stride]
    }

    #[inline(always)]
    pub(crate) fn rank(&self, entry: u32) -> Rank {
        let rule = self.rule(entry);
        Rank::from(rule[RANK]) << 64 | Rank::from(rule[RANK + 1])
    }

    /// The bits that all keys of the rule share.
    #[inline(always)]
    pub(crate) fn value_mask(&self, entry: u32) -> (&[u64], &[u64]) {
        self.rule(entry)[VALUE..VALUE + 2 * self.words].split_at(self.words)
    }

    /// The entry after this one in its chain, and its tag.
    #[inline(always)]
    pub(crate) fn link(&self, entry: u32) -> (u32, u32) {
        let link = self.rule(entry)[LINK];
        (link as u32, (link >> 32) as u32)
    }

    pub(crate) fn set_link(&mut self, entry: u32, next: u32, tag: u32) {
        let at = entry as usize * self.stride + LINK;
        cpu::words_mut(&mut self.lines)[at] = u64::from(tag) << 32 | u64::from(next);
    }

    /// Position of the entry in the structure in use.
    pub(crate) fn home(&self, entry: u32) -> usize {
        self.rule(entry)[HOME] as usize
    }

    pub(crate) fn set_home(&mut self, entry: u32, home: usize) {
        let at = entry as usize * self.stride + HOME;
        cpu::words_mut(&mut self.lines)[at] = home as u64;
    }

    /// The words of a key.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// The bits that the rule of an entry cares for; all bits of a range that is not everything.
    pub(crate) fn cares(&self, entry: u32) -> Vec<u64> {
        let mut cares = self.value_mask(entry).1.to_vec();
        for (place, least, greatest) in self.short_ranges(entry) {
            if greatest.wrapping_sub(least) & ones(place.width) != ones(place.width) {
                place.put_ones(&mut cares, place.width);
            }
        }
        cares
    }

    /// The values of the four bits at `shift` in a word that the rule of an entry does not rule out, as bits.
    pub(crate) fn allowed(&self, entry: u32, word: usize, shift: u32) -> u16 {
        let (value, mask) = self.value_mask(entry);
        let (value, mask) = (value[word] >> shift & 15, mask[word] >> shift & 15);
        let mut allowed = (0..16).filter(|four| four & mask == value).fold(0, |set, four| set | 1 << four);
        for (place, least, greatest) in self.short_ranges(entry) {
            let Some(below) = shift.checked_sub(place.shift).filter(|below| *below < place.width) else {
                continue;
            };
            if place.word != word || place.shift % 4 != 0 || place.width % 4 != 0 {
                continue;
            }
            // Signed ranges may go over the greatest number to the least.
            let (first, last) = (least >> below, greatest >> below);
            let steps = last.wrapping_sub(first) & ones(place.width - below);
            if steps < 15 {
                allowed &= (0..=steps).fold(0, |set, i| set | 1 << (first.wrapping_add(i) & 15));
            }
        }
        allowed
    }

    /// The ranges of fields of up to 64 bits, with their bounds as they are in a key.
    fn short_ranges(&self, entry: u32) -> impl Iterator<Item = (Place, u64, u64)> + '_ {
        let mut bounds = &self.rule(entry)[VALUE + 2 * self.words..];
        self.ranges.iter().filter_map(move |(place, signed)| {
            let (these, others) = bounds.split_at(2 * place.word_range().len());
            bounds = others;
            let bias = |width: u32| u64::from(*signed) << (width - 1);
            (place.width <= 64).then(|| (*place, these[0] ^ bias(place.width), these[1] ^ bias(place.width)))
        })
    }

    /// True if the rule of `entry` wants `key`.
    #[inline(always)]
    pub(crate) fn fits(&self, entry: u32, key: &[u64]) -> bool {
        let (value, mask) = self.value_mask(entry);
        let differs =
            key.iter().zip(value).zip(mask).fold(0, |all, ((key, value), mask)| all | ((key & mask) ^ value));
        let bounds = || &self.rule(entry)[VALUE + 2 * self.words..];
        differs == 0 && (self.ranges.is_empty() || self.in_bounds(bounds(), key))
    }

    fn in_bounds(&self, mut bounds: &[u64], key: &[u64]) -> bool {
        self.ranges.iter().all(|(place, signed)| {
            let length = place.word_range().len();
            let (least, greatest) = bounds[..2 * length].split_at(length);
            bounds = &bounds[2 * length..];
            let numbers = || (0..length).map(|i| number(place, *signed, key, i));
            numbers().ge(least.iter().copied()) && numbers().le(greatest.iter().copied())
        })
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }
}

/// Word `i`, counted from the most significant, of a field in a form that compares as the number it means.
#[inline(always)]
fn number(place: &Place, signed: bool, key: &[u64], i: usize) -> u64 {
    let bias = |top: u32| u64::from(signed && i == 0) << top;
    if place.width <= 64 {
        return place.get(key) ^ bias(place.width - 1);
    }
    let range = place.word_range();
    let top = (place.width - 1) % 64;
    let word = key[range.end - 1 - i];
    if i == 0 { word & ones(top + 1) ^ bias(top) } else { word }
}

/// Puts the leading bits that both bounds of a range share into `value` and `mask`. Numbers of one sign, and those
/// without, are ordered as their bits are; where the signs differ there are no such bits.
fn put_shared(place: &Place, key: &EntryKey, value: &mut [u64], mask: &mut [u64]) {
    let same = (1..=place.width).take_while(|i| {
        let at = place.width - i;
        place.bit(&key.value, at) == place.bit(&key.mask, at)
    });
    place.put_ones(mask, same.count() as u32);
    for i in place.word_range() {
        let mut field = vec![0; value.len()];
        place.put_ones(&mut field, place.width);
        value[i] |= key.value[i] & mask[i] & field[i];
    }
}
