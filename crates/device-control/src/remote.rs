//! A rack whose devices are other processes, each with an agent that is reached over the network. Without I/O: requests
//! to agents leave as [`Event::Ask`], their messages arrive as [`Heard`].

use super::rack_flows::RackFlows;
use super::{Answers, AppFlows, Event, Metric, Resizing, Served, Splitter, metric, show};
use base_time::{Duration, Time};
use controller::{Call, Controller, DeviceId, Heard, Output, Reply, Ticket, Timing};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::StreamMessageRequest;
use p4runtime_proto::p4rack::v1::{Group, Metric as Counted, ShowResponse, show_response::State};
use p4runtime_server::{Ahead, Pieces, Status, StreamId};
use state_journal::Batch;
use std::collections::BTreeSet;

/// The links to the agents detect lost connections: these timeouts are longer than theirs.
const TIMING: Timing = Timing {
    drain: Duration::from_ms(1_000),
    quiet: Duration::from_ms(100),
    patience_least: Duration::from_s(65),
    patience_most: Duration::from_s(65),
    look: Duration::from_ms(100),
    lease: Duration::from_s(5),
    merge: Duration::from_ms(1_000),
};

/// Default interval of audits of the devices' entities.
const AUDIT: Duration = Duration::from_ms(10_000);

/// Ticket of calls whose reply is ignored.
const NOBODY: Ticket = Ticket(u64::MAX);

/// Delay before a failed start is repeated.
const AGAIN: Duration = Duration::from_ms(1_000);

/// Attempts at a start if an agent is overloaded, or has too many entities to report.
const TRIES: u32 = 5;

/// The controller of a rack of other processes.
pub struct RemoteRack {
    controller: Controller,
    /// Addresses of the agents, by device.
    addresses: Vec<String>,
    here: BTreeSet<DeviceId>,
    /// Counters of each device, as last reported.
    counted: Vec<Vec<Counted>>,
    /// Groups of servers that each device leads packets to, as last reported.
    groups: Vec<Vec<Group>>,
    start: Start,
    /// Number of starts for which an agent was too busy.
    tries: u32,
    /// If true, entities of the devices are replaced by the rack's own entries.
    is_fresh: bool,
    /// Between audits.
    audit: Duration,
    /// Another controller controls the devices, or did: the state here may be outdated.
    superseded: bool,
    /// Why it cannot go on.
    failed: Option<Status>,
    /// Flows that move.
    flows: Option<RackFlows>,
}

/// The program of the beginning waits until all devices are there.
enum Start {
    /// The call that starts the program, and the time since which it waits.
    Waits(Ticket, Call, Time),
    Begun(Ticket, Call),
    Over,
}

impl RemoteRack {
    /// Without a program, and without a connection to an agent. `addresses` are those of the agents, in the order of the
    /// placement's devices; `device` is the whole's id; `epoch_ns` the Unix time of time 0, in nanoseconds.
    pub fn new(splitter: Splitter, addresses: Vec<String>, device: u64, epoch_ns: i64) -> RemoteRack {
        RemoteRack {
            controller: Controller::new(splitter, device, epoch_ns, TIMING),
            here: BTreeSet::new(),
            counted: vec![vec![]; addresses.len()],
            groups: vec![vec![]; addresses.len()],
            addresses,
            start: Start::Over,
            tries: 0,
            is_fresh: false,
            audit: AUDIT,
            superseded: false,
            failed: None,
            flows: None,
        }
    }

    /// The same with the flows of its apps, which may move.
    #[must_use]
    pub fn with_flows(self, flows: Vec<AppFlows>) -> RemoteRack {
        RemoteRack { flows: RackFlows::of(flows).map(RackFlows::by_samples), ..self }
    }

    /// The same, with a plan of these flows that is made again when apps have other shares of the traffic.
    #[must_use]
    pub fn planned_by(mut self, resizing: Option<Resizing>) -> RemoteRack {
        if let (Some(flows), Some(resizing)) = (&mut self.flows, resizing) {
            flows.plan_by(resizing);
        }
        self
    }

