//! The budget of a received frame.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Packet budget: the passes, copies and steps left to a received frame and everything made of it, which share it.
#[derive(Clone, Debug)]
pub struct PacketBudget(Arc<Budget>);

#[derive(Debug)]
struct Budget {
    passes: AtomicU32,
    steps: AtomicU64,
    /// Initial passes and steps.
    at_first: (u32, u64),
}

impl Budget {
    fn new(at_first: (u32, u64)) -> Budget {
        Budget { passes: AtomicU32::new(at_first.0), steps: AtomicU64::new(at_first.1), at_first }
    }
}

impl PacketBudget {
    pub(crate) fn new(passes: u32, steps: u64) -> PacketBudget {
        PacketBudget(Arc::new(Budget::new((passes, steps))))
    }

    /// Another frame's, which may take as much as this one could at first.
    pub fn another(&self) -> PacketBudget {
        PacketBudget(Arc::new(Budget::new(self.0.at_first)))
    }

    /// Resets the budget for another frame. The memory is reused if nobody else holds it.
    pub fn renew(&mut self) {
        match Arc::get_mut(&mut self.0) {
            Some(budget) => *budget = Budget::new(budget.at_first),
            None => *self = self.another(),
        }
    }

    /// Takes a pass or copy; false if none is left.
    pub(crate) fn take(&self) -> bool {
        self.0.passes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Number of steps left.
    pub fn steps(&self) -> u64 {
        self.0.steps.load(Ordering::Relaxed)
    }

    /// Says how many steps are left after some were made.
    pub fn set_steps(&self, left: u64) {
        self.0.steps.store(left, Ordering::Relaxed);
    }
}
