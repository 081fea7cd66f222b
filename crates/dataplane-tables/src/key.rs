//! Matches of an entry on a key, in words and as the control plane writes them.
//!
//! `ir-interp` deliberately has a form of its own, bit by bit: it is the oracle that this one is compared with, and a
//! bug in shared code would not be seen.

use crate::layout::{Field, KeyLayout, MatchKind, Order, Place, ones};
use base_bits::Bits;
use control_writes::Match;

/// Matches of an entry on a key, one word of each for each word of the key.
///
/// | kind | `value` | `mask` |
/// |---|---|---|
/// | exact | the value | ones |
/// | lpm | the prefix, then zeros | ones, then zeros |
/// | ternary | the value, zero outside of the mask | the mask |
/// | range | the least | the greatest |
/// | optional | the value, or zero | ones, or zeros |
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct EntryKey {
    /// See the table above.
    pub value: Vec<u64>,
    /// See the table above.
    pub mask: Vec<u64>,
    /// The greater wins. 0 in tables without priorities.
    pub priority: i64,
}

/// Reason why a key is not valid for a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyError {
    /// There are more or fewer matches than fields, or words than the key has.
    Length,
    /// The match does not suit the kind of the field in this position.
    Kind(usize),
    /// The value does not fit into the field in this position.
    Width(usize),
    /// The range of the field in this position is empty.
    EmptyRange(usize),
    /// The mask of the lpm field in this position is no prefix.
    NoPrefix(usize),
    /// The table has no priorities.
    Priority,
}

impl KeyLayout {
    /// A key of an entry: one match for each field.
    pub fn entry_key(&self, matches: &[Match], priority: i64) -> Result<EntryKey, KeyError> {
        if matches.len() != self.fields().len() {
            return Err(KeyError::Length);
        }
        let (value, mask) = (vec![0; self.words()], vec![0; self.words()]);
        let mut key = EntryKey { value, mask, priority };
        for (at, ((field, place), wanted)) in self.fields().iter().zip(matches).enumerate() {
            let (value, mask) = normal(at, *field, wanted)?;
            place.put(&mut key.value, &words(&value));
            place.put(&mut key.mask, &words(&mask));
        }
        self.check(&key)?;
        Ok(key)
    }

    /// Match of `key` on each field: the inverse of [`entry_key`](KeyLayout::entry_key), in normal form.
    pub fn field_matches(&self, key: &EntryKey) -> Vec<Match> {
        let bits = |place: &Place, words: &[u64]| bits_of(place, words);
        let one = |(field, place): &(Field, Place)| {
            let (value, mask) = (bits(place, &key.value), bits(place, &key.mask));
            match field.kind {
                MatchKind::Exact => Match::Exact(value),
                MatchKind::Lpm => Match::Lpm { value, prefix_len: place.leading_ones(&key.mask) },
                MatchKind::Ternary => Match::Ternary { value, mask },
                MatchKind::Range { .. } => Match::Range { lo: value, hi: mask },
                MatchKind::Optional if mask.is_ones() => Match::Exact(value),
                MatchKind::Optional => Match::Any,
            }
        };
        self.fields().iter().map(one).collect()
    }

    /// A packet's key: one value for each field, cut to the field's width.
    pub fn packet_key(&self, values: &[Bits]) -> Vec<u64> {
        let mut key = vec![0; self.words()];
        for ((_, place), value) in self.fields().iter().zip(values) {
            place.put(&mut key, &words(&value.resize(place.width)));
        }
        key
    }

    /// Checks that `key` is in the normal form of its match.
    pub fn check(&self, key: &EntryKey) -> Result<(), KeyError> {
        if key.value.len() != self.words() || key.mask.len() != self.words() {
            return Err(KeyError::Length);
        }
        if key.priority != 0 && self.order() != Order::Priority {
            return Err(KeyError::Priority);
        }
        if self.order() == Order::Only && key.mask == self.all_bits() && !self.outside(&key.value) {
            return Ok(());
        }
        for (at, (field, place)) in self.fields().iter().enumerate() {
            check_field(at, field.kind, place, key)?;
        }
        if self.outside(&key.value) || self.outside(&key.mask) { Err(KeyError::Length) } else { Ok(()) }
    }

    /// True if a bit is set that belongs to no field.
    fn outside(&self, words: &[u64]) -> bool {
        words.iter().zip(self.all_bits()).any(|(word, bits)| word & !bits != 0)
    }
}

