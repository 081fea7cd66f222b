//! Flows of a pinned program that move between the switch and its helpers, through the controller of the devices: steps of
//! [`pinned_flows`] become writes by whoever runs the switch, and the result of each move is reported.
//!
//! ```text
//! promote, demote ──> FlowMoves ── Call::Enforce ──> Controller
//!                        │      <── Reply ────────
//!                        └──> Moved { flow, to, when it was asked for, how long it took, how it ended }
//! ```
//!
//! Steps that can be done at one time are one call, so ten flows that are promoted together cost the round trips of one. If the call is refused, each step is tried
//! alone. Steps for which the switch may have no room are calls of their own: no other step is undone with them.
//!
//! **Invariant**: nothing of a flow is written by anybody else, and a step that a device may have done is not undone: packets that have found an entry as it
//! is written find it so from then on. A device whose answer is lost gets what the controller desires by its repair, and the call ends after that; so what a
//! call has removed is gone.

use base_time::{Duration, Time};
use control_writes::{Kind as Reference, Write};
use controller::{Call, Reply, Ticket};
use dataplane_api::EntryError;
use flow_control::flows::Place;
use ir::Name;
use ir_merge::Share;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::entity::Entity as Kind;
use p4runtime_proto::p4::v1::{Entity, FieldMatch, Update, WriteRequest, update::Type};
use p4runtime_server::Status;
use p4runtime_store::{Change, Described, Store};
use pinned_flows::{Ended, Flow, MovedTo, PinnedFlows, Refusal, Step, StepId, Work, WriteNumber};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Tickets of steps begin here: other calls have lower ones. Those of one program have its number in the bits above [`TICKET_BITS`].
const FIRST_TICKET: u64 = 1 << 63;

/// Bits that tell tickets of one program apart.
const TICKET_BITS: u32 = 48;

/// A write that could not be done is tried again after so long, then after twice as long, and so on.
const AGAIN: Duration = Duration::from_ms(10);

/// The longest time until it is tried again.
const LATEST: Duration = Duration::from_s(1);

/// Refusals after which a flow is not moved to the switch, where the device will not change its mind.
const MOST_REFUSALS: u32 = 8;

/// Calls under way, at most: the controller has room for them.
const MOST_CALLS: usize = 256;

/// Updates of a call in which steps are joined, at most.
const MOST_UPDATES: usize = 256;

/// Moves that were asked for and have not ended, at most.
const MOST_ASKED: usize = 4096;

/// The two places of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// The switch processes the flow.
    Switch,
    /// The helper processes the flow.
    Helper,
}

/// A move that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moved {
    /// The flow.
    pub flow: Flow,
    /// Where it was to go.
    pub to: Side,
    /// When it was asked for.
    pub asked: Time,
    /// Duration of the move.
    pub took: Duration,
    /// Result of the move.
    pub end: End,
}

