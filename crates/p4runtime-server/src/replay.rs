//! Copies the entries of the running program to the one that will replace it, in slices, because tables have a million entries: frames and
//! requests run between two slices.
//!
//! ```text
//! prepare    the new program, with its own entries
//! replay     its own entries are deleted; those of the running program at the start are written  slice by slice
//! follow     writes of controllers to the running program since the start, in order              slice by slice
//! count      counters and registers                                                              slice by slice
//! take along counters and registers that have changed since                                      at once, no frame passes
//! install    the new program runs
//! ```
//!
//! An entity that is about to be written is copied first, so that the copy has the state of one moment; the write itself is repeated afterwards.

use crate::config::{Prepared, unread};
use crate::configured::Configured;
use crate::server::Server;
use crate::status::Status;
use crate::target::{Builder, Target};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    Entity, SetForwardingPipelineConfigRequest, TableEntry, Update, WriteRequest, entity, update,
};
use p4runtime_store::{Cursor, Described, Fault, Live, Names, Store, Wanted, Written, making};
use std::collections::{BTreeMap, VecDeque};

/// Size of a slice, in cells: a hundred entries, each of which is read, checked and written.
pub(crate) const SLICE: u64 = 1024;

/// Cost of repeating an update, in cells.
const UPDATE: u64 = 8;

/// Limit on updates that arrive while entries are copied, and are repeated afterwards: later writes wait.
const MOST_FOLLOWING: usize = 1 << 14;

/// Entities that must still be written to a prepared program.
pub(crate) struct Replay {
    written: Written,
    /// The new program's own entries that are still to be deleted; not known before the first slice.
    own: Option<Cursor>,
    /// Updates of controllers since the start, with numbers for strings.
    following: VecDeque<Update>,
    /// Limit on `following`. It shrinks once only these updates are left, so that the copy ends however fast controllers write.
    room: usize,
    /// Number of entities that were copied before their turn.
    before: usize,
    /// The first copy of the data plane's values; `None` until all entries are copied.
    counted: Option<Written>,
    /// Memories of externs that have been copied, with their versions then.
    memories: BTreeMap<u32, u64>,
    /// Reason why the copy cannot continue.
    failed: Option<Status>,
}

impl Replay {
    /// A copy of all entities that controllers have written to a store.
    pub(crate) fn of(running: &Store) -> Replay {
        let written = running.written_by_controllers();
        Replay {
            written,
            own: None,
            following: VecDeque::new(),
            room: MOST_FOLLOWING,
            before: 0,
            counted: None,
            memories: BTreeMap::new(),
            failed: None,
        }
    }

    fn is_over(&self, takes_along: bool) -> bool {
        let is_counted = !takes_along || self.counted.as_ref().is_some_and(Written::is_over);
        self.written.is_over() && self.following.is_empty() && is_counted
    }
}

impl<B: Builder> Server<B> {
    /// Writes the next slice of the running program's entries to a prepared program. True if the prepared program is complete, except for
    /// values that the data plane writes.
    pub fn replay(&self, prepared: &mut Prepared<B>) -> Result<bool, Status> {
        self.replay_some(prepared, SLICE)
    }

    fn replay_some(&self, prepared: &mut Prepared<B>, mut room: u64) -> Result<bool, Status> {
        let (Some(replay), Some(running)) = (&mut prepared.replay, &self.running) else { return Ok(true) };
        if let Some(status) = replay.failed.take() {
            return Err(status);
        }
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
        if !replay.written.is_over() {
            return Ok(false);
        }
        while room > 0
            && let Some(update) = replay.following.pop_front()
        {
            room = room.saturating_sub(UPDATE);
            replay.room = replay.following.len().max(replay.room.saturating_sub(1));
            prepared.new.follow(update)?;
        }
        if prepared.takes_along {
            let counted = replay.counted.get_or_insert_with(|| store.counted());
            // Workers may process frames while a memory is read: its version is read first.
            let versions = versions(store, target);
            let (new, memories) = (&mut prepared.new, &mut replay.memories);
            let read = store.read_written_some(counted, &mut room, target, &mut |entity| {
                let object = match &entity.entity {
                    Some(entity::Entity::ExternEntry(memory)) => Some(memory.extern_id),
                    _ => None,
                };
                // An entry added meanwhile may be missing here; its counts are copied at the end.
                if new.again(entity, &running.names).is_ok()
                    && let Some(object) = object
                    && let Some(version) = versions.get(&object)
                {
                    memories.insert(object, *version);
                }
            });
            read.map_err(|fault| unread(&fault))?;
        }
        Ok(replay.is_over(prepared.takes_along))
    }

    /// Before a write to the running program, copies the entities that it changes to the program that will replace the running one. False if the
    /// write must wait.
    pub fn make_way_to_follow(&mut self, write: &WriteRequest) -> bool {
        let Some(Prepared { replay: Some(replay), takes_along, .. }) = &mut self.replacing else {
            return self.replacing.is_none();
        };
        let Some(running) = &self.running else { return true };
        let coming = write.updates.len();
        let early = if replay.written.is_over() { 0 } else { replay.before + coming };
        let has_room = replay.following.len() + coming <= replay.room && early <= MOST_FOLLOWING;
        // Strings may have other numbers in the new program.
        if !has_room || self.saved.is_some() || !running.names.is_empty() || replay.is_over(*takes_along) {
            return false;
        }
        for entity in write.updates.iter().filter_map(|update| update.entity.as_ref()) {
            if let Some(touched) = running.store.touched(entity) {
                match running.store.read_written_before(&mut replay.written, &touched, &running.target) {
                    Ok(is_taken) => replay.before += usize::from(is_taken),
                    Err(fault) => replay.failed = Some(unread(&fault)),
                }
            }
        }
        true
    }

