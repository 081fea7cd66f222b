//! The RPCs `Write` and `Read` (P4Runtime 1.5, sections 12 and 13).

use crate::batch::Batch;
use crate::configured::Configured;
use crate::reading::Known;
use crate::roles::owner;
use crate::server::{Server, no_program};
use crate::status::Status;
use crate::target::{Builder, Target};
use control_writes::EntryKey;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Entity, PacketOut, ReadRequest, Update, WriteRequest, entity::Entity as Kind};
use p4runtime_store::{Before, Change, Described, Result, Store, Wanted, Within, fault};
use std::borrow::Cow;

/// The queries of a read whose answers have values of the data plane, as far as they are known.
#[derive(Default)]
pub struct LiveQueries {
    known: Known,
    next: usize,
    /// In numbers, each once.
    pub found: Vec<Entity>,
}

impl<B: Builder> Server<B> {
    /// Refuses a write to another device, by somebody who is not the primary, or without a program.
    pub fn may_write(&self, request: &WriteRequest) -> std::result::Result<(), Status> {
        self.check_device(request.device_id)?;
        self.arbitration.authorize(&request.role, request.election_id.as_ref())?;
        self.may_operate(request)
    }

    /// Refuses a write to another device, or without a program. Whoever runs the switch needs no election id.
    pub fn may_operate(&self, request: &WriteRequest) -> std::result::Result<(), Status> {
        self.check_device(request.device_id)?;
        self.store().map(drop).ok_or_else(no_program)
    }

    /// The updates of one request, in numbers.
    pub fn lower<'u>(&mut self, updates: &'u [Update]) -> Vec<Result<Cow<'u, Update>>> {
        match self.saved.as_mut().or(self.running.as_mut()) {
            Some(configured) => configured.names.lower(updates, &configured.store),
            None => updates.iter().map(|update| Ok(Cow::Borrowed(update))).collect(),
        }
    }

    /// True if the program has values that are strings on the controllers' side.
    pub(crate) fn says_strings(&self) -> bool {
        self.saved.as_ref().or(self.running.as_ref()).is_some_and(|configured| !configured.names.is_empty())
    }

    /// Updates come in numbers.
    pub fn note(&mut self, updates: &[Update]) {
        if let Some(configured) = self.saved.as_mut().or(self.running.as_mut()) {
            configured.names.note(updates);
        }
    }

    /// One update of a write, in numbers, all of it or nothing; its inverses, the first to be undone last, come back.
    pub fn update(&mut self, role: &str, update: &Update) -> Result<Vec<Change>> {
        let Some(configured) = self.saved.as_mut().or(self.running.as_mut()) else {
            return fault("there is no program", "set a forwarding pipeline config first")
                .code(Code::FailedPrecondition);
        };
        let mut undo = vec![];
        configured.update(role, update, Some(&mut undo))?;
        self.forget_digests();
        Ok(undo)
    }

    /// The updates that undo `update`, in numbers. `update` can be done and has not been.
    pub fn undoing(&self, update: &Update) -> Result<Vec<Update>> {
        let configured = self.saved.as_ref().or(self.running.as_ref());
        configured.map_or(Ok(vec![]), |configured| configured.store.undoing(update, &configured.target))
    }

    /// Updates of nobody's, in numbers, all or none.
    pub fn fill(&mut self, updates: &[Update]) -> std::result::Result<(), Status> {
        let configured = self.running.as_mut().ok_or_else(no_program)?;
        configured.fill(updates)
    }

    /// Undoes updates: the inverses of all, in the order in which they were done.
    pub fn undo(&mut self, inverses: Vec<Change>) -> std::result::Result<(), Status> {
        let configured = self.saved.as_mut().or(self.running.as_mut()).ok_or_else(no_program)?;
        configured.roll_back(inverses)
    }

    /// The queries that can be answered and whose answers have values of the data plane, in numbers.
    pub fn live_queries(&self, request: &ReadRequest) -> Vec<Entity> {
        let mut live = LiveQueries::default();
        self.find_live(request, &mut live, usize::MAX);
        live.found
    }

    /// Looks at the next queries for those. True if it was the last slice.
    pub fn find_live(&self, request: &ReadRequest, live: &mut LiveQueries, slice: usize) -> bool {
        let Some(configured) = self.saved.as_ref().or(self.running.as_ref()) else { return true };
        let Configured { store, names, .. } = configured;
        let LiveQueries { known, next, found } = live;
        let some = request.entities.iter().skip(*next).take(slice);
        *next = next.saturating_add(slice);
        let queries = some.filter_map(|query| names.lower_query(query).ok().flatten());
        found.extend(queries.filter(|query| {
            let mut is_new = || matches!(known.number(query, store), Ok((_, true)));
            store.reads_live(query) && is_new() && store.find(query, Wanted::All).is_ok()
        }));
        *next >= request.entities.len()
    }

    /// True if reads and writes mean a program that is saved and not committed.
    pub fn is_saved(&self) -> bool {
        self.saved.is_some()
    }

    /// Entities that reads and writes refer to: of the saved program if there is one, else of the running one.
    pub fn store(&self) -> Option<&Store> {
        self.saved.as_ref().or(self.running.as_ref()).map(|configured| &configured.store)
    }

    pub(crate) fn forget_digests(&mut self) {
        let Some(running) = &self.running else { return };
        for digest in &running.store.catalog().info().digests {
            if running.store.digest(digest.id()).is_none() {
                self.digests.forget(digest.id());
            }
        }
    }
}