    /// Starts as if the devices were empty: entities written by controllers are erased.
    #[must_use]
    pub fn fresh(self, is_fresh: bool) -> RemoteRack {
        RemoteRack { is_fresh, ..self }
    }

    /// Sets the interval at which devices are compared with the desired state.
    #[must_use]
    pub fn audit(self, audit: Duration) -> RemoteRack {
        RemoteRack { audit, ..self }
    }

    fn all_here(&self) -> bool {
        self.here.len() == self.addresses.len()
    }

    /// Begins with the program when it can be.
    fn begin(&mut self, now: Time) -> Vec<Event> {
        if self.superseded && matches!(self.start, Start::Over) {
            // No caller waits for the reply.
            self.start = Start::Waits(NOBODY, Call::Adopt(None, vec![]), now);
        }
        match std::mem::replace(&mut self.start, Start::Over) {
            Start::Waits(ticket, call, since) if self.all_here() && now >= since => {
                self.start = Start::Begun(ticket, call.clone());
                self.pass(now, ticket, call)
            }
            other => {
                self.start = other;
                vec![]
            }
        }
    }

    /// True if a refused request may succeed later.
    fn is_passing(&mut self, code: Code) -> bool {
        self.tries += u32::from(code == Code::ResourceExhausted);
        match code {
            Code::Unavailable | Code::PermissionDenied | Code::Aborted => true,
            Code::ResourceExhausted => self.tries < TRIES,
            _ => false,
        }
    }

    /// Carries out a call.
    fn pass(&mut self, now: Time, ticket: Ticket, call: Call) -> Vec<Event> {
        let call = match &mut self.flows {
            Some(flows) => flows.take(now, ticket, call, &self.controller),
            None => Some(call),
        };
        let outputs = call.map_or(vec![], |call| self.controller.call(now, ticket, call));
        self.perform(now, outputs)
    }

    fn perform(&mut self, now: Time, outputs: Vec<Output>) -> Vec<Event> {
        let mut events: Vec<Event> =
            outputs.into_iter().filter_map(|output| self.event(now, output)).collect();
        while self.move_flows(now, &mut events) {}
        events
    }

    /// False before all devices have begun, and while another controller has them: nothing is known of what they hold.
    fn is_known(&self) -> bool {
        !self.superseded && matches!(self.start, Start::Over)
    }

    /// Makes the calls of flows that are due. True if there were any.
    fn move_flows(&mut self, now: Time, events: &mut Vec<Event>) -> bool {
        let is_known = self.is_known();
        let Some(flows) = &mut self.flows else { return false };
        let calls = if is_known { flows.calls(now, &self.controller) } else { vec![] };
        let asks = if is_known { flows.asks(now) } else { vec![] };
        events.extend(asks.into_iter().map(|(device, ask)| Event::Ask(device, None, ask)));
        let replies = flows.take_replies();
        events.extend(replies.into_iter().map(|(ticket, reply)| Event::Reply(ticket, reply)));
        let is_busy = !calls.is_empty();
        for (ticket, call) in calls {
            let outputs = self.controller.call(now, ticket, call);
            events.extend(outputs.into_iter().filter_map(|output| self.event(now, output)));
        }
        is_busy
    }

