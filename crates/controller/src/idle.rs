//! Entries on several devices are idle when they are idle on all of them.

use base_time::{Duration, Time};
use control_writes::EntryKey;
use std::collections::BTreeMap;

/// Reports of idle entries: entry, device and time.
#[derive(Default, Debug)]
pub(crate) struct Idle {
    told: BTreeMap<(u32, EntryKey), BTreeMap<usize, Time>>,
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
        let told = self.told.entry(entry.clone()).or_default();
        told.insert(device, now);
        told.retain(|_, at| recent(at));
        let all = told.len() >= holders;
        if all {
            self.told.remove(&entry);
        }
        all
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.told.clear();
    }
}
