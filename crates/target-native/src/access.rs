//! The interpreter's switch, as code gets at it: its own, or one that threads share.

use ir_interp::Switch;
use ir_interp::embed::Host;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module.
pub(crate) enum Access<'s> {
    Own(Host<'s>),
    /// Locked when it is first wanted, and then until the batch ends.
    Shared(&'s Mutex<Switch>, Option<MutexGuard<'s, Switch>>),
}

impl Access<'_> {
    /// The switch.
    pub(crate) fn host(&mut self) -> Host<'_> {
        match self {
            Access::Own(host) => host.again(),
            Access::Shared(mutex, guard) => {
                let switch = guard.get_or_insert_with(|| lock(mutex));
                switch.host().expect("only switches that have one are shared")
            }
        }
    }
}

/// Locks it; what a thread left when it panicked is as good as any state.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
