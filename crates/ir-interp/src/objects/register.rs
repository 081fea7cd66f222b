//! `register`: cells that the data plane reads and writes.

use crate::value::Value;
use std::collections::BTreeMap;

/// An array of cells, all zero at the start.
#[derive(Clone, Debug)]
pub(crate) struct Register {
    pub(crate) size: u64,
    zero: Value,
    /// Those that are not zero.
    cells: BTreeMap<u64, Value>,
}

impl Register {
    /// `size` cells of `zero`.
    pub(crate) fn new(size: u64, zero: Value) -> Register {
        Register { size, zero, cells: BTreeMap::new() }
    }

    /// A cell; `None` out of range.
    pub(crate) fn read(&self, index: u64) -> Option<&Value> {
        (index < self.size).then(|| self.cells.get(&index).unwrap_or(&self.zero))
    }

    /// Writes a cell; false out of range.
    pub(crate) fn write(&mut self, index: u64, value: Value) -> bool {
        if index >= self.size {
            return false;
        }
        if value == self.zero {
            self.cells.remove(&index);
        } else {
            self.cells.insert(index, value);
        }
        true
    }

    /// The zero value of its cells.
    pub(crate) fn zero(&self) -> &Value {
        &self.zero
    }

    /// All cells become zero.
    pub(crate) fn clear(&mut self) {
        self.cells.clear();
    }

    /// The cells that are not zero, in order.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (u64, &Value)> {
        self.cells.iter().map(|(index, value)| (*index, value))
    }
}
