//! The thread that owns the switch: it executes commands, one after the other, and work that lanes leave to it.

use crate::full_queues;
use crate::holds::Holds;
use crate::memory::Memory;
use base_time::{Duration, Time};
use bmv2_thrift::Notifications;
use controller::{Answer, Ask, Call, DeviceId, Heard, Reply, Ticket};
use crossbeam_channel::{Receiver, select};
use dataplane_ports::{Lanes, Passed, Path, Paused, PortSpec, Sampler, Sampling};
use device_control::{
    Event, Metric, PORT_HAND_OVERS, PORT_LOST, PORT_RECEIVED, PORT_SENT, Served, exposition,
};
use p4runtime_grpc::{Command, Found, Front, Hold, Link, Pieces, Queued, Status, Streams};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4rack::v1::{Port, Sample, SampleRequest, SampleResponse, ShowResponse, TraceResponse};
use state_etcd::Leading;
use state_file::Keeper;
use state_journal::Waiting;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::thread;
use std::time::Instant;
use target_native::Shared;
use tokio::sync::oneshot;
use tracing::{debug, error, info, warn};

/// Interval of scans for idle entries and digests while nothing else happens.
const SCAN: Duration = Duration::from_ms(10);

/// Work that takes longer yields to others afterwards: a program's timers and copies may keep the device busy.
const LONG: Duration = Duration::from_ms(1);

/// Interval of checks whether the thread that writes the state file has ended.
const WAKE: std::time::Duration = std::time::Duration::from_millis(100);

/// Why a controller ends whose place another one may have taken.
const NO_LEADER: &str = "this controller no longer leads: its lease in etcd has ended";

/// Ticket of the switch's own work; calls begin with 1.
const OWN_WORK: Ticket = Ticket(0);

/// Limit on programs being compiled at a time.
const MOST_PREPARING: usize = 2;

