//! A pinned program in a rack's desired state when its flows begin to move: the entries of its tables, and the steps after which the switch
//! holds only the copies of whole tables.

use super::FlowMoves;
use control_writes::{EntryKey, Write};
use controller::Rollout;
use ir::Name;
use p4runtime_proto::p4::v1::Update;
use p4runtime_proto::p4::v1::entity::Entity as Kind;
use p4runtime_store::{Change, DefaultEntry, Entry, Store};
use std::collections::BTreeMap;

pub(super) struct Found {
    /// Entries of the program's tables, and deletions of those that only the source has.
    pub entries: Vec<Write<Name>>,
    /// Requests to be made one after the other: no flow is at the switch, then its copies are as they are to be.
    pub left: Vec<Vec<Update>>,
}

/// Copies of whole tables as they are to be.
#[derive(Default)]
struct Wanted {
    entries: BTreeMap<(u32, EntryKey), Box<Entry>>,
    defaults: BTreeMap<u32, Box<DefaultEntry>>,
}

/// None if it cannot be known what packets look up.
pub(super) fn found(store: &Store, rollout: &Rollout, moves: &FlowMoves) -> Option<Found> {
    let catalog = store.catalog();
    let (flows, tables) = (moves.flows(), moves.tables());
    let mut entries = vec![];
    // Entries of the rack's file that a controller has deleted.
    for update in &rollout.initial {
        let Some(Kind::TableEntry(entry)) = update.entity.as_ref().and_then(|entity| entity.entity.as_ref())
        else {
            continue;
        };
        let Some(name) = moves.table(entry.table_id) else { continue };
        let key = catalog.entry_key(entry).ok()?;
        let is_gone = !entry.is_default_action && store.entry(entry.table_id, &key).is_none();
        if is_gone && !flows.is_own(name) {
            entries.push(moves.named(&entry_of(entry.table_id, key, None))?);
        }
    }
    let mut wanted = Wanted::default();
    // Tables of the program: their entries are the original ones, and those of whole tables have a copy.
    for (table, name) in tables.clone().filter(|(_, name)| !flows.is_own(name)) {
        for (key, entry) in store.entries(table).filter(|(_, entry)| !entry.is_const) {
            let named = moves.named(&entry_of(table, key.clone(), Some(Box::new(entry.clone()))))?;
            if flows.is_whole(name)
                && let Write::Entry { table, key, to: Some(to), .. } =
                    moves.numbered(&flows.copy_of(&named))?
            {
                wanted.entries.insert((table, key), to);
            }
            entries.push(named);
        }
        let default = store.default_entry(table);
        if *default != DefaultEntry::default() {
            let named = moves.named(&default_of(table, Box::new(default.clone())))?;
            if flows.is_copied(name)
                && let Write::Default { table, to, .. } = moves.numbered(&flows.copy_of(&named))?
            {
                wanted.defaults.insert(table, to);
            }
            entries.push(named);
        }
    }
    for set in moves.value_sets() {
        entries.push(moves.named(&Write::ValueSet { set, members: store.value_set(set).to_vec() })?);
    }
    let (mut resident, mut copies) = (vec![], vec![]);
    // Tables that pinning added: entries that belong to no flow or whole table any more are deleted.
    for (table, name) in tables.filter(|(_, name)| flows.is_own(name)) {
        let list = if flows.is_flow_manager(name) { &mut resident } else { &mut copies };
        for (key, entry) in store.entries(table).filter(|(_, entry)| !entry.is_const) {
            let at = (table, key.clone());
            match wanted.entries.get(&at) {
                Some(known) if **known == *entry => drop(wanted.entries.remove(&at)),
                Some(_) => {}
                None => list.push(entry_of(table, key.clone(), None)),
            }
        }
        let default = wanted.defaults.remove(&table).unwrap_or_default();
        if *store.default_entry(table) != *default {
            list.push(default_of(table, default));
        }
    }
    copies.extend(wanted.entries.into_iter().map(|((table, key), to)| entry_of(table, key, Some(to))));
    let updates = |changes: Vec<Change>| -> Option<Vec<Update>> {
        let updates = changes.iter().filter_map(|change| moves.update_to(change, store).transpose());
        updates.collect::<Result<_, ()>>().ok()
    };
    // Flows leave the flow manager before the copies that they look up (ExoPlane, invariant 1).
    let left = vec![updates(resident)?, updates(copies)?];
    Some(Found { entries, left: left.into_iter().filter(|updates| !updates.is_empty()).collect() })
}

fn entry_of(table: u32, key: EntryKey, to: Option<Box<Entry>>) -> Change {
    Write::Entry { table, key, to, count: None }
}

fn default_of(table: u32, to: Box<DefaultEntry>) -> Change {
    Write::Default { table, to, count: None }
}
