//! Two-phase moves of flows between the full tables at the helpers and a switch that holds some of their entries, and writes
//! that all copies see in one order (ExoPlane, sections 3 and 4.2).
//!
//! A flow whose key is in the switch's flow table is processed at the switch, every other one at a helper. The
//! invariant: every lookup of a flow at the switch has the full table's result, a miss included.
//!
//! ```text
//! promote:  copies of all entries it looks up ── all there ──> into the flow table
//! evict:    out of the flow table ──> packets in flight are out (flush) ──> copies that no other flow needs are removed
//! write:    switch, if some flow there looks the key up ──> backups ──> primaries ──> done
//! together: flows that look a key up are evicted ──> all devices at one moment ──> done, the flows come back
//! ```
//!
//! A move shares the keys it touches with other moves; a write has its key alone ([`locks`](crate::locks)). Copies are counted by flow
//! ([`copies`](crate::copies)). A flow whose lookups go elsewhere after a write (the entry has other action data, which
//! make the next key) is evicted before it.
//!
//! Operations may be carried out and answered in any order, each once. A switch that starts anew has lost what it held, but nothing here changes: who carries the
//! operations out lets no packet in before the switch has again what all operations have made of it that were carried out, answered or not. So a flow stays where it
//! is, and finds no entry as before a write that it has found written. If packets came in earlier, those of flows at the switch would go to helpers that may not have
//! the write yet (`tests/order.rs`).

use crate::copies::{Change, Copies};
use crate::locks::{Locks, Use};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Identifies the content of an entry for the caller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version(pub u64);

/// Names a write; the caller counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WriteId(pub u64);

/// A change of the full tables.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Write<K> {
    /// The entry's place.
    pub key: K,
    /// New content; `None` deletes the entry.
    pub content: Option<Version>,
}

/// The full tables: the desired state, not the content of any device.
pub trait FullTables<F, K> {
    /// The entry at the key; none is a miss.
    fn content(&self, key: &K) -> Option<Version>;

    /// Every key that packets of the flow look up, each once: now, or after a write that is not done yet.
    fn touched(&self, flow: &F, after: Option<&Write<K>>) -> Vec<K>;

    /// The write is done on all devices.
    fn apply(&mut self, write: &Write<K>);
}

/// Operations on devices.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation<F, K> {
    /// Insert or modify the entry at the switch.
    Put(K, Version),
    /// Delete the entry at the switch.
    Remove(K),
    /// Insert the flow into the switch's flow table.
    Admit(F),
    /// Delete the flow from the switch's flow table.
    Expel(F),
    /// Answered once no packet that found the flow in the flow table is between there and its last lookup.
    Flush(F),
    /// Write to all devices that back the key up.
    Backups(WriteId, Write<K>),
    /// Write to all devices that serve the key.
    Primaries(WriteId, Write<K>),
    /// Write all of it to all devices, so that no packet sees a part. No flow at the switch looks one of the keys up.
    Together(WriteId, Vec<Write<K>>),
}

/// How an operation ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Answer {
    /// The step is carried out.
    Done,
    /// The switch has no room, and nothing has changed: for [`Operation::Put`] and [`Operation::Admit`]. Nothing is written: for
    /// [`Operation::Together`].
    Full,
}

/// Completed changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum News<F> {
    /// The flow is processed at the switch.
    In(F),
    /// The flow is processed at a helper, and all it had at the switch is free.
    Out(F),
    /// As [`News::Out`], since the switch had no room.
    Refused(F),
    /// The write is on all devices, or it was one of [`Moves::write_together`] and is on none.
    Written(WriteId),
}

/// Phase of a flow's move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Phase {
    /// Waits for its keys, before moving to the switch.
    Waiting,
    /// The flow's entries are being written to the switch.
    Filling,
    /// The flow's key is being written to the flow table.
    Admitting,
    Resident,
    /// Waits for its keys, before moving to the helper.
    Leaving,
    /// The flow's key is being removed from the flow table.
    Expelling,
    /// The flow's packets in flight are finishing.
    Flushing,
    /// Entries that nobody else needs are removed.
    Freeing,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Flow<K> {
    touched: Vec<K>,
    phase: Phase,
    /// The flow leaves as soon as it has arrived.
    leave: bool,
    /// The switch had no room for it.
    refused: bool,
}

