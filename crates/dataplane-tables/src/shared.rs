//! Copies of all tables for the data plane, and how they change.
//!
//! ```text
//!                         ┌─ left  <── workers read
//! Control ── publish ──> ─┤
//!                         └─ right <── is changed, then they swap, then left is changed
//! ```
//!
//! Two copies of the whole pipeline. A worker [pins](Shared::pin) the active one for a batch of packets; a publication
//! changes the other one, swaps them, waits for batches that still run on the old one, and changes it as well. So a
//! batch of writes over any tables is seen at once or not at all, and when [`publish`](Shared::publish) returns, every
//! later batch sees it and no reader uses what it removed.
//!
//! Both copies are behind a reader-writer lock that is never contended for long: workers only try to lock the active copy,
//! and a publication locks the one that is not. A try fails only if the copies were swapped since its number was read, so a
//! worker never waits; it tries again, once for each publication that overtakes it. That is the left-right
//! scheme (Ramalhete, Correia 2015) with the compiler as witness: there is no `unsafe` in it. Cost: two atomic
//! operations a pin. The crate `left-right` spreads them over cache lines of the readers' own, which pays from many workers and small
//! batches on; a log of operations, as it wants, would hold each key once more, where here the control plane's own entries
//! are the log.

use crate::control::{Control, ProfileId, TableId};
use crate::profile::Profile;
use crate::table::Table;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, TryLockError};

/// One copy of all tables and profiles of a pipeline.
#[derive(Clone, Debug)]
pub struct Tables {
    tables: Vec<Table>,
    profiles: Vec<Profile>,
    publications: u64,
}

impl Tables {
    /// An own copy, for a data plane that one thread owns. To be made before the first write to `control`.
    pub fn new(control: &Control) -> Tables {
        let (tables, profiles) = control.data_plane();
        Tables { tables, profiles, publications: 0 }
    }

    /// One table.
    #[inline]
    pub fn table(&self, id: TableId) -> &Table {
        &self.tables[id]
    }

    /// One profile.
    #[inline]
    pub fn profile(&self, id: ProfileId) -> &Profile {
        &self.profiles[id]
    }

    /// Number of publications that have changed this copy.
    #[inline]
    pub fn publications(&self) -> u64 {
        self.publications
    }

    /// Does all that was written since the last publication, without other threads and without a second copy.
    pub fn publish(&mut self, control: &mut Control) {
        control.seal();
        self.apply(control);
        control.settle();
    }

    fn apply(&mut self, control: &Control) {
        self.publications += 1;
        self.tables.iter_mut().zip(&control.tables).for_each(|(table, store)| table.apply(store));
        self.profiles.iter_mut().zip(&control.profiles).for_each(|(profile, store)| profile.apply(store));
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        self.tables.iter().map(Table::bytes).sum::<usize>()
            + self.profiles.iter().map(Profile::bytes).sum::<usize>()
    }
}

/// Two copies of all tables, for several threads. See the module.
#[derive(Debug)]
pub struct Shared {
    copies: [RwLock<Tables>; 2],
    active: AtomicUsize,
}

impl Shared {
    /// To be made before the first write to `control`.
    pub fn new(control: &Control) -> Shared {
        let tables = Tables::new(control);
        Shared { copies: [RwLock::new(tables.clone()), RwLock::new(tables)], active: AtomicUsize::new(0) }
    }

    /// The tables for one batch of packets. The returned value delays publications, so drop it with the batch; a thread that
    /// publishes while it holds the value waits forever.
    #[inline]
    pub fn pin(&self) -> RwLockReadGuard<'_, Tables> {
        loop {
            match self.copies[self.active.load(Ordering::Acquire) & 1].try_read() {
                Ok(tables) => return tables,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
    }

    /// Brings all that was written since the last publication to the readers, at once. Waits for batches that run.
    /// `control` must be the one that these tables were made of.
    pub fn publish(&self, control: &mut Control) {
        control.seal();
        let active = self.active.load(Ordering::Relaxed) & 1;
        self.change(1 - active, control);
        self.active.store(1 - active, Ordering::Release);
        self.change(active, control);
        control.settle();
    }

    fn change(&self, copy: usize, control: &Control) {
        // A copy is poisoned only by a panic below, which no write causes.
        self.copies[copy].write().unwrap_or_else(PoisonError::into_inner).apply(control);
    }

    /// Memory of both copies in bytes.
    pub fn bytes(&self) -> usize {
        self.pin().bytes() * 2
    }
}