impl<T: Target> Configured<T> {
    /// Updates of nobody's, in numbers, all or none.
    pub(crate) fn fill(&mut self, updates: &[Update]) -> std::result::Result<(), Status> {
        self.names.note(updates);
        let updates = updates.iter().map(|update| Ok(Cow::Borrowed(update)));
        Batch::new("", Box::new(updates), true).finish(self)?.status()
    }

    /// The packet in numbers.
    pub(crate) fn plain_packet(&self, packet: &PacketOut) -> Result<PacketOut> {
        let mut packet = packet.clone();
        self.names.lower_packet(&mut packet.metadata)?;
        Ok(packet)
    }

    /// Does one update, all of it or nothing. The inverses of its changes are appended to `undo`.
    pub(crate) fn update(
        &mut self,
        role: &str,
        update: &Update,
        undo: Option<&mut Vec<Change>>,
    ) -> Result<()> {
        self.permit(role, update.entity.as_ref().and_then(|entity| entity.entity.as_ref()))?;
        let changes = self.store.plan(update)?;
        let mut done = vec![];
        // A single change that fails has changed nothing, so it needs no inverse.
        let wants_inverse = undo.is_some() || changes.len() > 1;
        for change in changes {
            match self.change(change, wants_inverse) {
                Ok(inverse) => done.extend(inverse),
                Err(fault) => {
                    let rest = self.roll_back(done);
                    return rest.map_or_else(|status| stuck(&status), |()| Err(fault));
                }
            }
        }
        if let Some(undo) = undo {
            undo.extend(done);
        }
        Ok(())
    }

    pub(crate) fn change(&mut self, change: Change, wants_inverse: bool) -> Result<Option<Change>> {
        let before = if wants_inverse { self.before(&change)? } else { None };
        self.target.apply(self.store.catalog(), &change)?;
        Ok(self.store.commit(change, before))
    }

    /// Value of the data plane before `change`.
    fn before(&self, change: &Change) -> Result<Option<Before>> {
        Ok(match change {
            Change::Counter { counter, index, .. } => {
                Some(Before::Count(self.target.counter(*counter, *index)?))
            }
            Change::Register { register, index, .. } => {
                Some(Before::Register(self.target.register(*register, *index)?))
            }
            Change::Memory { object, .. } => Some(Before::Memory(self.target.memory(*object)?)),
            Change::DirectCounter { table, key, .. } => {
                Some(Before::Count(self.target.direct_counter(*table, key)?))
            }
            Change::Default { table, count: Some(_), .. } => {
                Some(Before::Count(self.target.direct_counter(*table, &EntryKey::of_default())?))
            }
            // A deleted entry comes back with its counts.
            Change::Entry { table, key, .. }
                if self.store.entry(*table, key).is_some()
                    && self.store.catalog().direct_counter(*table).is_some() =>
            {
                Some(Before::Count(self.target.direct_counter(*table, key)?))
            }
            _ => None,
        })
    }

    /// Does the inverses, the last first.
    pub(crate) fn roll_back(&mut self, undo: Vec<Change>) -> std::result::Result<(), Status> {
        for change in undo.into_iter().rev() {
            self.change(change, false)
                .map_err(|fault| Status::new(Code::Internal, format!("rolling back failed: {fault}")))?;
        }
        Ok(())
    }

    /// Refuses access to entities of another role: `@p4runtime_role("name")` gives an object to that role and to the
    /// default one.
    pub(crate) fn permit(&self, role: &str, entity: Option<&Kind>) -> Result<()> {
        if role.is_empty() {
            return Ok(());
        }
        let catalog = self.store.catalog();
        let owner = match entity {
            Some(Kind::TableEntry(e)) => owner(catalog.table(e.table_id).ok()),
            Some(Kind::DirectCounterEntry(e)) => {
                owner(e.table_entry.as_ref().and_then(|e| catalog.table(e.table_id).ok()))
            }
            Some(Kind::DirectMeterEntry(e)) => {
                owner(e.table_entry.as_ref().and_then(|e| catalog.table(e.table_id).ok()))
            }
            Some(Kind::ActionProfileMember(e)) => owner(catalog.profile(e.action_profile_id).ok()),
            Some(Kind::ActionProfileGroup(e)) => owner(catalog.profile(e.action_profile_id).ok()),
            Some(Kind::CounterEntry(e)) => owner(catalog.counter(e.counter_id).ok()),
            Some(Kind::MeterEntry(e)) => owner(catalog.meter(e.meter_id).ok()),
            Some(Kind::RegisterEntry(e)) => owner(catalog.register(e.register_id).ok()),
            Some(Kind::ValueSetEntry(e)) => owner(catalog.value_set(e.value_set_id).ok()),
            Some(Kind::DigestEntry(e)) => owner(catalog.digest(e.digest_id).ok()),
            Some(Kind::ExternEntry(e)) => {
                owner(catalog.extern_object(e.extern_id).ok().map(|(_, object)| object))
            }
            _ => None,
        };
        match owner {
            Some(owner) if owner != role => {
                fault("the entity belongs to another role", format!("the program assigns it to `{owner}`"))
                    .code(Code::PermissionDenied)
            }
            _ => Ok(()),
        }
    }
}

fn stuck<T>(status: &Status) -> Result<T> {
    fault("an update was done in part", status.message.clone()).code(Code::Internal)
}