    /// Queues updates of the running program to be repeated on the program that will replace it.
    pub(crate) fn follow(&mut self, done: Vec<Update>) {
        if let Some(replay) = self.replacing.as_mut().and_then(|new| new.replay.as_mut()) {
            replay.following.extend(done);
        }
    }

    /// True while a program is about to replace the running one.
    pub fn is_replacing(&self) -> bool {
        self.replacing.is_some()
    }

    /// True if the program that will replace the running one is complete: the next slice is the last one.
    pub fn is_about_to_replace(&self) -> bool {
        let is_over =
            |new: &Prepared<B>| new.replay.as_ref().is_none_or(|replay| replay.is_over(new.takes_along));
        self.writing.is_none() && self.replacing.as_ref().is_some_and(is_over)
    }

    /// The RPC `SetForwardingPipelineConfig`. On an error, nothing has changed.
    pub fn set_config(&mut self, request: SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        let Some(mut new) = self.prepare_config(request)? else { return Ok(()) };
        self.replay_some(&mut new, u64::MAX)?;
        self.replace(new)
    }

    /// The same, in slices: without an answer, [`go_on_replacing`](Server::go_on_replacing) continues it.
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

    /// Begins to build the running program anew, without the values that its data plane has written.
    pub fn begin_reset(&mut self) -> Option<Result<(), Status>> {
        match self.prepare_again(true) {
            Ok(new) => self.begin_to_replace(new),
            Err(status) => Some(Err(status)),
        }
    }

    fn begin_to_replace(&mut self, new: Prepared<B>) -> Option<Result<(), Status>> {
        let takes_along = new.takes_along;
        self.replacing = Some(new);
        // No frame may pass while values of the data plane are copied: the caller ensures this before the last slice.
        if takes_along {
            return None;
        }
        self.go_on_replacing(false).or_else(|| match self.is_about_to_replace() {
            true => self.go_on_replacing(false),
            false => None,
        })
    }

    /// Writes the next slice to the new program. When the new program is complete and no read of the running one is in progress, the new program
    /// runs, and the result is returned.
    pub fn go_on_replacing(&mut self, is_read: bool) -> Option<Result<(), Status>> {
        let is_last = self.is_about_to_replace();
        let mut new = self.replacing.take()?;
        if is_last && !is_read {
            return Some(self.replace(new));
        }
        match self.replay(&mut new) {
            Ok(_) => {
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

    /// Copies the values that the data plane has written to the running program to a prepared one, if that was requested, except for those
    /// that it has. Each value is also passed to `give`, with the new program's ids. Memories of externs whose versions are as they were when
    /// they were copied are not read, and not passed to `give`.
    pub fn take_along(&self, prepared: &mut Prepared<B>, give: &mut dyn FnMut(Entity)) -> Result<(), Status> {
        let (true, Some(running)) = (prepared.takes_along, &self.running) else { return Ok(()) };
        let copied = prepared.replay.as_ref().map(|replay| &replay.memories);
        let is_copied = |object: u32| {
            let version = running.target.memory_version(object).ok().flatten();
            version.is_some() && version.as_ref() == copied.and_then(|copied| copied.get(&object))
        };
        let mut ended = Ok(());
        let mut again = |entity: Entity| {
            if ended.is_ok() {
                ended = prepared
                    .new
                    .again_if_it_differs(entity, &running.names)
                    .map(|done| done.into_iter().for_each(&mut *give));
            }
        };
        let read = running.store.read_counted(&running.target, &is_copied, &mut again);
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

    /// Writes an entity of another program, whose strings have the numbers in `names`. Returns it with this program's numbers.
    pub(crate) fn again(&mut self, entity: Entity, names: &Names) -> Result<Option<Entity>, Status> {
        let Some(entity) = self.rename(entity, names)? else { return Ok(None) };
        self.make_again(&entity)?;
        Ok(Some(entity))
    }

    /// Writes an entity of another program. An extern whose memory does not fit keeps its initial memory; a missing extern is skipped.
    fn make_again(&mut self, entity: &Entity) -> Result<(), Status> {
        match self.make(making(entity), entity.clone()) {
            Err(_) if matches!(entity.entity, Some(entity::Entity::ExternEntry(_))) => Ok(()),
            made => made,
        }
    }

    /// [`again`](Configured::again) for a value of the data plane, unless the program has the same value already.
    fn again_if_it_differs(&mut self, entity: Entity, names: &Names) -> Result<Option<Entity>, Status> {
        let Some(entity) = self.rename(entity, names)? else { return Ok(None) };
        let mut is_there = false;
        let mut compare = |known: Entity| is_there = known == entity;
        if self.store.read(&entity, &self.target, &mut compare).is_err() || !is_there {
            self.make_again(&entity)?;
        }
        Ok(Some(entity))
    }

    /// Repeats an update of the running program, without strings.
    fn follow(&mut self, update: Update) -> Result<(), Status> {
        let (how, entity) = (update.r#type(), update.entity);
        entity.map_or(Ok(()), |entity| self.make(how, entity))
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

/// Versions of the memories of externs, where they are known.
fn versions(store: &Store, live: &dyn Live) -> BTreeMap<u32, u64> {
    let all = store.catalog().extern_objects().map(|(_, object)| object.id());
    all.filter_map(|object| Some((object, live.memory_version(object).ok().flatten()?))).collect()
}

fn unfit(fault: &Fault) -> Status {
    let why = format!("the existing entries do not fit the new program: {fault}");
    Status::new(Code::InvalidArgument, why)
}
