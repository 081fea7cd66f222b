//! Entries that no packet hits: `support_timeout` of v1model.
//!
//! As in BMv2, an idle entry stays; it is reported to the control plane, which decides. It is reported once, and again
//! only after another hit.

use super::Table;
use crate::names::refused;
use base_time::{Duration, Time};
use dataplane_api::EntryError;
use std::mem::offset_of;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Idle timer of an entry, in picoseconds; compiled code restarts it, too. Without a timeout it never expires.
///
/// ```text
/// hit at `now`    now - since < limit:  since := now             by compiled code, without a call
///                 else:                 the expired timeout is reported, then as above
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct IdleTimer {
    /// The last hit, or when the timeout was set.
    since: AtomicU64,
    /// The timeout; 0 once its expiry is reported, so that the next hit is reported to the device.
    limit: AtomicU64,
    /// 0 if the control plane asked for none.
    timeout: AtomicU64,
}

/// Limit of an entry without a timeout.
const NEVER: u64 = u64::MAX;

impl Default for IdleTimer {
    fn default() -> IdleTimer {
        IdleTimer { since: AtomicU64::new(0), limit: AtomicU64::new(NEVER), timeout: AtomicU64::new(0) }
    }
}

impl IdleTimer {
    /// Offsets of the words that compiled code uses: the time of the last hit, which it writes, and the limit.
    pub const SINCE: usize = offset_of!(IdleTimer, since);
    /// See [`SINCE`](IdleTimer::SINCE).
    pub const LIMIT: usize = offset_of!(IdleTimer, limit);

    /// Sets the timeout, which runs from `now` on; `None` takes it away.
    pub(crate) fn set(&self, timeout: Option<Duration>, now: Time) {
        self.timeout.store(timeout.map_or(0, Duration::as_ps), Relaxed);
        self.restart(now);
    }

    /// Restarts the timer.
    pub(crate) fn restart(&self, now: Time) {
        self.since.store(now.as_ps(), Relaxed);
        self.limit.store(self.timeout().map_or(NEVER, Duration::as_ps), Relaxed);
    }

    /// Since the last hit; zero without a timeout.
    pub(crate) fn idle(&self, now: Time) -> Duration {
        self.timeout().map_or(Duration::ZERO, |_| now.since(self.since()))
    }

    fn timeout(&self) -> Option<Duration> {
        Some(Duration::from_ps(self.timeout.load(Relaxed))).filter(|timeout| !timeout.is_zero())
    }

    fn since(&self) -> Time {
        Time::from_ps(self.since.load(Relaxed))
    }

    /// When the timeout expired, if it has by `now` and that is not reported yet; it is from now on.
    fn take_expired(&self, now: Time) -> Option<Time> {
        let (since, limit) = (self.since(), Duration::from_ps(self.limit.load(Relaxed)));
        let expired = !limit.is_zero() && now.since(since) >= limit;
        expired.then(|| {
            self.limit.store(0, Relaxed);
            since + limit
        })
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
        match self.entries.values().rfind(|e| e.handle == handle).and_then(|entry| entry.idle.as_ref()) {
            Some(timer) => {
                let timeout = timeout.filter(|t| !t.is_zero());
                self.notes_hits.fetch_or(u64::from(timeout.is_some()), Relaxed);
                timer.set(timeout, now);
                Ok(())
            }
            None => Err(refused(format!("`{name}` has no entry with handle {handle}"))),
        }
    }

    /// The entry in that position was hit at `now`.
    pub(crate) fn hit(&mut self, position: usize, now: Time) {
        self.note_idle(position, now);
        if let Some(timer) = self.timer(position) {
            timer.restart(now.max(timer.since()));
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
        let Some(at) = self.timer(position).and_then(|timer| timer.take_expired(now)) else { return };
        let Some((_, entry)) = self.entries.get_index(position) else { return };
        if self.idle.len() < KEPT {
            let table = self.control_plane_name.clone();
            self.idle.push(IdleEntry { table, handle: entry.handle, at });
        }
    }

    fn timer(&self, position: usize) -> Option<&IdleTimer> {
        self.entries.get_index(position)?.1.idle.as_deref()
    }
}
