//! Entries that are stored before devices get them, where the desired state is stored and outlives the process, and devices outlive it, too:
//!
//! ```text
//! a write whose entries packets find one device after the other    its entries as they will be ──> stored ──> the devices
//! a write of which packets see no part                  frames are kept out ──> its entries are stored ──> the devices ──> frames are let in
//! ```
//!
//! So a controller that takes over gives all devices what one of them may have, and no packet finds an entry as before a write that it has found.

use crate::schedule::TaskId;
use state_journal::Batch;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of the stored state, by key; `None` deletes one.
pub type Rows = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

#[derive(Default)]
pub(crate) struct Storing {
    /// Non-empty batches for the store, and those that are stored; none if nothing waits for the store.
    batches: Option<(u64, u64)>,
    /// Entries of a write in progress as they will be, and the batch that has them, once there is one.
    coming: Option<(Rows, Option<u64>)>,
    /// Tasks that wait for the store.
    pub(crate) waiting: BTreeSet<TaskId>,
}

impl Storing {
    /// From now on, writes wait for the store.
    pub(crate) fn begin(&mut self) {
        self.batches = Some((0, 0));
    }

    pub(crate) fn is_on(&self) -> bool {
        self.batches.is_some()
    }

    /// These rows will be in the next batch. Later ones have no other values of them until they are [forgotten](Storing::forget).
    pub(crate) fn store_first(&mut self, rows: Rows) {
        self.coming = (self.is_on() && !rows.is_empty()).then_some((rows, None));
    }

    pub(crate) fn forget(&mut self) {
        self.coming = None;
    }

    /// True if the rows that were to be stored first are stored.
    pub(crate) fn has_first(&self) -> bool {
        let is_stored = |batch: u64| self.batches.is_none_or(|(_, stored)| batch <= stored);
        self.coming.as_ref().is_none_or(|(_, batch)| batch.is_some_and(is_stored))
    }

    /// A batch for the store.
    pub(crate) fn next(&mut self, mut batch: Batch) -> Batch {
        let Some((last, _)) = &mut self.batches else { return batch };
        if let Some((coming, of)) = &mut self.coming {
            // A program that is stored again comes without them.
            if of.is_none() || batch.program.is_some() {
                batch.rows.extend(coming.clone());
                of.get_or_insert(*last + 1);
            }
            for (key, row) in &mut batch.rows {
                if let Some(coming) = coming.get(key) {
                    row.clone_from(coming);
                }
            }
        }
        *last += u64::from(!batch.is_empty());
        batch
    }

    /// The batch that has all that was noted; there may be notes that no batch has yet.
    pub(crate) fn number(&self, has_notes: bool) -> u64 {
        self.batches.map_or(0, |(last, _)| last + u64::from(has_notes))
    }

    pub(crate) fn has(&self, batch: u64) -> bool {
        self.batches.is_none_or(|(_, stored)| batch <= stored)
    }

    /// So many batches are stored, or will never be.
    pub(crate) fn stored(&mut self, batches: u64) {
        if let Some((_, stored)) = &mut self.batches {
            *stored = batches;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::p4::v1::ForwardingPipelineConfig;

    fn rows(all: &[(u8, Option<u8>)]) -> Rows {
        all.iter().map(|(key, value)| (vec![*key], value.map(|value| vec![value]))).collect()
    }

    fn batch(all: &[(u8, Option<u8>)]) -> Batch {
        Batch { program: None, rows: rows(all) }
    }

    #[test]
    fn rows_that_come_are_in_the_next_batch_and_no_later_one_has_others() {
        let mut storing = Storing::default();
        storing.store_first(rows(&[(1, Some(1))]));
        assert!(storing.has_first(), "nothing is stored");
        assert_eq!(storing.next(Batch::default()), Batch::default());
        storing.begin();
        assert_eq!(storing.next(batch(&[(7, None)])), batch(&[(7, None)]));
        storing.store_first(rows(&[(1, Some(1)), (2, None)]));
        assert!(!storing.has_first());
        assert_eq!(
            storing.next(batch(&[(1, Some(0)), (3, None)])),
            batch(&[(1, Some(1)), (2, None), (3, None)])
        );
        storing.stored(1);
        assert!(!storing.has_first(), "it is the second batch");
        // Nothing is stored, so it is no batch.
        assert!(storing.next(Batch::default()).is_empty());
        assert_eq!((storing.number(false), storing.number(true)), (2, 3));
        assert_eq!(
            storing.next(batch(&[(2, Some(5))])),
            batch(&[(2, None)]),
            "a write that is rolled back and tried again"
        );
        storing.stored(2);
        assert!(storing.has_first() && !storing.has(3));
        let again = Batch { program: Some(ForwardingPipelineConfig::default()), rows: rows(&[(1, Some(0))]) };
        assert_eq!(storing.next(again).rows, rows(&[(1, Some(1)), (2, None)]));
        storing.forget();
        assert_eq!(storing.next(batch(&[(1, Some(0))])), batch(&[(1, Some(0))]));
    }
}
