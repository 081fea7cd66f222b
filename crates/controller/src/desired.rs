//! The desired state, as the device of the northbound server. Only requests that no rack could carry out fail here:
//! agents are asked elsewhere.

use crate::gather::Gathered;
use crate::numbers::{Numbered, Numbers};
use crate::part::{PlanChange, Planner, Rollout};
use crate::schedule::TaskId;
use base_time::Time;
use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    Entity, ForwardingPipelineConfig, P4Data, TableEntry, Update, entity::Entity as Kind, update::Type,
};
use p4runtime_server::{Ahead, Builder, Built, Server, Status, Target};
use p4runtime_store::{Catalog, Change, Live, Result, Store, Within, fault};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Makes desired states of configurations.
pub(crate) struct Plans {
    pub(crate) planner: Box<dyn Planner>,
    epoch: Cell<u64>,
    /// The last number of an entry: numbers are not used again.
    pub(crate) last_number: Arc<AtomicU64>,
}

impl Plans {
    pub(crate) fn new(planner: Box<dyn Planner>) -> Plans {
        Plans { planner, epoch: Cell::new(0), last_number: Arc::default() }
    }

    /// Slow part of the next plan, with this change.
    pub(crate) fn ahead_by(
        &self,
        config: &ForwardingPipelineConfig,
        change: PlanChange<'_>,
    ) -> Option<Ahead> {
        let ahead = self.planner.ahead(config, change, self.epoch.get() + 1)?;
        // No other plan has this epoch.
        self.epoch.set(self.epoch.get() + 1);
        Some(ahead)
    }
}

/// Desired state of a rack, and its last reports.
pub(crate) struct Desired {
    pub(crate) rollout: Arc<Rollout>,
    pub(crate) catalog: Catalog,
    /// Values of the data planes, as last read.
    pub(crate) gathered: Gathered,
    pub(crate) numbers: Numbers,
    /// Changes since reads have begun to gather values, by read.
    pub(crate) journals: BTreeMap<TaskId, Vec<Change>>,
    pub(crate) digests: Vec<(u32, P4Data)>,
    pub(crate) idle: Vec<(u32, EntryKey)>,
}

impl Builder for Plans {
    type Target = Desired;

    fn keeps(&self, config: &ForwardingPipelineConfig) -> bool {
        self.planner.keeps(config)
    }

    fn ahead(&self, config: &ForwardingPipelineConfig) -> Option<Ahead> {
        self.ahead_by(config, PlanChange::Nothing)
    }

    fn build(&self, config: &ForwardingPipelineConfig) -> std::result::Result<Built<Desired>, Status> {
        self.epoch.set(self.epoch.get() + 1);
        let rollout = Arc::new(self.planner.plan(config, self.epoch.get())?);
        let (info, plain) = (rollout.info.clone(), rollout.plain.clone());
        let (initial, numbers, memory) = (rollout.initial.clone(), rollout.numbers, rollout.memory);
        let catalog = Catalog::new(plain.clone());
        let (gathered, journals) = (Gathered::default(), BTreeMap::new());
        let numbers_of = Numbers::of(rollout.numbered().collect(), Arc::clone(&self.last_number));
        let target = Desired {
            rollout,
            catalog,
            gathered,
            numbers: numbers_of,
            journals,
            digests: vec![],
            idle: vec![],
        };
        Ok(Built { target, info, plain, numbers, initial, memory })
    }
}

/// Undoes changes of the desired state, so that entries have the numbers that they had.
pub(crate) fn undo(server: &mut Server<Plans>, changes: Vec<Change>) -> std::result::Result<(), Status> {
    server.target().into_iter().for_each(|desired| desired.numbers.undoes = true);
    let undone = server.undo(changes);
    server.target().into_iter().for_each(|desired| desired.numbers.undoes = false);
    undone
}

impl Desired {
    /// A control plane writes values of data planes.
    pub(crate) fn note(&mut self, change: &Change) {
        self.gathered.note(change);
        let default = EntryKey::of_default();
        let (table, key, count) = match change {
            Change::DirectCounter { table, key, to } => (*table, key, *to),
            Change::Entry { table, key, to: Some(_), count: Some(count) } => (*table, key, *count),
            Change::Default { table, count: Some(count), .. } => (*table, &default, *count),
            _ => return,
        };
        if let Some(number) = self.numbers.get(table, key) {
            self.gathered.know_entry((table, number), count);
        }
    }

