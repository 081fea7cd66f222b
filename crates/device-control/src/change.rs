//! A change, done to a switch.

use super::{Controlled, data};
use crate::MOST_LEARNED;
use base_time::Time;
use control_writes::EntryKey;
use dataplane_api::EntryError;
use device::EntryOf;
use ir::Name;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::P4Data;
use p4runtime_server::Target;
use p4runtime_store::{Catalog, Change, Described, Result, Within, fault};

impl Target for Controlled {
    fn apply(&mut self, catalog: &Catalog, change: &Change) -> Result<()> {
        if self.is_broken() {
            return fault("the device refused the change", "the device is broken").code(Code::Unavailable);
        }
        let now = self.now;
        let mut write = change.refer(|kind, id| catalog.name_of(kind, *id).map(Name::from))?;
        self.boot.number(&mut write);
        let Change::Entry { table, key, to, .. } = change else {
            return self.switch().write(&write, now).or_else(refused);
        };
        let described = catalog.table(*table)?;
        let times_out = described.idle_timeout_behavior != 0;
        let handle = |controlled: &Controlled| {
            let entry = times_out.then(|| controlled.view().entry(entry_of(described.name(), key)).ok());
            entry.flatten().map(|entry| (*table, entry.handle))
        };
        let known = handle(self);
        self.switch().write(&write, now).or_else(refused)?;
        match to {
            None => known.map(|known| self.handles.remove(&known)),
            Some(to) if to.is_const || known.is_some() => None,
            Some(_) => handle(self).map(|made| self.handles.insert(made, key.clone())),
        };
        Ok(())
    }

    fn take_digests(&mut self, catalog: &Catalog) -> Vec<(u32, P4Data)> {
        let digests = self.reported_digests();
        let (switch, mut learned) = (self.view(), vec![]);
        let of = |sent: &device::Digest| {
            let found = data::digest(catalog, switch.program(), sent)?;
            if self.learned.is_some()
                && let Some(list) = (1..).zip(&catalog.info().digests).find(|(_, of)| of.id() == found.0)
            {
                learned.push((list.0, data::sample(&sent.data)));
            }
            Some(found)
        };
        let found = digests.iter().filter_map(of).collect();
        drop(switch);
        if let Some(all) = &mut self.learned {
            learned.truncate(MOST_LEARNED.saturating_sub(all.len()));
            all.append(&mut learned);
        }
        found
    }

    fn take_idle(&mut self, catalog: &Catalog, now: Time) -> Vec<(u32, EntryKey)> {
        self.now = now;
        let mut out = vec![];
        let idle = self.switch().take_idle(now);
        for idle in idle {
            let table = catalog.info().tables.iter().find(|table| table.name() == idle.table.as_str());
            let Some(table) = table else { continue };
            if let Some(key) = self.rearm(&idle, table) {
                out.push((table.id(), key));
            }
        }
        out
    }
}

impl Controlled {
    /// Restarts the idle timer of an entry that was reported as idle.
    fn rearm(
        &mut self,
        idle: &device::IdleEntry,
        table: &p4runtime_proto::p4::config::v1::Table,
    ) -> Option<EntryKey> {
        let key = self.handles.get(&(table.id(), idle.handle))?.clone();
        let now = self.now;
        self.switch().entry_restart(entry_of(table.name(), &key), now).ok()?;
        Some(key)
    }
}

/// An entry by its table's name and its key.
pub(super) fn entry_of<'k>(table: &'k str, key: &'k EntryKey) -> EntryOf<'k> {
    EntryOf { table, keys: &key.matches, priority: Some(key.priority) }
}

/// Error for a change that passed the checks and that the switch refuses: the switch has fewer resources than the
/// P4Info says.
pub(super) fn refused<T>(error: EntryError) -> Result<T> {
    fault("the device refused the change", error.message).help(|| error.help).code(Code::ResourceExhausted)
}
