//! A single device under P4Runtime.

use super::agent_edges::AgentEdges;
use super::agent_groups::AgentGroups;
use super::gate::Gate;
use super::port_queues::PortQueues;
use super::{Answers, Event, MERGES_REFUSED, Maker, Metric, PORT_RECEIVED, PORT_SENT, Served, metric};
use base_time::{Duration, Time};
use control_writes::Crc;
use controller::{Call, Copies, Held, PortCount, Reply, Steer, Ticket};
use dataplane_api::Device as _;
use device::v1model::Calculation;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    CapabilitiesResponse, GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, Uint128, WriteRequest,
};
use p4runtime_proto::p4rack::v1::{Device, SavedState, ShowResponse, TraceResponse, show_response::State};
use p4runtime_server::{Ahead, Output, Pieces, Reading, Server, Status, StreamId};
use state_journal::Batch;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use target_native::Shared;

/// Maximum number of ports with separate frame counts.
const MOST_PORTS: usize = 1024;

/// A device with its server.
pub struct OneSwitch {
    server: Server<Maker>,
    cpu_port: Option<u32>,
    gate: Gate,
    /// Lease of held frames.
    held: Held,
    ports: BTreeMap<u32, PortCount>,
    queues: PortQueues,
    /// Ports whose link is down.
    down: BTreeSet<u32>,
    /// Edges with spares of the program that runs.
    edges: AgentEdges,
    /// Groups of servers of the program that runs.
    groups: AgentGroups,
    /// Objects that other devices of a rack have, too.
    copies: Copies,
    /// The Unix time of time 0, in microseconds.
    epoch_us: u64,
    /// Frames by ports that the program's architecture cannot number.
    unfit: u64,
    /// Digests are kept for BMv2's clients, too.
    learns: bool,
    /// Ticket of the write that runs in slices.
    writing: Option<Ticket>,
    /// The same for the change of program.
    replacing: Option<Ticket>,
    /// Reads that run in slices: the first one continues, the others have had their first slice.
    readings: VecDeque<(Ticket, Reading)>,
}

/// True if packets of the program that runs pass the queues. Those of a server group's device pass its front instead.
fn has_queues(queues: &mut PortQueues, target: &super::Controlled) -> bool {
    queues.follow(target.token());
    queues.is_needed() && !target.groups().is_any()
}

/// Limit on reads that are not over.
const MOST_READINGS: usize = 16;

impl OneSwitch {
    /// Without a program: [`Call::Start`] or a controller brings it. `device` is its id; `epoch_ns` the Unix time of time 0, in
    /// nanoseconds; frames for and from controllers go by `cpu_port`.
    pub fn new(maker: Maker, device: u64, epoch_ns: i64, cpu_port: Option<u32>) -> OneSwitch {
        OneSwitch {
            server: Server::new(maker, device, epoch_ns),
            cpu_port,
            gate: Gate::default(),
            held: Held::No,
            ports: BTreeMap::new(),
            queues: PortQueues::default(),
            down: BTreeSet::new(),
            edges: AgentEdges::default(),
            groups: AgentGroups::default(),
            copies: Copies::default(),
            epoch_us: u64::try_from(epoch_ns).unwrap_or(0) / 1_000,
            unfit: 0,
            learns: false,
            writing: None,
            replacing: None,
            readings: VecDeque::new(),
        }
    }

    /// The same, with queues for so many priorities behind each port; packets of other priorities are lost.
    pub fn with_priorities(self, priorities: u8) -> OneSwitch {
        OneSwitch { queues: PortQueues::new(priorities), ..self }
    }

    /// The device, if it runs a program.
    pub fn device(&mut self) -> Option<&mut super::Controlled> {
        self.server.target()
    }

    fn at(&mut self, now: Time) {
        self.server.targets().for_each(|target| target.at(now));
    }

    /// Edges with spares do not use the ports that are down.
    fn bar_ports(&mut self) {
        if let Some(target) = self.server.target() {
            self.edges.bar(&mut target.switch(), &self.down);
            target.publish();
        }
    }

    /// Follows a change of the program, and gives the ticks of edges with spares that are due.
    fn ticks(&mut self, now: Time) -> Vec<(u32, Vec<u8>)> {
        let Some(target) = self.server.target() else { return vec![] };
        if self.edges.follow(target, now) {
            self.bar_ports();
        }
        self.edges.due(now)
    }