fn check_field(at: usize, kind: MatchKind, place: &Place, key: &EntryKey) -> Result<(), KeyError> {
    if let MatchKind::Range { signed } = kind {
        let ordered = Bound::of(place, &key.value, signed) <= Bound::of(place, &key.mask, signed);
        return if ordered { Ok(()) } else { Err(KeyError::EmptyRange(at)) };
    }
    let mut all = vec![0; key.mask.len()];
    place.put_ones(&mut all, place.width);
    let in_field = |i: usize| (key.value[i] & all[i], key.mask[i] & all[i]);
    if place.word_range().any(|i| in_field(i).0 & !in_field(i).1 != 0) {
        return Err(KeyError::Width(at));
    }
    let is_ones = || place.word_range().all(|i| in_field(i).1 == all[i]);
    let is_zero = || place.word_range().all(|i| in_field(i).1 == 0);
    match kind {
        MatchKind::Exact if !is_ones() => Err(KeyError::Kind(at)),
        MatchKind::Optional if !is_ones() && !is_zero() => Err(KeyError::Kind(at)),
        MatchKind::Lpm => {
            let mut prefix = vec![0; key.mask.len()];
            place.put_ones(&mut prefix, place.leading_ones(&key.mask));
            let is_prefix = place.word_range().all(|i| in_field(i).1 == prefix[i]);
            if is_prefix { Ok(()) } else { Err(KeyError::NoPrefix(at)) }
        }
        _ => Ok(()),
    }
}

/// A field's value in a form that compares as the number it means: most significant word first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bound(Vec<u64>);

impl Bound {
    pub(crate) fn of(place: &Place, key: &[u64], signed: bool) -> Bound {
        let mut words = match place.width {
            0..=64 => vec![place.get(key)],
            _ => key[place.word_range()].iter().rev().copied().collect(),
        };
        let top = (place.width.max(1) - 1) % 64;
        if place.width > 64 {
            words[0] &= ones(top + 1);
        }
        if signed && place.width > 0 {
            words[0] ^= 1 << top;
        }
        Bound(words)
    }
}

/// `wanted` as value and mask of the field's width.
fn normal(at: usize, field: Field, wanted: &Match) -> Result<(Bits, Bits), KeyError> {
    let width = field.width;
    let fit = |value: &Bits| {
        let fitted = value.resize(width);
        // A wider value fits if the bits beyond are zero.
        let lost = value.width() > width && fitted.resize(value.width()) != *value;
        if lost { Err(KeyError::Width(at)) } else { Ok(fitted) }
    };
    let prefix = |length: u32| {
        let mask = || Bits::ones(width).shl_by(u64::from(width - length));
        if length > width { Err(KeyError::Width(at)) } else { Ok(mask()) }
    };
    let masked = |value: Bits, mask: Bits| (value.and(&mask), mask);
    let all = || (Bits::zero(width), Bits::zero(width));
    Ok(match (field.kind, wanted) {
        (MatchKind::Range { .. }, Match::Exact(value)) => (fit(value)?, fit(value)?),
        (MatchKind::Range { .. }, Match::Range { lo, hi }) => (fit(lo)?, fit(hi)?),
        (MatchKind::Range { signed: true }, Match::Any) => (Bits::min_signed(width), Bits::max_signed(width)),
        (MatchKind::Range { signed: false }, Match::Any) => (Bits::zero(width), Bits::ones(width)),
        (MatchKind::Range { .. }, _) => return Err(KeyError::Kind(at)),
        (_, Match::Exact(value)) => (fit(value)?, Bits::ones(width)),
        (MatchKind::Exact, _) => return Err(KeyError::Kind(at)),
        (_, Match::Any) => all(),
        (MatchKind::Ternary | MatchKind::Lpm, Match::Ternary { value, mask }) => {
            masked(fit(value)?, fit(mask)?)
        }
        (MatchKind::Ternary | MatchKind::Lpm, Match::Lpm { value, prefix_len }) => {
            masked(fit(value)?, prefix(*prefix_len)?)
        }
        _ => return Err(KeyError::Kind(at)),
    })
}

/// The value, least significant word first.
fn words(value: &Bits) -> Vec<u64> {
    let width = value.width();
    let word = |lo: u32| value.slice((lo + 63).min(width - 1), lo).low_u64();
    (0..width).step_by(64).map(word).collect()
}

fn bits_of(place: &Place, key: &[u64]) -> Bits {
    if place.width <= 64 {
        return Bits::new(place.width, u128::from(place.get(key)));
    }
    let top = place.width - (place.width - 1) / 64 * 64;
    let mut parts = key[place.word_range()].iter().rev();
    let first = Bits::new(top, u128::from(parts.next().copied().unwrap_or(0) & ones(top)));
    parts.fold(first, |high, word| high.concat(&Bits::new(64, u128::from(*word))))
}
