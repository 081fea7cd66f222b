//! State of the merge, as rows that outlive the controller: of each cell the counts of ended and present incarnations, of each object the
//! devices and their incarnations. Behind a crash of the controller, what it had taken from devices is there; devices that still run
//! say the rest.
//!
//! ```text
//! [MERGE_ROWS] id            names of the devices with copies, each with its incarnation and newest push
//! [MERGE_ROWS] id cell       flow_control::merge::State
//! [MERGE_ROWS] id number 1   key of the entry with this number, where an entry's counter is merged
//! ```
//!
//! A merge that devices get says nothing that is not stored: it is sent after the batch (`Waiting`, in the process that keeps the file).

use crate::cells::Cells;
use crate::copied::Totals;
use crate::merged::{Merged, Object};
use crate::numbers::{Numbered, OF_DEFAULT};
use crate::part::Rollout;
use base_time::{Duration, Time};
use flow_control::merge::{Hub, Kind, State};
use p4runtime_proto::p4::v1::{CounterData, DirectCounterEntry, Entity, TableEntry, entity::Entity as Kinds};
use p4runtime_proto::p4rack::v1::MergeRow;
use p4runtime_proto::{from_binary, to_binary};
use p4runtime_store::Catalog;
use state_journal::MERGE_ROWS;
use std::collections::{BTreeMap, BTreeSet};

/// Rows to store.
#[derive(Default)]
pub(crate) struct Rows {
    is_kept: bool,
    objects: BTreeSet<u32>,
    cells: BTreeSet<(u32, u64)>,
    /// Numbered entries that have come or gone.
    entries: BTreeSet<(u32, u64)>,
}

impl Rows {
    /// From now on, [`note`](Rows::note) does.
    pub(crate) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// More is known of these cells of an object.
    pub(crate) fn note<'c>(&mut self, id: u32, cells: impl Iterator<Item = &'c u64>) {
        if self.is_kept {
            let before = self.cells.len();
            self.cells.extend(cells.map(|cell| (id, *cell)));
            if self.cells.len() > before {
                self.objects.insert(id);
            }
        }
    }

    /// An object is new: whoever goes on has to know that it has begun, even if nothing was counted.
    pub(crate) fn note_object(&mut self, id: u32) {
        if self.is_kept {
            self.objects.insert(id);
        }
    }
}

impl Rows {
    /// An entry has come or gone.
    pub(crate) fn note_entry(&mut self, table: u32, number: u64) {
        if self.is_kept {
            self.entries.insert((table, number));
        }
    }
}

/// Rows as a batch has them.
type Batched = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

impl Merged {
    /// The rows that have changed since the last call.
    pub(crate) fn take_rows(&mut self) -> Batched {
        let cells = std::mem::take(&mut self.rows.cells);
        let mut rows = Batched::new();
        for id in std::mem::take(&mut self.rows.objects) {
            rows.extend(self.objects.get(&id).map(|object| (key(id, None), Some(devices(object)))));
        }
        for (id, cell) in cells {
            let Some(object) = self.objects.get(&id).filter(|object| object.has(cell)) else { continue };
            rows.insert(key(id, Some(cell)), Some(object.hub.state(&cell).bytes()));
        }
        for (id, number) in std::mem::take(&mut self.rows.entries) {
            let entry = self.objects.get(&id).and_then(|object| object.entries.get(&number));
            rows.insert(entry_key(id, number), entry.map(to_binary));
            if entry.is_none() {
                rows.extend([2 * number, 2 * number + 1].map(|cell| (key(id, Some(cell)), None)));
            }
        }
        rows
    }

    /// Goes on from stored rows with devices that have kept their copies. `number` is larger than that of any hub before.
    pub(crate) fn resume(
        &mut self,
        rollout: &Rollout,
        (stored, entries): (&Stored, Vec<Numbered>),
        span: Duration,
        (now, number): (Time, u64),
    ) {
        let hub = |id, kind, names: &[String]| stored.hub(id, kind, names);
        self.begin_with(rollout, entries, span, (now, number), hub);
    }
}

fn key(id: u32, cell: Option<u64>) -> Vec<u8> {
    let mut key = vec![MERGE_ROWS];
    key.extend(id.to_be_bytes());
    key.extend(cell.iter().flat_map(|cell| cell.to_be_bytes()));
    key
}

fn entry_key(table: u32, number: u64) -> Vec<u8> {
    let mut key = key(table, Some(number));
    key.push(1);
    key
}

fn devices(object: &Object) -> Vec<u8> {
    let mut out = vec![];
    for (place, name) in object.names.iter().enumerate() {
        let (incarnation, pushed) = object.hub.newest(place);
        out.extend((name.len() as u32).to_be_bytes());
        out.extend(name.as_bytes());
        out.extend(incarnation.to_be_bytes());
        out.extend(pushed.to_be_bytes());
    }
    out
}

