//! A batch: the changes that are kept in one transaction.

use p4runtime_proto::p4::v1::ForwardingPipelineConfig;
use std::collections::BTreeMap;

/// Changes of what is kept, all or none.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Batch {
    /// A program that runs from here on. Everything that was kept before goes.
    pub program: Option<ForwardingPipelineConfig>,
    /// Rows by their keys; `None` deletes one.
    pub rows: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Batch {
    /// True if there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.program.is_none() && self.rows.is_empty()
    }

    /// Both, one after the other.
    pub fn follow(&mut self, later: Batch) {
        if later.program.is_some() {
            *self = later;
        } else {
            self.rows.extend(later.rows);
        }
    }
}
