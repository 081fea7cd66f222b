//! The controller: calls, messages, answers and time in, [`Output`]s out.

use crate::ask::{Answer, Ask, AskId, DeviceId};
use crate::call::{Call, Output, Reply, Steer, Ticket};
use crate::claim::Claim;
use crate::desired::Plans;
use crate::edges::{EdgeState, Edges};
use crate::gather::Gathered;
use crate::idle::Idle;
use crate::merged::{MergeState, MergeTraffic, Merged};
use crate::part::{PlanChange, Planner, Rollout};
use crate::schedule::{Schedule, TaskId};
use crate::stale::Marks;
use crate::state::State;
use crate::storing::{Rows, Storing};
use crate::task::{Shared, Task, go_on};
use crate::timing::Timing;
use crate::trial::{Tried, tried};
use crate::work::Work;
use crate::write::within_reach;
use base_time::{Duration, Time};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    CapabilitiesResponse, DigestList, DigestListAck, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, IdleTimeoutNotification, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, StreamMessageResponse, Uint128, Update, WriteRequest,
    stream_message_request as asked, stream_message_response as response,
};
use p4runtime_proto::p4rack::v1::Client;
use p4runtime_server::{self as server, Ahead, Server, Status, StreamId};
use p4runtime_store::{Change, Store};
use state_journal::Batch;
use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// The most calls that wait.
const MOST_WAITING: usize = 1024;

/// The most tasks at one time: each may ask every device for something.
const MOST_RUNNING: usize = 256;

/// The most writes of one entry that are under way at a device: one that does not answer leaves tasks to others.
const MOST_ENTRIES: usize = 64;

/// Time after which the repair of a stale device is retried.
const AGAIN: Duration = Duration::from_ms(1_000);

/// One logical switch over many devices.
pub struct Controller {
    shared: Shared,
    /// Tasks in the order of arrival.
    tasks: BTreeMap<TaskId, Running>,
    /// In that order too.
    waiting: VecDeque<Waiting>,
    /// Tasks so far.
    came: u64,
    /// Some that wait may be able to begin.
    may_begin: bool,
    /// When stale devices are tried again.
    again: Option<Time>,
    /// Nothing is repaired: another controller steers the devices.
    paused: bool,
    /// Between audits, and when the next one is due.
    audits: Option<(Duration, Time)>,
}

/// A task that has begun.
struct Running {
    task: Task,
    /// Values read from data planes: the desired state's while the task is polled.
    gathered: Gathered,
}

/// A task that has not begun.
struct Waiting {
    id: TaskId,
    ticket: Option<Ticket>,
    work: Work,
    /// Once the program is known that it will meet: no task before it touches the whole rack.
    claim: Option<Claim>,
}

impl Controller {
    /// Without a program. `device` is the id of the whole; `epoch_ns` the Unix time of time 0, in nanoseconds.
    pub fn new(planner: impl Planner, device: u64, epoch_ns: i64, timing: Timing) -> Controller {
        let state = State {
            server: Server::new(Plans::new(Box::new(planner)), device, epoch_ns),
            now: Time::ZERO,
            epoch_s: u64::try_from(epoch_ns).unwrap_or(0) / 1_000_000_000,
            timing,
            out: vec![],
            asked: BTreeMap::new(),
            late: BTreeMap::new(),
            patience: BTreeMap::new(),
            asks: 0,
            held: None,
            stale: Marks::default(),
            idle: Idle::default(),
            edges: Edges::default(),
            merged: Merged::default(),
            stopped: false,
            schedule: Schedule::default(),
            current: TaskId::default(),
            woken: BTreeSet::new(),
            until_right: BTreeSet::new(),
            storing: Storing::default(),
            alarms: BTreeMap::new(),
            pausing: BTreeSet::new(),
            readings: BTreeMap::new(),
        };
        Controller {
            shared: Shared(Rc::new(RefCell::new(state))),
            tasks: BTreeMap::new(),
            waiting: VecDeque::new(),
            came: 0,
            may_begin: false,
            again: None,
            paused: false,
            audits: None,
        }
    }

    /// From now on, compares devices with the desired state at this interval.
    pub fn audit_every(&mut self, now: Time, span: Duration) {
        self.audits = Some((span, now + span));
    }

