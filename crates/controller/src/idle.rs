//! Entries on several devices are idle when they are idle on all of them.

use base_time::{Duration, Time};
use control_writes::EntryKey;
use std::collections::BTreeMap;

/// Reports of idle entries: entry, device and time.
#[derive(Default, Debug)]
pub(crate) struct Idle {
    reported: BTreeMap<(u32, EntryKey), BTreeMap<usize, Time>>,
}

impl Idle {
    /// One of `holders` devices says that an entry was not hit for its `timeout`; true if none of them has been hit.
    pub(crate) fn note(
        &mut self,
        device: usize,
        holders: usize,
        (entry, timeout): ((u32, EntryKey), Duration),
        now: Time,
    ) -> bool {
        let recent = |at: &Time| now.since(*at) <= timeout;
        let reported = self.reported.entry(entry.clone()).or_default();
        reported.insert(device, now);
        reported.retain(|_, at| recent(at));
        let all = reported.len() >= holders;
        if all {
            self.reported.remove(&entry);
        }
        all
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.reported.clear();
    }
}