    /// Runs a frame; frames sent on the CPU port are for the controllers.
    fn run(&mut self, now: Time, port: u32, frame: &[u8]) -> Vec<Event> {
        self.run_after(now, Duration::ZERO, port, frame)
    }

    /// The same, of a frame that has waited for so long.
    fn run_after(&mut self, now: Time, waited: Duration, port: u32, frame: &[u8]) -> Vec<Event> {
        let Some(target) = self.server.target() else { return vec![] };
        let mut frames = self.groups.follow(target, now);
        if has_queues(&mut self.queues, target) {
            let queued = target.switch().ingress(port, frame.to_vec(), now);
            frames.extend(self.queues.run(&mut *target.switch(), queued, now));
        } else {
            frames.extend(self.groups.process(target, port, frame, waited, now));
        }
        frames.into_iter().flat_map(|out| self.leave(now, out.port, out.frame)).collect()
    }

    fn count(&mut self, port: u32, add: impl FnOnce(&mut PortCount)) {
        // Programs may send to any number.
        if self.ports.len() < MOST_PORTS || self.ports.contains_key(&port) {
            add(self.ports.entry(port).or_default());
        }
    }

    /// Returns the result, or `None` if the operation has only begun.
    fn steer(&mut self, now: Time, steer: Steer, events: &mut Vec<Event>) -> Option<Result<(), Status>> {
        match steer {
            // A frame that came in has left.
            Steer::Hold { open, lease } => {
                self.gate.close(open);
                self.held = Held::from(now, lease);
            }
            Steer::ExtendHold(lease) => return Some(self.held.extend(now, lease)),
            Steer::Release => {
                self.held = Held::No;
                events.extend(self.let_in(now));
            }
            Steer::ForgetSaved => self.server.forget_saved(),
            Steer::Reset => return self.server.begin_reset(),
            Steer::EndClients(streams) => {
                let streams: Vec<StreamId> = streams.into_iter().map(StreamId).collect();
                let outputs = self.server.end_clients(&streams);
                events.extend(self.perform(now, outputs));
            }
            Steer::SetCrc { calculation, width, to } => {
                return Some(self.set_crc(&calculation, width, to));
            }
            Steer::SetQueues(change) => {
                let is_led = self.server.target().is_some_and(|target| target.groups().is_any());
                return Some(match is_led {
                    true => {
                        Err(Status::new(Code::Unimplemented, "a device with a server group has no queues"))
                    }
                    false => self.queues.change(change, now),
                });
            }
            Steer::Replace(_) | Steer::Resize(_) => {
                let why = "this is a single device: it has no plan to replace";
                return Some(Err(Status::new(Code::Unimplemented, why)));
            }
            Steer::ChangeGroup(change) => return Some(self.groups.change(&change, now)),
            Steer::KeepOut { .. } | Steer::SetThresholds(_) | Steer::MoveFlow(_) => {
                let why = "this is a single device: ask the controller of the rack";
                return Some(Err(Status::new(Code::Unimplemented, why)));
            }
        }
        Some(Ok(()))
    }

    fn set_crc(&mut self, calculation: &str, width: u32, to: Crc) -> Result<(), Status> {
        let none = || Status::new(Code::FailedPrecondition, "the switch has no program");
        let target = self.server.target().ok_or_else(none)?;
        let set = target.switch().set_custom_crc(Some(calculation), width, to);
        set.map_err(|error| {
            let help = error.help.map_or_else(String::new, |help| format!("; {help}"));
            Status::new(Code::NotFound, format!("{}{help}", error.message))
        })
    }

    /// The frames that have waited come in.
    fn let_in(&mut self, now: Time) -> Vec<Event> {
        let mut events = vec![];
        for (port, frame) in self.gate.open() {
            self.count(port, |count| count.received += 1);
            events.extend(self.run(now, port, &frame));
        }
        events
    }

    /// Admits frames if their lease has expired; the saved program can then no longer be committed.
    fn let_go(&mut self, now: Time) -> Vec<Event> {
        if !self.held.runs_out(now) {
            return vec![];
        }
        self.server.spoil_saved();
        self.let_in(now)
    }

    /// Makes writes visible to the following frames. Tells a new program which ports are down.
    fn publish(&mut self) {
        for target in self.server.targets() {
            self.down.iter().for_each(|port| target.switch().port_set(*port, false));
            target.publish();
        }
    }

    fn leave(&mut self, now: Time, port: u32, frame: Vec<u8>) -> Vec<Event> {
        if Some(port) != self.cpu_port {
            self.count(port, |count| count.sent += 1);
            return vec![Event::Frame(port, frame)];
        }
        let outputs = self.server.packet_in(&frame);
        self.perform(now, outputs)
    }

