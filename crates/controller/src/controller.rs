//! The controller: calls, messages, answers and time in, [`Output`]s out.

use crate::ask::{Answer, Ask, AskId, DeviceId};
use crate::desired::Plans;
use crate::idle::Idle;
use crate::part::{Planner, Rollout};
use crate::state::State;
use crate::steer::{self, Steer};
use crate::task::{Shared, Task, go_on};
use crate::{adopt, config, repair, trace, write};
use base_time::{Duration, Time};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    CapabilitiesResponse, DigestList, DigestListAck, ForwardingPipelineConfig,
    GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse, IdleTimeoutNotification,
    ReadRequest, SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, Uint128,
    Update, WriteRequest, stream_message_request as asked, stream_message_response as told,
};
use p4runtime_proto::p4rack::v1::{Client, TraceRequest, TraceResponse};
use p4runtime_server::{self as server, Ahead, Pieces, Read, Server, Status, StreamId};
use p4runtime_store::Store;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// The most calls that wait.
const MOST_WAITING: usize = 1024;

/// A stale device is tried again after so long.
const AGAIN: Duration = Duration::from_ms(1_000);

/// What a controller expects of the ways to its agents, and of the rack's links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// How long a packet is at most on its way through the rack.
    pub drain: Duration,
    /// Where links have lost packets, so that their ends never count alike: when none has counted anything for so long, no packet is
    /// on its way either.
    pub quiet: Duration,
    /// The shortest that an answer is waited for. How long it is depends on how long answers have taken.
    pub patience_least: Duration,
    /// The longest.
    pub patience_most: Duration,
    /// How long the origin keeps frames out when it hears no more of the controller.
    pub lease: Duration,
}

/// Which call a reply is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// What the north asks.
#[derive(Clone, PartialEq, Debug)]
pub enum Call {
    /// A program before any controller of the north asks for one, and updates to it, all or none.
    Start(Box<ForwardingPipelineConfig>, Vec<Update>),
    /// The same, where devices may run the program already: then what they hold stays. Without a program the
    /// one that ran goes on: another controller has steered the devices meanwhile.
    Adopt(Option<Box<ForwardingPipelineConfig>>, Vec<Update>),
    /// The RPC `Write`.
    Write(Box<WriteRequest>),
    /// The RPC `Read`.
    Read(ReadRequest),
    /// The same, of the program that runs, whatever is saved.
    ReadRunning(ReadRequest),
    /// The RPC `SetForwardingPipelineConfig`.
    SetConfig(Box<SetForwardingPipelineConfigRequest>),
    /// An operator's, or a controller's, which says its election id.
    Steer(Option<Uint128>, Steer),
    /// The way of a frame that comes in by a port.
    Trace(TraceRequest),
}

/// What it is answered.
#[derive(Clone, PartialEq, Debug)]
pub enum Reply {
    /// To all but reads.
    Done(Result<(), Status>),
    /// To a read: what was found, and how it ended.
    Found(Pieces, Result<(), Status>),
    /// To a trace.
    Traced(Result<TraceResponse, Status>),
}

/// What the controller wants done.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// For a device's agent; with an id if the answer is waited for.
    Ask(DeviceId, Option<AskId>, Ask),
    /// The reply to a call.
    Reply(Ticket, Reply),
    /// A message for a controller of the north. Where it cannot be delivered it is lost.
    Send(StreamId, StreamMessageResponse),
    /// The end of its stream.
    End(StreamId, Status),
}

/// One logical switch over many devices.
pub struct Controller<P: Planner> {
    shared: Shared<P>,
    task: Option<Task>,
    waiting: VecDeque<(Option<Ticket>, Work)>,
    /// When stale devices are tried again.
    again: Option<Time>,
    /// Nothing is repaired: another controller steers the devices.
    paused: bool,
    /// Between audits, and when the next one is due.
    audits: Option<(Duration, Time)>,
}

enum Work {
    Call(Call),
    Repair(usize),
    Audit(usize),
}