/// Rows that an earlier controller has stored.
#[derive(Default)]
pub(crate) struct Stored(BTreeMap<u32, StoredObject>);

#[derive(Default)]
struct StoredObject {
    /// Names of the devices, with incarnation and newest push.
    devices: Vec<(String, (u64, u64))>,
    cells: BTreeMap<u64, State>,
    /// Entries by their numbers.
    entries: BTreeMap<u64, TableEntry>,
}

impl Stored {
    /// Reads rows. Unreadable rows are skipped: the state file is checked where it is read.
    pub(crate) fn of(rows: &[MergeRow]) -> Stored {
        let mut objects: BTreeMap<u32, StoredObject> = BTreeMap::new();
        for MergeRow { key, value } in rows {
            let Some(([MERGE_ROWS], rest)) = key.split_first_chunk() else { continue };
            let Some((id, rest)) = rest.split_first_chunk() else { continue };
            let object = objects.entry(u32::from_be_bytes(*id)).or_default();
            match rest.split_first_chunk() {
                Some((cell, [])) => {
                    object.cells.extend(State::of(value).map(|state| (u64::from_be_bytes(*cell), state)))
                }
                Some((number, _)) => {
                    let entry = from_binary(value).ok();
                    object.entries.extend(entry.map(|entry| (u64::from_be_bytes(*number), entry)));
                }
                None => object.devices = devices_of(value).unwrap_or_default(),
            }
        }
        Stored(objects)
    }

    /// True if there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if each of a rollout's objects has copies on the same devices as then. An object without rows has had no counts.
    pub(crate) fn fits(&self, rollout: &Rollout) -> bool {
        rollout.merged().all(|(id, _, holders)| {
            let names = holders.iter().map(|device| rollout.name(*device));
            let known = self.0.get(&id).map(|object| object.devices.iter().map(|(name, _)| name.as_str()));
            known.is_none_or(|known| known.eq(names))
        })
    }

    /// The hub of an object, as it was.
    fn hub(&self, id: u32, kind: Kind, names: &[String]) -> Hub<u64> {
        let empty = || Hub::new(kind, names.len(), BTreeMap::new());
        self.0.get(&id).map_or_else(empty, |object| {
            let devices: Vec<_> = object.devices.iter().map(|(_, newest)| *newest).collect();
            Hub::resume(kind, &devices, object.cells.clone())
        })
    }

    /// The entries with numbers.
    pub(crate) fn entries(&self) -> Vec<Numbered> {
        let of = |(table, object): (&u32, &StoredObject)| {
            let table = *table;
            let numbered = move |(number, entry): (&u64, &TableEntry)| Numbered {
                table,
                number: *number,
                entry: entry.clone(),
            };
            object.entries.iter().map(numbered).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }

    /// The counts of entries that have numbers, all devices' together, and of default entries.
    pub(crate) fn counts(&self, rollout: &Rollout) -> Vec<Entity> {
        let mut entities = vec![];
        for (id, kind, _) in rollout.merged().filter(|(id, ..)| rollout.is_numbered(*id)) {
            let Some(object) = self.0.get(&id) else { continue };
            let total = |cell: u64| object.cells.get(&cell).map_or(0, |state| state.total(kind)) as i64;
            let default = TableEntry { table_id: id, is_default_action: true, ..TableEntry::default() };
            let all = object.entries.iter().map(|(number, entry)| (*number, entry.clone()));
            for (number, entry) in all.chain([(OF_DEFAULT, default)]) {
                let data = CounterData { packet_count: total(2 * number), byte_count: total(2 * number + 1) };
                let kind = DirectCounterEntry { table_entry: Some(entry), data: Some(data) };
                entities.push(Entity { entity: Some(Kinds::DirectCounterEntry(kind)) });
            }
        }
        entities
    }

    /// The values of a rollout's registers and counters: what devices had counted then, all together.
    pub(crate) fn totals(&self, rollout: &Rollout) -> Totals {
        let catalog = Catalog::new(rollout.plain.clone());
        let mut totals = Totals::new();
        for (id, kind, _) in rollout.merged().filter(|(id, ..)| !rollout.is_numbered(*id)) {
            let Some((object, cells)) = self.0.get(&id).zip(Cells::of(&catalog, id)) else { continue };
            for (cell, state) in object.cells.range(..cells.size) {
                totals.insert((id, *cell), state.total(kind));
            }
        }
        totals
    }
}

fn devices_of(mut bytes: &[u8]) -> Option<Vec<(String, (u64, u64))>> {
    let mut all = vec![];
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let (name, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        let (incarnation, rest) = rest.split_first_chunk()?;
        let (pushed, rest) = rest.split_first_chunk()?;
        let newest = (u64::from_be_bytes(*incarnation), u64::from_be_bytes(*pushed));
        all.push((String::from_utf8(name.to_vec()).ok()?, newest));
        bytes = rest;
    }
    Some(all)
}
