//! A place that keeps batches.

use crate::batch::Batch;

/// A place that keeps batches: a file, or etcd.
pub trait Store: Send {
    /// Keeps a batch, and returns when it is safe. After an error, the next batch has to contain this one, which may be kept or not.
    fn commit(&mut self, batch: &Batch) -> Result<(), String>;
}

/// For tests.
impl<F: FnMut(&Batch) -> Result<(), String> + Send> Store for F {
    fn commit(&mut self, batch: &Batch) -> Result<(), String> {
        self(batch)
    }
}

impl Store for Box<dyn Store> {
    fn commit(&mut self, batch: &Batch) -> Result<(), String> {
        (**self).commit(batch)
    }
}
