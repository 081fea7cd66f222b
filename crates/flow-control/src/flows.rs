//! The flows of one program at one switch: from the first packet to the last (ExoPlane, section 4.2). Joins [`pending`](crate::pending),
//! [`moves`](crate::moves) and [`popularity`](crate::popularity), without I/O: messages come in, outputs go out.
//!
//! ```text
//!           first packet                  decided, written               room, or popular
//! absent ───────────────────> pending ───────────────────> external ──────────────────────> moving, resident
//!    ^                        │ packets wait               │    ^                             │
//!    ├────────────────────────┘ refused, or no answer      │    └─────────────────────────────┘ idle, less popular,
//!    └─────────────────────────────────────────────────────┘ idle everywhere                    or a write leads it elsewhere
//! ```
//!
//! The decider (the program's own controller, or a handler) is asked once for each absent flow. Its entries are written to all
//! devices that serve or back up the flow, then the packets that waited are sent there, and only then may the flow move to
//! the switch. Flows of programs that make no entries for new flows are external without having been pending.
//!
//! All that waits is bounded: packets and flows by [`Bounds`], writes by [`Limits::writes`], flows that may be at the switch by the switch
//! itself, which says when it is full. Dropped packets are counted.

use crate::moves::{Answer, FullTables, Moves, News, Operation, Write, WriteId};
use crate::pending::{Arrival, Bounds, Order, Pending, Release};
use crate::popularity::{Costs, Decision, Popularity, Window};
use base_time::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Limits and rules of a program's flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Packets and flows that wait for decisions.
    pub pending: Bounds,
    /// Whether packets that waited may be overtaken.
    pub order: Order,
    /// Time for a decision; then the flow is absent again, and its packets are dropped.
    pub patience: Duration,
    /// Writes in progress.
    pub writes: usize,
    /// A new flow moves to the switch at once if so many more flows have room there; otherwise it has to become popular.
    pub headroom: usize,
    /// Costs of moves.
    pub costs: Costs,
}

/// Something for the caller to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output<F, K, P> {
    /// Give the first packet of a flow to who decides. [`Flows::decided`] or [`Flows::refused`] follows.
    Decide(F, P),
    /// Carry out on devices. [`Flows::answer`] follows, once.
    Do(Operation<F, K>),
    /// Send a packet that waited to the device that serves the flow.
    Send(F, P),
    /// Send a marker on the same path. [`Flows::marker_returned`] follows.
    Mark(F),
    /// The write is on all devices: notify its requester.
    Written(WriteId),
    /// A move of the flow has ended there: notify its requester.
    Moved(F, MovedTo),
}

/// The end of a move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MovedTo {
    /// The flow is processed at the switch.
    Switch,
    /// The flow is processed at its helper.
    Helper,
    /// The same, though it was to go to the switch: that has no room.
    FullSwitch,
}

/// Where a flow is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A decision is awaited, or is being written.
    Pending,
    /// At a helper.
    External,
    /// On its way to the switch or from it. Packets may find it in the switch's flow table.
    Moving,
    /// At the switch.
    Resident,
}

/// Totals since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Decisions that were asked for.
    pub asked: u64,
    /// Flows refused by who decides.
    pub refused: u64,
    /// Flows for which no decision came in time.
    pub expired: u64,
    /// Packets that were dropped while or since they waited.
    pub dropped: u64,
    /// Packets that waited and were sent.
    pub sent: u64,
    /// Moves to the switch.
    pub promoted: u64,
    /// Moves from the switch, and moves to it that were called off.
    pub evicted: u64,
    /// Moves that ended because the switch was full.
    pub full: u64,
    /// Writes that were not begun because too many were in progress.
    pub busy: u64,
}

/// A flow that is not absent.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Flow {
    place: Place,
    /// Packets in the last window, as far as known.
    packets: u64,
    /// True if the flow is forgotten once it has left the switch.
    ends: bool,
    /// Patience with who decides ends here; `None` of flows that are decided, or never were pending.
    deadline: Option<Time>,
    /// Entries were made for the flow: it is known while it is at a helper.
    is_decided: bool,
    /// Packets that helpers have given back since the last window, though its entries are written.
    returned: usize,
}

