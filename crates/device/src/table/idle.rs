//! Entries that no packet hits: `support_timeout` of v1model.
//!
//! As in BMv2, an idle entry stays; it is reported to the control plane, which decides. It is reported once, and again
//! only after another hit.

use super::Table;
use crate::names::refused;
use base_time::{Duration, Time};
use dataplane_api::EntryError;
use std::sync::atomic::Ordering;

/// When an entry has been idle for too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IdleTimer {
    timeout: Duration,
    /// The last hit, or when the timeout was set.
    since: Time,
    is_reported: bool,
}

impl IdleTimer {
    /// Runs from `now` on.
    pub(crate) fn new(timeout: Duration, now: Time) -> IdleTimer {
        IdleTimer { timeout, since: now, is_reported: false }
    }

    /// Restarts the timer.
    pub(crate) fn restart(&mut self, now: Time) {
        *self = IdleTimer::new(self.timeout, now);
    }

    /// Since the last hit.
    pub(crate) fn idle(&self, now: Time) -> Duration {
        now.since(self.since)
    }
}

/// An entry was not hit for as long as its timeout says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdleEntry {
    /// The control-plane name of the table.
    pub table: ir::Name,
    /// The entry's handle.
    pub handle: u64,
    /// When its time had run out.
    pub at: Time,
}

/// Limit on a table's idle reports that are kept until they are taken; then the newest are lost.
const KEPT: usize = 4096;

impl Table {
    /// Sets the timeout of an entry, which runs from `now` on; none takes it away.
    pub(crate) fn set_idle_timeout(
        &mut self,
        handle: u64,
        timeout: Option<Duration>,
        now: Time,
    ) -> Result<(), EntryError> {
        let name = &self.control_plane_name;
        if !self.idle_timeouts {
            return Err(EntryError {
                message: format!("the entries of `{name}` have no idle timeouts"),
                help: Some("write `support_timeout = true;` in the table".to_string()),
            });
        }
        match self.entries.values_mut().rfind(|e| e.handle == handle) {
            Some(entry) => {
                let timeout = timeout.filter(|t| !t.is_zero());
                self.notes_hits.fetch_or(u64::from(timeout.is_some()), Ordering::Relaxed);
                entry.idle = timeout.map(|timeout| Box::new(IdleTimer::new(timeout, now)));
                Ok(())
            }
            None => Err(refused(format!("`{name}` has no entry with handle {handle}"))),
        }
    }

    /// The entry in that position was hit at `now`.
    pub(crate) fn hit(&mut self, position: usize, now: Time) {
        self.note_idle(position, now);
        if let Some((_, entry)) = self.entries.get_index_mut(position)
            && let Some(timer) = &mut entry.idle
        {
            timer.since = now.max(timer.since);
            timer.is_reported = false;
        }
    }

    /// Takes the entries whose timers had expired by `now`, the earliest first.
    pub(crate) fn take_idle(&mut self, now: Time) -> Vec<IdleEntry> {
        if !self.idle_timeouts {
            return vec![];
        }
        (0..self.entries.len()).for_each(|position| self.note_idle(position, now));
        let mut taken = std::mem::take(&mut self.idle);
        taken.sort_by_key(|idle| (idle.at, idle.handle));
        taken
    }

    fn note_idle(&mut self, position: usize, now: Time) {
        let Some((_, entry)) = self.entries.get_index_mut(position) else { return };
        let Some(timer) = &mut entry.idle else { return };
        if !timer.is_reported && now.since(timer.since) >= timer.timeout {
            timer.is_reported = true;
            if self.idle.len() < KEPT {
                let table = self.control_plane_name.clone();
                self.idle.push(IdleEntry { table, handle: entry.handle, at: timer.since + timer.timeout });
            }
        }
    }
}
