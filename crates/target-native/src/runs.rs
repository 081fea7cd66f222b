//! Constant entries as runs of numbers, for a search instead of one test after the other.
//!
//! ```text
//! (1, 2500 .. 4999): a     all keys as one number, the exact ones first     0: none, 1 << 32 | 2500: a, 1 << 32 | 5000: b,
//! (1, 5000 .. 9999): b    ─────────────────────────────────────────────>    1 << 32 | 10000: none
//! ```
//!
//! An entry fits a run of numbers if its keys are exact up to one with a range or a prefix, and anything after that: so are the tables that find
//! a leading one, and those of thresholds.

use crate::facts::Constant;
use control_writes::Match;
use dataplane_tables::{KeyLayout, MatchKind, ones};

/// Numbers with the same entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    /// The first of them; the last is before that of the next run.
    pub(crate) first: u64,
    /// The entry, by its position; `None` for a miss.
    pub(crate) entry: Option<usize>,
}

/// The entries of a table for every number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Runs {
    /// Positions of the keys, most significant first, with their widths.
    pub(crate) keys: Vec<(usize, u32)>,
    /// The first begins at 0.
    pub(crate) runs: Vec<Run>,
}

/// The runs of a table's entries, if each fits one.
pub(crate) fn runs(constant: &Constant, layout: &KeyLayout) -> Option<Runs> {
    let fields = layout.fields();
    let width: u32 = fields.iter().map(|(field, _)| field.width).fold(0, u32::saturating_add);
    // Signed numbers are not in the order of their bits.
    if !(1..=64).contains(&width)
        || fields.iter().any(|(field, _)| field.kind == (MatchKind::Range { signed: true }))
    {
        return None;
    }
    let keys = fields.iter().enumerate().map(|(at, (field, _))| (at, field.width));
    let is_exact = |at: usize, width: u32| {
        let bounds = constant.entries.iter().map(|(wanted, _)| bounds(wanted.get(at)?, width));
        bounds.into_iter().all(|bounds| bounds.is_some_and(|(least, most)| least == most))
    };
    let (exact, open): (Vec<_>, Vec<_>) = keys.partition(|(at, width)| is_exact(*at, *width));
    let keys = [exact, open].concat();
    let entries: Vec<(u64, u64)> =
        constant.entries.iter().map(|(wanted, _)| run(wanted, &keys)).collect::<Option<_>>()?;
    let after = entries.iter().filter_map(|(_, last)| last.checked_add(1));
    let mut firsts: Vec<u64> = entries.iter().map(|(first, _)| *first).chain(after).chain([0]).collect();
    firsts.retain(|first| first & !ones(width) == 0);
    firsts.sort_unstable();
    let run = |first: u64| Run {
        first,
        // The best entry is the first.
        entry: entries.iter().position(|(least, most)| (*least..=*most).contains(&first)),
    };
    let mut runs: Vec<Run> = firsts.into_iter().map(run).collect();
    runs.dedup_by_key(|run| run.entry);
    Some(Runs { keys, runs })
}

/// The numbers that an entry fits, first and last.
fn run(wanted: &[Match], keys: &[(usize, u32)]) -> Option<(u64, u64)> {
    let (mut first, mut last) = (0u64, 0u64);
    for (at, width) in keys.iter().filter(|(_, width)| *width > 0) {
        let (least, most) = bounds(wanted.get(*at)?, *width)?;
        if first != last && (least, most) != (0, ones(*width)) {
            return None;
        }
        let join = |high: u64, low| high.checked_shl(*width).unwrap_or(0) | low;
        (first, last) = (join(first, least), join(last, most));
    }
    Some((first, last))
}

