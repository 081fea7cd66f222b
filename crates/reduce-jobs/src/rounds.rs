//! Number of rounds of a reducer: from the numbers of pairs and of distinct keys, stated before or counted after.

use crate::job::Reducer;
use aggregate::estimate::Estimate;

/// Fewer rounds are better unless others save this share of the bytes.
const WORTH: f64 = 0.02;

impl Reducer {
    /// A number of rounds that saves clearly more bytes than its own; none where pairs evict each other or no switch folds them, and for arrays, whose
    /// rounds follow from their length. `children`: switches whose rows another switch folds on their way.
    pub fn better_rounds(&self, pairs: u64, distinct: u64, children: u32) -> Option<u32> {
        if self.layout.evict || self.layout.is_dense() || !self.is_switched || pairs == 0 {
            return None;
        }
        let estimate = Estimate { mappers: self.mappers.len() as u32, pairs, distinct, children };
        let best = estimate.rounds(&self.layout).min(1 << 15);
        let (own, better) = (estimate.load(&self.layout, self.rounds), estimate.load(&self.layout, best));
        let is_clear = |own: f64, better: f64| better < own * (1.0 - WORTH);
        (is_clear(own.most(), better.most()) || is_clear(own.reducer, better.reducer)).then_some(best)
    }
}
