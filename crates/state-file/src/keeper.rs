//! The thread that writes to the file, or to another store.

use crossbeam_channel::{Receiver, Sender, unbounded};
use state_journal::{Batch, Store};
use std::thread::{Builder, JoinHandle};

/// The most rows in one commit of several batches.
const MOST_ROWS: usize = 1 << 16;

/// Has batches written, in order, and says how many are kept.
#[derive(Debug)]
pub struct Keeper {
    batches: Option<Sender<Batch>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the thread. It commits batches, several in one if they have gathered, and calls `report` with the number of batches that it has dealt
    /// with so far, and with the error if the last of them are not kept: they are tried again with the next.
    pub fn start(
        store: impl Store + 'static,
        report: impl FnMut(u64, Result<(), String>) + Send + 'static,
    ) -> std::io::Result<Keeper> {
        let (batches, coming) = unbounded();
        let thread =
            Builder::new().name("state".to_string()).spawn(move || keep_all(store, &coming, report))?;
        Ok(Keeper { batches: Some(batches), thread: Some(thread) })
    }

    /// A batch to keep.
    pub fn send(&self, batch: Batch) {
        if let Some(batches) = &self.batches {
            // Without the thread nothing is reported, and no reply leaves.
            let _ = batches.send(batch);
        }
    }
}

impl Keeper {
    /// Nothing more comes: the thread ends when all is kept.
    pub fn end(&mut self) {
        drop(self.batches.take());
    }

    /// True if the thread has ended.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

/// Everything that was sent is kept before the process ends. The receiver of reports has to take them until the thread has ended.
impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep_all(
    mut store: impl Store,
    coming: &Receiver<Batch>,
    mut report: impl FnMut(u64, Result<(), String>),
) {
    let mut count = 0;
    // Not kept yet.
    let mut all = Batch::default();
    while let Ok(batch) = coming.recv() {
        all.follow(batch);
        count += 1;
        while all.rows.len() < MOST_ROWS
            && let Ok(batch) = coming.try_recv()
        {
            all.follow(batch);
            count += 1;
        }
        let kept = store.commit(&all);
        if kept.is_ok() {
            all = Batch::default();
        }
        report(count, kept);
    }
}
