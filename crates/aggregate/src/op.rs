//! Operators that fold values: each associative and commutative, over unsigned 32-bit values.

use std::fmt;
use std::str::FromStr;

/// An operator, with its number in packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Op {
    /// Sum, modulo 2^32 in a switch; [`Op::most_value`] keeps it below.
    Add = 0,
    /// The larger value.
    Max = 1,
    /// The smaller value.
    Min = 2,
    /// Bitwise or.
    Or = 3,
}

impl Op {
    /// Every operator, by number.
    pub const ALL: [Op; 4] = [Op::Add, Op::Max, Op::Min, Op::Or];

    /// The operator with a number of packets.
    pub fn from_number(number: u8) -> Option<Op> {
        Op::ALL.get(usize::from(number)).copied()
    }

    /// The name in job files and reports.
    pub fn word(self) -> &'static str {
        match self {
            Op::Add => "add",
            Op::Max => "max",
            Op::Min => "min",
            Op::Or => "or",
        }
    }

    /// Folds two values as a switch does.
    pub fn fold(self, a: u32, b: u32) -> u32 {
        match self {
            Op::Add => a.wrapping_add(b),
            Op::Max => a.max(b),
            Op::Min => a.min(b),
            Op::Or => a | b,
        }
    }

    /// Folds two values as a reducer does. Sums saturate at 2^64 - 1.
    pub fn fold_wide(self, a: u64, b: u64) -> u64 {
        match self {
            Op::Add => a.saturating_add(b),
            Op::Max => a.max(b),
            Op::Min => a.min(b),
            Op::Or => a | b,
        }
    }

    /// The largest value that a mapper may let a switch fold, where `mappers` send each key at most once per generation: sums then
    /// stay below 2^32.
    pub fn most_value(self, mappers: u32) -> u32 {
        match self {
            Op::Add => u32::MAX / mappers.max(1),
            Op::Max | Op::Min | Op::Or => u32::MAX,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Op {
    type Err = ();

    fn from_str(word: &str) -> Result<Op, ()> {
        Op::ALL.into_iter().find(|op| op.word() == word).ok_or(())
    }
}
