//! When CLIP's two Bloom filters of a switch change roles.

use crate::Write;

/// Marks of filters. A filter's cells are those with its mark, so that it is emptied by another mark. Even and odd marks take turns, as the filters do.
const MARKS: u16 = u16::MAX - 1;

/// The roles of the two filters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Roles {
    /// From 1 to [`MARKS`].
    current: u16,
    since: u64,
    every: u64,
    /// The servers are being asked for the flows of the older filter.
    is_open: bool,
}

/// The roles at the start: the older filter is empty.
pub fn first_roles<F>() -> Write<F> {
    Roles::new(0).write()
}

impl Roles {
    /// The roles of a switch that begins.
    pub fn new(every: u64) -> Roles {
        Roles { current: 1, since: 0, every, is_open: false }
    }

    /// True if it is time to ask for the flows of the older filter.
    pub fn begin(&mut self, now: u64) -> bool {
        let is_due = !self.is_open && now.saturating_sub(self.since) >= self.every;
        self.is_open |= is_due;
        is_due
    }

    /// The filters change roles, if the flows of the older one have been asked for; false if they have not.
    pub fn change(&mut self, now: u64) -> bool {
        let was_open = std::mem::take(&mut self.is_open);
        if was_open {
            self.current = self.current % MARKS + 1;
            self.since = now;
        }
        was_open
    }

    /// The roles as the switch has them.
    pub fn write<F>(&self) -> Write<F> {
        let older = if self.current == 1 { MARKS } else { self.current - 1 };
        Write::Roles { current: self.current, older }
    }
}
