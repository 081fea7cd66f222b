//! How the copies of a state object on several devices relate: the words that analysis, splitter and controller share.
//!
//! | mode | for | copies |
//! |---|---|---|
//! | `exclusive` | what packets read and write: registers, meters, frame externs | one |
//! | `replicated` | what only the control plane writes: tables, profiles | equal ones |
//! | `merged` | what a [`Merge`] makes one value of: counters | each with a part |
//! | `sharded` | cells of one flow each | each with cells of its own |
//! | `soft` | what may be lost | any |
//!
//! `ir-state` finds the mode of each object of a program.

/// Places of a state object's copies, and their relation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// There is one, and no packet leaves its device between two uses.
    Exclusive,
    /// All hold what the control plane has written.
    Replicated,
    /// Each holds a part of the value.
    Merged(Merge),
    /// Each cell belongs to one flow, and is where the flow's packets go.
    Sharded,
    /// Each holds whatever its own packets have left there.
    Soft,
}

impl Mode {
    /// As users see it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Exclusive => "exclusive",
            Mode::Replicated => "replicated",
            Mode::Merged(_) => "merged",
            Mode::Sharded => "sharded",
            Mode::Soft => "soft",
        }
    }

    /// The operator that makes one value of several copies.
    pub fn merge(self) -> Option<Merge> {
        match self {
            Mode::Merged(merge) => Some(merge),
            Mode::Exclusive | Mode::Replicated | Mode::Sharded | Mode::Soft => None,
        }
    }
}

/// An operator that makes one value of the values of several copies, in any order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Merge {
    /// The sum.
    Add,
    /// The largest, as an unsigned number.
    Max,
    /// The smallest, as an unsigned number. Cells begin with zero, which is no value.
    Min,
    /// Each bit that is set somewhere.
    Or,
}

/// All operators.
pub const MERGES: [Merge; 4] = [Merge::Add, Merge::Max, Merge::Min, Merge::Or];

impl Merge {
    /// As users write it in `@merge("...")`.
    pub fn name(self) -> &'static str {
        match self {
            Merge::Add => "add",
            Merge::Max => "max",
            Merge::Min => "min",
            Merge::Or => "or",
        }
    }

    /// The operator of this name.
    pub fn of_name(name: &str) -> Option<Merge> {
        MERGES.into_iter().find(|merge| merge.name() == name)
    }

    /// One value of two; a sum ends at the largest number.
    pub fn join(self, one: u64, other: u64) -> u64 {
        match self {
            Merge::Add => one.saturating_add(other),
            Merge::Max => one.max(other),
            Merge::Min => one.min(other),
            Merge::Or => one | other,
        }
    }

    /// One value of the cells of two copies; a sum has to be cut to the width of a cell.
    pub fn combine(self, one: u128, other: u128) -> u128 {
        match self {
            Merge::Add => one.wrapping_add(other),
            Merge::Max => one.max(other),
            Merge::Min if one == 0 || other == 0 => one.max(other),
            Merge::Min => one.min(other),
            Merge::Or => one | other,
        }
    }

    /// Equal values join to the same: what is written is written to every copy. If not, it is written to one, and zero to the
    /// others.
    pub fn is_idempotent(self) -> bool {
        self != Merge::Add
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_makes_one_value_of_two() {
        assert_eq!(MERGES.map(|merge| merge.join(0b1100, 0b1010)), [0b1_0110, 0b1100, 0b1010, 0b1110]);
        assert_eq!(Merge::Add.join(u64::MAX, 1), u64::MAX);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for merge in MERGES {
            let at_others = if merge.is_idempotent() { 5 } else { 0 };
            assert_eq!(merge.join(5, at_others), 5, "{}", merge.name());
        }
    }

    #[test]
    fn operators_have_names() {
        for merge in MERGES {
            assert_eq!(Merge::of_name(merge.name()), Some(merge));
        }
        assert_eq!(Merge::of_name("sum"), None);
    }
}