    fn do_call(&mut self, now: Time, ticket: Ticket, call: Call) -> Vec<Event> {
        self.at(now);
        let mut events = self.let_go(now);
        let reply = match call {
            Call::Read(request) => {
                events.extend(self.begin_reading(ticket, self.server.reading(request)));
                return events;
            }
            Call::ReadRunning(request) => {
                events.extend(self.begin_reading(ticket, self.server.reading_running(request)));
                return events;
            }
            Call::Start(config, updates) => {
                let started = self.server.start(*config);
                Some(Reply::Done(started.and_then(|()| self.server.fill(&updates))))
            }
            Call::Adopt(..) => {
                let why = "this is a single device: it has no agents to adopt entries from";
                Some(Reply::Done(Err(Status::new(Code::Unimplemented, why))))
            }
            Call::Resume(state, _) => Some(Reply::Done(self.resume(*state))),
            Call::Write(request) => self.server.begin_write(*request).map(Reply::Done),
            Call::Operate(request) | Call::Enforce(request) => {
                self.server.begin_operation(*request).map(Reply::Done)
            }
            Call::SetConfig(request) => self.server.begin_config(*request).map(Reply::Done),
            Call::Steer(election, steer) => {
                let may = match &election {
                    Some(_) => self.server.may_steer(election.as_ref()),
                    None => Ok(()),
                };
                let ended = match may {
                    Ok(()) => self.steer(now, steer, &mut events),
                    Err(status) => Some(Err(status)),
                };
                ended.map(Reply::Done)
            }
            Call::Trace(request) => Some(Reply::Traced(match self.server.target() {
                Some(target) => target.trace(now, request).map(|hop| TraceResponse { hops: vec![hop] }),
                None => Err(Status::new(Code::FailedPrecondition, "there is no program yet")),
            })),
            Call::Merge(election, frame) => Some(Reply::Merged(self.merge(now, election.as_ref(), &frame))),
        };
        match reply {
            Some(reply) => events.push(Event::Reply(ticket, reply)),
            None if self.server.is_writing() => self.writing = Some(ticket),
            None => self.replacing = Some(ticket),
        }
        events
    }

    /// A message of a rack's merge: only the controller of this device may send it.
    fn merge(&mut self, now: Time, election: Option<&Uint128>, frame: &[u8]) -> Result<Vec<u8>, Status> {
        self.server.may_steer(election)?;
        let now_us = self.epoch_us + now.since(Time::ZERO).as_ps() / Duration::from_us(1).as_ps();
        let program = self.server.configs();
        let running = self.server.running();
        let said = running.and_then(|running| self.copies.hear(now_us, program, running, frame));
        Ok(said.unwrap_or_default())
    }

    /// Runs a program with a state that was kept.
    fn resume(&mut self, state: SavedState) -> Result<(), Status> {
        let mut prepared = self.server.prepare(state.config.unwrap_or_default())?;
        prepared.resume(state.entities, vec![])?;
        self.server.install(prepared);
        Ok(())
    }

    /// The first slice of a read, which is the only one of most.
    fn begin_reading(&mut self, ticket: Ticket, reading: Result<Reading, Status>) -> Option<Event> {
        let mut reading = match reading {
            Ok(reading) => reading,
            Err(status) => return Some(Event::Reply(ticket, Reply::Found(Pieces::new(), Err(status)))),
        };
        let read = self.server.read_on(&mut reading);
        if read.is_none() {
            self.readings.push_back((ticket, reading));
        }
        read.map(|(found, ended)| Event::Reply(ticket, Reply::Found(found, ended)))
    }

    /// The next slice of the first read.
    fn read_on(&mut self) -> Option<Event> {
        let (ticket, reading) = self.readings.front_mut()?;
        let (found, ended) = self.server.read_on(reading)?;
        let event = Event::Reply(*ticket, Reply::Found(found, ended));
        self.readings.pop_front();
        Some(event)
    }

    fn perform(&mut self, now: Time, outputs: Vec<Output>) -> Vec<Event> {
        let mut events = vec![];
        for output in outputs {
            match output {
                Output::Send(stream, message) => events.push(Event::Send(stream, message)),
                Output::End(stream, why) => events.push(Event::End(stream, why)),
                Output::Inject(frame) => {
                    if let Some(cpu) = self.cpu_port {
                        events.extend(self.run(now, cpu, &frame));
                    }
                }
            }
        }
        events
    }
}

