//! A table as the specification says it: a list of entries, looked through in order.

#![allow(dead_code)]

use base_bits::Bits;
use base_time::Rng;
use control_writes::Match;
use dataplane_tables::*;
use std::cmp::Ordering;

/// A list of entries, the oldest first.
pub struct Oracle {
    pub fields: Vec<Field>,
    pub size: usize,
    pub entries: Vec<(Vec<Match>, i64, u32)>,
}

impl Oracle {
    /// The number of the entry that wins.
    pub fn lookup(&self, key: &[Bits]) -> u32 {
        let mut best: Option<(i64, u32)> = None;
        for (matches, priority, number) in &self.entries {
            let fits = self
                .fields
                .iter()
                .zip(matches)
                .zip(key)
                .all(|((field, wanted), value)| fits(field, wanted, value));
            let rank = self.rank(matches, *priority);
            if fits && best.is_none_or(|(r, _)| rank > r) {
                best = Some((rank, *number));
            }
        }
        best.map_or(MISS, |(_, number)| number)
    }

    fn rank(&self, matches: &[Match], priority: i64) -> i64 {
        if self.has_priorities() {
            return priority;
        }
        let prefix = matches.iter().find_map(|m| match m {
            Match::Lpm { prefix_len, .. } => Some(*prefix_len),
            _ => None,
        });
        prefix.map_or(0, i64::from)
    }

    pub fn has_priorities(&self) -> bool {
        let ranked =
            |f: &Field| matches!(f.kind, MatchKind::Ternary | MatchKind::Range { .. } | MatchKind::Optional);
        self.fields.iter().any(ranked)
    }

    pub fn position(&self, matches: &[Match], priority: i64) -> Option<usize> {
        self.entries.iter().position(|(m, p, _)| m == matches && *p == priority)
    }
}

fn fits(field: &Field, wanted: &Match, value: &Bits) -> bool {
    match wanted {
        Match::Exact(want) => want == value,
        Match::Ternary { value: want, mask } => value.and(mask) == *want,
        Match::Lpm { value: want, prefix_len } => value.and(&prefix(field.width, *prefix_len)) == *want,
        Match::Any => true,
        Match::Range { lo, hi } => {
            let order = |a: &Bits, b: &Bits| match field.kind {
                MatchKind::Range { signed: true } => a.cmp_signed(b),
                _ => a.cmp_unsigned(b),
            };
            order(lo, value) != Ordering::Greater && order(value, hi) != Ordering::Greater
        }
    }
}

pub fn prefix(width: u32, length: u32) -> Bits {
    Bits::ones(width).shl_by(u64::from(width - length))
}

/// A value with few different bits, so that entries meet.
pub fn value(rng: &mut Rng, width: u32) -> Bits {
    let few = rng.below(3);
    let mut value = match rng.below(4) {
        0 => Bits::zero(width),
        1 => Bits::ones(width),
        2 => Bits::new(width, u128::from(rng.below(6))),
        _ => Bits::new(width, rng.next_u128()).concat(&Bits::new(width, rng.next_u128())).resize(width),
    };
    for _ in 0..few.min(u64::from(width)) {
        let at = rng.below(u64::from(width));
        value = value.xor(&Bits::one(width).shl_by(at));
    }
    value
}

/// Random match on a field, in normal form.
pub fn field_match(rng: &mut Rng, field: &Field) -> Match {
    let width = field.width;
    let one = value(rng, width);
    match field.kind {
        MatchKind::Exact => Match::Exact(one),
        MatchKind::Optional if rng.next_bool() => Match::Any,
        MatchKind::Optional => Match::Exact(one),
        MatchKind::Lpm => {
            let prefix_len = rng.below(u64::from(width) + 1) as u32;
            Match::Lpm { value: one.and(&prefix(width, prefix_len)), prefix_len }
        }
        MatchKind::Ternary => {
            let mask = match rng.below(3) {
                0 => prefix(width, rng.below(u64::from(width) + 1) as u32),
                1 => Bits::ones(width),
                _ => value(rng, width),
            };
            Match::Ternary { value: one.and(&mask), mask }
        }
        MatchKind::Range { signed } => {
            let other = value(rng, width);
            let order = if signed { one.cmp_signed(&other) } else { one.cmp_unsigned(&other) };
            let (lo, hi) = if order == Ordering::Greater { (other, one) } else { (one, other) };
            Match::Range { lo, hi }
        }
    }
}

/// A packet's value for a field: one that an entry wants, or any.
pub fn near(rng: &mut Rng, field: &Field, wanted: Option<&Match>) -> Bits {
    let other = value(rng, field.width);
    if rng.chance(1, 6) {
        return other;
    }
    match wanted {
        Some(Match::Exact(want)) => want.clone(),
        Some(Match::Ternary { value: want, mask }) => want.or(&other.and(&mask.not())),
        Some(Match::Lpm { value: want, prefix_len }) => {
            want.or(&other.and(&prefix(field.width, *prefix_len).not()))
        }
        Some(Match::Range { lo, hi }) => {
            let pick =
                [lo.clone(), hi.clone(), lo.sub(&Bits::one(field.width)), hi.add(&Bits::one(field.width))];
            pick[rng.index(4)].clone()
        }
        _ => other,
    }
}