/// A write in progress.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Writing<K> {
    write: Write<K>,
    at_switch: bool,
}

/// Writes that are done together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Together<F, K> {
    writes: Vec<Write<K>>,
    /// Flows that have left for them, and come back when they are done: earlier, they would be in the way again.
    back: BTreeSet<F>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Holder<F> {
    Flow(F),
    Write(WriteId),
}

/// All flows, copies and writes of one switch. `F` names a flow, `K` an entry: a table and a key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Moves<F, K> {
    locks: Locks<K, Holder<F>>,
    copies: Copies<F, K>,
    flows: BTreeMap<F, Flow<K>>,
    /// Flows that wait for copies: phases `Filling` and `Freeing`.
    settling: BTreeSet<F>,
    /// Flows that are promoted once another one is out.
    successors: BTreeMap<F, F>,
    writes: BTreeMap<WriteId, Writing<K>>,
    together: BTreeMap<WriteId, Together<F, K>>,
    operations: VecDeque<Operation<F, K>>,
    news: VecDeque<News<F>>,
}

impl<F: Clone + Ord, K: Clone + Ord> Default for Moves<F, K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Clone + Ord, K: Clone + Ord> Moves<F, K> {
    /// A switch that holds nothing.
    pub fn new() -> Self {
        Self {
            locks: Locks::new(),
            copies: Copies::new(),
            flows: BTreeMap::new(),
            settling: BTreeSet::new(),
            successors: BTreeMap::new(),
            writes: BTreeMap::new(),
            together: BTreeMap::new(),
            operations: VecDeque::new(),
            news: VecDeque::new(),
        }
    }

    /// Moves the flow to the switch; does nothing if it is there or moving there. A flow that moves to a helper comes
    /// back afterwards.
    pub fn promote(&mut self, flow: F, tables: &mut impl FullTables<F, K>) {
        if let Some(known) = self.flows.get_mut(&flow) {
            match known.phase {
                Phase::Waiting | Phase::Filling | Phase::Admitting => known.leave = false,
                Phase::Resident => {}
                Phase::Leaving | Phase::Expelling | Phase::Flushing | Phase::Freeing => {
                    self.successors.insert(flow.clone(), flow);
                }
            }
            return;
        }
        self.enter(flow, tables);
        self.advance(tables);
    }

    /// Moves the flow to its helper; does nothing if it is there or moving there.
    pub fn evict(&mut self, flow: &F, tables: &mut impl FullTables<F, K>) {
        let mut was_to_come = self.successors.remove(flow).is_some();
        for of in self.together.values_mut() {
            was_to_come |= of.back.remove(flow);
        }
        if was_to_come && !self.flows.contains_key(flow) {
            self.news.push_back(News::Out(flow.clone()));
        }
        self.leave(flow);
        self.advance(tables);
    }

    /// Moves `old` out, then `new` in: the two are never at the switch together.
    pub fn replace(&mut self, old: &F, new: F, tables: &mut impl FullTables<F, K>) {
        self.evict(old, tables);
        if self.flows.contains_key(old) && !self.flows.contains_key(&new) {
            self.successors.insert(new, old.clone());
        } else {
            self.promote(new, tables);
        }
    }

    /// Begins a write: all devices get it in the order switch, backups, primaries.
    pub fn write(&mut self, id: WriteId, write: Write<K>, tables: &mut impl FullTables<F, K>) {
        self.writes.insert(id, Writing { write, at_switch: false });
        self.queue_write(id, tables);
        self.advance(tables);
    }

    /// Begins writes of which no packet sees a part. Flows at the switch that look one of the keys up leave it, and come back afterwards.
    /// A write to one of the keys that begins later may be done earlier.
    pub fn write_together(&mut self, id: WriteId, writes: Vec<Write<K>>, tables: &mut impl FullTables<F, K>) {
        self.together.insert(id, Together { writes, back: BTreeSet::new() });
        self.queue_together(id);
        self.advance(tables);
    }

