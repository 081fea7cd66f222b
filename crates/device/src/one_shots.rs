//! Groups of entries' own: an entry that lists actions with weights has one.

use control_writes::EntryKey;
use ir::Name;
use std::collections::BTreeMap;

/// Members and groups of entries' own are numbered from here on.
const ONE_SHOTS: u32 = 1 << 31;

/// The groups of entries' own.
#[derive(Clone, Default, Debug)]
pub(crate) struct OneShots {
    /// The group and its members, by the table's whole name and the entry.
    pub(crate) groups: BTreeMap<(Name, EntryKey), (u32, Vec<u32>)>,
    /// Number of ids given out.
    given: u32,
}

impl OneShots {
    pub(crate) fn number(&mut self) -> u32 {
        self.given = self.given.wrapping_add(1);
        ONE_SHOTS | self.given
    }
}