    /// While it is paused nothing is repaired or audited: another controller steers the devices.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// From now on, notes what controllers write, for [`noted`](Controller::noted).
    pub fn keep_notes(&mut self) {
        let mut state = self.shared.state();
        state.server.keep_notes();
        state.merged.rows.keep();
    }

    /// Changes of the desired state since the last call.
    pub fn noted(&mut self) -> Batch {
        let mut state = self.shared.state();
        let mut batch = state.server.noted();
        if batch.program.is_some() {
            // All that was stored before goes.
            state.merged.note_all();
        }
        batch.rows.extend(state.merged.take_rows());
        state.storing.next(batch)
    }

    /// From now on, some writes wait until they are stored: the caller of [`noted`](Controller::noted) says what is, with [`stored`](Controller::stored).
    pub fn wait_for_store(&mut self) {
        self.shared.state().storing.begin();
    }

    /// So many non-empty batches of [`noted`](Controller::noted) are stored, or will never be.
    pub fn stored(&mut self, now: Time, batches: u64) -> Vec<Output> {
        {
            let mut state = self.shared.state();
            state.storing.stored(batches);
            let waiting = std::mem::take(&mut state.storing.waiting);
            state.woken.extend(waiting);
        }
        self.go_on(now)
    }

    /// These rows are stored from now on, until [`end_storing`](Controller::end_storing), whatever the desired state has: a write makes them so, and a
    /// controller that takes over goes on with it.
    pub fn store_first(&self, rows: Rows) {
        self.shared.state().storing.store_first(rows);
    }

    /// True if the rows of [`store_first`](Controller::store_first) are stored.
    pub fn has_stored_first(&self) -> bool {
        self.shared.state().storing.has_first()
    }

    /// The write is over, done or not: of the entities of these changes, the desired state is stored.
    pub fn end_storing(&self, changes: &[Change]) {
        let mut state = self.shared.state();
        state.storing.forget();
        if state.storing.is_on() {
            state.server.note_again(changes);
        }
    }

    /// A call. Calls that touch the same things are done in the order in which they come, others at one time; too many are refused at
    /// once.
    pub fn call(&mut self, now: Time, ticket: Ticket, call: Call) -> Vec<Output> {
        if self.waiting.len() >= MOST_WAITING {
            let status = Status::new(Code::ResourceExhausted, "too many calls wait: try again");
            return vec![Output::Reply(ticket, Reply::Done(Err(status)))];
        }
        self.wait(Some(ticket), Work::Call(call));
        self.go_on(now)
    }

    /// Number of calls, repairs and audits that have begun and not ended.
    pub fn under_way(&self) -> usize {
        self.tasks.len()
    }

    /// Checks whether the sender of a `Write` may make it.
    pub fn may_write(&self, head: &WriteRequest) -> Result<(), Status> {
        self.shared.state().server.may_write(head)
    }

    /// Tries updates on the desired state and undoes them.
    pub fn tried(&self, role: &str, updates: &[Update]) -> Result<Tried, Status> {
        tried(&mut self.shared.state().server, role, updates)
    }

    /// Refuses updates that concern a device which is out of sync and in use: a write of them would be refused now.
    pub fn may_reach(&self, updates: &[Update]) -> Result<(), Status> {
        let Some(rollout) = self.shared.state().rollout() else { return Ok(()) };
        let lowered = self.shared.state().server.lower(updates);
        within_reach(&self.shared, &rollout, &lowered).map(drop)
    }

    /// True if a program is saved and not committed yet: reads and writes are of that one.
    pub fn is_saved(&self) -> bool {
        self.shared.state().server.is_saved()
    }

    /// Checks whether the sender of a `SetForwardingPipelineConfig` may make it.
    pub fn may_set_config(&self, head: &SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        self.shared.state().server.may_set_config(head)
    }

    /// Checks whether the sender of a [`Steer`] may make it; operators have no election id.
    pub fn may_steer(&self, election: Option<&Uint128>) -> Result<(), Status> {
        election.map_or(Ok(()), |election| self.shared.state().server.may_steer(Some(election)))
    }