    /// An operation has ended.
    pub fn answer(
        &mut self,
        operation: &Operation<F, K>,
        answer: Answer,
        tables: &mut impl FullTables<F, K>,
    ) {
        match operation {
            Operation::Put(key, _) | Operation::Remove(key) => self.copy_answered(key, answer, tables),
            Operation::Admit(flow) => match answer {
                Answer::Done => self.admitted(flow),
                Answer::Full => self.undo(flow),
            },
            Operation::Expel(flow) => {
                self.set_phase(flow, Phase::Flushing);
                // Packets that found the flow are still inside and look up its copies.
                self.operations.push_back(Operation::Flush(flow.clone()));
            }
            Operation::Flush(flow) => self.free(flow),
            Operation::Backups(id, write) => {
                self.operations.push_back(Operation::Primaries(*id, write.clone()))
            }
            Operation::Primaries(id, write) => {
                tables.apply(write);
                self.writes.remove(id);
                self.locks.release(&Holder::Write(*id));
                self.news.push_back(News::Written(*id));
            }
            Operation::Together(id, writes) => {
                if answer == Answer::Done {
                    writes.iter().for_each(|write| tables.apply(write));
                }
                self.locks.release(&Holder::Write(*id));
                self.news.push_back(News::Written(*id));
                for flow in self.together.remove(id).map(|of| of.back).unwrap_or_default() {
                    if !self.flows.contains_key(&flow) {
                        self.enter(flow, tables);
                    }
                }
            }
        }
        self.advance(tables);
    }

    /// The next operation that a device is to be given.
    pub fn operation(&mut self) -> Option<Operation<F, K>> {
        self.operations.pop_front()
    }

    /// The next thing that has come about.
    pub fn news(&mut self) -> Option<News<F>> {
        self.news.pop_front()
    }

    /// Whether packets of the flow may find it in the switch's flow table.
    pub fn at_switch(&self, flow: &F) -> bool {
        self.flows.get(flow).is_some_and(|flow| {
            matches!(
                flow.phase,
                Phase::Admitting | Phase::Resident | Phase::Leaving | Phase::Expelling | Phase::Flushing
            )
        })
    }

    /// Whether the flow is at the switch, moves, or is to come back.
    pub fn has(&self, flow: &F) -> bool {
        self.flows.contains_key(flow) || self.together.values().any(|of| of.back.contains(flow))
    }

    /// Numbers of flows at the switch or moving, and of keys copied there, misses included.
    pub fn len(&self) -> (usize, usize) {
        (self.flows.len(), self.copies.len())
    }

    /// True if the switch has no flows, and nothing is in progress.
    pub fn is_empty(&self) -> bool {
        let writes_nothing = self.writes.is_empty() && self.together.is_empty();
        self.flows.is_empty() && self.copies.len() == 0 && writes_nothing && self.locks.is_empty()
    }

    fn enter(&mut self, flow: F, tables: &impl FullTables<F, K>) {
        let touched = tables.touched(&flow, None);
        self.locks.request(Holder::Flow(flow.clone()), touched.clone(), Use::Shared);
        let new = Flow { touched, phase: Phase::Waiting, leave: false, refused: false };
        self.flows.insert(flow, new);
    }

    fn leave(&mut self, name: &F) {
        let Some(flow) = self.flows.get_mut(name) else { return };
        match flow.phase {
            Phase::Waiting => {
                self.locks.release(&Holder::Flow(name.clone()));
                self.flows.remove(name);
                self.news.push_back(News::Out(name.clone()));
            }
            Phase::Filling | Phase::Admitting => flow.leave = true,
            Phase::Resident => {
                flow.phase = Phase::Leaving;
                self.locks.request(Holder::Flow(name.clone()), flow.touched.clone(), Use::Shared);
            }
            Phase::Leaving | Phase::Expelling | Phase::Flushing | Phase::Freeing => {}
        }
    }

