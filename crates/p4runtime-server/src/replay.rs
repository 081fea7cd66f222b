//! Entries of the program that runs, written to one that is to replace it: in slices, since tables have a million entries, and frames pass
//! between two slices.
//!
//! ```text
//! prepare    the new program, with its own entries
//! replay     its own entries go, those of the running program come       slice by slice, frames pass
//! take along counters and registers, as the data plane has left them     at once
//! install    the new program runs
//! ```

use crate::config::{Configured, Prepared, unread};
use crate::server::Server;
use crate::status::Status;
use crate::target::{Builder, Target};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    Entity, SetForwardingPipelineConfigRequest, TableEntry, Update, entity, update,
};
use p4runtime_store::{Cursor, Fault, Names, Store, Wanted, Written, making};

/// Room of a slice, in cells: a hundred entries, each of which is read, checked and written.
pub(crate) const SLICE: u64 = 1024;

/// Entities that must still be written to a prepared program.
pub(crate) struct Replay {
    written: Written,
    /// The program's own entries that are still to go; not known before the first slice.
    own: Option<Cursor>,
}

impl Replay {
    /// All that controllers have written there.
    pub(crate) fn of(running: &Store) -> Replay {
        Replay { written: running.written_by_controllers(), own: None }
    }
}

impl<B: Builder> Server<B> {
    /// Writes the next slice of the running program's entries to a program that was prepared. True if it has all that it is to have.
    pub fn replay(&self, prepared: &mut Prepared<B>) -> Result<bool, Status> {
        self.replay_some(prepared, SLICE)
    }

    fn replay_some(&self, prepared: &mut Prepared<B>, mut room: u64) -> Result<bool, Status> {
        let (Some(replay), Some(running)) = (&mut prepared.replay, &self.running) else { return Ok(true) };
        let own = match &mut replay.own {
            Some(own) => own,
            none => none.insert(prepared.new.begin_replay(&running.names)?),
        };
        prepared.new.delete_own(own, &mut room)?;
        if !own.is_over() {
            return Ok(false);
        }
        let mut ended = Ok(());
        let mut again = |entity: Entity| {
            if ended.is_ok() {
                ended = prepared.new.again(entity, &running.names).map(drop);
            }
        };
        let (store, target) = (&running.store, &running.target);
        let read = store.read_written_some(&mut replay.written, &mut room, target, &mut again);
        read.map_err(|fault| unread(&fault))?;
        ended?;
        if replay.written.is_over() {
            prepared.replay = None;
        }
        Ok(prepared.replay.is_none())
    }

    /// The RPC `SetForwardingPipelineConfig`. What fails changes nothing.
    pub fn set_config(&mut self, request: SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        let Some(mut new) = self.prepare_config(request)? else { return Ok(()) };
        self.replay_some(&mut new, u64::MAX)?;
        self.replace(new)
    }

    /// The same, in slices if there are many entries: without an answer, [`go_on`](Server::go_on) goes on with it.
    pub fn begin_config(
        &mut self,
        request: SetForwardingPipelineConfigRequest,
    ) -> Option<Result<(), Status>> {
        match self.prepare_config(request) {
            Ok(Some(new)) => self.begin_to_replace(new),
            Ok(None) => Some(Ok(())),
            Err(status) => Some(Err(status)),
        }
    }

    /// Begins to build the program that runs anew, without what its data plane has written.
    pub fn begin_reset(&mut self) -> Option<Result<(), Status>> {
        match self.prepare_again(true) {
            Ok(new) => self.begin_to_replace(new),
            Err(status) => Some(Err(status)),
        }
    }

    fn begin_to_replace(&mut self, new: Prepared<B>) -> Option<Result<(), Status>> {
        self.replacing = Some(new);
        self.go_on_replacing()
    }

    /// Writes the next slice to the program that is to run. When that was the last one, it runs.
    pub(crate) fn go_on_replacing(&mut self) -> Option<Result<(), Status>> {
        let mut new = self.replacing.take()?;
        match self.replay(&mut new) {
            Ok(true) => Some(self.replace(new)),
            Ok(false) => {
                self.replacing = Some(new);
                None
            }
            Err(status) => Some(Err(status)),
        }
    }

