//! A lock that threads have in turns.
//!
//! ```text
//! lock ──> next ──> value      whoever waits for the value holds `next`;
//!                              whoever has let go of the value queues up after that one
//! ```
//!
//! A [`Mutex`] alone goes to who comes first when it is free, and that is who has just had it: a thread that runs batch
//! after batch would keep all others out.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A value that threads have in turns: whoever has just had it is the last to get it again.
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
