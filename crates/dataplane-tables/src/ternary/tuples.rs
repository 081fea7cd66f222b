//! Tuple space search with merged tuples: a hash table for each of a few masks.
//!
//! ```text
//! rule 10.1.0.0/16 -> 10.9.3.0/24, tcp, 80         tuple: src/16 dst/24 proto dport   ┐ the tuple with the best
//! rule 10.1.7.0/20 -> 10.9.3.0/26, tcp, 80         the same tuple, for it wants more  │ rule first; a tuple whose
//! rule 10.2.0.0/16 -> any                          tuple: src/16                      ┘ best rule loses ends it
//! tuple: key & mask -> hash -> head -> rule -> rule -> ...      a chain's best rule first
//! ```
//!
//! A rule lives in a tuple whose mask it has at least, the most special one whose chain for it is still short; a new
//! tuple gets the rule's mask with prefixes rounded down, so that there are few. State: 4 to 8 bytes a rule for heads
//! (the links are in the rules). Cost: a lookup hashes the key once for each tuple that may still win, and compares the
//! rules of one chain in each; insert and remove are one chain. Rules that differ only in what no mask shows (ranges without common
//! leading bits, priorities) share one chain, so that its length is limited. Unlike a decision tree it needs no rebuild and copies
//! no rule; unlike a bit vector its size does not grow with the square of the rules.
//! Srinivasan, Suri, Varghese: Tuple Space Search (SIGCOMM 1999); Daly et al.: TupleMerge (ToN 2019).

use super::rules::{Rank, Rules};
use crate::hash::Seed;
use crate::layout::KeyLayout;
use crate::masked::with_masked;
use crate::records::MISS;

/// Rules of one tag in a chain at which a further one looks for a more special tuple.
const LONG_CHAIN: usize = 4;

#[derive(Clone, Debug)]
struct Tuple {
    /// No rule of it is better.
    best: Rank,
    mask: Vec<u64>,
    /// The first entry of each chain, or [`MISS`]; a power of two of them.
    heads: Vec<u32>,
    len: usize,
    /// True if the best rule was removed.
    stale: bool,
}

/// Tuple space search: a hash table for each mask.
#[derive(Clone, Debug)]
pub(crate) struct Tuples {
    tuples: Vec<Tuple>,
    /// Positions of the tuples that have rules, the one with the best rule first.
    order: Vec<u32>,
    seed: Seed,
}

impl Tuples {
    pub(crate) fn new(seed: u64) -> Tuples {
        Tuples { tuples: vec![], order: vec![], seed: Seed::new(seed) }
    }

    /// The best entry that fits, or [`MISS`].
    #[inline(always)]
    pub(crate) fn lookup(&self, rules: &Rules, key: &[u64]) -> u32 {
        let (mut best, mut found) = (0, MISS);
        for tuple in &self.order {
            let tuple = &self.tuples[*tuple as usize];
            if tuple.best <= best {
                break;
            }
            let tag = self.tag(tuple, key);
            let mut entry = tuple.heads[tag as usize & (tuple.heads.len() - 1)];
            while entry != MISS {
                let rank = rules.rank(entry);
                if rank <= best {
                    break;
                }
                let (next, its_tag) = rules.link(entry);
                if its_tag == tag && rules.fits(entry, key) {
                    (best, found) = (rank, entry);
                    break;
                }
                entry = next;
            }
        }
        found
    }

    #[inline(always)]
    fn tag(&self, tuple: &Tuple, key: &[u64]) -> u32 {
        (with_masked(key, &tuple.mask, |key| self.seed.hash(key)) >> 32) as u32
    }

    /// Adds an entry whose rule is there, unless its chain would have more than `most` rules of one tag.
    #[must_use]
    pub(crate) fn insert(&mut self, rules: &mut Rules, layout: &KeyLayout, entry: u32, most: usize) -> bool {
        let Some(at) = self.tuple_for(rules, layout, entry, most) else { return false };
        let tag = self.tag(&self.tuples[at], rules.value_mask(entry).0);
        let tuple = &mut self.tuples[at];
        if tuple.len >= tuple.heads.len() {
            tuple.grow(rules);
        }
        tuple.len += 1;
        tuple.best = tuple.best.max(rules.rank(entry));
        rules.set_home(entry, at);
        tuple.chain(rules, entry, tag);
        true
    }

    /// The position of the tuple that a rule belongs in, if that has room for it.
    fn tuple_for(&mut self, rules: &Rules, layout: &KeyLayout, entry: u32, most: usize) -> Option<usize> {
        let (value, mask) = rules.value_mask(entry);
        let wide_enough = |t: &Tuple| t.mask.iter().zip(mask).all(|(tuple, rule)| tuple & !rule == 0);
        let bits = |t: &Tuple| t.mask.iter().map(|w| w.count_ones()).sum::<u32>();
        let mut fit: Vec<usize> = (0..self.tuples.len()).filter(|&i| wide_enough(&self.tuples[i])).collect();
        fit.sort_by_key(|&i| std::cmp::Reverse(bits(&self.tuples[i])));
        let is_shorter = |i: usize, most: usize| {
            self.tuples[i].count(rules, self.tag(&self.tuples[i], value), most) < most
        };
        if let Some(at) = fit.iter().copied().find(|i| is_shorter(*i, LONG_CHAIN)) {
            return Some(at);
        }
        let position = |mask: &[u64]| self.tuples.iter().position(|t| t.mask == mask);
        let rounded = round_down(layout, mask);
        let mask = if position(&rounded).is_none() { &rounded } else { mask };
        match position(mask) {
            Some(at) => is_shorter(at, most).then_some(at),
            None => {
                let mask = mask.to_vec();
                self.tuples.push(Tuple { best: 0, mask, heads: vec![MISS; 4], len: 0, stale: false });
                Some(self.tuples.len() - 1)
            }
        }
    }