impl Flow {
    fn at(place: Place) -> Flow {
        Flow { place, packets: 0, ends: false, deadline: None, is_decided: false, returned: 0 }
    }
}

/// A decision that is being written.
#[derive(Clone, Debug)]
struct Deciding<F> {
    flow: F,
    /// Writes that are not done.
    left: BTreeSet<WriteId>,
}

/// All flows of one program at one switch. `F` names a flow, `K` an entry, `P` is a packet.
#[derive(Clone, Debug)]
pub struct Flows<F, K, P> {
    limits: Limits,
    pending: Pending<F, P>,
    moves: Moves<F, K>,
    popularity: Popularity,
    flows: BTreeMap<F, Flow>,
    /// Flows without a decision, by the time at which patience ends.
    deadlines: BTreeSet<(Time, F)>,
    deciding: Vec<Deciding<F>>,
    writes: BTreeSet<WriteId>,
    next_write: u64,
    /// Flows for which the switch has room, as last heard of, less those that have begun to move there.
    room: usize,
    outputs: VecDeque<Output<F, K, P>>,
    counters: Counters,
}

impl<F: Clone + Ord, K: Clone + Ord, P: Clone> Flows<F, K, P> {
    /// No flow. `room`: flows for which the switch has room.
    pub fn new(limits: Limits, room: usize) -> Self {
        Self {
            limits,
            pending: Pending::new(limits.order, limits.pending),
            moves: Moves::new(),
            popularity: Popularity::new(1),
            flows: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            deciding: vec![],
            writes: BTreeSet::new(),
            next_write: 0,
            room,
            outputs: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// A helper has handed over a packet for which it has no entries, or which is led here to keep the order.
    pub fn packet(&mut self, flow: F, packet: P, now: Time) {
        let most = self.limits.pending.packets;
        match self.flows.get_mut(&flow) {
            Some(known) if known.is_decided && !self.pending.waits(&flow) => {
                // Its entries were written after the packet had passed; or they are gone, and it would come back for ever.
                known.returned += 1;
                if known.returned <= most {
                    self.send(flow, packet);
                } else {
                    self.counters.dropped += 1;
                }
            }
            _ => match self.pending.arrived(flow.clone(), packet.clone()) {
                Arrival::Decide => {
                    let deadline = now + self.limits.patience;
                    let known = self.flows.entry(flow.clone()).or_insert(Flow::at(Place::Pending));
                    (known.deadline, known.is_decided) = (Some(deadline), true);
                    self.deadlines.insert((deadline, flow.clone()));
                    self.counters.asked += 1;
                    self.outputs.push_back(Output::Decide(flow, packet));
                }
                Arrival::Waits => {}
                Arrival::Dropped(_) => self.counters.dropped += 1,
            },
        }
    }

    /// The entries of a pending flow are known: they are written, then its packets are sent. False if the flow no longer waits for it, or
    /// if too many writes are in progress; nothing is written then.
    pub fn decided(&mut self, flow: &F, writes: Vec<Write<K>>, tables: &mut impl FullTables<F, K>) -> bool {
        let waits = self.flows.get(flow).is_some_and(|known| known.deadline.is_some());
        if !waits || !self.has_room_for(writes.len()) {
            return false;
        }
        self.stop_waiting(flow);
        let ids: Vec<(WriteId, Write<K>)> = writes.into_iter().map(|write| (self.number(), write)).collect();
        let left = ids.iter().map(|(id, _)| *id).collect();
        if ids.is_empty() {
            self.admit(flow, tables);
        } else {
            self.deciding.push(Deciding { flow: flow.clone(), left });
        }
        for (id, write) in ids {
            self.moves.write(id, write, tables);
        }
        self.collect(tables);
        true
    }

    /// The flow is not to be processed: its packets are dropped, and it is absent again.
    pub fn refused(&mut self, flow: &F) {
        if self.stop_waiting(flow) {
            self.counters.refused += 1;
            self.drop_pending(flow);
        }
    }

    /// A write that belongs to no new flow. `None` if too many are in progress.
    pub fn write(&mut self, write: Write<K>, tables: &mut impl FullTables<F, K>) -> Option<WriteId> {
        self.begin_write(tables, |moves, id, tables| moves.write(id, write, tables))
    }

    /// Writes that are done together, so that no packet sees a part: see [`Moves::write_together`]. `None` if too many are in progress.
    pub fn write_together(
        &mut self,
        writes: Vec<Write<K>>,
        tables: &mut impl FullTables<F, K>,
    ) -> Option<WriteId> {
        self.begin_write(tables, |moves, id, tables| moves.write_together(id, writes, tables))
    }

    fn begin_write<T: FullTables<F, K>>(
        &mut self,
        tables: &mut T,
        begin: impl FnOnce(&mut Moves<F, K>, WriteId, &mut T),
    ) -> Option<WriteId> {
        if !self.has_room_for(1) {
            return None;
        }
        let id = self.number();
        begin(&mut self.moves, id, tables);
        self.collect(tables);
        Some(id)
    }

    /// An operation has ended.
    pub fn answer(
        &mut self,
        operation: &Operation<F, K>,
        answer: Answer,
        tables: &mut impl FullTables<F, K>,
    ) {
        self.moves.answer(operation, answer, tables);
        self.collect(tables);
    }

    /// The flow's marker has come back.
    pub fn marker_returned(&mut self, flow: &F, tables: &mut impl FullTables<F, K>) {
        if let Some(release) = self.pending.marker_returned(flow) {
            self.release(flow, release, tables);
            self.collect(tables);
        }
    }

    /// A window has ended: the flows that are worth it move.
    pub fn window(&mut self, window: Window<F>, tables: &mut impl FullTables<F, K>) {
        self.flows.values_mut().for_each(|flow| (flow.packets, flow.returned) = (0, 0));
        let residents = window.residents.iter().map(|(flow, packets, _)| (flow, packets));
        for (flow, packets) in window.reports.iter().map(|(flow, packets)| (flow, packets)).chain(residents) {
            if let Some(known) = self.flows.get_mut(flow) {
                known.packets = known.packets.max(*packets);
            }
        }
        self.room = window.room;
        // A flow that waits, moves or ends is left alone.
        let may_move = |flow: &F, at: Place| {
            let known = self.flows.get(flow);
            known.map_or(at == Place::External, |known| known.place == at && !known.ends)
        };
        let mut reports = window.reports;
        reports.retain(|(flow, _)| may_move(flow, Place::External));
        let mut residents = window.residents;
        residents.retain(|(flow, ..)| may_move(flow, Place::Resident));
        let decisions = self.popularity.decide(Window { reports, residents, ..window }, &self.limits.costs);
        for decision in decisions {
            match decision {
                Decision::Promote(flow) => self.move_in(flow, tables),
                Decision::Replace { out, into } => {
                    self.set_place(&out, Place::Moving);
                    self.set_place(&into, Place::Moving);
                    self.moves.replace(&out, into, tables);
                }
                Decision::Demote(flow) => self.move_out(&flow, tables),
            }
        }
        self.collect(tables);
    }

    /// Moves the flow to the switch, on request. False if it is pending or ends.
    pub fn promote(&mut self, flow: &F, tables: &mut impl FullTables<F, K>) -> bool {
        let known = self.flows.get(flow);
        if known.is_some_and(|known| known.place == Place::Pending || known.ends) {
            return false;
        }
        if known.is_none_or(|known| known.place != Place::Resident) {
            self.move_in(flow.clone(), tables);
            self.collect(tables);
        }
        true
    }

    /// Moves the flow to its helper, on request. False if it is at no device.
    pub fn demote(&mut self, flow: &F, tables: &mut impl FullTables<F, K>) -> bool {
        let is_there = self.flows.get(flow).is_some_and(|known| known.place != Place::Pending);
        if is_there {
            self.move_out(flow, tables);
            self.collect(tables);
        }
        is_there
    }

    /// No device has seen a packet of the flow for its idle time: it leaves the switch and is absent then. Its entries are those
    /// of who decided.
    pub fn idle(&mut self, flow: &F, tables: &mut impl FullTables<F, K>) {
        let Some(known) = self.flows.get_mut(flow) else { return };
        match known.place {
            Place::Pending => {}
            Place::External => drop(self.flows.remove(flow)),
            Place::Moving | Place::Resident => {
                known.ends = true;
                self.move_out(flow, tables);
                self.collect(tables);
            }
        }
    }

    /// Time passes: flows without a decision are given up.
    pub fn tick(&mut self, now: Time) {
        while let Some((deadline, flow)) = self.deadlines.first().cloned()
            && deadline <= now
        {
            if !self.stop_waiting(&flow) {
                // It left the switch for good in the meantime.
                self.deadlines.pop_first();
            }
            self.counters.expired += 1;
            self.drop_pending(&flow);
        }
    }

    /// The next thing to do.
    pub fn output(&mut self) -> Option<Output<F, K, P>> {
        self.outputs.pop_front()
    }

    /// Totals since the start.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Packets in a window from which helpers report a flow from now on.
    pub fn threshold(&self) -> u64 {
        self.popularity.threshold()
    }

    /// Where the flow is; `None` if it is absent.
    pub fn place(&self, flow: &F) -> Option<Place> {
        self.flows.get(flow).map(|flow| flow.place)
    }

    /// True if the decider was asked about the flow and has not answered.
    pub fn awaits_decision(&self, flow: &F) -> bool {
        self.flows.get(flow).is_some_and(|known| known.deadline.is_some())
    }

    /// The flows with the most packets in the last window, each with its place and packets; at most `count`.
    pub fn top(&self, count: usize) -> Vec<(F, Place, u64)> {
        let mut all: Vec<(&F, &Flow)> = self.flows.iter().collect();
        all.sort_by(|a, b| (b.1.packets, a.0).cmp(&(a.1.packets, b.0)));
        all.into_iter().take(count).map(|(name, flow)| (name.clone(), flow.place, flow.packets)).collect()
    }

    /// The flows at the switch, and those on their way to it or from it.
    pub fn at_switch(&self) -> impl Iterator<Item = (&F, Place)> {
        let there = self.flows.iter().map(|(name, flow)| (name, flow.place));
        there.filter(|(_, place)| matches!(place, Place::Moving | Place::Resident))
    }

    /// Numbers of flows at each place, in the order of [`Place`].
    pub fn numbers(&self) -> BTreeMap<Place, usize> {
        let mut numbers = BTreeMap::new();
        self.flows.values().for_each(|flow| *numbers.entry(flow.place).or_default() += 1);
        numbers
    }

    /// True if nothing is at the switch and nothing is in progress.
    pub fn is_at_rest(&self) -> bool {
        self.moves.is_empty()
            && self.outputs.is_empty()
            && self.deadlines.is_empty()
            && self.deciding.is_empty()
    }

    fn has_room_for(&mut self, writes: usize) -> bool {
        let fits = self.writes.len() + writes <= self.limits.writes;
        self.counters.busy += u64::from(!fits);
        fits
    }

    fn number(&mut self) -> WriteId {
        let id = WriteId(self.next_write);
        self.next_write += 1;
        self.writes.insert(id);
        id
    }

    /// The flow waits for no decision any more. False if it did not.
    fn stop_waiting(&mut self, flow: &F) -> bool {
        let deadline = self.flows.get_mut(flow).and_then(|known| known.deadline.take());
        deadline.is_some_and(|deadline| self.deadlines.remove(&(deadline, flow.clone())))
    }

    fn send(&mut self, flow: F, packet: P) {
        self.counters.sent += 1;
        self.outputs.push_back(Output::Send(flow, packet));
    }

    fn drop_pending(&mut self, flow: &F) {
        self.counters.dropped += self.pending.refused(flow).len() as u64;
        match self.flows.get_mut(flow) {
            // Promoted on request, before anybody had decided.
            Some(known) if known.place != Place::Pending => known.is_decided = false,
            _ => drop(self.flows.remove(flow)),
        }
    }

    fn set_place(&mut self, flow: &F, place: Place) {
        self.flows.entry(flow.clone()).or_insert(Flow::at(place)).place = place;
    }

    fn move_in(&mut self, flow: F, tables: &mut impl FullTables<F, K>) {
        self.room = self.room.saturating_sub(1);
        self.set_place(&flow, Place::Moving);
        self.moves.promote(flow, tables);
    }

    fn move_out(&mut self, flow: &F, tables: &mut impl FullTables<F, K>) {
        if self.place(flow) == Some(Place::Resident) {
            self.set_place(flow, Place::Moving);
        }
        self.moves.evict(flow, tables);
    }

    /// Takes what the moves give, until they give nothing more.
    fn collect(&mut self, tables: &mut impl FullTables<F, K>) {
        loop {
            while let Some(operation) = self.moves.operation() {
                self.outputs.push_back(Output::Do(operation));
            }
            // News may admit flows, which request further operations: hence the outer loop.
            let Some(news) = self.moves.news() else { break };
            match news {
                News::In(flow) => {
                    self.counters.promoted += 1;
                    self.set_place(&flow, Place::Resident);
                    self.outputs.push_back(Output::Moved(flow, MovedTo::Switch));
                }
                News::Out(flow) => {
                    self.counters.evicted += 1;
                    self.is_out(&flow);
                    self.outputs.push_back(Output::Moved(flow, MovedTo::Helper));
                }
                News::Refused(flow) => {
                    self.counters.full += 1;
                    // Nothing is promoted until the switch reports room again.
                    self.room = 0;
                    self.is_out(&flow);
                    self.outputs.push_back(Output::Moved(flow, MovedTo::FullSwitch));
                }
                News::Written(id) => self.written(id, tables),
            }
        }
    }

    /// The flow has left the switch.
    fn is_out(&mut self, flow: &F) {
        if self.moves.has(flow) {
            // It was asked back while it left.
            return self.set_place(flow, Place::Moving);
        }
        let stays = self.flows.get(flow).is_some_and(|known| known.is_decided && !known.ends);
        if stays {
            self.set_place(flow, Place::External);
        } else {
            self.flows.remove(flow);
        }
    }

    fn written(&mut self, id: WriteId, tables: &mut impl FullTables<F, K>) {
        self.writes.remove(&id);
        let at = self.deciding.iter_mut().position(|deciding| deciding.left.remove(&id));
        match at {
            None => self.outputs.push_back(Output::Written(id)),
            Some(at) if self.deciding[at].left.is_empty() => {
                let Deciding { flow, .. } = self.deciding.swap_remove(at);
                self.admit(&flow, tables);
            }
            Some(_) => {}
        }
    }

    /// The flow's entries are at its helpers.
    fn admit(&mut self, flow: &F, tables: &mut impl FullTables<F, K>) {
        if self.place(flow) == Some(Place::Pending) {
            self.set_place(flow, Place::External);
        }
        if let Some(release) = self.pending.decided(flow) {
            self.release(flow, release, tables);
        }
    }

    /// Sends the packets that waited. When none is on its way any more the flow may move.
    fn release(&mut self, flow: &F, release: Release<P>, tables: &mut impl FullTables<F, K>) {
        release.packets.into_iter().for_each(|packet| self.send(flow.clone(), packet));
        if release.marker {
            self.outputs.push_back(Output::Mark(flow.clone()));
        } else if self.room > self.limits.headroom && self.place(flow) == Some(Place::External) {
            self.move_in(flow.clone(), tables);
        }
    }
}