impl<P: Planner + 'static> Controller<P> {
    /// Without a program. `device` is the id of the whole; `epoch_ns` the Unix time of time 0, in nanoseconds.
    pub fn new(planner: P, device: u64, epoch_ns: i64, timing: Timing) -> Controller<P> {
        let state = State {
            server: Server::new(Plans::new(planner), device, epoch_ns),
            now: Time::ZERO,
            timing,
            out: vec![],
            asked: BTreeMap::new(),
            late: BTreeMap::new(),
            patience: BTreeMap::new(),
            asks: 0,
            held: None,
            stale: BTreeMap::new(),
            idle: Idle::default(),
            stopped: false,
            alarm: None,
            pauses: false,
        };
        let shared = Shared(Rc::new(RefCell::new(state)));
        Controller { shared, task: None, waiting: VecDeque::new(), again: None, paused: false, audits: None }
    }

    /// From now on what devices hold is compared with what they are to hold, with so much time between.
    pub fn audit_every(&mut self, now: Time, span: Duration) {
        self.audits = Some((span, now + span));
    }

    /// While it is paused nothing is repaired or audited: another controller steers the devices.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// A call. Calls are done one after the other; too many are answered at once.
    pub fn call(&mut self, now: Time, ticket: Ticket, call: Call) -> Vec<Output> {
        if self.waiting.len() >= MOST_WAITING {
            let status = Status::new(Code::ResourceExhausted, "too many calls wait: try again");
            return vec![Output::Reply(ticket, Reply::Done(Err(status)))];
        }
        self.waiting.push_back((Some(ticket), Work::Call(call)));
        self.go_on(now)
    }

    /// Checks whether the sender of a `Write` may make it.
    pub fn may_write(&self, head: &WriteRequest) -> Result<(), Status> {
        self.shared.state().server.may_write(head)
    }

    /// Checks whether the sender of a `SetForwardingPipelineConfig` may make it.
    pub fn may_set_config(&self, head: &SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        self.shared.state().server.may_set_config(head)
    }

    /// What takes long in a call, for another thread before it; nothing if it is quick, or its sender may not make it.
    pub fn ahead(&self, call: &Call) -> Option<Ahead> {
        let server = &mut self.shared.state().server;
        let (election, map) = match call {
            Call::SetConfig(request) => return server.ahead(request),
            Call::Steer(election, Steer::Reset) => (election, None),
            Call::Steer(election, Steer::Replace(map)) => (election, Some(map)),
            _ => return None,
        };
        if election.is_some() {
            server.may_steer(election.as_ref()).ok()?;
        }
        let config = server.config_again()?;
        server.builder().ahead_by(&config, map)
    }

    /// True while a call takes long and waits for nothing: [`go_on`](Controller::go_on) does more of it.
    pub fn is_busy(&self) -> bool {
        self.shared.state().pauses
    }

    /// The RPC `GetForwardingPipelineConfig`.
    pub fn get_config(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Status> {
        self.shared.state().server.get_config(request)
    }

    /// The RPC `Capabilities`.
    pub fn capabilities(&self) -> CapabilitiesResponse {
        self.shared.state().server.capabilities()
    }

    /// A controller of the north says something on its stream.
    pub fn message(&mut self, now: Time, stream: StreamId, request: &StreamMessageRequest) -> Vec<Output> {
        let outputs = self.shared.state().server.message(stream, request);
        let packet = match &request.update {
            Some(asked::Update::Packet(packet)) => Some(packet),
            _ => None,
        };
        for output in outputs {
            let mut state = self.shared.state();
            match output {
                server::Output::Inject(_) => {
                    let origin = state.rollout().map(|rollout| DeviceId(rollout.origin));
                    let packet = packet.and_then(|packet| state.server.plain_packet(packet));
                    if let (Some(origin), Some(packet)) = (origin, packet) {
                        state.out.push(Output::Ask(origin, None, Ask::PacketOut(packet)));
                    }
                }
                other => state.tell(other),
            }
        }
        self.go_on(now)
    }

    /// A stream of the north has ended.
    pub fn close(&mut self, now: Time, stream: StreamId) -> Vec<Output> {
        let outputs = self.shared.state().server.close(stream);
        outputs.into_iter().for_each(|output| self.shared.state().tell(output));
        self.go_on(now)
    }

    /// An agent answers.
    pub fn answer(&mut self, now: Time, ask: AskId, answer: Answer) -> Vec<Output> {
        {
            let mut state = self.shared.state();
            state.now = now;
            state.answered(ask, answer);
        }
        self.go_on(now)
    }

    /// An agent tells something of its device.
    pub fn told(&mut self, now: Time, device: DeviceId, message: StreamMessageResponse) -> Vec<Output> {
        match message.update {
            Some(told::Update::Packet(packet)) => {
                let mut state = self.shared.state();
                let outputs = state.server.packet(packet);
                outputs.into_iter().for_each(|output| state.tell(output));
            }
            Some(told::Update::Digest(list)) => {
                self.digests(device, list);
                return self.tick(now);
            }
            Some(told::Update::IdleTimeoutNotification(entries)) => {
                self.idle(now, device, &entries);
                return self.tick(now);
            }
            _ => {}
        }
        self.go_on(now)
    }

    /// A device has begun anew: it runs nothing.
    pub fn restarted(&mut self, now: Time, device: DeviceId) -> Vec<Output> {
        self.doubt(now, device, "it has begun anew")
    }

    /// A device may not be as it should be: it is brought to the desired state.
    pub fn doubt(&mut self, now: Time, device: DeviceId, why: &str) -> Vec<Output> {
        self.shared.state().stale(device.0, why, vec![]);
        self.again = Some(now);
        self.go_on(now)
    }

    /// The devices that are not known to be as they should be, and why.
    pub fn stale(&self) -> BTreeMap<DeviceId, String> {
        let state = self.shared.state();
        state.stale.iter().map(|(device, stale)| (DeviceId(*device), stale.why.clone())).collect()
    }

    /// True while an operator keeps frames out.
    pub fn is_stopped(&self) -> bool {
        self.shared.state().stopped
    }

    /// The northbound controllers' streams.
    pub fn clients(&self) -> Vec<Client> {
        self.shared.state().server.clients()
    }

    /// What runs, if there is a program.
    pub fn rollout(&self) -> Option<Arc<Rollout>> {
        self.shared.state().rollout()
    }

    /// Looks at the planner.
    pub fn with_planner<T>(&self, look: impl FnOnce(&P) -> T) -> T {
        look(&self.shared.state().server.builder().planner)
    }

    /// What there is by the desired state, if there is a program.
    pub fn with_store<T>(&self, look: impl FnOnce(&Store) -> T) -> Option<T> {
        self.shared.state().server.store().map(look)
    }

    /// What is due by `now`.
    pub fn tick(&mut self, now: Time) -> Vec<Output> {
        let outputs = self.shared.state().server.tick(now);
        outputs.into_iter().for_each(|output| self.shared.state().tell(output));
        self.go_on(now)
    }

    /// When [`tick`](Controller::tick) has something to do next, for what has come in so far.
    pub fn deadline(&self) -> Option<Time> {
        let state = self.shared.state();
        // Repairs wait for the call that is being done.
        let is_idle = self.task.is_none() && !self.paused;
        let again = self.again.filter(|_| is_idle);
        let audit = self.audits.map(|(_, due)| due).filter(|_| is_idle);
        [state.deadline(), state.server.deadline(), again, audit].into_iter().flatten().min()
    }

    /// Does what can be done.
    pub fn go_on(&mut self, now: Time) -> Vec<Output> {
        {
            let mut state = self.shared.state();
            state.now = now;
            state.stay();
        }
        loop {
            if let Some(task) = &mut self.task {
                if !go_on(task) {
                    break;
                }
                self.task = None;
            }
            self.audit(now);
            if !self.paused && self.again.is_none_or(|again| now >= again) {
                let stale: Vec<usize> = self.shared.state().stale.keys().copied().collect();
                self.again = None;
                for device in stale {
                    self.waiting.push_back((None, Work::Repair(device)));
                    self.again = Some(now + AGAIN);
                }
            }
            let Some((ticket, work)) = self.waiting.pop_front() else { break };
            self.task = Some(begin(self.shared.clone(), ticket, work));
        }
        std::mem::take(&mut self.shared.state().out)
    }

    /// Has all devices audited, when that is due.
    fn audit(&mut self, now: Time) {
        let Some((span, due)) = &mut self.audits else { return };
        if self.paused || now < *due {
            return;
        }
        *due = now + *span;
        let is_waiting = self.waiting.iter().any(|(_, work)| matches!(work, Work::Audit(_)));
        if let (false, Some(rollout)) = (is_waiting, self.shared.state().rollout()) {
            self.waiting.extend(rollout.parts().map(|(device, _)| (None, Work::Audit(device))));
        }
    }

    fn digests(&self, device: DeviceId, list: DigestList) {
        let mut state = self.shared.state();
        let ack = DigestListAck { digest_id: list.digest_id, list_id: list.list_id };
        state.out.push(Output::Ask(device, None, Ask::DigestAck(ack)));
        if let Some(desired) = state.server.target() {
            desired.digests.extend(list.data.into_iter().map(|data| (list.digest_id, data)));
        }
    }

    fn idle(&self, now: Time, device: DeviceId, told: &IdleTimeoutNotification) {
        let mut state = self.shared.state();
        let state = &mut *state;
        let Some(desired) = state.server.target() else { return };
        for entry in &told.table_entry {
            let Ok(key) = desired.catalog.entry_key(entry) else { continue };
            let key = (entry.table_id, key);
            let holders = desired.rollout.parts().filter(|(_, part)| part.has(entry.table_id)).count();
            let timeout = Duration::from_ns(u64::try_from(entry.idle_timeout_ns).unwrap_or(0));
            if state.idle.note(device.0, holders, (key.clone(), timeout), now) {
                desired.idle.push(key);
            }
        }
    }
}

