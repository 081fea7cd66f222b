//! A lock that threads have in turns.
//!
//! ```text
//! lock ──> next ──> value      the thread that waits for the value holds `next`;
//!                              a thread that has released the value queues up after it
//! ```
//!
//! A free [`Mutex`] goes to the first thread that asks, usually the one that has just released it: a thread that runs batch
//! after batch would keep all others out.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A value that threads lock in turn: the thread that held it last is the last to get it again.
#[derive(Default, Debug)]
pub struct Turns<T> {
    next: Mutex<()>,
    value: Mutex<T>,
}

impl<T> Turns<T> {
    /// Nobody has it yet.
    pub fn new(value: T) -> Turns<T> {
        Turns { next: Mutex::default(), value: Mutex::new(value) }
    }

    /// Locks it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let _next = lock(&self.next);
        lock(&self.value)
    }
}

/// Locks it; the state left by a thread that panicked is as good as any.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