    /// Does all that can be done: until no lock is granted and no flow has all it waits for.
    fn advance(&mut self, tables: &mut impl FullTables<F, K>) {
        loop {
            if let Some(holder) = self.locks.granted() {
                match holder {
                    Holder::Flow(flow) => self.flow_granted(&flow, tables),
                    Holder::Write(id) if self.together.contains_key(&id) => self.together_granted(id),
                    Holder::Write(id) => self.write_granted(id, tables),
                }
            } else if !self.settle(tables) {
                return;
            }
        }
    }

    fn flow_granted(&mut self, name: &F, tables: &impl FullTables<F, K>) {
        let Some(flow) = self.flows.get_mut(name) else { return };
        if flow.phase == Phase::Leaving {
            flow.phase = Phase::Expelling;
            self.operations.push_back(Operation::Expel(name.clone()));
            return;
        }
        // Writes that were done while it waited may have led its lookups elsewhere.
        let touched = tables.touched(name, None);
        if touched != flow.touched {
            flow.touched.clone_from(&touched);
            self.locks.release(&Holder::Flow(name.clone()));
            self.locks.request(Holder::Flow(name.clone()), touched, Use::Shared);
            return;
        }
        flow.phase = Phase::Filling;
        self.settling.insert(name.clone());
        for key in &touched {
            self.copies.refer(name, key, tables.content(key));
            self.send(key);
        }
    }

    /// One flow that waits for copies goes on, if there is one that has them.
    fn settle(&mut self, tables: &mut impl FullTables<F, K>) -> bool {
        let Some(name) = self.settling.iter().find(|name| self.has_settled(name)).cloned() else {
            return false;
        };
        self.settling.remove(&name);
        if self.flows.get(&name).is_some_and(|flow| flow.phase == Phase::Filling) {
            self.set_phase(&name, Phase::Admitting);
            self.operations.push_back(Operation::Admit(name));
        } else {
            self.out(&name, tables);
        }
        true
    }

    fn has_settled(&self, name: &F) -> bool {
        self.flows.get(name).is_some_and(|flow| match flow.phase {
            Phase::Filling => flow.touched.iter().all(|key| self.copies.settled(key)),
            _ => flow.touched.iter().all(|key| self.copies.freed(key)),
        })
    }

    fn admitted(&mut self, name: &F) {
        self.set_phase(name, Phase::Resident);
        self.locks.release(&Holder::Flow(name.clone()));
        self.news.push_back(News::In(name.clone()));
        if self.flows.get(name).is_some_and(|flow| flow.leave) {
            self.leave(name);
        }
    }

    /// Frees a flow's entries at the switch after the flow table had no room for it.
    fn undo(&mut self, name: &F) {
        if let Some(flow) = self.flows.get_mut(name) {
            flow.refused = true;
        }
        self.free(name);
    }

    fn free(&mut self, name: &F) {
        self.set_phase(name, Phase::Freeing);
        self.settling.insert(name.clone());
        let touched = self.flows.get(name).map(|flow| flow.touched.clone()).unwrap_or_default();
        for key in &touched {
            self.copies.forget(name, key);
            self.send(key);
        }
    }

    fn out(&mut self, name: &F, tables: &impl FullTables<F, K>) {
        self.locks.release(&Holder::Flow(name.clone()));
        let Some(flow) = self.flows.remove(name) else { return };
        let news = if flow.refused { News::Refused(name.clone()) } else { News::Out(name.clone()) };
        self.news.push_back(news);
        let (ready, waiting) =
            std::mem::take(&mut self.successors).into_iter().partition(|(_, old)| old == name);
        self.successors = waiting;
        for successor in BTreeMap::into_keys(ready) {
            if !self.flows.contains_key(&successor) {
                self.enter(successor, tables);
            }
        }
    }

    /// Evicts the flows at the switch that the write would lead elsewhere, and asks for the key after them.
    fn queue_write(&mut self, id: WriteId, tables: &impl FullTables<F, K>) {
        let Some(writing) = self.writes.get(&id) else { return };
        let key = writing.write.key.clone();
        for flow in self.misled(&writing.write.clone(), tables) {
            self.leave(&flow);
        }
        self.locks.request(Holder::Write(id), vec![key], Use::Alone);
    }