impl Answers for OneSwitch {
    fn may_write(&self, head: &WriteRequest) -> Result<(), Status> {
        self.server.may_write(head)
    }

    fn may_sample(&self, election: Option<&Uint128>) -> Result<(), Status> {
        self.server.may_steer(election)
    }

    fn may_set_config(&self, head: &SetForwardingPipelineConfigRequest) -> Result<(), Status> {
        self.server.may_set_config(head)
    }

    fn ahead(&self, call: &Call) -> Option<Ahead> {
        match call {
            Call::SetConfig(request) => self.server.ahead(request),
            Call::Steer(election, Steer::Reset) => {
                if election.is_some() {
                    self.server.may_steer(election.as_ref()).ok()?;
                }
                self.server.ahead_again()
            }
            _ => None,
        }
    }

    fn get_config(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Status> {
        self.server.get_config(request)
    }

    fn capabilities(&self) -> CapabilitiesResponse {
        self.server.capabilities()
    }
}

impl Served for OneSwitch {
    fn answers(&self) -> &dyn Answers {
        self
    }

    fn keep_notes(&mut self) {
        self.server.keep_notes();
    }

    fn noted(&mut self) -> Batch {
        self.server.noted()
    }

    fn call(&mut self, now: Time, ticket: Ticket, call: Call) -> Vec<Event> {
        let events = self.do_call(now, ticket, call);
        self.publish();
        events
    }

    fn is_busy(&self) -> bool {
        self.server.is_writing() || self.server.is_replacing() || !self.readings.is_empty()
    }

    fn is_open(&self) -> bool {
        true
    }

    fn wants_rest(&self) -> bool {
        self.readings.is_empty() && self.server.is_about_to_replace()
    }

    fn makes_way(&mut self, call: &Call) -> bool {
        let OneSwitch { server, readings, .. } = self;
        let is_quiet = readings.is_empty() && !server.is_replacing();
        !server.is_writing()
            && match call {
                // The program that is to run waits until the last read of the old one is over.
                Call::Read(_) | Call::ReadRunning(_) => {
                    readings.len() < MOST_READINGS && !server.is_about_to_replace()
                }
                // A sender that may not write is refused at once.
                Call::Write(request) if server.may_write(request).is_err() => true,
                Call::Write(request) | Call::Operate(request) | Call::Enforce(request) => {
                    server.make_way_to_follow(request)
                        && server.make_way(readings.iter_mut().map(|(_, reading)| reading), request)
                }
                Call::Steer(_, Steer::Reset | Steer::ForgetSaved) => is_quiet,
                Call::Merge(..) => !server.is_replacing(),
                Call::Steer(..) | Call::Trace(_) => true,
                Call::Start(..) | Call::Adopt(..) | Call::Resume(..) | Call::SetConfig(_) => is_quiet,
            }
    }

    fn go_on(&mut self, now: Time) -> Vec<Event> {
        self.at(now);
        let read = self.read_on();
        let written = self.server.go_on();
        let replaced = self.server.go_on_replacing(!self.readings.is_empty());
        self.publish();
        let done =
            |ticket: &mut Option<Ticket>, ended| Some(Event::Reply(ticket.take()?, Reply::Done(ended)));
        let written = written.and_then(|ended| done(&mut self.writing, ended));
        let replaced = replaced.and_then(|ended| done(&mut self.replacing, ended));
        [read, written, replaced].into_iter().flatten().collect()
    }

    fn message(&mut self, now: Time, stream: StreamId, message: &StreamMessageRequest) -> Vec<Event> {
        self.at(now);
        let outputs = self.server.message(stream, message);
        self.perform(now, outputs)
    }

    fn close(&mut self, now: Time, stream: StreamId) -> Vec<Event> {
        let outputs = self.server.close(stream);
        self.perform(now, outputs)
    }

    fn frame(&mut self, now: Time, port: u32, frame: &[u8]) -> Vec<Event> {
        self.frame_after(now, Duration::ZERO, port, frame)
    }

    fn frame_after(&mut self, now: Time, waited: Duration, port: u32, frame: &[u8]) -> Vec<Event> {
        let target = self.server.target();
        if target.is_some_and(|target| target.switch().check_port(port).is_err()) {
            self.unfit += 1;
            return vec![];
        }
        if !self.gate.lets_in(port, frame) {
            return vec![];
        }
        self.at(now);
        self.count(port, |count| count.received += 1);
        self.run_after(now, waited, port, frame)
    }

