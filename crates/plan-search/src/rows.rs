//! Rows of different lengths in one allocation.

use std::ops::{Index, IndexMut, Range};

/// Rows of numbers.
#[derive(Clone, Debug)]
pub struct Rows {
    /// End of each row.
    ends: Vec<usize>,
    values: Vec<i64>,
}

impl Rows {
    /// Rows of these lengths, with one value in all places.
    pub fn new(lengths: impl Iterator<Item = usize>, value: i64) -> Rows {
        let mut end = 0;
        let ends: Vec<usize> = lengths.map(|length| (end += length, end).1).collect();
        Rows { values: vec![value; end], ends }
    }

    fn range(&self, row: usize) -> Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start..self.ends[row]
    }
}

impl Index<usize> for Rows {
    type Output = [i64];

    #[inline]
    fn index(&self, row: usize) -> &[i64] {
        &self.values[self.range(row)]
    }
}

impl IndexMut<usize> for Rows {
    #[inline]
    fn index_mut(&mut self, row: usize) -> &mut [i64] {
        let range = self.range(row);
        &mut self.values[range]
    }
}