    fn replace(&mut self, mut new: Prepared<B>) -> Result<(), Status> {
        self.take_along(&mut new, &mut |_| ())?;
        self.install(new);
        Ok(())
    }

    /// Copies the values that the data plane has written to the running program to a prepared one, if that was requested. Each value
    /// is also passed to `give`, with the new program's ids.
    pub fn take_along(&self, prepared: &mut Prepared<B>, give: &mut dyn FnMut(Entity)) -> Result<(), Status> {
        let (true, Some(running)) = (prepared.takes_along, &self.running) else { return Ok(()) };
        let mut ended = Ok(());
        let mut again = |entity: Entity| {
            if ended.is_ok() {
                ended = prepared
                    .new
                    .again(entity, &running.names)
                    .map(|done| done.into_iter().for_each(&mut *give));
            }
        };
        let read = running.store.read_counted(&running.target, &mut again);
        read.map_err(|fault| Status::new(Code::Internal, format!("the counters cannot be read: {fault}")))?;
        ended
    }
}

impl<T: Target> Configured<T> {
    /// Writes these entities, whose strings have the numbers in `names`, instead of the program's own entries that are not constant.
    pub(crate) fn replay_all(&mut self, entities: Vec<Entity>, names: &Names) -> Result<(), Status> {
        let mut own = self.begin_replay(names)?;
        self.delete_own(&mut own, &mut { u64::MAX })?;
        entities.into_iter().try_for_each(|entity| self.again(entity, names).map(drop))
    }

    /// The position before the program's own entries. Strings get their numbers in `names`.
    fn begin_replay(&mut self, names: &Names) -> Result<Cursor, Status> {
        self.names.adopt(names);
        let entries = Entity { entity: Some(entity::Entity::TableEntry(TableEntry::default())) };
        self.store.find(&entries, Wanted::All).map_err(|fault| unfit(&fault))
    }

    /// Deletes the next of the program's own entries, but for those that are constant.
    fn delete_own(&mut self, own: &mut Cursor, room: &mut u64) -> Result<(), Status> {
        let mut some = vec![];
        let mut take = |entity: Entity| some.push(entity);
        self.store.read_some(own, room, &self.target, &mut take).map_err(|fault| unfit(&fault))?;
        some.retain(|entity| matches!(&entity.entity, Some(entity::Entity::TableEntry(e)) if !e.is_const));
        some.into_iter().try_for_each(|entity| self.make(update::Type::Delete, entity))
    }

    /// Writes an entity of another program, whose strings have the numbers in `names`. It comes back with the numbers that they have here.
    fn again(&mut self, entity: Entity, names: &Names) -> Result<Option<Entity>, Status> {
        let Some(entity) = self.rename(entity, names)? else { return Ok(None) };
        self.make(making(&entity), entity.clone())?;
        Ok(Some(entity))
    }

    fn rename(&mut self, mut entity: Entity, names: &Names) -> Result<Option<Entity>, Status> {
        if self.names.is_empty() && names.is_empty() {
            return Ok(Some(entity));
        }
        names.raise(&mut entity);
        let update = Update { entity: Some(entity), ..Update::default() };
        let lowered = self.names.lower(std::slice::from_ref(&update), &self.store).pop();
        let lowered = lowered.transpose().map_err(|fault| unfit(&fault))?;
        Ok(lowered.and_then(|update| update.into_owned().entity))
    }

    fn make(&mut self, how: update::Type, entity: Entity) -> Result<(), Status> {
        let update = Update { r#type: how as i32, entity: Some(entity) };
        for change in self.store.plan(&update).map_err(|fault| unfit(&fault))? {
            self.target.apply(self.store.catalog(), &change).map_err(|fault| unfit(&fault))?;
            self.store.commit(change, None);
        }
        Ok(())
    }
}

fn unfit(fault: &Fault) -> Status {
    let why = format!("the existing entries do not fit the new program: {fault}");
    Status::new(Code::InvalidArgument, why)
}
