//! Messages between devices and hub, and the arithmetic of cells.

use state_modes::Merge as Operator;

/// Counts of a device. `C` identifies a cell.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Push<C> {
    /// Larger than at any start of the device before; not zero.
    pub incarnation: u64,
    /// Counts the pushes of this incarnation, from 1.
    pub sequence: u64,
    /// The newest merge that has come, 0 for none.
    pub seen: u64,
    /// Cells that have changed since the push that the hub has named last.
    pub cells: Vec<Cell<C>>,
    /// Cells that the device has retired since then.
    pub retired: Vec<Retired<C>>,
}

/// Counts of all other devices.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Merge<C> {
    /// The incarnation it is for.
    pub incarnation: u64,
    /// Counts the merges to this incarnation, from 1.
    pub sequence: u64,
    /// The newest push that has come.
    pub seen: u64,
    /// Cells that have changed since the merge that the device has named last.
    pub cells: Vec<Cell<C>>,
}

/// A cell in a message.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cell<C> {
    /// The cell.
    pub cell: C,
    /// Control-plane writes since the hub has first heard of the incarnation.
    pub epoch: u32,
    /// In a push, the device's count in this epoch; in a merge, the sum of all others' counts and the written value.
    pub value: u128,
}

/// A cell that a device has retired, in a push.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Retired<C> {
    /// The cell, with the device's last count.
    pub last: Cell<C>,
    /// The first push that says so. Every later one says it again until it is named, so who has taken one of them has taken this.
    pub since: u64,
}

/// Effect of a merge on a cell of the data plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Adds, modulo the cell's width, in one atomic step.
    Add(u128),
    /// Takes the value in by the operator, in one atomic step.
    Combine(u128),
    /// Replaces the value, in one atomic step: a new epoch.
    Set(u128),
}

/// The operator and the width of an object's cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// How copies make one value.
    pub operator: Operator,
    /// Bits of a cell, 1 to 128. Sums wrap.
    pub width: u32,
}

impl Kind {
    /// The value of no counts. Cells of the data plane start at zero, so to `min` zero is no value.
    pub const ZERO: u128 = 0;

    /// The value of two copies together.
    pub fn combine(self, a: u128, b: u128) -> u128 {
        self.operator.combine(a, b) & self.mask()
    }

    /// A cell's value after a change.
    pub fn after(self, shown: u128, change: Change) -> u128 {
        match change {
            Change::Add(delta) => shown.wrapping_add(delta) & self.mask(),
            Change::Combine(value) => self.combine(shown, value),
            Change::Set(value) => value & self.mask(),
        }
    }

    pub(super) fn minus(self, a: u128, b: u128) -> u128 {
        a.wrapping_sub(b) & self.mask()
    }

    pub(super) fn mask(self) -> u128 {
        u128::MAX >> (128 - self.width.clamp(1, 128))
    }

    pub(super) fn is_sum(self) -> bool {
        self.operator == Operator::Add
    }
}