    fn packet_in(&mut self, now: Time, frame: &[u8]) -> Vec<Event> {
        self.at(now);
        let outputs = self.server.packet_in(frame);
        self.perform(now, outputs)
    }

    fn link(&mut self, port: u32, is_up: bool) {
        match is_up {
            true => drop(self.down.remove(&port)),
            false => drop(self.down.insert(port)),
        }
        for target in self.server.targets() {
            target.switch().port_set(port, is_up);
            target.publish();
        }
        self.bar_ports();
    }

    fn may_have(&mut self, port: u32) -> Result<(), Status> {
        self.server.target().map_or(Ok(()), |target| target.may_have(port))
    }

    fn shared(&mut self) -> Option<Shared> {
        if self.gate.is_closed() || self.queues.is_needed() {
            return None;
        }
        self.server.target()?.shared().cloned()
    }

    fn tick(&mut self, now: Time) -> Vec<Event> {
        self.at(now);
        let mut events = self.let_go(now);
        for (port, tick) in self.ticks(now) {
            events.extend(self.run(now, port, &tick));
        }
        if let Some(target) = self.server.target() {
            let mut frames = self.groups.follow(target, now);
            if has_queues(&mut self.queues, target) {
                let queued = target.switch().tick(now);
                frames.extend(self.queues.run(&mut *target.switch(), queued, now));
            } else {
                frames.extend(self.groups.tick(target, now));
            }
            events.extend(frames.into_iter().flat_map(|out| self.leave(now, out.port, out.frame)));
        }
        if let Some(target) = self.server.target().filter(|_| self.learns) {
            target.learn();
        }
        let outputs = self.server.tick(now);
        events.extend(self.perform(now, outputs));
        events
    }

    fn deadline(&mut self) -> Option<Time> {
        let timers = self.server.target().and_then(|target| self.groups.deadline(target));
        let queues = self.queues.deadline();
        let due = [timers, queues, self.server.deadline(), self.held.deadline(), self.edges.deadline()];
        due.into_iter().flatten().min()
    }

    fn show(&self) -> ShowResponse {
        let state = match (self.server.store(), self.gate.is_closed()) {
            (None, _) => State::NoProgram,
            (Some(_), true) => State::Held,
            (Some(_), false) => State::Running,
        };
        let name = format!("device {}", self.server.device());
        let device = Device { name, is_origin: true, ..Device::default() };
        let clients = self.server.clients();
        let groups = self.groups.show();
        ShowResponse {
            state: state as i32,
            devices: vec![device],
            clients,
            groups,
            ..ShowResponse::default()
        }
    }

    fn learn(&mut self) {
        self.learns = true;
    }

    fn take_learned(&mut self) -> Vec<(i32, Vec<u8>)> {
        self.server.target().map(|target| target.take_learned()).unwrap_or_default()
    }

    fn calculations(&mut self) -> Vec<Calculation> {
        let target = self.server.target();
        target.map(|target| target.view().calculations().to_vec()).unwrap_or_default()
    }

    fn metrics(&mut self) -> Vec<Metric> {
        let mut all = self.server.store().map(metric::tables).unwrap_or_default();
        if let Some(target) = self.server.target() {
            let switch = target.view();
            let counters = self.groups.counters().unwrap_or_else(|| switch.counters());
            all.push(Metric::new("frames_received_total", counters.received));
            all.push(Metric::new("frames_sent_total", counters.sent));
            all.extend(metric::drops(counters, None));
            let lost = self.gate.lost();
            all.push(Metric::new("frames_lost_total", lost).with("place", "the held switch"));
            let place = "ports that the program cannot number";
            all.push(Metric::new("frames_lost_total", self.unfit).with("place", place));
            all.push(Metric::new("frames_held", self.gate.held()));
            let (queued, lost) = self.queues.counts();
            all.push(Metric::new("frames_queued", queued as u64));
            for (place, count) in [
                ("full queues of ports", lost.full),
                ("priorities without a queue", lost.priority),
                ("queues of the program before", lost.program),
            ] {
                all.push(Metric::new("frames_lost_total", count).with("place", place));
            }
            let refused = self.copies.refused();
            if refused > 0 {
                all.push(Metric::new(MERGES_REFUSED, refused).with("from", "the controller"));
            }
            for (port, count) in &self.ports {
                all.push(Metric::new(PORT_RECEIVED, count.received).with("port", port));
                all.push(Metric::new(PORT_SENT, count.sent).with("port", port));
            }
        }
        all
    }
}
