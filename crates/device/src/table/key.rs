//! One key element: its match kind, and an entry's match on it.

use crate::names::refused;
use base_bits::Bits;
use control_writes::{EntryKey, Match};
use dataplane_api::EntryError;
use ir::{MatchKind, Name, Type};
use std::cmp::Ordering;

/// One key element of a table or value set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeySpec {
    /// The control-plane name.
    pub name: Name,
    /// Match kind of the field.
    pub kind: MatchKind,
    /// Type of the key.
    pub ty: Type,
    /// Width of the key as a number, in bits.
    pub width: u32,
    /// Ranges compare as `int<N>`.
    pub signed: bool,
}

impl KeySpec {
    /// `wanted` in the one form that the match kind has: ternary as value and mask, and so on; widths are the
    /// key's.
    pub(crate) fn normal(&self, wanted: &Match) -> Result<Match, EntryError> {
        match (&self.kind, wanted) {
            (MatchKind::Exact, Match::Exact(value)) => Ok(Match::Exact(self.fit(value)?)),
            (MatchKind::Optional, Match::Exact(value)) => Ok(Match::Exact(self.fit(value)?)),
            (MatchKind::Optional, Match::Any) => Ok(Match::Any),
            (MatchKind::Ternary, wanted) => self.normal_ternary(wanted),
            (MatchKind::Lpm, wanted) => self.normal_lpm(wanted),
            (MatchKind::Range, wanted) => self.normal_range(wanted),
            _ => Err(self.unfit(wanted)),
        }
    }

    fn normal_ternary(&self, wanted: &Match) -> Result<Match, EntryError> {
        let (value, mask) = match wanted {
            Match::Exact(value) => (self.fit(value)?, Bits::ones(self.width)),
            Match::Ternary { value, mask } => (self.fit(value)?, self.fit(mask)?),
            Match::Lpm { value, prefix_len } => (self.fit(value)?, self.prefix(*prefix_len)?),
            Match::Any => (Bits::zero(self.width), Bits::zero(self.width)),
            Match::Range { .. } => return Err(self.unfit(wanted)),
        };
        Ok(Match::Ternary { value: value.and(&mask), mask })
    }

    fn normal_lpm(&self, wanted: &Match) -> Result<Match, EntryError> {
        let (value, prefix_len) = match wanted {
            Match::Exact(value) => (self.fit(value)?, self.width),
            Match::Lpm { value, prefix_len } => (self.fit(value)?, *prefix_len),
            Match::Ternary { value, mask } => match self.fit(mask)?.prefix_len() {
                Some(length) => (self.fit(value)?, length),
                None => return Err(refused(format!("the mask of `{}` is not a prefix", self.name))),
            },
            Match::Any => (Bits::zero(self.width), 0),
            Match::Range { .. } => return Err(self.unfit(wanted)),
        };
        Ok(Match::Lpm { value: value.and(&self.prefix(prefix_len)?), prefix_len })
    }

    fn normal_range(&self, wanted: &Match) -> Result<Match, EntryError> {
        let (lo, hi) = match wanted {
            Match::Exact(value) => (self.fit(value)?, self.fit(value)?),
            Match::Range { lo, hi } => (self.fit(lo)?, self.fit(hi)?),
            Match::Any if self.signed => (Bits::min_signed(self.width), Bits::max_signed(self.width)),
            Match::Any => (Bits::zero(self.width), Bits::ones(self.width)),
            Match::Ternary { .. } | Match::Lpm { .. } => return Err(self.unfit(wanted)),
        };
        if self.order(&lo, &hi) == Ordering::Greater {
            return Err(refused(format!("the range of `{}` is empty", self.name)));
        }
        Ok(Match::Range { lo, hi })
    }

    /// True if `value` matches the normal form `wanted`.
    pub(crate) fn matches(&self, wanted: &Match, value: &Bits) -> bool {
        let value = &value.resize(self.width);
        match wanted {
            Match::Exact(want) => want == value,
            Match::Ternary { value: want, mask } => value.matches(want, mask),
            Match::Lpm { value: want, prefix_len } => {
                value.matches(want, &prefix_mask(self.width, *prefix_len))
            }
            Match::Range { lo, hi } => {
                self.order(lo, value) != Ordering::Greater && self.order(value, hi) != Ordering::Greater
            }
            Match::Any => true,
        }
    }

    fn order(&self, a: &Bits, b: &Bits) -> Ordering {
        if self.signed { a.cmp_signed(b) } else { a.cmp_unsigned(b) }
    }

    /// `value` in the key's width.
    pub(crate) fn fit(&self, value: &Bits) -> Result<Bits, EntryError> {
        fit(value, self.width).ok_or_else(|| {
            refused(format!(
                "{} does not fit into the {} bits of `{}`",
                value.to_hex(),
                self.width,
                self.name
            ))
        })
    }

    fn prefix(&self, length: u32) -> Result<Bits, EntryError> {
        if length > self.width {
            return Err(refused(format!("`{}` has {} bits, not {length}", self.name, self.width)));
        }
        Ok(prefix_mask(self.width, length))
    }

    fn unfit(&self, wanted: &Match) -> EntryError {
        let kind = match wanted {
            Match::Exact(_) => "a value",
            Match::Ternary { .. } => "a mask",
            Match::Lpm { .. } => "a prefix",
            Match::Range { .. } => "a range",
            Match::Any => "anything",
        };
        refused(format!("the key `{}` is {}: it cannot match {kind}", self.name, self.kind.name()))
    }
}

/// The key of an entry in the normal form of a table that has these keys; `ranked`: its entries have priorities.
pub(crate) fn entry_key(
    table: &str,
    keys: &[KeySpec],
    ranked: bool,
    matches: &[Match],
    priority: Option<i64>,
) -> Result<EntryKey, EntryError> {
    if keys.is_empty() && matches.is_empty() {
        return Err(refused(format!("`{table}` has no key: only its default action can be set")));
    }
    let matches = normal_of(table, "keys", keys, matches)?.into();
    Ok(EntryKey { matches, priority: if ranked { priority.unwrap_or(0) } else { 0 } })
}

/// Matches in normal form, one for each key of the table or value set `of`.
pub(crate) fn normal_of(
    of: &str,
    what: &str,
    keys: &[KeySpec],
    matches: &[Match],
) -> Result<Vec<Match>, EntryError> {
    if matches.len() != keys.len() {
        return Err(refused(format!("`{of}` has {} {what}, not {}", keys.len(), matches.len())));
    }
    keys.iter().zip(matches).map(|(key, wanted)| key.normal(wanted)).collect()
}

/// `value` in `width` bits, if nothing is lost.
pub fn fit(value: &Bits, width: u32) -> Option<Bits> {
    let fitted = value.resize(width);
    (fitted.to_biguint() == value.to_biguint()).then_some(fitted)
}

/// `length` ones and then zeros.
pub(crate) fn prefix_mask(width: u32, length: u32) -> Bits {
    Bits::ones(width).shl_by(u64::from(width - length.min(width)))
}

/// Reference to an entry of a table.
#[derive(Clone, Copy, Debug)]
pub struct EntryOf<'k> {
    /// The table's control-plane name.
    pub table: &'k str,
    /// One for each key element that is not `selector`.
    pub keys: &'k [Match],
    /// In tables with priorities. Of constant entries it does not count.
    pub priority: Option<i64>,
}
