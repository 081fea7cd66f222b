//! `register`: cells that the data plane reads and writes.

use ir_value::{Value, numbers};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An array of cells, which are equal at the start.
#[derive(Clone, Debug)]
pub(crate) struct Register {
    pub(crate) size: u64,
    zero: Value,
    cells: Cells,
}

/// Storage of the cells.
#[derive(Clone, Debug)]
enum Cells {
    /// Cells that are not as at the start.
    Sparse(BTreeMap<u64, Value>),
    /// All, one after the other as numbers of [`cell_bytes`](Register::cell_bytes): compiled code reads and writes them.
    Flat(Arc<[AtomicU64]>),
}

impl Register {
    /// `size` cells of `zero`.
    pub(crate) fn new(size: u64, zero: Value) -> Register {
        Register { size, zero, cells: Cells::Sparse(BTreeMap::new()) }
    }

    /// A cell; `None` out of range.
    pub(crate) fn read(&self, index: u64) -> Option<Value> {
        if index >= self.size {
            return None;
        }
        Some(match &self.cells {
            Cells::Sparse(cells) => cells.get(&index).unwrap_or(&self.zero).clone(),
            Cells::Flat(words) => self.flat_cell(words, index),
        })
    }

    /// Writes a cell; false out of range.
    pub(crate) fn write(&mut self, index: u64, value: Value) -> bool {
        if index >= self.size {
            return false;
        }
        let bytes = self.cell_bytes();
        match &mut self.cells {
            Cells::Sparse(cells) if value == self.zero => {
                cells.remove(&index);
            }
            Cells::Sparse(cells) => {
                cells.insert(index, value);
            }
            Cells::Flat(words) => {
                let bits = numbers::packed(&value).map_or(0, |(number, _)| number);
                let (at, shift) = place(index, bytes);
                if bytes >= 8 {
                    for (word, part) in words[at..at + bytes as usize / 8].iter().zip([bits, bits >> 64]) {
                        word.store(part as u64, Relaxed);
                    }
                } else {
                    let hole = !(mask(bytes) << shift);
                    let with = |word: u64| Some(word & hole | (bits as u64 & mask(bytes)) << shift);
                    // Workers share the word: the cells beside this one must not get an old value. `with` always gives one.
                    words[at].fetch_update(Relaxed, Relaxed, with).ok();
                }
            }
        }
        true
    }

    /// The value of its cells at the start.
    pub(crate) fn zero(&self) -> &Value {
        &self.zero
    }

    /// All cells become as at the start.
    pub(crate) fn clear(&mut self) {
        match &mut self.cells {
            Cells::Sparse(cells) => cells.clear(),
            Cells::Flat(words) => {
                words.iter().for_each(|word| word.store(0, Relaxed));
                self.fill();
            }
        }
    }

    /// The cells that are not as at the start, in order.
    pub(crate) fn cells(&self) -> Vec<(u64, Value)> {
        self.cells_of(0..self.size)
    }

    /// Cells of a range that are not as at the start, in order. The range must exist.
    pub(crate) fn cells_of(&self, wanted: Range<u64>) -> Vec<(u64, Value)> {
        match &self.cells {
            Cells::Sparse(cells) => {
                cells.range(wanted).map(|(index, value)| (*index, value.clone())).collect()
            }
            Cells::Flat(words) => {
                let cells = wanted.map(|index| (index, self.flat_number(words, index)));
                let zero = self.zero_number();
                let used = cells.filter(|(_, number)| *number != zero);
                used.map(|(index, number)| (index, self.flat_value(number))).collect()
            }
        }
    }

    /// True if its cells can be an array: they are `most` at most, and numbers, or structs of numbers, of up to 128 bits.
    pub(crate) fn can_be_flat(&self, most: u64) -> bool {
        self.size <= most && numbers::packed(&self.zero).is_some()
    }

    fn zero_number(&self) -> u128 {
        numbers::packed(&self.zero).map_or(0, |(number, _)| number)
    }

    /// All cells of an array of zeros become as at the start.
    fn fill(&mut self) {
        if self.zero_number() != 0 {
            (0..self.size).for_each(|index| {
                self.write(index, self.zero.clone());
            });
        }
    }