    fn event(&mut self, now: Time, output: Output) -> Option<Event> {
        match output {
            Output::Ask(device, id, ask) => Some(Event::Ask(device, id, ask)),
            Output::Send(stream, message) => Some(Event::Send(stream, message)),
            Output::End(stream, why) => Some(Event::End(stream, why)),
            Output::Reply(ticket, reply) => {
                let is_of_flows = self.flows.as_mut().is_some_and(|flows| flows.replied(now, ticket, &reply));
                let start = match &self.start {
                    Start::Begun(of, call) if *of == ticket => call.clone(),
                    _ => return (!is_of_flows).then_some(Event::Reply(ticket, reply)),
                };
                self.start = Start::Over;
                let is_known = self.controller.rollout().is_some() && !self.superseded;
                match &reply {
                    // A device was lost meanwhile, or another controller has taken it.
                    Reply::Done(Err(status)) if !is_known && self.is_passing(status.code) => {
                        self.start = Start::Waits(ticket, start, now + AGAIN);
                        return None;
                    }
                    Reply::Done(Err(status)) => self.failed = Some(status.clone()),
                    _ if self.all_here() => {
                        self.tries = 0;
                        self.superseded = false;
                        self.controller.pause(false);
                        self.controller.audit_every(now, self.audit);
                    }
                    // Another controller has come again.
                    _ => {}
                }
                (ticket != NOBODY).then_some(Event::Reply(ticket, reply))
            }
        }
    }
}

impl Served for RemoteRack {
    fn answers(&self) -> &dyn Answers {
        &self.controller
    }

    fn keep_notes(&mut self) {
        self.controller.keep_notes();
        self.controller.wait_for_store();
    }

    fn noted(&mut self) -> Batch {
        self.controller.noted()
    }

    fn kept(&mut self, now: Time, batches: u64) -> Vec<Event> {
        let outputs = self.controller.stored(now, batches);
        self.perform(now, outputs)
    }

    fn call(&mut self, now: Time, ticket: Ticket, call: Call) -> Vec<Event> {
        match call {
            Call::Start(config, updates) => {
                let call = match self.is_fresh {
                    true => Call::Start(config, updates),
                    false => Call::Adopt(Some(config), updates),
                };
                self.start = Start::Waits(ticket, call, now);
                self.begin(now)
            }
            Call::Resume(..) => {
                self.start = Start::Waits(ticket, call, now);
                self.begin(now)
            }
            call if self.superseded => {
                let why =
                    "another controller controls the rack's devices: this one waits until it can continue";
                let status = Status::new(Code::Unavailable, why);
                vec![Event::Reply(
                    ticket,
                    match call {
                        Call::Read(_) | Call::ReadRunning(_) => Reply::Found(Pieces::new(), Err(status)),
                        Call::Trace(_) => Reply::Traced(Err(status)),
                        Call::Merge(..) => Reply::Merged(Err(status)),
                        _ => Reply::Done(Err(status)),
                    },
                )]
            }
            // There is no program yet.
            call if matches!(self.start, Start::Waits(..)) => {
                let outputs = self.controller.call(now, ticket, call);
                self.perform(now, outputs)
            }
            call => self.pass(now, ticket, call),
        }
    }

    fn message(&mut self, now: Time, stream: StreamId, message: &StreamMessageRequest) -> Vec<Event> {
        let outputs = self.controller.message(now, stream, message);
        self.perform(now, outputs)
    }

    fn close(&mut self, now: Time, stream: StreamId) -> Vec<Event> {
        let outputs = self.controller.close(now, stream);
        self.perform(now, outputs)
    }

    /// Ports are the devices'.
    fn frame(&mut self, _: Time, _: u32, _: &[u8]) -> Vec<Event> {
        vec![]
    }

    fn may_have(&mut self, port: u32) -> Result<(), Status> {
        Err(Status::new(Code::FailedPrecondition, format!("port {port}: ports are attached at the agents")))
    }

    fn tick(&mut self, now: Time) -> Vec<Event> {
        let outputs = self.controller.tick(now);
        let mut events = self.perform(now, outputs);
        events.extend(self.begin(now));
        events
    }

    fn deadline(&mut self) -> Option<Time> {
        let flows = self.flows.as_ref().filter(|_| self.is_known()).and_then(RackFlows::deadline);
        flows.into_iter().chain(self.controller.deadline()).min()
    }