/// The switch with its ports, controllers and links.
pub(crate) struct Owner {
    switch: Box<dyn Served>,
    lanes: Lanes,
    /// The engine with which lanes run frames.
    runs: Option<Shared>,
    cpu_port: Option<u32>,
    /// Directory for captures of added ports.
    record: Option<PathBuf>,
    started: Instant,
    front: Front,
    /// Links to the agents of devices in other processes.
    links: Vec<Link>,
    waiting: BTreeMap<Ticket, (&'static str, Caller)>,
    tickets: u64,
    /// The call for which the switch did not make way; no other call begins before it.
    held: Option<(Ticket, &'static str, Call, Caller)>,
    /// Calls whose programs are being compiled on other threads.
    preparing: BTreeMap<Ticket, (&'static str, Call, Caller)>,
    /// Number of ended calls, by RPC and result.
    ended: BTreeMap<(&'static str, &'static str), u64>,
    /// Times for which calls had to wait for one piece of work.
    holds: Holds,
    memory: Memory,
    /// Thread that saves controllers' writes.
    keeper: Option<Keeper>,
    /// Leadership among the controllers of a state in etcd. It ends when everything is saved.
    leading: Option<Leading>,
    /// Frames for the controller, of those that lanes pass on.
    sampler: Sampler,
    /// Publisher of digests for BMv2's clients.
    notifications: Option<Notifications>,
    /// Replies that wait until the writes before them are saved.
    unkept: Waiting<Unkept>,
}

/// Next work of the owner.
enum Next {
    Command(Command),
    Passed(Passed),
    Nothing,
}

/// Takes a command or a message of a lane; if both wait, a random one goes first.
fn next(
    commands: &Receiver<Queued>,
    passed: &Receiver<Passed>,
    commands_first: bool,
    wait: std::time::Duration,
) -> Next {
    if commands_first && let Ok(command) = commands.try_recv() {
        return Next::Command(command.take());
    }
    select! {
        recv(commands) -> command => Next::Command(command.map_or(Command::Stop, Queued::take)),
        recv(passed) -> one => one.map_or(Next::Nothing, Next::Passed),
        default(wait) => Next::Nothing,
    }
}

/// Output that waits until earlier state is stored.
enum Unkept {
    Reply(Ticket, Reply),
    /// A message of the merge: devices would show what is lost if the switch ends.
    Ask(DeviceId, Ask),
}

enum Caller {
    /// A call with a status as its answer, and the memory that it uses.
    Done {
        to: oneshot::Sender<Result<(), Status>>,
        _hold: Option<Hold>,
    },
    Found {
        to: Found,
        _hold: Hold,
    },
    Traced(oneshot::Sender<Result<TraceResponse, Status>>),
    Merged(oneshot::Sender<Result<Vec<u8>, Status>>),
}

fn refused(why: impl ToString) -> Status {
    Status::new(Code::InvalidArgument, why.to_string())
}

/// Does work that a lane left to the switch.
fn pass(switch: &mut dyn Served, lanes: &Lanes, now: Time, one: Passed) -> Vec<Event> {
    match one {
        Passed::Frame(port, came, frame) => switch.frame_after(now, now.since(came), port, &frame),
        Passed::ForControllers(frame) => switch.packet_in(now, &frame),
        // A report of a port that has been removed meanwhile.
        Passed::Link(port, _) if !lanes.ports().numbers().any(|other| other == port) => vec![],
        Passed::Link(port, is_up) => {
            info!(port, is_up, "link");
            switch.link(port, is_up);
            vec![]
        }
    }
}

/// Sends the frames among the events, and returns the other events.
fn send(lanes: &Lanes, now: Time, events: Vec<Event>) -> Vec<Event> {
    let send = |event| match event {
        Event::Frame(port, frame) => {
            lanes.ports().send(port, &frame, now);
            None
        }
        other => Some(other),
    };
    events.into_iter().filter_map(send).collect()
}

/// Sends frames, and sets the lanes' path as the switch requires; returns the remaining events. Held frames leave before those that lanes
/// run, and lanes have stopped before this is reported.
fn follow<'l>(
    switch: &mut dyn Served,
    lanes: &'l Lanes,
    paused: Option<Paused<'l>>,
    (runs, cpu_port): (&mut Option<Shared>, Option<u32>),
    now: Time,
    events: Vec<Event>,
) -> Vec<Event> {
    let mut left = send(lanes, now, events);
    let shared = switch.shared();
    let is_same = match (&shared, &*runs) {
        (Some(new), Some(old)) => new.is(old),
        (None, None) => true,
        _ => false,
    };
    if !is_same {
        let path = shared.clone().map(|shared| Path::new(shared, cpu_port));
        lanes.set_paused(paused, path.as_ref(), |one| {
            left.extend(send(lanes, now, pass(switch, lanes, now, one)));
        });
        *runs = shared;
    }
    left
}

impl Owner {
    /// `front` sends commands to the owner, `links` send requests to the agents of devices in other processes.
    pub(crate) fn new(
        mut switch: Box<dyn Served>,
        lanes: Lanes,
        (cpu_port, record): (Option<u32>, Option<PathBuf>),
        started: Instant,
        front: Front,
        links: Vec<Link>,
        (memory, keeper, leading): (Memory, Option<Keeper>, Option<Leading>),
    ) -> Owner {
        if keeper.is_some() {
            switch.keep_notes();
        }
        let (waiting, preparing, ended) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Owner {
            switch,
            lanes,
            runs: None,
            cpu_port,
            record,
            started,
            front,
            links,
            waiting,
            tickets: 0,
            held: None,
            preparing,
            ended,
            holds: Holds::default(),
            memory,
            keeper,
            leading,
            sampler: Sampler::default(),
            notifications: None,
            unkept: Waiting::default(),
        }
    }

    /// Publishes digests for BMv2's clients, too.
    pub(crate) fn publish_digests(&mut self, to: Option<Notifications>) {
        if to.is_some() {
            self.switch.learn();
        }
        self.notifications = to;
    }

    /// Executes the first call, which starts the program. Returns its error, if the call fails at once.
    pub(crate) fn start(&mut self, call: Call) -> Result<(), Status> {
        let (sender, mut receiver) = oneshot::channel();
        // A start that fails at once saves nothing.
        let keeper = self.keeper.take();
        self.call("Start", call, Caller::Done { to: sender, _hold: None }, &mut Streams::default());
        receiver.try_recv().unwrap_or(Ok(()))?;
        self.keeper = keeper;
        self.keep();
        Ok(())
    }

    /// Handles commands until the switch is stopped or cannot continue. Returns the counters.
    pub(crate) fn run(mut self, commands: &Receiver<Queued>) -> Result<Vec<Metric>, Status> {
        let mut streams = Streams::default();
        let passed = self.lanes.passed().clone();
        self.perform(vec![], &mut streams);
        let mut scan = self.now() + SCAN;
        // `rest`: no timer runs before this time. `was_long`: commands precede frames after a frame that took long.
        let (mut rest, mut was_long) = (Time::ZERO, false);
        let ended = loop {
            self.holds.look();
            let now = self.now();
            let mut due = self.switch.deadline().map_or(scan, |deadline| deadline.min(scan)).max(rest);
            if now >= due {
                let events = self.switch.tick(now);
                self.perform(events, &mut streams);
                if let Some(notifications) = &self.notifications {
                    notifications.learn(self.switch.take_learned());
                }
                self.holds.note("tick");
                self.memory.look();
                self.holds.note("memory");
                scan = now + SCAN;
                due = now;
                let took = self.now().since(now);
                if took > LONG {
                    // Timers get at most half of the time.
                    rest = now + took + took;
                    was_long = true;
                }
            }
            if let Some((ticket, rpc, call, caller)) = self.held.take() {
                self.begin(ticket, rpc, call, caller, &mut streams);
            }
            if self.switch.is_busy() {
                self.go_on(&mut streams);
                // Messages that have arrived meanwhile.
                passed.try_iter().take(passed.len()).for_each(|one| self.passed(one, &mut streams));
                if self.held.is_none()
                    && self.switch.is_open()
                    && let Ok(command) = commands.try_recv().map(Queued::take)
                {
                    if matches!(command, Command::Stop) {
                        break Ok(());
                    }
                    self.command(command, &mut streams);
                }
                self.holds.note("other");
                continue;
            }
            let wait = std::time::Duration::from_nanos(due.since(now).as_ns());
            let next = next(commands, &passed, was_long, wait);
            let begun = self.now();
            match next {
                Next::Command(Command::Stop) => break Ok(()),
                Next::Command(command) => self.command(command, &mut streams),
                Next::Passed(one) => self.passed(one, &mut streams),
                Next::Nothing => {}
            }
            self.holds.note("other");
            was_long = self.now().since(begun) > LONG;
            if let Some(why) = self.switch.failed() {
                break Err(why);
            }
        };
        self.end_keeping(commands);
        ended?;
        if !self.leads() {
            return Err(Status::new(Code::Aborted, NO_LEADER));
        }
        self.lanes.stop();
        passed.try_iter().for_each(|one| self.passed(one, &mut streams));
        let _ = self.lanes.ports().flush();
        Ok(self.metrics(&streams))
    }

    fn metrics(&mut self, streams: &Streams) -> Vec<Metric> {
        let mut all = self.switch.metrics();
        let of = |((rpc, code), count): (&(&'static str, &'static str), &u64)| {
            Metric::new("calls_total", *count).with("rpc", rpc).with("code", code)
        };
        all.extend(self.ended.iter().map(of));
        for (work, held) in self.holds.by_work() {
            Metric::new("holds_total", held.pieces).with("work", work).add_to(&mut all);
            Metric::new("longest_hold_us", held.longest_us).with("work", work).add_to(&mut all);
        }
        for (port, count) in self.lanes.counts() {
            Metric::new(PORT_RECEIVED, count.received).with("port", port).add_to(&mut all);
            Metric::new(PORT_SENT, count.sent).with("port", port).add_to(&mut all);
        }
        let hand_overs = |(port, count)| Metric::new(PORT_HAND_OVERS, count).with("port", port);
        all.extend(self.lanes.hand_overs().into_iter().map(hand_overs));
        let up = |(port, is_up): (u32, bool)| Metric::new("port_up", is_up.into()).with("port", port);
        all.extend(self.lanes.links().into_iter().map(up));
        let lost = |(port, why, count)| Metric::new(PORT_LOST, count).with("port", port).with("reason", why);
        all.extend(self.lanes.ports().losses().map(lost));
        all.extend([
            Metric::new("frames_lost_total", self.lanes.lost()).with("place", "the queue of frames"),
            Metric::new("frames_lost_total", self.lanes.ports().lost()).with("place", "ports"),
            Metric::new("connections", self.front.admission().len() as u64),
            Metric::new("connections_refused_total", self.front.admission().turned_away().0),
            Metric::new("connections_ended_total", self.front.admission().turned_away().1),
            Metric::new("streams", streams.len() as u64),
            Metric::new("messages_lost_total", streams.lost()),
        ]);
        all
    }

    /// The ports with their frame counts.
    fn ports(&self) -> Vec<Port> {
        let (counts, links) = (self.lanes.counts(), self.lanes.links());
        let port = |(number, kind): (u32, String)| {
            let count = counts.get(&number).copied().unwrap_or_default();
            let lost = self.lanes.ports().losses().filter(|(port, ..)| *port == number);
            Port {
                number,
                kind,
                is_up: links.get(&number).copied().unwrap_or(true),
                received: count.received,
                sent: count.sent,
                lost: lost.map(|(_, why, count)| (why.to_string(), count)).collect(),
            }
        };
        self.lanes.ports().kinds().map(port).collect()
    }

    fn add_port(&mut self, port: &str) -> Result<(), Status> {
        let spec: PortSpec = port.parse().map_err(refused)?;
        let spec = PortSpec { record: self.record.clone(), ..spec };
        self.switch.may_have(spec.port)?;
        self.lanes.add(&spec).map_err(refused)
    }

    fn now(&self) -> Time {
        let elapsed = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::ZERO + Duration::from_ns(elapsed)
    }

    /// Executes a command. If the caller is gone, the answer is lost.
    fn command(&mut self, command: Command, streams: &mut Streams) {
        let now = self.now();
        let events = match command {
            Command::MayWrite(head, reply) => {
                return drop(reply.send(self.switch.answers().may_write(&head)));
            }
            Command::MaySetConfig(head, reply) => {
                return drop(reply.send(self.switch.answers().may_set_config(&head)));
            }
            Command::Write(request, hold, reply) => {
                return self.call(
                    "Write",
                    Call::Write(request),
                    Caller::Done { to: reply, _hold: Some(hold) },
                    streams,
                );
            }
            Command::Operate(request, reply) => {
                let caller = Caller::Done { to: reply, _hold: None };
                return self.call("Operate", Call::Operate(request), caller, streams);
            }
            Command::Read(request, hold, reply) => {
                // A read of a million entries for a client that is gone would keep others waiting.
                if reply.is_closed() {
                    return;
                }
                return self.call(
                    "Read",
                    Call::Read(request),
                    Caller::Found { to: reply, _hold: hold },
                    streams,
                );
            }
            Command::ReadRunning(request, hold, reply) => {
                if reply.is_closed() {
                    return;
                }
                return self.call(
                    "ReadRunning",
                    Call::ReadRunning(request),
                    Caller::Found { to: reply, _hold: hold },
                    streams,
                );
            }
            Command::SetConfig(request, hold, reply) => {
                return self.call(
                    "SetForwardingPipelineConfig",
                    Call::SetConfig(request),
                    Caller::Done { to: reply, _hold: Some(hold) },
                    streams,
                );
            }
            Command::Prepared(number, is_done) => {
                let ticket = Ticket(number);
                match (self.preparing.remove(&ticket), is_done) {
                    (Some((rpc, call, caller)), true) => {
                        return self.begin(ticket, rpc, call, caller, streams);
                    }
                    (Some((rpc, _, caller)), false) => {
                        let why = Status::new(Code::Internal, "the program's compilation has failed");
                        // `reply` looks the caller up there.
                        self.waiting.insert(ticket, (rpc, caller));
                        return self.reply(ticket, Reply::Done(Err(why)));
                    }
                    // Work of the switch itself.
                    (None, _) => self.switch.tick(now),
                }
            }
            Command::Kept(count, kept) => {
                self.kept(count, kept);
                self.switch.kept(now, count)
            }
            Command::GetConfig(request, reply) => {
                return drop(reply.send(self.switch.answers().get_config(&request)));
            }
            Command::Capabilities(reply) => {
                return drop(reply.send(Ok(self.switch.answers().capabilities())));
            }
            Command::Steer(election, steer, reply) => {
                return self.call(
                    "Steer",
                    Call::Steer(election, steer),
                    Caller::Done { to: reply, _hold: None },
                    streams,
                );
            }
            Command::AddPort(port, reply) => return drop(reply.send(self.add_port(&port))),
            Command::RemovePort(port, reply) => {
                let removed = self.lanes.remove(port);
                self.switch.link(port, true);
                return drop(reply.send(removed.map_err(refused)));
            }
            Command::Trace(request, reply) => {
                return self.call("Trace", Call::Trace(request), Caller::Traced(reply), streams);
            }
            Command::Merge(election, frame, reply) => {
                return self.call("Merge", Call::Merge(election, frame), Caller::Merged(reply), streams);
            }
            Command::Sample(request, reply) => return drop(reply.send(self.sample(request))),
            Command::Show(reply) => {
                let metrics = device_control::metrics(self.metrics(streams));
                let ports = self.ports();
                let mut shown = ShowResponse { metrics, ports, ..self.switch.show() };
                full_queues::count(&mut shown);
                return drop(reply.send(shown));
            }
            Command::Calculations(reply) => {
                let all = self.switch.calculations().into_iter().map(|of| (of.name, of.algorithm));
                return drop(reply.send(all.collect()));
            }
            Command::Agent(device, heard) => {
                self.log(device, &heard);
                self.switch.heard(now, device, *heard)
            }
            Command::Metrics(reply) => {
                return drop(reply.send(exposition(&self.metrics(streams))));
            }
            Command::Open(stream, listener) => {
                debug!(stream = stream.0, "a controller has connected");
                return streams.open(stream, listener);
            }
            Command::Message(stream, message, _permit) => self.switch.message(now, stream, &message),
            Command::Close(stream) => {
                debug!(stream = stream.0, "a controller has disconnected");
                streams.close(stream);
                self.switch.close(now, stream)
            }
            Command::Stop => return,
        };
        self.perform(events, streams);
    }

    /// Executes work that a lane leaves to the switch.
    fn passed(&mut self, one: Passed, streams: &mut Streams) {
        let now = self.now();
        let sample = match &one {
            Passed::Frame(port, _, frame) => self.sampler.comes(*port, frame),
            Passed::ForControllers(_) | Passed::Link(..) => None,
        };
        let events = pass(&mut *self.switch, &self.lanes, now, one);
        if let Some(sample) = sample {
            let left = events.iter().filter_map(|event| match event {
                Event::Frame(port, _) => Some(*port),
                _ => None,
            });
            self.sampler.add(sample, left);
        }
        self.perform(events, streams);
    }

    /// Frames that have come in since the last call, for the device's controller.
    fn sample(&mut self, request: SampleRequest) -> Result<SampleResponse, Status> {
        let SampleRequest { election_id, every, uncounted_ports } = request;
        self.switch.answers().may_sample(election_id.as_ref())?;
        let sampling = Sampling { every, uncounted: uncounted_ports.into_iter().collect() };
        let all = [self.lanes.sample(&sampling), self.sampler.take(&sampling)];
        let frames = all.iter().map(|sampled| sampled.frames).sum();
        let sample = |sample: dataplane_ports::Sample| {
            let dataplane_ports::Sample { port, frame, left } = sample;
            Sample { port, frame, left }
        };
        let samples = all.into_iter().flat_map(|sampled| sampled.samples).map(sample).collect();
        Ok(SampleResponse { frames, samples })
    }

    /// Begins a call. If it needs a program to be compiled, that happens on another thread first, so that frames pass meanwhile.
    fn call(&mut self, rpc: &'static str, call: Call, caller: Caller, streams: &mut Streams) {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let Some(ahead) = self.switch.answers().ahead(&call) else {
            return self.begin(ticket, rpc, call, caller, streams);
        };
        if self.preparing.len() >= MOST_PREPARING {
            let why = "other programs are being compiled: try again later";
            self.waiting.insert(ticket, (rpc, caller));
            return self.reply(ticket, Reply::Done(Err(Status::new(Code::ResourceExhausted, why))));
        }
        // If there is no thread, the reply is dropped, and the call fails.
        if self.prepare(ticket, ahead) {
            self.preparing.insert(ticket, (rpc, call, caller));
        }
    }

    /// Runs work on another thread, which then sends [`Command::Prepared`]. False if there is no thread.
    fn prepare(&self, ticket: Ticket, work: impl FnOnce() + Send + 'static) -> bool {
        let front = self.front.clone();
        let prepared = move || {
            // A program that makes the compiler panic fails only its call.
            let is_done = catch_unwind(AssertUnwindSafe(work)).is_ok();
            front.prepared(ticket.0, is_done);
        };
        thread::Builder::new().name("prepare".to_string()).spawn(prepared).is_ok()
    }

    /// The next slice of calls that take long. No frame passes from the slice that replaces a program until lanes run the new one.
    fn go_on(&mut self, streams: &mut Streams) {
        let now = self.now();
        let Owner { switch, lanes, runs, cpu_port, .. } = self;
        let paused = switch.wants_rest().then(|| lanes.pause());
        let events = switch.go_on(now);
        let left = follow(&mut **switch, lanes, paused, (runs, *cpu_port), now, events);
        self.holds.note("slice");
        self.perform(left, streams);
    }

    fn begin(
        &mut self,
        ticket: Ticket,
        rpc: &'static str,
        call: Call,
        caller: Caller,
        streams: &mut Streams,
    ) {
        if !self.switch.makes_way(&call) {
            self.held = Some((ticket, rpc, call, caller));
            return;
        }
        self.waiting.insert(ticket, (rpc, caller));
        // Frames see all of the updates or none.
        let atomic = Atomicity::DataplaneAtomic;
        let is_atomic =
            matches!(&call, Call::Write(request) | Call::Operate(request) if request.atomicity() == atomic);
        // A merge reads cells, and gives them other values: packets must not count in between.
        let paused = (is_atomic || matches!(call, Call::Merge(..))).then(|| self.lanes.pause());
        let events = self.switch.call(self.now(), ticket, call);
        drop(paused);
        self.perform(events, streams);
        self.holds.note(rpc);
    }

    fn perform(&mut self, events: Vec<Event>, streams: &mut Streams) {
        let (now, Owner { switch, lanes, runs, cpu_port, .. }) = (self.now(), &mut *self);
        let events = follow(&mut **switch, lanes, None, (runs, *cpu_port), now, events);
        if let Some(work) = self.switch.take_work() {
            self.prepare(OWN_WORK, work);
        }
        self.switch.take_reported().into_iter().for_each(|reported| info!("{reported}"));
        self.keep();
        let mut waiting = VecDeque::from(events);
        while let Some(event) = waiting.pop_front() {
            match event {
                Event::Reply(ticket, reply) => {
                    // Reads wait, too, so that no client sees writes that may be lost later; and refusals, since what was undone must not come back.
                    let waits = matches!(&reply, Reply::Done(_) | Reply::Found(_, Ok(())));
                    let reply = Unkept::Reply(ticket, reply);
                    let ready = if waits { self.unkept.reply(reply) } else { Some(reply) };
                    if let Some(Unkept::Reply(ticket, reply)) = ready {
                        self.reply(ticket, reply);
                    }
                }
                Event::Send(stream, message) => {
                    if streams.send(stream, message) {
                        waiting.extend(self.switch.close(self.now(), stream));
                    }
                }
                Event::End(stream, why) => streams.end(stream, &why),
                Event::Frame(port, frame) => self.lanes.ports().send(port, &frame, self.now()),
                Event::Ask(device, None, ask @ Ask::Merge(_)) => {
                    if let Some(Unkept::Ask(device, ask)) = self.unkept.reply(Unkept::Ask(device, ask)) {
                        self.merge(device, ask);
                    }
                }
                Event::Ask(device, id, ask) => {
                    let link = self.links.get(device.0);
                    if link.is_some_and(|link| link.ask(id, ask)) {
                        continue;
                    }
                    if let Some(id) = id {
                        let busy =
                            Status::new(Code::Unavailable, "too many requests are queued for its agent");
                        let answer = Heard::Answer(id, Answer::Refused(busy));
                        waiting.extend(self.switch.heard(self.now(), device, answer));
                    }
                }
            }
        }
    }

    /// Sends the latest changes to the thread that saves them. Later replies wait until they are saved.
    fn keep(&mut self) {
        let Some(keeper) = &self.keeper else { return };
        let noted = self.switch.noted();
        if !noted.is_empty() {
            keeper.send(noted);
            self.unkept.sent();
        }
    }

    /// The state file has stored `count` batches, or could not: then the waiting writes, which have been executed, are answered with an error.
    fn kept(&mut self, count: u64, kept: Result<(), String>) {
        for unkept in self.unkept.kept(count) {
            let (ticket, reply) = match unkept {
                Unkept::Reply(ticket, reply) => (ticket, reply),
                Unkept::Ask(device, ask) => {
                    // The next round says it, if it could not be kept.
                    if kept.is_ok() {
                        self.merge(device, ask);
                    }
                    continue;
                }
            };
            let reply = match (&kept, reply) {
                (Err(why), Reply::Done(Ok(()))) => {
                    let why = format!("done, but not saved, and lost if the switch ends: {why}");
                    Reply::Done(Err(Status::new(Code::DataLoss, why)))
                }
                (_, reply) => reply,
            };
            self.reply(ticket, reply);
        }
        if let Err(why) = kept {
            error!(why, "the state cannot be saved");
        }
    }

    /// Sends a message of the merge. It may be lost.
    fn merge(&mut self, device: DeviceId, ask: Ask) {
        if let Some(link) = self.links.get(device.0) {
            link.ask(None, ask);
        }
    }

    /// Saves the last changes, and sends the replies that wait for them.
    fn end_keeping(&mut self, commands: &Receiver<Queued>) {
        let Some(mut keeper) = self.keeper.take() else { return };
        keeper.end();
        while !self.unkept.is_quiet() {
            match commands.recv_timeout(WAKE).map(Queued::take) {
                Ok(Command::Kept(count, kept)) => self.kept(count, kept),
                Err(_) if keeper.has_ended() => break,
                _ => {}
            }
        }
    }

    fn log(&self, device: DeviceId, heard: &Heard) {
        match heard {
            Heard::Here => info!(device = device.0, "its agent is connected"),
            Heard::Gone(why) => warn!(device = device.0, why, "its agent cannot be reached"),
            Heard::Superseded => {
                warn!(device = device.0, "a controller that was started later controls the device")
            }
            Heard::Answer(..)
            | Heard::Stream(_)
            | Heard::Pushed(_)
            | Heard::Counted(_)
            | Heard::Groups(_)
            | Heard::Sampled(_) => {}
        }
    }

    /// True unless another controller may lead.
    fn leads(&self) -> bool {
        self.leading.as_ref().is_none_or(Leading::holds)
    }

    fn reply(&mut self, ticket: Ticket, mut reply: Reply) {
        let Some((rpc, caller)) = self.waiting.remove(&ticket) else { return };
        if matches!(&reply, Reply::Done(Ok(())) | Reply::Found(_, Ok(()))) && !self.leads() {
            // A read may be older than the writes of the next leader.
            reply = Reply::Done(Err(Status::new(Code::Unavailable, NO_LEADER)));
        }
        let refused = match &reply {
            Reply::Done(ended) | Reply::Found(_, ended) => ended.as_ref().err(),
            Reply::Traced(traced) => traced.as_ref().err(),
            Reply::Merged(merged) => merged.as_ref().err(),
        };
        let code = refused.map_or("OK", |status| status.code.as_str_name());
        *self.ended.entry((rpc, code)).or_default() += 1;
        match refused {
            None => debug!(rpc, "done"),
            Some(status) if rpc == "Start" => {
                warn!(code, message = status.message, "the program does not start")
            }
            Some(status) => info!(rpc, code, message = status.message, "refused"),
        }
        match (caller, reply) {
            (Caller::Done { to, .. }, Reply::Done(ended)) => drop(to.send(ended)),
            (Caller::Found { to, .. }, Reply::Found(found, ended)) => drop(to.send((found, ended))),
            // A read that was refused before it began.
            (Caller::Found { to, .. }, Reply::Done(ended)) => drop(to.send((Pieces::new(), ended))),
            (Caller::Traced(caller), Reply::Traced(traced)) => drop(caller.send(traced)),
            (Caller::Traced(caller), Reply::Done(Err(status))) => drop(caller.send(Err(status))),
            (Caller::Merged(caller), Reply::Merged(merged)) => drop(caller.send(merged)),
            (Caller::Merged(caller), Reply::Done(Err(status))) => drop(caller.send(Err(status))),
            _ => {}
        }
    }
}
