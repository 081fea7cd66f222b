//! Flows of a pinned program that move between the switch and its helpers, through the controller of the devices: steps of
//! [`pinned_flows`] become writes by whoever runs the switch, and the result of each move is reported.
//!
//! ```text
//! promote, demote ──> FlowMoves ── Call::Operate ──> Controller
//!                        │      <── Reply ────────
//!                        └──> Moved { flow, to, when it was asked for, how long it took, how it ended }
//! ```
//!
//! **Invariant**: nothing of a flow is written by anybody else. A write that may or may not have been done is repaired by the
//! controller, which knows what it desires, and then tried again.

use base_diag::Diagnostic;
use base_time::{Duration, Time};
use control_writes::{Kind as Reference, Write};
use controller::{Call, Reply, Ticket};
use dataplane_api::EntryError;
use flow_control::flows::Place;
use ir::{Name, Program};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::entity::Entity as Kind;
use p4runtime_proto::p4::v1::{Entity, Update, WriteRequest, update::Type};
use p4runtime_server::Status;
use p4runtime_store::{Change, Described, Store};
use pinned_flows::{Ended, Flow, MovedTo, PinnedFlows, Refusal, Step, Work, WriteNumber};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Tickets of steps begin here: other calls have lower ones.
const FIRST_TICKET: u64 = 1 << 63;

/// A write that could not be done is tried again after so long.
const AGAIN: Duration = Duration::from_ms(10);

/// Calls under way, at most: the controller has room for them.
const MOST_CALLS: usize = 256;

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
    /// Id of the device that the controller presents.
    device: u64,
    tickets: u64,
    sent: BTreeMap<Ticket, Step>,
    /// Steps that are tried again, by time.
    again: VecDeque<(Time, Step)>,
    asked: BTreeMap<Flow, Vec<Asked>>,
    count: usize,
    ended: Vec<Moved>,
}

impl FlowMoves {
    /// `whole` is the pinned program that the controller presents as this device.
    pub fn new(flows: PinnedFlows, whole: &Program, device: u64) -> Result<FlowMoves, Vec<Diagnostic>> {
        let info = Arc::new(p4info::p4info(whole)?);
        Ok(FlowMoves {
            flows,
            catalog: Store::new(Arc::clone(&info)),
            info,
            device,
            tickets: FIRST_TICKET,
            sent: BTreeMap::new(),
            again: VecDeque::new(),
            asked: BTreeMap::new(),
            count: 0,
            ended: vec![],
        })
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
        let unknown = || EntryError {
            message: "the program lacks an object that it refers to".to_string(),
            help: None,
        };
        let write = self.named(change).ok_or_else(|| Refusal::Write(unknown()))?;
        let number = self.flows.write(write)?;
        self.hear(now);
        Ok(number)
    }

    /// Id of the device that the controller presents.
    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    /// Ids and names of all tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (u32, &str)> + Clone {
        self.info.tables.iter().map(|table| (table.id(), table.name()))
    }

    /// Name of a table.
    pub(crate) fn table(&self, id: u32) -> Option<&str> {
        self.tables().find(|(known, _)| *known == id).map(|(_, name)| name)
    }

    /// True for an entry of a table that only moves write.
    pub(crate) fn is_of_moves(&self, entity: &Entity) -> bool {
        let Some(Kind::TableEntry(entry)) = &entity.entity else { return false };
        self.table(entry.table_id).is_some_and(|name| self.flows.is_own(name))
    }

    /// The write with names; none if the program lacks something.
    pub(crate) fn named(&self, change: &Change) -> Option<Write<Name>> {
        change.refer(|kind, id| self.catalog.catalog().name_of(kind, *id).map(Name::from)).ok()
    }

    /// The write with ids; none if the program lacks something.
    pub(crate) fn numbered(&self, write: &Write<Name>) -> Option<Change> {
        write.refer(|kind, name| self.id(kind, name).ok_or(())).ok()
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
        let mut calls = vec![];
        while self.sent.len() < MOST_CALLS {
            let is_due = self.again.front().is_some_and(|(at, _)| *at <= now);
            let again = if is_due { self.again.pop_front().map(|(_, step)| step) } else { None };
            let Some(step) = again.or_else(|| self.flows.next_step()) else { break };
            let updates = match &step.work {
                // A packet passes ingress, where all copies are, at one moment, and none comes to ingress again.
                Work::Flush => Some(vec![]),
                Work::Write(writes) => self.updates(writes, desired),
            };
            let updates = match updates {
                Some(updates) if updates.is_empty() => {
                    self.flows.ended(step.id, Ended::Done);
                    continue;
                }
                Some(updates) => updates,
                // P4Runtime cannot express it: the flow cannot be at the switch.
                None => {
                    self.flows.ended(step.id, Ended::Full);
                    continue;
                }
            };
            let ticket = Ticket(self.tickets);
            self.tickets += 1;
            let request = WriteRequest { device_id: self.device, updates, ..WriteRequest::default() };
            calls.push((ticket, Call::Operate(Box::new(request))));
            self.sent.insert(ticket, step);
        }
        self.hear(now);
        calls
    }

    /// The reply to a call. False if the ticket is somebody else's.
    pub fn replied(&mut self, now: Time, ticket: Ticket, reply: &Reply) -> bool {
        let Some(step) = self.sent.remove(&ticket) else { return ticket.0 >= FIRST_TICKET };
        match reply {
            Reply::Done(Err(status)) if !is_full(status) || !step.may_be_full => {
                self.again.push_back((now + AGAIN, step));
            }
            Reply::Done(Err(_)) => self.flows.ended(step.id, Ended::Full),
            _ => self.flows.ended(step.id, Ended::Done),
        }
        self.hear(now);
        true
    }

    /// When [`calls`](FlowMoves::calls) has something to do without a reply.
    pub fn deadline(&self) -> Option<Time> {
        self.again.front().map(|(at, _)| *at)
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
                    MovedTo::Switch | MovedTo::Helper => End::Undone("it was called off"),
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
    fn updates(&self, writes: &[Write<Name>], desired: &Store) -> Option<Vec<Update>> {
        let updates = writes.iter().filter_map(|write| self.update(write, desired).transpose());
        updates.collect::<Result<_, ()>>().ok()
    }

    fn update(&self, write: &Write<Name>, desired: &Store) -> Result<Option<Update>, ()> {
        let change = self.numbered(write).ok_or(())?;
        self.update_to(&change, desired)
    }

    /// The update that brings the desired state there, if it is not there already.
    pub(crate) fn update_to(&self, change: &Change, desired: &Store) -> Result<Option<Update>, ()> {
        let mut update = self.catalog.update_of(change).map_err(drop)?;
        if let Write::Entry { table, key, to, .. } = change {
            let known = desired.entry(*table, key);
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
            _ => None,
        }
    }
}

/// True if a table is full.
fn is_full(status: &Status) -> bool {
    let code = status.cause().map_or(status.code as i32, |(_, error)| error.canonical_code);
    code == Code::ResourceExhausted as i32
}

/// Why a request is refused.
fn words(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NotAFlow => "its key has other parts",
        Refusal::TooManyPaths => "its packets may take too many paths",
        Refusal::Busy => "it is on its way out",
        Refusal::NotThere => "it is not at the switch",
        Refusal::Write(_) | Refusal::TooManyWrites => "it cannot be written",
    }
}