/// The numbers that a key fits, if they follow each other.
fn bounds(wanted: &Match, width: u32) -> Option<(u64, u64)> {
    let prefix =
        |value: u64, open: u64| (open & open.wrapping_add(1) == 0).then_some((value & !open, value | open));
    match wanted {
        Match::Any => Some((0, ones(width))),
        Match::Exact(value) => Some((value.low_u64(), value.low_u64())),
        Match::Range { lo, hi } => Some((lo.low_u64(), hi.low_u64())),
        Match::Ternary { value, mask } => prefix(value.low_u64(), ones(width) & !mask.low_u64()),
        Match::Lpm { value, prefix_len } => prefix(value.low_u64(), ones(width.saturating_sub(*prefix_len))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_bits::Bits;
    use base_time::Rng;
    use dataplane_tables::Field;
    use device::embed::ActionView;

    fn constant(entries: Vec<Vec<Match>>) -> Constant {
        let of = |keys: Vec<Match>| (keys.into(), ActionView { action: 0, data: vec![] });
        Constant { entries: entries.into_iter().map(of).collect(), default: None }
    }

    fn layout(fields: &[(MatchKind, u32)]) -> KeyLayout {
        let fields: Vec<Field> =
            fields.iter().map(|(kind, width)| Field { kind: *kind, width: *width }).collect();
        KeyLayout::new(&fields)
    }

    fn fits(wanted: &Match, value: &Bits) -> bool {
        let prefix = |length: u32| Bits::ones(value.width()).shl_by(u64::from(value.width() - length));
        match wanted {
            Match::Any => true,
            Match::Exact(want) => want == value,
            Match::Lpm { value: want, prefix_len } => value.and(&prefix(*prefix_len)) == *want,
            Match::Ternary { value: want, mask } => value.and(mask) == *want,
            Match::Range { lo, hi } => (lo.low_u64()..=hi.low_u64()).contains(&value.low_u64()),
        }
    }

    /// A match that fits a run, or now and then one that does not.
    fn one(rng: &mut Rng, kind: MatchKind, width: u32) -> Match {
        let value = Bits::new(width, rng.next_u128());
        let open = Bits::ones(width).shl_by(rng.below(u64::from(width) + 1));
        match kind {
            MatchKind::Exact => Match::Exact(value),
            MatchKind::Optional if rng.next_bool() => Match::Any,
            MatchKind::Optional => Match::Exact(value),
            MatchKind::Range { .. } => {
                let other = Bits::new(width, rng.next_u128());
                let is_less = value.low_u64() < other.low_u64();
                let (lo, hi) = if is_less { (value, other) } else { (other, value) };
                Match::Range { lo, hi }
            }
            MatchKind::Lpm => {
                let prefix_len = rng.below(u64::from(width) + 1) as u32;
                let mask = Bits::ones(width).shl_by(u64::from(width - prefix_len));
                Match::Lpm { value: value.and(&mask), prefix_len }
            }
            MatchKind::Ternary => {
                let mask = if rng.chance(1, 40) { Bits::new(width, rng.next_u128()) } else { open };
                Match::Ternary { value: value.and(&mask), mask }
            }
        }
    }

    #[test]
    fn runs_have_the_first_entry_that_fits_each_number() {
        let range = MatchKind::Range { signed: false };
        let kinds = [MatchKind::Exact, MatchKind::Lpm, MatchKind::Ternary, MatchKind::Optional, range];
        let mut rng = Rng::new(1);
        let (mut found, mut several) = (0, 0);
        for _ in 0..4000 {
            let fields: Vec<_> =
                (0..1 + rng.index(3)).map(|_| (kinds[rng.index(5)], rng.below(4) as u32)).collect();
            let entries: Vec<Vec<Match>> = (0..rng.index(6))
                .map(|_| fields.iter().map(|(kind, width)| one(&mut rng, *kind, *width)).collect())
                .collect();
            let constant = constant(entries.clone());
            let Some(Runs { keys, runs }) = runs(&constant, &layout(&fields)) else { continue };
            found += 1;
            several += u32::from(runs.len() > 2 && keys.len() > 1);
            assert_eq!(runs[0].first, 0);
            assert!(runs.is_sorted_by(|a, b| a.first < b.first && a.entry != b.entry));
            let width: u32 = fields.iter().map(|(_, width)| width).sum();
            for number in 0..1u64 << width {
                let mut values: Vec<Bits> = fields.iter().map(|(_, width)| Bits::zero(*width)).collect();
                let mut rest = number;
                for (at, width) in keys.iter().rev() {
                    values[*at] = Bits::new(*width, u128::from(rest & ones(*width)));
                    rest >>= width;
                }
                let fits =
                    |keys: &Vec<Match>| keys.iter().zip(&values).all(|(wanted, value)| fits(wanted, value));
                let run = runs.iter().rfind(|run| run.first <= number).unwrap();
                assert_eq!(run.entry, entries.iter().position(fits), "{number:#b} {entries:?}");
            }
        }
        assert!(found > 1500 && several > 300, "{found} {several}");
    }

    #[test]
    fn leading_ones_and_thresholds_are_runs() {
        let bits = |width, value: u64| Bits::new(width, value.into());
        let leads = (0..64).rev().map(|top| {
            let mask = bits(64, u64::MAX >> top << top);
            vec![Match::Ternary { value: bits(64, 1 << top), mask }]
        });
        let found = runs(&constant(leads.collect()), &layout(&[(MatchKind::Ternary, 64)])).unwrap();
        let firsts: Vec<u64> = found.runs.iter().map(|run| run.first).collect();
        assert_eq!(firsts, [0].into_iter().chain((0..64).map(|top| 1 << top)).collect::<Vec<_>>());
        assert!(found.runs[0].entry.is_none() && found.runs[64].entry == Some(0));
        // The exact key is the more significant one wherever it stands.
        let at = |lo, hi, rate| {
            vec![Match::Range { lo: bits(32, lo), hi: bits(32, hi) }, Match::Exact(bits(2, rate))]
        };
        let range = MatchKind::Range { signed: false };
        let fields = [(range, 32), (MatchKind::Exact, 2)];
        let found =
            runs(&constant(vec![at(5, 9, 0), at(10, u64::from(u32::MAX), 3)]), &layout(&fields)).unwrap();
        assert_eq!(found.keys, [(1, 2), (0, 32)]);
        let runs: Vec<_> = found.runs.iter().map(|run| (run.first, run.entry)).collect();
        assert_eq!(runs, [(0, None), (5, Some(0)), (10, None), (3 << 32 | 10, Some(1))]);
    }

    #[test]
    fn what_is_no_run_of_numbers_has_none() {
        let bits = |value: u128| Bits::new(8, value);
        let holes = Match::Ternary { value: bits(1), mask: bits(0x81) };
        let range = Match::Range { lo: bits(1), hi: bits(2) };
        let ranges = MatchKind::Range { signed: false };
        let of = |keys: Vec<Match>, fields: &[_]| runs(&constant(vec![keys]), &layout(fields));
        assert_eq!(of(vec![holes], &[(MatchKind::Ternary, 8)]), None);
        assert_eq!(of(vec![range.clone(), range.clone()], &[(ranges, 8), (ranges, 8)]), None);
        assert!(of(vec![range.clone(), Match::Any], &[(ranges, 8), (MatchKind::Optional, 8)]).is_some());
        assert_eq!(of(vec![range], &[(MatchKind::Range { signed: true }, 8)]), None);
        assert_eq!(of(vec![Match::Any], &[(MatchKind::Ternary, 65)]), None);
    }
}
