//! The budget of a received frame.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What a received frame and all that came of it may still take: passes, copies, steps. Shared by them all.
#[derive(Clone, Debug)]
pub struct Life(Arc<Budget>);

#[derive(Debug)]
struct Budget {
    passes: AtomicU32,
    steps: AtomicU64,
}

impl Life {
    pub(crate) fn new(passes: u32, steps: u64) -> Life {
        Life(Arc::new(Budget { passes: AtomicU32::new(passes), steps: AtomicU64::new(steps) }))
    }

    /// Takes a pass or copy; false if none is left.
    pub(crate) fn take(&self) -> bool {
        self.0.passes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// How many steps are left.
    pub fn steps(&self) -> u64 {
        self.0.steps.load(Ordering::Relaxed)
    }

    /// Says how many steps are left after some were made.
    pub fn set_steps(&self, left: u64) {
        self.0.steps.store(left, Ordering::Relaxed);
    }
}
