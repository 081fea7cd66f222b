//! The handles that `simple_switch` gives to the entries of a table.
//!
//! ```text
//! 31      24 23                      0
//! +---------+------------------------+
//! | version | place                  |     an entry gets the smallest free place;
//! +---------+------------------------+     a place's version goes up when its entry is deleted
//! ```
//!
//! As in `match_units.cpp` of behavioral-model.

use control_writes::EntryKey;
use dataplane_api::EntryError;

const VERSION_SHIFT: u32 = 24;
const PLACES: u64 = (1 << VERSION_SHIFT) - 1;

/// The handles of a table.
#[derive(Clone, Default, Debug)]
pub(crate) struct Handles {
    places: Vec<Place>,
    /// Places before this one are taken.
    first_free: usize,
}

/// A place of a table.
#[derive(Clone, Default, Debug)]
struct Place {
    version: u8,
    entry: Option<EntryKey>,
}

impl Handles {
    /// An entry was added.
    pub(crate) fn added(&mut self, entry: EntryKey) {
        let free = self.places.iter().skip(self.first_free).position(|place| place.entry.is_none());
        let at = free.map_or(self.places.len(), |behind| self.first_free + behind);
        match self.places.get_mut(at) {
            Some(free) => free.entry = Some(entry),
            None => self.places.push(Place { version: 0, entry: Some(entry) }),
        }
        self.first_free = at + 1;
    }

    /// The entry with a handle, of the table with this name.
    pub(crate) fn find(&self, table: &str, handle: u64) -> Result<&EntryKey, EntryError> {
        let place = usize::try_from(handle & PLACES).ok().and_then(|at| self.places.get(at));
        let version = handle >> VERSION_SHIFT;
        let place = place.filter(|place| u64::from(place.version) == version);
        place.and_then(|place| place.entry.as_ref()).ok_or_else(|| {
            let known = self.places.iter().zip(0u64..).filter(|(place, _)| place.entry.is_some());
            let known: Vec<String> = known
                .take(8)
                .map(|(place, at)| (u64::from(place.version) << VERSION_SHIFT | at).to_string())
                .collect();
            EntryError {
                message: format!("`{table}` has no entry with handle {handle}"),
                help: (!known.is_empty()).then(|| format!("its first entries have: {}", known.join(", "))),
            }
        })
    }

    /// An entry was removed.
    pub(crate) fn removed(&mut self, entry: &EntryKey) {
        let found = self.places.iter_mut().position(|place| place.entry.as_ref() == Some(entry));
        if let Some((at, place)) = found.and_then(|at| Some((at, self.places.get_mut(at)?))) {
            *place = Place { version: place.version.wrapping_add(1), entry: None };
            self.first_free = self.first_free.min(at);
        }
    }

    /// The table was cleared: only these entries, which are constant, are left, and count anew.
    pub(crate) fn cleared(&mut self, left: impl Iterator<Item = EntryKey>) {
        *self = Handles::default();
        left.for_each(|entry| self.added(entry));
    }
}