/// Result of a move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The flow is there.
    Done,
    /// The flow is where it was: it was called off on the way.
    Undone(&'static str),
    /// Nothing was begun.
    Refused(&'static str),
}

/// A move that has not ended.
#[derive(Clone, Copy, Debug)]
struct Asked {
    to: Side,
    at: Time,
}

/// The flows of one pinned program.
pub struct FlowMoves {
    flows: PinnedFlows,
    info: Arc<P4Info>,
    /// Without entries: it says updates.
    catalog: Store,
    /// The app's names in a merged program; none if the program is the app's alone.
    share: Option<Share>,
    /// Tickets of the calls begin here.
    first: u64,
    /// Id of the device that the controller presents.
    device: u64,
    tickets: u64,
    /// Steps under way, by call, each with the number of earlier tries.
    sent: BTreeMap<Ticket, Vec<(Step, u32)>>,
    /// Steps that are tried again, by time.
    again: BTreeMap<(Time, StepId), (Step, u32)>,
    asked: BTreeMap<Flow, Vec<Asked>>,
    count: usize,
    ended: Vec<Moved>,
    /// Writes that can be done together now, with the updates of copies that belong to them.
    ready: VecDeque<(WriteNumber, Option<Vec<Update>>)>,
    /// The steps of writes that are done together.
    together: BTreeMap<WriteNumber, StepId>,
}

/// Steps as one call.
#[derive(Default)]
struct Joined {
    steps: Vec<(Step, u32)>,
    updates: Vec<Update>,
}

impl Joined {
    /// True if these updates may follow: they are few enough, and no entity of theirs is written already, since they were made for the desired state
    /// before all of the call.
    fn has_room_for(&self, more: &[Update]) -> bool {
        let is_written = |update: &Update| {
            self.updates.iter().any(|known| match (target(known), target(update)) {
                (Some(known), Some(new)) => known == new,
                _ => true,
            })
        };
        self.updates.is_empty()
            || self.updates.len() + more.len() <= MOST_UPDATES && !more.iter().any(is_written)
    }
}

/// Table, key and priority of an entry.
fn target(update: &Update) -> Option<(u32, &[FieldMatch], i32)> {
    match update.entity.as_ref()?.entity.as_ref()? {
        Kind::TableEntry(entry) => Some((entry.table_id, &entry.r#match, entry.priority)),
        _ => None,
    }
}

impl FlowMoves {
    /// `info` describes the pinned program, or the merged one that the pinned program is a part of, which the controller presents as this device.
    /// Each pinned program of a controller has a number of its own.
    pub fn new(
        flows: PinnedFlows,
        (info, share): (Arc<P4Info>, Option<Share>),
        device: u64,
        number: u16,
    ) -> FlowMoves {
        let first = FIRST_TICKET + (u64::from(number & 0x7fff) << TICKET_BITS);
        FlowMoves {
            flows,
            catalog: Store::new(Arc::clone(&info)),
            info,
            share,
            device,
            first,
            tickets: first,
            sent: BTreeMap::new(),
            again: BTreeMap::new(),
            asked: BTreeMap::new(),
            count: 0,
            ended: vec![],
            ready: VecDeque::new(),
            together: BTreeMap::new(),
        }
    }

    /// The flows, to ask where they are.
    pub fn flows(&self) -> &PinnedFlows {
        &self.flows
    }

    /// Moves a flow. [`take_ended`](FlowMoves::take_ended) reports its outcome, refusals too.
    pub fn ask(&mut self, now: Time, flow: &Flow, to: Side) {
        let refuse =
            |why| Moved { flow: flow.clone(), to, asked: now, took: Duration::ZERO, end: End::Refused(why) };
        if self.count >= MOST_ASKED {
            self.ended.push(refuse("too many moves are under way"));
            return;
        }
        // A flow that is there already makes no move whose end would be reported.
        let is_there = to == Side::Switch && self.flows.place(flow) == Some(Place::Resident);
        let asked = match to {
            Side::Switch => self.flows.promote(flow),
            Side::Helper => self.flows.demote(flow),
        };
        match asked {
            Ok(()) if is_there => self.ended.push(Moved { end: End::Done, ..refuse("") }),
            Ok(()) => {
                self.asked.entry(flow.clone()).or_default().push(Asked { to, at: now });
                self.count += 1;
                self.hear(now);
            }
            Err(refusal) => self.ended.push(refuse(words(&refusal))),
        }
    }

    /// A write to a table of the program, which all devices get in the right order: see [`PinnedFlows::write`].
    ///
    /// # Errors
    ///
    /// Why nothing is begun.
    pub fn write(&mut self, now: Time, change: &Change) -> Result<WriteNumber, Refusal> {
        let write = self.named(change).ok_or_else(unknown)?;
        let number = self.flows.write(write)?;
        self.hear(now);
        Ok(number)
    }

    /// Writes to copied tables of which no packet is to see a part: see [`PinnedFlows::write_together`]. [`next_together`](FlowMoves::next_together)
    /// gives the number when the caller can do them, and the caller says how that has ended.
    ///
    /// # Errors
    ///
    /// Why nothing is begun.
    pub fn write_together(&mut self, now: Time, changes: &[Change]) -> Result<WriteNumber, Refusal> {
        let writes = changes.iter().map(|change| self.named(change).ok_or_else(unknown));
        let number = self.flows.write_together(writes.collect::<Result<_, _>>()?)?;
        self.hear(now);
        Ok(number)
    }

    /// Writes that can be done together now, with the updates of copies that are to be done with them; without, if P4Runtime cannot express these.
    pub fn next_together(&mut self) -> Option<(WriteNumber, Option<Vec<Update>>)> {
        self.ready.pop_front()
    }

    /// Writes that could be done together are done, or none of them.
    pub fn end_together(&mut self, now: Time, number: WriteNumber, is_done: bool) {
        if let Some(step) = self.together.remove(&number) {
            self.flows.ended(step, if is_done { Ended::Done } else { Ended::Full });
            self.hear(now);
        }
    }

    /// Id of the device that the controller presents.
    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    /// Ids and names of all tables of the pinned program.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (u32, &str)> + Clone {
        self.info.tables.iter().filter_map(|table| Some((table.id(), self.own_name(table.name())?)))
    }

    /// Ids of all value sets of the pinned program.
    pub(crate) fn value_sets(&self) -> impl Iterator<Item = u32> {
        let own = self.info.value_sets.iter().filter(|set| self.own_name(set.name()).is_some());
        own.map(Described::id)
    }

    /// The pinned program's name of something; none if it belongs to another app.
    fn own_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        self.share.as_ref().map_or(Some(name), |share| share.own_name(name))
    }

    /// Name of a table; none if it belongs to another app.
    pub(crate) fn table(&self, id: u32) -> Option<&str> {
        self.tables().find(|(known, _)| *known == id).map(|(_, name)| name)
    }

    /// True for an entry of a table that only moves write.
    pub(crate) fn is_of_moves(&self, entity: &Entity) -> bool {
        let Some(Kind::TableEntry(entry)) = &entity.entity else { return false };
        self.table(entry.table_id).is_some_and(|name| self.flows.is_own(name))
    }

    /// Ids of the tables that only moves write.
    pub(crate) fn own_tables(&self) -> impl Iterator<Item = u32> {
        self.tables().filter(|(_, name)| self.flows.is_own(name)).map(|(table, _)| table)
    }

    /// The write with names; none if the program lacks something.
    pub(crate) fn named(&self, change: &Change) -> Option<Write<Name>> {
        let name = |kind, id: &u32| {
            let name = self.catalog.catalog().name_of(kind, *id).map_err(drop)?;
            self.own_name(name).map(Name::from).ok_or(())
        };
        change.refer(name).ok()
    }

    /// The write with ids; none if the program lacks something.
    pub(crate) fn numbered(&self, write: &Write<Name>) -> Option<Change> {
        let merged = match &self.share {
            Some(share) => share.write(write).ok().flatten()?,
            None => write.clone(),
        };
        merged.refer(|kind, name| self.id(kind, name).ok_or(())).ok()
    }

    /// A write that all devices have.
    pub fn next_written(&mut self) -> Option<WriteNumber> {
        self.flows.next_written()
    }

    /// All devices have restarted, with nothing of these flows: everything under way ends, and its replies are ignored.
    pub fn restart(&mut self, now: Time, mut with: FlowMoves) {
        for (flow, asked) in std::mem::take(&mut self.asked) {
            for Asked { to, at } in asked {
                let end = End::Undone("the program has restarted");
                self.ended.push(Moved { flow: flow.clone(), to, asked: at, took: now.since(at), end });
            }
        }
        with.tickets = self.tickets;
        with.ended = std::mem::take(&mut self.ended);
        *self = with;
    }

    /// A window has ended: popular flows move. See [`PinnedFlows::window`].
    pub fn window(
        &mut self,
        now: Time,
        reports: Vec<(Flow, u64)>,
        counted: &dyn Fn(&Flow) -> (u64, Duration),
        most: usize,
    ) {
        self.flows.window(reports, counted, most);
        self.hear(now);
    }

    /// Calls that are due. `desired` is the desired state of the controller that gets them.
    pub fn calls(&mut self, now: Time, desired: &Store) -> Vec<(Ticket, Call)> {
        // Those that must be done, and those for which the switch may have no room.
        let (mut calls, mut joined) = (vec![], [Joined::default(), Joined::default()]);
        let open = |joined: &[Joined; 2]| joined.iter().filter(|one| !one.steps.is_empty()).count();
        while self.sent.len() + open(&joined) < MOST_CALLS {
            let again = self.again.first_entry().filter(|first| first.key().0 <= now);
            let again = again.map(|first| first.remove());
            let is_again = again.is_some();
            let Some((step, tries)) = again.or_else(|| Some((self.flows.next_step()?, 0))) else { break };
            let updates = match &step.work {
                // A packet passes ingress, where all copies are, at one moment, and none comes to ingress again.
                Work::Flush => Some(vec![]),
                Work::Write(writes) => self.updates(writes, desired),
                Work::Together(number, writes) => {
                    self.together.insert(*number, step.id);
                    self.ready.push_back((*number, self.updates(last_of_each(writes), desired)));
                    continue;
                }
            };
            match updates {
                Some(updates) if updates.is_empty() => self.flows.ended(step.id, Ended::Done),
                Some(updates) if is_again => {
                    let alone = Joined { steps: vec![(step, tries)], updates };
                    calls.push(self.call(alone));
                }
                Some(updates) => {
                    let joined = &mut joined[usize::from(step.may_be_full)];
                    if !joined.has_room_for(&updates) {
                        calls.push(self.call(std::mem::take(joined)));
                    }
                    joined.steps.push((step, tries));
                    joined.updates.extend(updates);
                }
                // P4Runtime cannot express it: the flow cannot be at the switch.
                None => self.flows.ended(step.id, Ended::Full),
            }
        }
        for joined in joined.into_iter().filter(|one| !one.steps.is_empty()) {
            calls.push(self.call(joined));
        }
        self.hear(now);
        calls
    }

    fn call(&mut self, Joined { steps, updates }: Joined) -> (Ticket, Call) {
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        let request = WriteRequest { device_id: self.device, updates, ..WriteRequest::default() };
        self.sent.insert(ticket, steps);
        (ticket, Call::Enforce(Box::new(request)))
    }

    /// True for the ticket of a call of these moves.
    fn is_own(&self, ticket: Ticket) -> bool {
        ticket.0 >> TICKET_BITS == self.first >> TICKET_BITS
    }

    /// The reply to a call. False if the ticket is somebody else's.
    pub fn replied(&mut self, now: Time, ticket: Ticket, reply: &Reply) -> bool {
        let Some(steps) = self.sent.remove(&ticket) else { return self.is_own(ticket) };
        let is_joined = steps.len() > 1;
        for (step, tries) in steps {
            let stays_away = |status: &Status| is_full(status) || tries >= MOST_REFUSALS && is_final(status);
            match reply {
                // One of the steps is refused, or all: alone, each has its own answer.
                Reply::Done(Err(_)) if is_joined => drop(self.again.insert((now, step.id), (step, tries))),
                Reply::Done(Err(status)) if !step.may_be_full || !stays_away(status) => {
                    let wait = (AGAIN * (1 << tries.min(7))).min(LATEST);
                    self.again.insert((now + wait, step.id), (step, tries.saturating_add(1)));
                }
                Reply::Done(Err(_)) => self.flows.ended(step.id, Ended::Full),
                _ => self.flows.ended(step.id, Ended::Done),
            }
        }
        self.hear(now);
        true
    }

    /// When [`calls`](FlowMoves::calls) has something to do without a reply.
    pub fn deadline(&self) -> Option<Time> {
        self.again.keys().next().map(|(at, _)| *at)
    }

    /// True if a move is under way.
    pub fn is_busy(&self) -> bool {
        !(self.flows.is_at_rest() && self.sent.is_empty() && self.again.is_empty())
    }

    /// Moves that have ended since the last call.
    pub fn take_ended(&mut self) -> Vec<Moved> {
        std::mem::take(&mut self.ended)
    }

    /// Moves that have not ended.
    pub fn under_way(&self) -> impl Iterator<Item = (&Flow, Side, Time)> {
        self.asked.iter().flat_map(|(flow, asked)| asked.iter().map(move |asked| (flow, asked.to, asked.at)))
    }

    /// Takes note of the flows that have arrived.
    fn hear(&mut self, now: Time) {
        while let Some((flow, moved)) = self.flows.moved() {
            let Some(asked) = self.asked.get_mut(&flow) else { continue };
            let place = self.flows.place(&flow);
            let (at, last) = match place {
                // It is under way again, for those that were asked for after the last one that wanted just this.
                Some(Place::Moving) => {
                    let at = if moved == MovedTo::Switch { Side::Switch } else { Side::Helper };
                    (at, asked.iter().rposition(|asked| asked.to == at).map_or(0, |last| last + 1))
                }
                Some(Place::Resident) => (Side::Switch, asked.len()),
                _ => (Side::Helper, asked.len()),
            };
            for Asked { to, at: since } in asked.drain(..last) {
                let end = match moved {
                    _ if to == at => End::Done,
                    MovedTo::FullSwitch => End::Undone("the switch is full"),
                    MovedTo::Switch | MovedTo::Helper => End::Undone("it was cancelled"),
                };
                let flow = flow.clone();
                self.ended.push(Moved { flow, to, asked: since, took: now.since(since), end });
                self.count -= 1;
            }
            if asked.is_empty() {
                self.asked.remove(&flow);
            }
        }
    }

    /// Updates by which all of it is written, without what the devices are to have already; none if P4Runtime cannot express them.
    fn updates<'w>(
        &self,
        writes: impl IntoIterator<Item = &'w Write<Name>>,
        desired: &Store,
    ) -> Option<Vec<Update>> {
        let updates = writes.into_iter().filter_map(|write| self.update(write, desired).transpose());
        updates.collect::<Result<_, ()>>().ok()
    }

    fn update(&self, write: &Write<Name>, desired: &Store) -> Result<Option<Update>, ()> {
        let change = self.numbered(write).ok_or(())?;
        self.update_to(&change, desired)
    }

    /// The update that brings the desired state there, if it is not there already.
    pub(crate) fn update_to(&self, change: &Change, desired: &Store) -> Result<Option<Update>, ()> {
        let mut update = self.catalog.update_of(change).map_err(drop)?;
        let message = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
        if let (Write::Entry { table, to, .. }, Some(Kind::TableEntry(entry))) = (change, message) {
            // A key that a lookup reports says of each field what it may be; those of the desired state leave out what may be anything.
            let known = desired.entry(*table, &self.catalog.catalog().entry_key(entry).map_err(drop)?);
            match (known, to) {
                // The copy of an entry that the source gives is there for ever.
                (Some(entry), _) if entry.is_const => return Ok(None),
                (Some(_), Some(_)) => update.set_type(Type::Modify),
                (None, None) => return Ok(None),
                (None, Some(_)) | (Some(_), None) => {}
            }
        }
        Ok(Some(update))
    }

    fn id(&self, kind: Reference, name: &Name) -> Option<u32> {
        fn find<T: Described>(all: &[T], name: &str) -> Option<u32> {
            all.iter().find(|one| one.name() == name).map(Described::id)
        }
        match kind {
            Reference::Table => find(&self.info.tables, name),
            Reference::Action => find(&self.info.actions, name),
            Reference::Meter => find(&self.info.meters, name),
            Reference::Counter => find(&self.info.counters, name),
            Reference::Register => find(&self.info.registers, name),
            Reference::ValueSet => find(&self.info.value_sets, name),
            _ => None,
        }
    }
}