    fn take_work(&mut self) -> Option<Ahead> {
        self.flows.as_mut().and_then(RackFlows::take_work)
    }

    fn take_reported(&mut self) -> Vec<String> {
        self.flows.as_mut().map_or(vec![], RackFlows::take_reported)
    }

    fn heard(&mut self, now: Time, device: DeviceId, heard: Heard) -> Vec<Event> {
        let outputs = match heard {
            Heard::Here if self.superseded => {
                self.here.insert(device);
                vec![]
            }
            Heard::Here => {
                self.here.insert(device);
                self.controller.doubt(now, device, "its agent has returned")
            }
            Heard::Superseded => {
                self.here.remove(&device);
                self.superseded = true;
                if let Some(flows) = &mut self.flows {
                    flows.stop(now);
                    self.controller.end_storing(&[]);
                }
                // Two controllers must not repair the devices in turn.
                self.controller.pause(true);
                self.controller.lose(now, device, "a controller that was started later controls it")
            }
            Heard::Gone(why) => {
                self.here.remove(&device);
                if let Some(flows) = &mut self.flows {
                    flows.lost(device);
                }
                self.controller.lose(now, device, &format!("its agent cannot be reached: {why}"))
            }
            Heard::Answer(id, answer) => self.controller.answer(now, id, answer),
            Heard::Stream(message) => self.controller.streamed(now, device, message),
            Heard::Pushed(frame) => self.controller.pushed(now, device, &frame),
            Heard::Counted(metrics) => {
                if let Some(counted) = self.counted.get_mut(device.0) {
                    *counted = metrics;
                }
                vec![]
            }
            Heard::Sampled(report) => {
                if let Some(flows) = &mut self.flows {
                    flows.sampled(now, device, report);
                }
                vec![]
            }
            Heard::Groups(groups) => {
                if let Some(known) = self.groups.get_mut(device.0) {
                    *known = groups;
                }
                vec![]
            }
        };
        let mut events = self.perform(now, outputs);
        events.extend(self.begin(now));
        events
    }

    fn failed(&self) -> Option<Status> {
        self.failed.clone()
    }

    fn is_busy(&self) -> bool {
        self.controller.is_busy()
    }

    fn is_open(&self) -> bool {
        true
    }

    /// The controller does calls that touch different things at one time.
    fn makes_way(&mut self, _: &Call) -> bool {
        true
    }

    fn go_on(&mut self, now: Time) -> Vec<Event> {
        let outputs = self.controller.go_on(now);
        self.perform(now, outputs)
    }

    fn show(&self) -> ShowResponse {
        let mut shown = show::rack(&self.controller, &self.addresses);
        for (index, device) in shown.devices.iter_mut().enumerate() {
            if device.stale.is_empty() && !self.here.contains(&DeviceId(index)) {
                device.stale = "its agent is not connected".to_string();
            }
        }
        let names = shown.devices.iter().map(|device| device.name.clone());
        let named = |(switch, groups): (String, &Vec<Group>)| {
            let named = |group: &Group| Group { switch: switch.clone(), ..group.clone() };
            groups.iter().map(named).collect::<Vec<_>>()
        };
        shown.groups = names.zip(&self.groups).flat_map(named).collect();
        let name = |device: usize| shown.devices.get(device).map_or(String::new(), |one| one.name.clone());
        shown.pinned_apps = self.flows.iter().flat_map(|flows| flows.show(&name)).collect();
        show::serving(&mut shown);
        if !matches!(self.start, Start::Over) {
            // Not all devices run it yet.
            shown.set_state(State::NoProgram);
        }
        shown
    }

    fn metrics(&mut self) -> Vec<Metric> {
        let own = self.flows.iter().flat_map(RackFlows::metrics).collect();
        metric::rack(&self.controller, own, |device, name| {
            let counted = self.counted.get(device).into_iter().flatten();
            counted.filter_map(|counted| metric::of_device(counted, name)).collect()
        })
    }
}
