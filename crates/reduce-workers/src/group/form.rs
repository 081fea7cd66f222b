//! Form of a call's values in packets: pieces of 24 or 32 bits, each a pair of its own.
//!
//! A switch folds unsigned values of 32 bits. Sums of N programs must stay below 2^32 there, so larger values are cut into pieces of 24
//! bits. Negative values of arrays are moved up by the least one; those of keys, which not every program has, get a pair of their own.
//!
//! | operator | data | values | form |
//! |---|---|---|---|
//! | add | array | any | `value - least`, in one piece if N of the largest fit 32 bits, or three |
//! | add | keys | 0 to 2^32 - 1; larger | one piece; three |
//! | add | keys | some are negative | the same of the magnitude, negative ones apart |
//! | max, min | any | at most 2^32 - 1 apart | `value - least` |
//! | or | any | 32 or 64 bits | one piece; two |

use super::{GroupError, problem};
use aggregate::Op;
use serde::{Deserialize, Serialize};

/// The most programs whose pieces of 24 bits have a sum below 2^32.
pub(super) const MOST_PROGRAMS: usize = 256;

/// The form of a call's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Form {
    /// Subtracted from each value.
    pub least: i64,
    /// Bits of a piece.
    pub bits: u32,
    /// Pieces of a magnitude.
    pub parts: u32,
    /// 2: negative values have pairs of their own.
    pub signs: u32,
}

/// Range and type of the values of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub op: Op,
    /// All programs have the same keys: places of an array.
    pub is_array: bool,
    /// The smallest and the largest value of any program.
    pub least: i128,
    pub most: i128,
    /// Programs that send pairs.
    pub programs: u32,
}

const WIDE: i128 = u32::MAX as i128;

impl Form {
    /// The form with the fewest pieces.
    pub fn of(range: Range) -> Result<Form, GroupError> {
        let Range { op, is_array, least, most, programs } = range;
        let plain = Form { least: 0, bits: 32, parts: 1, signs: 1 };
        let sum = |largest: i128, times: i128| match largest.saturating_mul(times) <= WIDE {
            true => plain,
            false => Form { bits: 24, parts: 3, ..plain },
        };
        Ok(match op {
            Op::Max | Op::Min if most - least <= WIDE => match i64::try_from(least) {
                Ok(least) => Form { least, ..plain },
                Err(_) => return Err(too_wide(op)),
            },
            Op::Max | Op::Min => return Err(too_wide(op)),
            Op::Or if most <= WIDE => plain,
            Op::Or => Form { parts: 2, ..plain },
            Op::Add if is_array => {
                let least = least.min(0);
                Form { least: least as i64, ..sum(most - least, programs.into()) }
            }
            // A few large values travel past the switches, rather than all in pieces.
            Op::Add => Form { signs: 1 + u32::from(least < 0), ..sum(most.max(-least), 1) },
        })
    }

    /// Pairs that a key may have.
    pub fn chunks(&self) -> u32 {
        self.parts * self.signs
    }

    /// The pieces of a value that are not 0, or the first one: chunk and piece.
    pub fn pieces(self, value: i128) -> impl Iterator<Item = (u32, u32)> {
        let moved = value - i128::from(self.least);
        let first = if self.signs == 2 && moved < 0 { self.parts } else { 0 };
        let magnitude = moved.unsigned_abs();
        let mask = (1u128 << self.bits) - 1;
        let piece = move |part: u32| (first + part, (magnitude >> (self.bits * part) & mask) as u32);
        (0..self.parts).map(piece).filter(move |(chunk, piece)| *chunk == first || *piece != 0)
    }

    /// The value of a folded piece.
    pub fn value(&self, chunk: u32, folded: u64) -> i128 {
        let magnitude = i128::from(folded) << (self.bits * (chunk % self.parts));
        if chunk < self.parts { magnitude } else { -magnitude }
    }

    /// Correction to add to a key's folded pieces.
    pub fn correction(&self, range: &Range) -> i128 {
        let times = if range.op == Op::Add { i128::from(range.programs) } else { 1 };
        i128::from(self.least) * times
    }
}

fn too_wide(op: Op) -> GroupError {
    problem(
        format!("the values of `{op}` are more than 2^32 - 1 apart"),
        "a slot of a switch has 32 bits: use a coarser unit",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Folds values as switches and reducer do, piece by piece.
    fn folded(op: Op, is_array: bool, values: &[i128]) -> Result<i128, GroupError> {
        let (least, most) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
        let range = Range { op, is_array, least, most, programs: values.len() as u32 };
        let form = Form::of(range)?;
        let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
        for (chunk, piece) in values.iter().flat_map(|value| form.pieces(*value)) {
            let piece = u64::from(piece);
            sums.entry(chunk).and_modify(|sum| *sum = op.fold_wide(*sum, piece)).or_insert(piece);
        }
        let value: i128 = sums.iter().map(|(chunk, sum)| form.value(*chunk, *sum)).sum();
        let array_or_order = is_array || op != Op::Add;
        Ok(value + if array_or_order { form.correction(&range) } else { 0 })
    }

    #[test]
    fn values_come_back_from_their_pieces() {
        let (top, bottom) = (i128::from(u64::MAX), i128::from(i64::MIN));
        let cases: [&[i128]; 7] = [
            &[1, 2, 3],
            &[0, 0],
            &[-5, 3, 0],
            &[bottom, bottom, i128::from(i64::MAX)],
            &[top, top],
            &[1 << 31, 1 << 31, -1],
            &[5_000_000_000, 1],
        ];
        for values in cases {
            let wanted: i128 = values.iter().sum();
            for is_array in [false, true] {
                assert_eq!(folded(Op::Add, is_array, values), Ok(wanted), "{values:?}");
            }
        }
        for values in [&[-5, 3, 0][..], &[1 << 40, (1 << 40) + 9], &[bottom, bottom + 7]] {
            assert_eq!(folded(Op::Max, true, values), Ok(*values.iter().max().unwrap()));
            assert_eq!(folded(Op::Min, false, values), Ok(*values.iter().min().unwrap()));
        }
        assert!(folded(Op::Max, true, &[0, 1 << 32]).is_err());
        assert_eq!(folded(Op::Or, true, &[1 << 63, 5, 1 << 33]), Ok(1 << 63 | 5 | 1 << 33));
    }

    #[test]
    fn sums_of_pieces_fit_a_slot() {
        let range =
            Range { op: Op::Add, is_array: true, least: -9, most: 1 << 40, programs: MOST_PROGRAMS as u32 };
        let form = Form::of(range).expect("there is a form");
        let most = form.pieces(1 << 40).chain(form.pieces(-10 + (1 << 24))).map(|(_, piece)| piece).max();
        assert!(u64::from(most.unwrap()) * MOST_PROGRAMS as u64 <= u64::from(u32::MAX));
        // As few pieces as can be.
        assert_eq!(Form::of(Range { most: 1 << 20, ..range }).map(|form| form.parts), Ok(1));
    }
}
