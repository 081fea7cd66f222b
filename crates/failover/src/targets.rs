//! The targets of an edge: the preferred one is number 0, spares follow in order.

use std::ops::{BitAnd, BitOr, BitXor, Not};

/// The number of a target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Target(pub u8);

/// The most targets that an edge can have.
pub const MOST_TARGETS: usize = 32;

/// A set of targets, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Targets(pub u32);

impl Targets {
    /// No target.
    pub const NONE: Targets = Targets(0);

    /// The first `count` targets.
    pub fn first(count: usize) -> Targets {
        Targets(((1_u64 << count.min(MOST_TARGETS)) - 1) as u32)
    }

    /// True if there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if the target is among them.
    pub fn contains(self, target: Target) -> bool {
        !(self & target.into()).is_empty()
    }

    /// With one more.
    pub fn with(self, target: Target) -> Targets {
        self | target.into()
    }

    /// The set of the one that stands first, as `x & -x` gives it.
    pub fn preferred(self) -> Targets {
        Targets(self.0 & self.0.wrapping_neg())
    }

    /// The number of the one that stands first.
    pub fn target(self) -> Option<Target> {
        (!self.is_empty()).then(|| Target(self.0.trailing_zeros() as u8))
    }
}

impl From<Target> for Targets {
    fn from(target: Target) -> Targets {
        Targets(1_u32.checked_shl(target.0.into()).unwrap_or(0))
    }
}

impl BitAnd for Targets {
    type Output = Targets;

    fn bitand(self, other: Targets) -> Targets {
        Targets(self.0 & other.0)
    }
}

impl BitOr for Targets {
    type Output = Targets;

    fn bitor(self, other: Targets) -> Targets {
        Targets(self.0 | other.0)
    }
}

impl BitXor for Targets {
    type Output = Targets;

    fn bitxor(self, other: Targets) -> Targets {
        Targets(self.0 ^ other.0)
    }
}

impl Not for Targets {
    type Output = Targets;

    fn not(self) -> Targets {
        Targets(!self.0)
    }
}