    /// The key of an entry, if its table's entries have numbers: most tables' have none, and each write comes here.
    fn numbered_key(&self, entry: &TableEntry) -> Option<EntryKey> {
        self.numbers.are_in(entry.table_id).then(|| self.catalog.entry_key(entry).ok())?
    }

    /// The number of an entry, if its table's entries have any.
    pub(crate) fn number(&self, entry: &TableEntry) -> Option<u64> {
        self.numbers.get(entry.table_id, &self.numbered_key(entry)?)
    }

    /// The update as devices get it, with the number of its entry.
    pub(crate) fn marked<'u>(&self, update: &'u Update) -> Cow<'u, Update> {
        let Some(Kind::TableEntry(entry)) = update.entity.as_ref().and_then(|entity| entity.entity.as_ref())
        else {
            return Cow::Borrowed(update);
        };
        let key = self.numbered_key(entry).filter(|_| update.r#type() != Type::Delete);
        let Some(number) = key.and_then(|key| self.numbers.latest(entry.table_id, &key)) else {
            return Cow::Borrowed(update);
        };
        let mut entry = entry.clone();
        #[allow(deprecated)]
        {
            entry.controller_metadata = number;
        }
        Cow::Owned(Update {
            entity: Some(Entity { entity: Some(Kind::TableEntry(entry)) }),
            ..update.clone()
        })
    }

    /// All entries that have numbers.
    pub(crate) fn numbered(&self) -> Vec<Numbered> {
        let store = Store::new(Arc::clone(&self.rollout.plain));
        let numbered = |(table, key, number): (u32, &EntryKey, u64)| {
            let change = Change::Entry { table, key: key.clone(), to: None, count: None };
            match store.update_of(&change).ok()?.entity?.entity? {
                Kind::TableEntry(entry) => Some(Numbered { table, number, entry }),
                _ => None,
            }
        };
        self.numbers.all().filter_map(numbered).collect()
    }
}

impl Target for Desired {
    fn apply(&mut self, _: &Catalog, change: &Change) -> Result<()> {
        if let Change::CloneSession { to: Some(to), .. } = change
            && to.packet_length_bytes > 0
            && !self.rollout.cuts_clones
        {
            let why = "the program is split, and what a truncated clone would be is not known: egress clones \
                       or reads a length that v1model does not count, or the parser does more than extract each \
                       header once, in one order";
            return fault("clones cannot be truncated here", why).code(Code::Unimplemented);
        }
        self.numbers.note(change);
        self.note(change);
        self.journals.values_mut().for_each(|journal| journal.push(change.clone()));
        Ok(())
    }

    fn take_digests(&mut self, _: &Catalog) -> Vec<(u32, P4Data)> {
        std::mem::take(&mut self.digests)
    }

    fn take_idle(&mut self, _: &Catalog, _: Time) -> Vec<(u32, EntryKey)> {
        std::mem::take(&mut self.idle)
    }
}

impl Live for Desired {
    fn counter(&self, counter: u32, index: u64) -> Result<Count> {
        Ok(self.gathered.counter(counter, index))
    }

    fn counters(&self, counter: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Count)) -> Result<()> {
        self.gathered.counters(counter, cells, give);
        Ok(())
    }

    fn registers(&self, register: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Data)) -> Result<()> {
        self.gathered.registers(register, cells, give);
        Ok(())
    }

    fn direct_counter(&self, table: u32, key: &EntryKey) -> Result<Count> {
        Ok(match self.numbers.get(table, key) {
            Some(number) => self.gathered.entry((table, number)),
            None => self.gathered.direct_counter(table, key),
        })
    }

    fn register(&self, register: u32, index: u64) -> Result<Data> {
        match self.gathered.register(register, index) {
            Some(data) => Ok(data),
            // No device has it: the program does not use it.
            None => self.catalog.register_zero(register),
        }
    }

    fn memory(&self, object: u32) -> Result<Vec<u8>> {
        Ok(self.gathered.memory(object).unwrap_or_default().to_vec())
    }

    fn since_last_hit(&self, table: u32, key: &EntryKey) -> Result<u64> {
        Ok(self.gathered.since_last_hit(table, key))
    }
}