    /// Removes an entry, whose rule must still be set.
    pub(crate) fn remove(&mut self, rules: &mut Rules, entry: u32) {
        let tuple = &mut self.tuples[rules.home(entry)];
        tuple.unchain(rules, entry);
        tuple.len -= 1;
        tuple.stale |= tuple.best == rules.rank(entry);
    }

    /// Work done once for all updates of a batch.
    pub(crate) fn settle(&mut self, rules: &Rules) {
        for tuple in self.tuples.iter_mut().filter(|t| t.stale) {
            let heads = tuple.heads.iter().filter(|head| **head != MISS);
            tuple.best = heads.map(|head| rules.rank(*head)).max().unwrap_or(0);
            tuple.stale = false;
        }
        let tuples = &self.tuples;
        self.order.clear();
        self.order.extend((0..tuples.len() as u32).filter(|i| tuples[*i as usize].len > 0));
        self.order.sort_by_key(|i| std::cmp::Reverse(tuples[*i as usize].best));
    }

    /// Number of tuples with rules.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// True if most tuples have lost their rules.
    pub(crate) fn is_littered(&self) -> bool {
        self.tuples.len() > 2 * self.order.len() + 16
    }

    /// All entries.
    pub(crate) fn entries(&self, rules: &Rules) -> Vec<u32> {
        let chain = |head: u32| {
            std::iter::successors(Some(head), |entry| Some(rules.link(*entry).0)).take_while(|e| *e != MISS)
        };
        self.tuples.iter().flat_map(|t| &t.heads).flat_map(|head| chain(*head)).collect()
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let tuple = |t: &Tuple| size_of::<Tuple>() + t.mask.capacity() * 8 + t.heads.capacity() * 4;
        self.tuples.iter().map(tuple).sum::<usize>() + self.order.capacity() * 4
    }
}

impl Tuple {
    fn head(&mut self, tag: u32) -> &mut u32 {
        let at = tag as usize & (self.heads.len() - 1);
        &mut self.heads[at]
    }

    /// Puts an entry after the better ones of its chain.
    fn chain(&mut self, rules: &mut Rules, entry: u32, tag: u32) {
        let rank = rules.rank(entry);
        let (mut before, mut next) = (MISS, *self.head(tag));
        while next != MISS && rules.rank(next) > rank {
            (before, next) = (next, rules.link(next).0);
        }
        rules.set_link(entry, next, tag);
        self.set_next(rules, before, tag, entry);
    }

    fn unchain(&mut self, rules: &mut Rules, entry: u32) {
        let (next, tag) = rules.link(entry);
        let (mut before, mut at) = (MISS, *self.head(tag));
        while at != entry && at != MISS {
            (before, at) = (at, rules.link(at).0);
        }
        self.set_next(rules, before, tag, next);
    }

    /// `next` comes after `before`, or first in the chain of `tag`.
    fn set_next(&mut self, rules: &mut Rules, before: u32, tag: u32, next: u32) {
        match before {
            MISS => *self.head(tag) = next,
            _ => {
                let (_, tag) = rules.link(before);
                rules.set_link(before, next, tag);
            }
        }
    }

    /// Doubles the heads: each chain becomes two, and both keep its order.
    fn grow(&mut self, rules: &mut Rules) {
        let old = std::mem::take(&mut self.heads);
        self.heads = vec![MISS; old.len() * 2];
        for &head in &old {
            let (mut entry, mut last) = (head, [MISS; 2]);
            while entry != MISS {
                let (next, tag) = rules.link(entry);
                let last = &mut last[usize::from(tag as usize & old.len() != 0)];
                rules.set_link(entry, MISS, tag);
                self.set_next(rules, *last, tag, entry);
                *last = entry;
                entry = next;
            }
        }
    }

    /// Number of rules with this tag, at most `most`.
    fn count(&self, rules: &Rules, tag: u32, most: usize) -> usize {
        let head = self.heads[tag as usize & (self.heads.len() - 1)];
        let chain =
            std::iter::successors(Some(head), |entry| Some(rules.link(*entry).0)).take_while(|e| *e != MISS);
        chain.filter(|entry| rules.link(*entry).1 == tag).take(most).count()
    }
}

/// `mask` with each prefix rounded down: of up to 16 bits to nothing or all, of up to 64 to a multiple of 8, of
/// more to one of 16. Masks that are no prefixes stay.
fn round_down(layout: &KeyLayout, mask: &[u64]) -> Vec<u64> {
    let mut rounded = vec![0; mask.len()];
    for (_, place) in layout.fields() {
        let length = place.leading_ones(mask);
        let ones = (0..place.width).filter(|i| place.bit(mask, *i)).count() as u32;
        if ones != length {
            let mut field = vec![0; mask.len()];
            place.put_ones(&mut field, place.width);
            (0..mask.len()).for_each(|i| rounded[i] |= mask[i] & field[i]);
            continue;
        }
        let step = match place.width {
            0..=16 => place.width.max(1),
            17..=64 => 8,
            _ => 16,
        };
        place.put_ones(&mut rounded, if length == place.width { length } else { length / step * step });
    }
    rounded
}