    /// Brings the cells into an array that compiled code can share, if they [`can be`](Register::can_be_flat).
    pub(crate) fn flatten(&mut self, most: u64) -> Option<Arc<[AtomicU64]>> {
        if !self.can_be_flat(most) {
            return None;
        }
        if let Cells::Flat(words) = &self.cells {
            return Some(Arc::clone(words));
        }
        let words: Arc<[AtomicU64]> =
            (0..(self.size * u64::from(self.cell_bytes())).div_ceil(8)).map(|_| AtomicU64::new(0)).collect();
        let old = std::mem::replace(&mut self.cells, Cells::Flat(Arc::clone(&words)));
        self.fill();
        if let Cells::Sparse(old) = old {
            for (index, value) in old {
                self.write(index, value);
            }
        }
        Some(words)
    }

    /// Bytes of a cell in the array: 1, 2, 4, 8 or 16.
    pub(crate) fn cell_bytes(&self) -> u32 {
        let width = numbers::packed(&self.zero).map_or(1, |(_, width)| width);
        width.div_ceil(8).max(1).next_power_of_two()
    }

    fn flat_cell(&self, words: &[AtomicU64], index: u64) -> Value {
        self.flat_value(self.flat_number(words, index))
    }

    fn flat_number(&self, words: &[AtomicU64], index: u64) -> u128 {
        let bytes = self.cell_bytes();
        let (at, shift) = place(index, bytes);
        let word = |at: usize| words[at].load(Relaxed);
        match bytes {
            16 => u128::from(word(at + 1)) << 64 | u128::from(word(at)),
            _ => u128::from(word(at) >> shift & mask(bytes)),
        }
    }

    fn flat_value(&self, number: u128) -> Value {
        numbers::unpacked(&self.zero, number)
    }
}

/// Index of the word in which a cell of `bytes` bytes begins, and the cell's offset in bits.
fn place(index: u64, bytes: u32) -> (usize, u32) {
    let at = index * u64::from(bytes);
    let below = (at % 8) as u32;
    let shift = if cfg!(target_endian = "big") { 8u32.saturating_sub(below + bytes) } else { below };
    ((at / 8) as usize, 8 * shift)
}

fn mask(bytes: u32) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_bits::Bits;

    fn cell(width: u32, value: u128) -> Value {
        Value::Bits(Bits::new(width, value))
    }

    #[test]
    fn flat_cells_are_those_of_the_map() {
        for width in [1, 8, 9, 32, 33, 64, 65, 128] {
            let mut sparse = Register::new(8, cell(width, 0));
            for (index, value) in [(0, 1), (3, u128::MAX), (7, 1 << 70 | 5), (8, 1)] {
                sparse.write(index, cell(width, value));
            }
            let mut flat = sparse.clone();
            flat.flatten(8).unwrap();
            assert_eq!(flat.cells(), sparse.cells());
            for register in [&mut sparse, &mut flat] {
                register.write(3, cell(width, 0));
                register.write(4, cell(width, 6));
            }
            assert_eq!(flat.cells(), sparse.cells());
            assert_eq!(flat.read(8), None);
            flat.clear();
            assert_eq!(flat.cells(), []);
        }
        let pair = |low, high| Value::Struct(vec![cell(16, low), cell(17, high)]);
        let mut sparse = Register::new(4, pair(1, 2));
        sparse.write(1, pair(0, 0));
        let mut flat = sparse.clone();
        flat.flatten(8).unwrap();
        for register in [&mut sparse, &mut flat] {
            register.write(3, pair(3, 0x1_ffff));
            assert_eq!(register.read(0), Some(pair(1, 2)));
            assert_eq!(register.cells(), [(1, pair(0, 0)), (3, pair(3, 0x1_ffff))]);
            register.clear();
            assert_eq!(register.cells(), []);
            assert_eq!(register.read(3), Some(pair(1, 2)));
        }
        assert!(Register::new(9, cell(8, 0)).flatten(8).is_none());
        assert!(Register::new(8, cell(129, 0)).flatten(8).is_none());
    }
}
