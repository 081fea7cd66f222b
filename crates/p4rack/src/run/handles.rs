//! The handles that `simple_switch` gives to entries, and the device's own.
//!
//! ```text
//! 31      24 23                      0
//! +---------+------------------------+
//! | version | place                  |     an entry gets the smallest free place;
//! +---------+------------------------+     a place's version goes up when its entry is deleted
//! ```
//!
//! As in `match_units.cpp` of behavioral-model.

use dataplane_api::EntryError;
use ir_interp::Switch;
use std::collections::BTreeMap;

const VERSION_SHIFT: u32 = 24;
const PLACES: u64 = (1 << VERSION_SHIFT) - 1;

/// The handles of all tables.
#[derive(Default)]
pub(super) struct Handles {
    tables: BTreeMap<String, Vec<Place>>,
}

/// A place of a table.
#[derive(Clone, Copy, Default)]
struct Place {
    version: u8,
    /// The device's handle, if an entry is there.
    entry: Option<u64>,
}

impl Handles {
    /// Entries that are in the table already have places in their order. To be called before an entry is added.
    pub(super) fn know(&mut self, table: &str, switch: &Switch) -> Result<(), EntryError> {
        if !self.tables.contains_key(table) {
            let entries = switch.table_entries(table)?;
            let places = entries.iter().map(|entry| Place { version: 0, entry: Some(entry.handle) });
            self.tables.insert(table.to_string(), places.collect());
        }
        Ok(())
    }

    /// An entry was added.
    pub(super) fn added(&mut self, table: &str, entry: u64) {
        let places = self.tables.entry(table.to_string()).or_default();
        match places.iter_mut().find(|place| place.entry.is_none()) {
            Some(free) => free.entry = Some(entry),
            None => places.push(Place { version: 0, entry: Some(entry) }),
        }
    }

    /// The device's handle of an entry.
    pub(super) fn find(&self, table: &str, handle: u64) -> Result<u64, EntryError> {
        let places = self.tables.get(table).map_or(&[] as &[Place], Vec::as_slice);
        let place = usize::try_from(handle & PLACES).ok().and_then(|at| places.get(at));
        let version = handle >> VERSION_SHIFT;
        let entry = place.filter(|place| u64::from(place.version) == version).and_then(|place| place.entry);
        entry.ok_or_else(|| {
            let known = places.iter().zip(0u64..).filter(|(place, _)| place.entry.is_some());
            let known: Vec<String> = known
                .take(8)
                .map(|(place, at)| (u64::from(place.version) << VERSION_SHIFT | at).to_string())
                .collect();
            EntryError {
                message: format!("`{table}` has no entry with the handle {handle}"),
                help: (!known.is_empty()).then(|| format!("its first entries have: {}", known.join(", "))),
            }
        })
    }

    /// An entry was removed.
    pub(super) fn removed(&mut self, table: &str, entry: u64) {
        let places = self.tables.get_mut(table).into_iter().flatten();
        if let Some(place) = places.into_iter().find(|place| place.entry == Some(entry)) {
            *place = Place { version: place.version.wrapping_add(1), entry: None };
        }
    }

    /// A table was cleared: places that are left, of constant entries, count anew.
    pub(super) fn cleared(&mut self, table: &str) {
        self.tables.remove(table);
    }
}