/// The last one of several writes to one entry.
fn last_of_each(writes: &[Write<Name>]) -> impl Iterator<Item = &Write<Name>> {
    let mut seen = BTreeSet::new();
    let of = |write: &'_ Write<Name>| match write {
        Write::Entry { table, key, .. } => Some((table.clone(), Some(key.clone()))),
        Write::Default { table, .. } => Some((table.clone(), None)),
        _ => None,
    };
    let last: Vec<_> = writes.iter().rev().filter(|write| seen.insert(of(write))).collect();
    last.into_iter().rev()
}

fn unknown() -> Refusal {
    let message = "the program lacks an object that it refers to".to_string();
    Refusal::Write(EntryError { message, help: None })
}

/// True if a table is full.
fn is_full(status: &Status) -> bool {
    let code = status.cause().map_or(status.code as i32, |(_, error)| error.canonical_code);
    code == Code::ResourceExhausted as i32
}

/// True if the device would say the same again.
fn is_final(status: &Status) -> bool {
    let code = status.cause().map_or(status.code as i32, |(_, error)| error.canonical_code);
    let all = [Code::InvalidArgument, Code::PermissionDenied, Code::Unimplemented, Code::FailedPrecondition];
    all.iter().any(|known| *known as i32 == code)
}

/// Why a request is refused.
fn words(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NotAFlow => "its key has other parts",
        Refusal::TooManyPaths => "its packets may take too many paths",
        Refusal::Busy => "its move to a helper is in progress",
        Refusal::NotThere => "it is not at the switch",
        Refusal::NoEntry => "the table has no entry for it",
        Refusal::Write(_) | Refusal::TooManyWrites => "it cannot be written",
    }
}