    /// Flows at the switch that look up other keys after the write.
    fn misled(&self, write: &Write<K>, tables: &impl FullTables<F, K>) -> Vec<F> {
        let mut flows = self.copies.flows(&write.key);
        flows.retain(|name| {
            let after = tables.touched(name, Some(write));
            self.flows.get(name).is_some_and(|flow| flow.touched != after)
        });
        flows
    }

    fn write_granted(&mut self, id: WriteId, tables: &impl FullTables<F, K>) {
        let Some(writing) = self.writes.get_mut(&id) else { return };
        let write = writing.write.clone();
        writing.at_switch = true;
        // A flow that came in while the write waited.
        if !self.misled(&write, tables).is_empty() {
            return self.write_again(id, tables);
        }
        self.copies.set(&write.key, write.content);
        self.send(&write.key);
        if self.copies.settled(&write.key) {
            self.switch_written(id);
        }
    }

    fn write_again(&mut self, id: WriteId, tables: &impl FullTables<F, K>) {
        if let Some(writing) = self.writes.get_mut(&id) {
            writing.at_switch = false;
        }
        self.locks.release(&Holder::Write(id));
        self.queue_write(id, tables);
    }

    /// Evicts the flows at the switch that look one of the keys up, and asks for the keys after them.
    fn queue_together(&mut self, id: WriteId) {
        let Some(of) = self.together.get_mut(&id) else { return };
        let keys: BTreeSet<K> = of.writes.iter().map(|write| write.key.clone()).collect();
        let flows: BTreeSet<F> = keys.iter().flat_map(|key| self.copies.flows(key)).collect();
        let stays = |flow: &Flow<K>| match flow.phase {
            Phase::Resident => true,
            Phase::Filling | Phase::Admitting => !flow.leave,
            _ => false,
        };
        of.back.extend(flows.iter().filter(|name| self.flows.get(name).is_some_and(stays)).cloned());
        flows.iter().for_each(|name| self.leave(name));
        self.locks.request(Holder::Write(id), keys.into_iter().collect(), Use::Alone);
    }

    fn together_granted(&mut self, id: WriteId) {
        let Some(Together { writes, .. }) = self.together.get(&id).cloned() else { return };
        // A flow that came in while the writes waited.
        if writes.iter().any(|write| !self.copies.flows(&write.key).is_empty()) {
            self.locks.release(&Holder::Write(id));
            return self.queue_together(id);
        }
        self.operations.push_back(Operation::Together(id, writes));
    }

    fn switch_written(&mut self, id: WriteId) {
        if let Some(writing) = self.writes.get_mut(&id) {
            writing.at_switch = false;
            self.operations.push_back(Operation::Backups(id, writing.write.clone()));
        }
    }

    fn copy_answered(&mut self, key: &K, answer: Answer, tables: &impl FullTables<F, K>) {
        self.copies.answered(key, answer == Answer::Done);
        let writer = self.writes.iter().find(|(_, w)| w.at_switch && w.write.key == *key).map(|(&id, _)| id);
        match (answer, writer) {
            (Answer::Done, None) => {}
            (Answer::Done, Some(id)) => {
                if self.copies.settled(key) {
                    self.switch_written(id);
                }
            }
            // No device has the write yet. It is tried again without the flows that look the key up at the switch.
            (Answer::Full, Some(id)) => {
                self.copies.set(key, tables.content(key));
                for flow in self.copies.flows(key) {
                    self.leave(&flow);
                }
                return self.write_again(id, tables);
            }
            (Answer::Full, None) => {
                for flow in self.copies.flows(key) {
                    if self.flows.get(&flow).is_some_and(|flow| flow.phase == Phase::Filling) {
                        self.undo(&flow);
                    }
                }
            }
        }
        self.send(key);
    }

    fn send(&mut self, key: &K) {
        match self.copies.next(key) {
            Some(Change::Put(version)) => self.operations.push_back(Operation::Put(key.clone(), version)),
            Some(Change::Remove) => self.operations.push_back(Operation::Remove(key.clone())),
            None => {}
        }
    }

    fn set_phase(&mut self, name: &F, phase: Phase) {
        if let Some(flow) = self.flows.get_mut(name) {
            flow.phase = phase;
        }
    }
}