    /// Slow part of a call, to be run in another thread first; `None` if the call is quick, or its sender may not make
    /// it.
    pub fn ahead(&self, call: &Call) -> Option<Ahead> {
        let server = &mut self.shared.state().server;
        let (election, change) = match call {
            Call::SetConfig(request) => return server.ahead(request),
            Call::Steer(election, Steer::Reset) => (election, PlanChange::Nothing),
            Call::Steer(election, Steer::Replace(map)) => (election, PlanChange::Map(map)),
            Call::Steer(election, Steer::Resize(sizes)) => (election, PlanChange::Sizes(sizes)),
            _ => return None,
        };
        if election.is_some() {
            server.may_steer(election.as_ref()).ok()?;
        }
        let config = server.config_again()?;
        server.builder().ahead_by(&config, change)
    }

    /// True while a call takes long and waits for nothing: [`go_on`](Controller::go_on) does more of it.
    pub fn is_busy(&self) -> bool {
        !self.shared.state().pausing.is_empty()
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

    /// A northbound controller sends a message on its stream.
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
                other => state.send(other),
            }
        }
        self.go_on(now)
    }

    /// A stream of a northbound controller has ended.
    pub fn close(&mut self, now: Time, stream: StreamId) -> Vec<Output> {
        let outputs = self.shared.state().server.close(stream);
        outputs.into_iter().for_each(|output| self.shared.state().send(output));
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

    /// Handles a report of a device.
    pub fn streamed(&mut self, now: Time, device: DeviceId, message: StreamMessageResponse) -> Vec<Output> {
        match message.update {
            Some(response::Update::Packet(packet)) => {
                let mut state = self.shared.state();
                let outputs = state.server.packet(packet);
                outputs.into_iter().for_each(|output| state.send(output));
            }
            Some(response::Update::Digest(list)) => {
                self.digests(device, list);
                return self.tick(now);
            }
            Some(response::Update::IdleTimeoutNotification(entries)) => {
                self.idle(now, device, &entries);
                return self.tick(now);
            }
            _ => {}
        }
        self.go_on(now)
    }

    /// A device says what it has counted of merged registers ([`Effect::Push`](crate::Effect::Push)).
    pub fn pushed(&mut self, now: Time, device: DeviceId, frame: &[u8]) -> Vec<Output> {
        {
            let mut state = self.shared.state();
            state.now = now;
            let (messages, woken) = state.merged.pushed(now, device.0, frame);
            state.send_merges(messages);
            state.woken.extend(woken);
        }
        self.go_on(now)
    }

    /// True if the copies of merged registers may lack what was counted by `time`, and further rounds may bring it.
    pub fn merges_since(&self, time: Time) -> bool {
        self.shared.state().merged.is_behind(time)
    }

    /// Messages of the merge so far.
    pub fn merge_traffic(&self) -> MergeTraffic {
        self.shared.state().merged.traffic()
    }

    /// The merged objects, and how far the hub is with each copy.
    pub fn merges(&self) -> Vec<MergeState> {
        self.shared.state().merged.states()
    }

    /// The interval of the merge.
    pub fn merge_interval(&self) -> Duration {
        self.shared.state().timing.merge
    }

    /// The newest own counts that an incarnation of a device ([`Agent::incarnation`](crate::Agent::incarnation)) has pushed, by object and cell.
    pub fn merge_taken(&self, device: DeviceId, incarnation: u64) -> BTreeMap<u32, BTreeMap<u64, u128>> {
        self.shared.state().merged.taken(device.0, incarnation)
    }

    /// A device has restarted: it runs no program.
    pub fn restarted(&mut self, now: Time, device: DeviceId) -> Vec<Output> {
        self.doubt(now, device, "it has restarted")
    }

    /// A device may not be as it should be: it is brought to the desired state.
    pub fn doubt(&mut self, now: Time, device: DeviceId, why: &str) -> Vec<Output> {
        self.shared.state().stale(device.0, why, vec![]);
        self.again = Some(now);
        self.go_on(now)
    }

    /// A device cannot be reached, and may not be as it should be. Edges with spares keep it: its packets may still pass.
    pub fn lose(&mut self, now: Time, device: DeviceId, why: &str) -> Vec<Output> {
        self.shared.state().mark_stale(device.0, why, vec![]);
        self.again = Some(now);
        self.go_on(now)
    }

    /// The devices that are not known to be as they should be, and why.
    pub fn stale(&self) -> BTreeMap<DeviceId, String> {
        let state = self.shared.state();
        state.stale.iter().map(|(device, stale)| (DeviceId(device), stale.why.clone())).collect()
    }

    /// A device in use that is not known to be as it should be, if there is one.
    pub fn in_doubt(&self) -> Option<String> {
        let mut state = self.shared.state();
        let rollout = state.rollout()?;
        let in_doubt =
            state.stale.iter().map(|(device, _)| device).find(|device| !state.edges.is_out(*device))?;
        Some(rollout.name(in_doubt).to_string())
    }

    /// The edges with spares.
    pub fn edges(&self) -> Vec<EdgeState> {
        self.shared.state().edges.states()
    }

    /// Names of the helpers with spares that have failed or are not as they should be, and that are not in use.
    pub fn out_of_use(&self) -> BTreeSet<String> {
        let mut state = self.shared.state();
        let Some(rollout) = state.rollout() else { return BTreeSet::new() };
        state.edges.failed().into_iter().map(|device| rollout.name(device).to_string()).collect()
    }

    /// True while an operator keeps frames out.
    pub fn is_stopped(&self) -> bool {
        self.shared.state().stopped
    }

    /// The northbound controllers' streams.
    pub fn clients(&self) -> Vec<Client> {
        self.shared.state().server.clients()
    }

    /// The running rollout, if there is a program.
    pub fn rollout(&self) -> Option<Arc<Rollout>> {
        self.shared.state().rollout()
    }

    /// Looks at the planner; `None` if it is of another type.
    pub fn with_planner<P: Planner, T>(&self, look: impl FnOnce(&P) -> T) -> Option<T> {
        let mut state = self.shared.state();
        let planner: &dyn Any = &*state.server.builder().planner;
        planner.downcast_ref().map(look)
    }

    /// Looks at the desired state, if there is a program.
    pub fn with_store<T>(&self, look: impl FnOnce(&Store) -> T) -> Option<T> {
        self.shared.state().server.store().map(look)
    }

    /// Does everything due by `now`.
    pub fn tick(&mut self, now: Time) -> Vec<Output> {
        let outputs = self.shared.state().server.tick(now);
        outputs.into_iter().for_each(|output| self.shared.state().send(output));
        self.go_on(now)
    }

    /// Time of the next work for [`tick`](Controller::tick), from the present state.
    pub fn deadline(&self) -> Option<Time> {
        let state = self.shared.state();
        let looks_after = self.looks_after(&state);
        let again = self.again.filter(|_| looks_after);
        let audit = self.audits.map(|(_, due)| due).filter(|_| looks_after);
        let look = state.edges.deadline().filter(|_| looks_after);
        let merge = state.merged.deadline().filter(|_| !self.paused);
        [state.deadline(), state.server.deadline(), again, audit, look, merge].into_iter().flatten().min()
    }

    /// Continues all tasks that can continue.
    pub fn go_on(&mut self, now: Time) -> Vec<Output> {
        {
            let mut state = self.shared.state();
            state.now = now;
            state.stay();
            state.wake();
            let state = &mut *state;
            // A device may be out of use.
            state.woken.append(&mut state.until_right);
            if !self.paused {
                let merges = state.merged.tick(now);
                state.send_merges(merges);
            }
        }
        loop {
            self.poll_woken();
            if self.looks_after(&self.shared.state()) {
                self.audit(now);
                self.watch(now);
                self.repair(now);
            }
            if !self.begin_some() {
                break;
            }
        }
        std::mem::take(&mut self.shared.state().out)
    }

    /// Continues the tasks that may make progress, oldest first.
    fn poll_woken(&mut self) {
        loop {
            let next = {
                let mut state = self.shared.state();
                let stirred = state.schedule.stirred();
                state.woken.extend(stirred);
                state.woken.pop_first()
            };
            let Some(id) = next else { return };
            let Some(running) = self.tasks.get_mut(&id) else { continue };
            {
                let mut state = self.shared.state();
                state.current = id;
                state.swap_gathered(&mut running.gathered);
            }
            let has_ended = go_on(&mut running.task);
            let mut state = self.shared.state();
            state.swap_gathered(&mut running.gathered);
            self.may_begin |= state.schedule.has_relaxed();
            if has_ended {
                state.schedule.end(id);
                self.tasks.remove(&id);
                self.may_begin = true;
            }
        }
    }

    fn wait(&mut self, ticket: Option<Ticket>, work: Work) {
        let id = TaskId(self.came);
        self.came += 1;
        self.waiting.push_back(Waiting { id, ticket, work, claim: None });
        self.may_begin = true;
    }

    /// Begins tasks whose resources are free. True if there were any.
    fn begin_some(&mut self) -> bool {
        if !std::mem::take(&mut self.may_begin) || self.waiting.is_empty() {
            return false;
        }
        let (mut before, mut entries) = {
            let state = self.shared.state();
            (state.schedule.taken(), state.schedule.entries_at())
        };
        let mut begun = vec![];
        let mut still = VecDeque::with_capacity(self.waiting.len());
        while let Some(mut next) = self.waiting.pop_front() {
            // Another program may run after it, so the resources of later tasks are unknown.
            if before.is_whole() {
                still.push_back(next);
                break;
            }
            let claim = next.claim.take().unwrap_or_else(|| next.work.claim(&mut self.shared.state()));
            let entries = claim.entry_at().map(|device| entries.entry(device).or_default());
            let has_room = self.tasks.len() + begun.len() < MOST_RUNNING
                && entries.as_ref().is_none_or(|count| **count < MOST_ENTRIES);
            let is_free = has_room && !before.conflicts(&claim);
            before.join(&claim);
            if let (true, Some(count)) = (is_free, entries) {
                *count += 1;
            }
            match is_free {
                true => begun.push((next.id, claim, next.ticket, next.work)),
                false => still.push_back(Waiting { claim: Some(claim), ..next }),
            }
        }
        still.append(&mut self.waiting);
        self.waiting = still;
        let has_begun = !begun.is_empty();
        for (id, claim, ticket, work) in begun {
            let mut state = self.shared.state();
            state.schedule.begin(id, claim);
            state.woken.insert(id);
            let task = work.begin(self.shared.clone(), ticket);
            self.tasks.insert(id, Running { task, gathered: Gathered::default() });
        }
        has_begun
    }

    /// True if devices may be audited and repaired now: no new program is being installed.
    fn looks_after(&self, state: &State) -> bool {
        !self.paused && !state.schedule.is_whole()
    }

    /// Has all devices audited, when that is due.
    fn audit(&mut self, now: Time) {
        let Some((span, due)) = &mut self.audits else { return };
        if now < *due {
            return;
        }
        *due = now + *span;
        let is_waiting = self.waiting.iter().any(|next| matches!(next.work, Work::Audit(_)));
        if let (false, Some(rollout)) = (is_waiting, self.rollout()) {
            rollout.parts().for_each(|(device, _)| self.wait(None, Work::Audit(device)));
        }
    }

    /// Has the senders of edges with spares read, and targets that have failed compared, when that is due.
    fn watch(&mut self, now: Time) {
        let (senders, returning, suspects) = {
            let mut state = self.shared.state();
            let look = state.timing.look;
            let suspects = state.edges.take_suspects(now);
            match state.edges.deadline() {
                Some(due) if due <= now => {
                    state.edges.look(now, look);
                    (state.edges.senders(), state.edges.returning(now), suspects)
                }
                _ => (BTreeSet::new(), BTreeMap::new(), suspects),
            }
        };
        senders.into_iter().for_each(|device| self.wait_once(Work::Watch(device)));
        returning.into_keys().for_each(|device| self.wait_once(Work::LetBack(device)));
        suspects.into_iter().for_each(|device| self.wait(None, Work::Audit(device)));
    }

    /// Queues work of the controller's own, unless it waits already.
    fn wait_once(&mut self, work: Work) {
        if !self.waiting.iter().any(|next| next.work.is_same(&work)) {
            self.wait(None, work);
        }
    }

    /// Starts repairs of stale devices, unless one is in progress.
    fn repair(&mut self, now: Time) {
        if self.again.is_some_and(|again| now < again) {
            return;
        }
        self.again = None;
        let stale: Vec<usize> = {
            let state = self.shared.state();
            let is_cared_for = |device: &usize| state.schedule.is_alone_at(*device);
            state.stale.iter().map(|(device, _)| device).filter(|device| !is_cared_for(device)).collect()
        };
        for device in stale {
            self.again = Some(now + AGAIN);
            self.wait_once(Work::Repair(device));
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

    fn idle(&self, now: Time, device: DeviceId, notification: &IdleTimeoutNotification) {
        let mut state = self.shared.state();
        let state = &mut *state;
        let Some(desired) = state.server.target() else { return };
        for entry in &notification.table_entry {
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