/// What a piece of work does, as a task.
fn begin<P: Planner + 'static>(shared: Shared<P>, ticket: Option<Ticket>, work: Work) -> Task {
    Box::pin(async move {
        let reply = match work {
            Work::Call(Call::Start(config, updates)) => {
                let ended = config::start(&shared, *config).await;
                Reply::Done(match ended {
                    Ok(()) => write::fill(&shared, &updates).await,
                    Err(status) => Err(status),
                })
            }
            Work::Call(Call::Adopt(config, updates)) => {
                Reply::Done(adopt::adopt(&shared, config.map(|config| *config), &updates).await)
            }
            Work::Call(Call::Write(request)) => Reply::Done(write::write(&shared, &request).await),
            Work::Call(Call::SetConfig(request)) => Reply::Done(config::set_config(&shared, *request).await),
            Work::Call(Call::Steer(election, what)) => {
                let may = match &election {
                    Some(_) => shared.state().server.may_steer(election.as_ref()),
                    None => Ok(()),
                };
                Reply::Done(match may {
                    Ok(()) => steer::steer(&shared, what).await,
                    Err(status) => Err(status),
                })
            }
            Work::Call(Call::Trace(request)) => Reply::Traced(trace::trace(&shared, request).await),
            Work::Call(Call::Read(request)) => {
                let (found, ended) = read(&shared, request).await;
                Reply::Found(found, ended)
            }
            Work::Call(Call::ReadRunning(_)) => {
                let why = "this is a rack: its devices are asked for what they run";
                Reply::Found(Pieces::new(), Err(Status::new(Code::Unimplemented, why)))
            }
            Work::Audit(device) => {
                // What cannot be compared now is compared the next time.
                let _ = adopt::audit(&shared, device).await;
                Reply::Done(Ok(()))
            }
            Work::Repair(device) => {
                let before = shared.state().stale.get(&device).map(|stale| stale.before.clone());
                // It stays stale, and is tried again.
                let _ = repair::repair(&shared, device, before.unwrap_or_default()).await;
                Reply::Done(Ok(()))
            }
        };
        let mut state = shared.state();
        if let Some(desired) = state.server.target() {
            desired.gathered = crate::gather::Gathered::default();
        }
        state.out.extend(ticket.map(|ticket| Output::Reply(ticket, reply)));
    })
}

/// The RPC `Read`.
async fn read<P: Planner>(shared: &Shared<P>, request: ReadRequest) -> Read {
    let (rollout, queries) = {
        let mut state = shared.state();
        let rollout = if state.server.is_saved() { None } else { state.rollout() };
        (rollout, state.server.live_queries(&request))
    };
    if let Some(rollout) = rollout
        && !queries.is_empty()
        && let Err(status) = repair::gather(shared, &rollout, queries).await
    {
        return (Pieces::new(), Err(status));
    }
    let reading = shared.state().server.reading(request);
    let mut reading = match reading {
        Ok(reading) => reading,
        Err(status) => return (Pieces::new(), Err(status)),
    };
    loop {
        if let Some(found) = shared.state().server.read_on(&mut reading) {
            return found;
        }
        shared.pause().await;
    }
}
