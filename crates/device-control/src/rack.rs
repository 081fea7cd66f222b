//! A rack as one switch: its devices, the links between them, an agent beside each, and the controller. Without I/O.
//!
//! Frames pass links and devices at one moment, so that none is inside while the controller works.

use super::agent_groups::AgentGroups;
use super::gate::Gate;
use super::group_show::no_group;
use super::new_flows::Comes;
use super::rack_flows::RackFlows;
use super::{Answers, AppFlows, Controlled, Event, Maker, Metric, Served, Splitter, metric, show};
use base_time::{Duration, Time};
use controller::{
    Agent, Answer, Ask, AskId, Call, Controller, DeviceId, Effect, Output, Reply, Steer, Ticket, Timing,
    Wires,
};
use dataplane_api::{Device, Output as Leaving};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Entity, StreamMessageRequest};
use p4runtime_proto::p4rack::v1::steer_request::ChangeGroup;
use p4runtime_proto::p4rack::v1::{Group, ShowResponse};
use p4runtime_server::{SLICE, Status, StreamId};
use state_journal::Batch;
use std::collections::{BTreeSet, VecDeque};

/// Limit on the links that one frame and its copies pass.
const MOST_HOPS: usize = 1 << 16;

/// Answers come as soon as a device is done, unless they are lost, and no packet is ever in flight.
const TIMING: Timing = Timing {
    drain: Duration::ZERO,
    quiet: Duration::ZERO,
    patience_least: Duration::from_s(60),
    patience_most: Duration::from_s(60),
    look: Duration::from_ms(100),
    lease: Duration::from_s(5),
    merge: Duration::from_ms(1_000),
};

/// Fate of a request to a device.
#[derive(Clone, PartialEq, Debug)]
pub enum Passage {
    /// The device does it and answers.
    Through,
    /// The agent refuses it.
    Refused(Status),
    /// The request is lost.
    AskLost,
    /// The device does it, and the answer is lost.
    AnswerLost,
    /// The device breaks in the middle: see [`Controlled::break_after`].
    Breaks(Vec<u32>),
}

/// The connection from the controller to the agents.
pub trait Channel {
    /// Decides the fate of a request.
    fn pass(&mut self, device: DeviceId, ask: &Ask) -> Passage;
}

/// A channel without losses.
pub struct Direct;

impl Channel for Direct {
    fn pass(&mut self, _: DeviceId, _: &Ask) -> Passage {
        Passage::Through
    }
}

/// Frame counters of a rack, beside those of its devices.
#[derive(Clone, Copy, Default, Debug)]
struct RackCounters {
    /// Came in by ports of the origin.
    received: u64,
    /// Left by ports of the origin.
    sent: u64,
    /// Passed a link.
    hops: u64,
    /// Left a helper by a port where nothing is.
    nowhere: u64,
    /// Went around without end.
    endless: u64,
    /// Went to the controller.
    packet_ins: u64,
}

impl RackCounters {
    /// Frames that have left the rack.
    fn left(&self) -> u64 {
        self.sent + self.packet_ins
    }
}

/// A rack that looks like one switch.
pub struct RackSwitch<C> {
    controller: Controller<Splitter>,
    agents: Vec<Agent<Maker>>,
    names: Vec<String>,
    wires: Wires,
    origin: usize,
    cpu_port: Option<u32>,
    /// Ports of the origin whose link is down.
    down: BTreeSet<u32>,
    gate: Gate,
    counters: RackCounters,
    /// Requests of the controller that are not done yet.
    asks: VecDeque<(DeviceId, Option<AskId>, Ask)>,
    /// An agent that does a long write in slices.
    working: Option<Working>,
    /// Groups of servers, by device.
    groups: Vec<AgentGroups>,
    /// Flows that move.
    flows: Option<RackFlows>,
    /// The connection to the agents.
    pub channel: C,
}

/// Request that an agent works on.
struct Working {
    device: usize,
    id: Option<AskId>,
    /// The answer does not arrive.
    is_lost: bool,
}

/// Cost of a request, in updates of a write: frames pass after [`SLICE`] of them.
fn cost(ask: &Ask) -> usize {
    /// Bytes of a program's text that take as long as an update.
    const TEXT: usize = 256;
    match ask {
        Ask::Save(config) => config.p4_device_config.len() / TEXT,
        Ask::Load(updates) | Ask::Commit(updates) | Ask::Write(updates) => updates.len(),
        Ask::Read(queries) => queries.len(),
        _ => 0,
    }
}

impl<C: Channel> RackSwitch<C> {
    /// Without a program: [`Call::Start`] or a controller brings it. `device` is the whole's id; `epoch_ns` the Unix time of
    /// time 0, in nanoseconds.
    pub fn new(
        mut splitter: Splitter,
        device: u64,
        epoch_ns: i64,
        cpu_port: Option<u32>,
        channel: C,
    ) -> RackSwitch<C> {
        splitter.runs_parts = true;
        let placement = &splitter.placement;
        // The limit applies to the rack as a whole, because only the controller writes to its devices. Each device may have a copy of an entity.
        splitter.maker.memory /= 1 + placement.devices.len() as u64;
        let maker = Maker { own: None, memory: u64::MAX, ..splitter.maker.clone() };
        let makers = placement.devices.iter().map(|_| maker.clone());
        RackSwitch {
            agents: makers.map(Agent::new).collect(),
            names: placement.devices.iter().map(ToString::to_string).collect(),
            wires: super::plan::wires(placement),
            origin: placement.origin().0 as usize,
            cpu_port,
            down: BTreeSet::new(),
            gate: Gate::default(),
            counters: RackCounters::default(),
            asks: VecDeque::new(),
            working: None,
            groups: placement.devices.iter().map(|_| AgentGroups::default()).collect(),
            flows: None,
            controller: Controller::new(splitter, device, epoch_ns, TIMING),
            channel,
        }
    }

    /// The same with the flows of its apps, which may move.
    #[must_use]
    pub fn with_flows(self, flows: Vec<AppFlows>) -> RackSwitch<C> {
        let program = flows.first().map(|app| super::plan::cookie_of(app.whole()));
        let flows = program.map(|program| RackFlows::new(flows, program));
        RackSwitch { flows, ..self }
    }

    /// The names of the devices.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// True if a port of the origin leads to another device: nothing else is there.
    pub fn is_internal(&self, port: u32) -> bool {
        self.wires.contains_key(&(self.origin, port))
    }

    /// Entities of a device that match a query, read from its agent.
    pub fn holds(&self, device: usize, query: Entity) -> Vec<Entity> {
        match self.agents.get(device).map(|agent| agent.read(vec![query])) {
            Some(Answer::Found(found)) => found,
            _ => vec![],
        }
    }

    /// All devices that run a program.
    pub fn devices(&mut self) -> impl Iterator<Item = &mut Controlled> {
        self.agents.iter_mut().filter_map(Agent::target)
    }

    /// The devices that are not known to be as they should be, and why.
    pub fn stale(&self) -> Vec<(&str, String)> {
        let name = |device: DeviceId| self.names.get(device.0).map_or("?", String::as_str);
        self.controller.stale().into_iter().map(|(device, why)| (name(device), why)).collect()
    }

    /// A device has restarted: it runs no program.
    pub fn restart(&mut self, now: Time, device: usize) -> Vec<Event> {
        if let Some(agent) = self.agents.get_mut(device) {
            agent.restart();
        }
        self.working = self.working.take().filter(|working| working.device != device);
        let outputs = self.controller.restarted(now, DeviceId(device));
        self.perform(now, outputs)
    }

    fn at(&mut self, now: Time) {
        self.agents.iter_mut().flat_map(Agent::targets).for_each(|target| target.at(now));
    }

    /// Carries out the controller's effects, until it waits for something else or much has been done.
    fn perform(&mut self, now: Time, outputs: Vec<Output>) -> Vec<Event> {
        let mut events = vec![];
        self.take(outputs, &mut events);
        let mut done = 0;
        loop {
            while done <= SLICE
                && let Some((device, id, ask)) = self.next_ask()
            {
                done += cost(&ask);
                let outputs = self.ask(now, device, id, ask, &mut events);
                self.take(outputs, &mut events);
            }
            let has_replied = self.move_flows(now, &mut events);
            if !has_replied || done > SLICE {
                break;
            }
        }
        // A program that is new knows of no port that is down.
        if !self.down.is_empty() {
            self.set_ports();
        }
        let outputs = self.follow_groups(now, &mut events);
        self.take(outputs, &mut events);
        events
    }

    /// Follows replies to moves of flows, and makes the calls that are due. True if there were any.
    fn move_flows(&mut self, now: Time, events: &mut Vec<Event>) -> bool {
        let Some(flows) = &mut self.flows else { return false };
        events.retain(|event| match event {
            Event::Reply(ticket, reply) => !flows.replied(now, *ticket, reply),
            _ => true,
        });
        let calls = flows.calls(now, &self.controller);
        let replies = flows.take_replies();
        events.extend(replies.into_iter().map(|(ticket, reply)| Event::Reply(ticket, reply)));
        let released = flows.take_released();
        let is_busy = !(calls.is_empty() && released.is_empty());
        for (ticket, call) in calls {
            let outputs = self.controller.call(now, ticket, call);
            self.take(outputs, events);
        }
        for (port, frame) in released {
            if !self.gate.lets_in(port, &frame) {
                continue;
            }
            let outputs = self.run(now, self.origin, port, frame, events);
            self.take(outputs, events);
        }
        is_busy
    }

    /// Groups follow changes of the devices' programs.
    fn follow_groups(&mut self, now: Time, events: &mut Vec<Event>) -> Vec<Output> {
        let mut outputs = vec![];
        for device in 0..self.agents.len() {
            let Some(target) = self.agents[device].target() else { continue };
            for out in self.groups[device].follow(target, now) {
                outputs.extend(self.leave(now, device, out.port, out.frame, events));
            }
        }
        outputs
    }

    /// Runs a frame on a device, and what is before it.
    fn process(&mut self, now: Time, device: usize, port: u32, frame: &[u8]) -> Vec<Leaving> {
        let Some(target) = self.agents.get_mut(device).and_then(Agent::target) else { return vec![] };
        let mut left = self.groups[device].follow(target, now);
        left.extend(self.groups[device].process(target, port, frame, now));
        if let Some(flows) = self.flows.as_ref().filter(|flows| flows.counts(device, port)) {
            flows.count(port, frame, &left, now);
        }
        left
    }

    /// The next request, if an agent can begin with it. Between the slices of one that reads, there is room for writes of one slice.
    fn next_ask(&mut self) -> Option<(DeviceId, Option<AskId>, Ask)> {
        if self.working.is_some() {
            let (device, _, Ask::Write(updates)) = self.asks.front()? else { return None };
            let agent = self.agents.get_mut(device.0)?;
            if updates.len() > SLICE || !agent.makes_way(updates) {
                return None;
            }
        }
        self.asks.pop_front()
    }

    /// Reports down ports to all devices: names and numbers are the whole program's, wherever a group is.
    fn set_ports(&mut self) {
        for target in self.agents.iter_mut().flat_map(Agent::targets) {
            self.down.iter().for_each(|port| target.switch().port_set(*port, false));
        }
    }

    fn take(&mut self, outputs: Vec<Output>, events: &mut Vec<Event>) {
        for output in outputs {
            match output {
                Output::Reply(ticket, reply) => events.push(Event::Reply(ticket, reply)),
                Output::Send(stream, message) => events.push(Event::Send(stream, message)),
                Output::End(stream, why) => events.push(Event::End(stream, why)),
                Output::Ask(device, id, ask) => self.asks.push_back((device, id, ask)),
            }
        }
    }

    /// Lets an agent carry out a request, or begin with it.
    fn ask(
        &mut self,
        now: Time,
        device: DeviceId,
        id: Option<AskId>,
        ask: Ask,
        events: &mut Vec<Event>,
    ) -> Vec<Output> {
        let passage = self.channel.pass(device, &ask);
        let working = Working { device: device.0, id, is_lost: passage == Passage::AnswerLost };
        match passage {
            Passage::AskLost => return vec![],
            Passage::Refused(status) => return self.answer(now, &working, Answer::Refused(status)),
            Passage::Through | Passage::AnswerLost | Passage::Breaks(_) => {}
        }
        let Some(agent) = self.agents.get_mut(device.0) else { return vec![] };
        if let Passage::Breaks(after) = &passage {
            agent.targets().for_each(|target| target.break_after(after));
        }
        let (answer, effects) = match (ask, agent.target()) {
            (Ask::Trace(request), Some(target)) => {
                let answer = match target.trace(now, request) {
                    Ok(hop) => Answer::Traced(Box::new(hop)),
                    Err(status) => Answer::Refused(status),
                };
                (Some(answer), vec![])
            }
            (ask, _) => agent.begin(now, ask),
        };
        let is_busy = agent.is_busy();
        let mut outputs = self.effects(now, device.0, effects, events);
        match answer {
            Some(answer) => outputs.extend(self.answer(now, &working, answer)),
            None if is_busy => self.working = Some(working),
            None => {}
        }
        outputs
    }

    /// Passes an agent's answer to the controller.
    fn answer(&mut self, now: Time, working: &Working, answer: Answer) -> Vec<Output> {
        if let Some(agent) = self.agents.get_mut(working.device) {
            for target in agent.targets() {
                target.break_after(&[]);
                target.at(now);
            }
        }
        match working.id {
            Some(id) if !working.is_lost => self.controller.answer(now, id, answer),
            _ => vec![],
        }
    }

    /// The frames that were kept come in.
    fn let_in(&mut self, now: Time, events: &mut Vec<Event>) -> Vec<Output> {
        let origin = self.origin;
        self.gate
            .open()
            .into_iter()
            .flat_map(|(port, frame)| self.run(now, origin, port, frame, events))
            .collect()
    }

    fn effects(
        &mut self,
        now: Time,
        device: usize,
        effects: Vec<Effect>,
        events: &mut Vec<Event>,
    ) -> Vec<Output> {
        let mut outputs = vec![];
        for effect in effects {
            match effect {
                Effect::Stream(message) => {
                    outputs.extend(self.controller.streamed(now, DeviceId(device), message))
                }
                Effect::Push(frame) => outputs.extend(self.controller.pushed(now, DeviceId(device), &frame)),
                Effect::Inject(frame) => {
                    if let Some(cpu) = self.cpu_port {
                        outputs.extend(self.run(now, device, cpu, frame, events));
                    }
                }
                // Frames come in at the origin alone.
                Effect::KeepOut if device == self.origin => self.gate.close([]),
                Effect::LetIn if device == self.origin => outputs.extend(self.let_in(now, events)),
                Effect::KeepOut | Effect::LetIn => {}
            }
        }
        outputs
    }

    /// Runs a frame and all packets that result from it through all devices.
    fn run(
        &mut self,
        now: Time,
        device: usize,
        port: u32,
        frame: Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Vec<Output> {
        let out = self.process(now, device, port, &frame);
        out.into_iter().flat_map(|out| self.leave(now, device, out.port, out.frame, events)).collect()
    }

    /// A server of a group comes or goes.
    fn change_group(&mut self, change: &ChangeGroup, now: Time) -> Result<(), Status> {
        let known: Vec<String> =
            self.groups.iter().flat_map(AgentGroups::show).map(|group| group.name).collect();
        let leads = |groups: &&mut AgentGroups| groups.show().iter().any(|group| group.name == change.group);
        match self.groups.iter_mut().find(leads) {
            Some(groups) => groups.change(change, now),
            None => Err(no_group(&change.group, known.iter().map(String::as_str))),
        }
    }

    /// Passes a frame that has left a device on to the device or port at the other end of the link.
    fn leave(
        &mut self,
        now: Time,
        device: usize,
        port: u32,
        frame: Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Vec<Output> {
        let mut on_the_way = VecDeque::from([(device, port, frame)]);
        let mut outputs = vec![];
        let mut hops = 0;
        while let Some((device, port, frame)) = on_the_way.pop_front() {
            if device == self.origin && Some(port) == self.cpu_port {
                self.counters.packet_ins += 1;
                let effects =
                    self.agents.get(device).map(|agent| agent.packet_in(&frame)).unwrap_or_default();
                outputs.extend(self.effects(now, device, effects, events));
                continue;
            }
            let Some((next, entry)) = self.wires.get(&(device, port)).copied() else {
                match device == self.origin {
                    true => {
                        self.counters.sent += 1;
                        events.push(Event::Frame(port, frame));
                    }
                    false => self.counters.nowhere += 1,
                }
                continue;
            };
            hops += 1;
            self.counters.hops += 1;
            if hops > MOST_HOPS {
                self.counters.endless += 1;
                continue;
            }
            let out = self.process(now, next, entry, &frame);
            on_the_way.extend(out.into_iter().map(|out| (next, out.port, out.frame)));
        }
        outputs
    }
}

impl<C: Channel> Served for RackSwitch<C> {
    fn answers(&self) -> &dyn Answers {
        &self.controller
    }

    fn keep_notes(&mut self) {
        self.controller.keep_notes();
    }

    fn noted(&mut self) -> Batch {
        self.controller.noted()
    }

    fn call(&mut self, now: Time, ticket: Ticket, call: Call) -> Vec<Event> {
        self.at(now);
        if let Call::Steer(election, Steer::ChangeGroup(change)) = &call {
            let may = self.controller.may_steer(election.as_ref());
            let done = may.and_then(|()| self.change_group(change, now));
            let mut events = self.perform(now, vec![]);
            events.extend(self.tick(now));
            events.push(Event::Reply(ticket, Reply::Done(done)));
            return events;
        }
        let call = match &mut self.flows {
            Some(flows) => flows.take(now, ticket, call, &self.controller),
            None => Some(call),
        };
        let outputs = call.map_or(vec![], |call| self.controller.call(now, ticket, call));
        self.perform(now, outputs)
    }

    fn message(&mut self, now: Time, stream: StreamId, message: &StreamMessageRequest) -> Vec<Event> {
        self.at(now);
        let outputs = self.controller.message(now, stream, message);
        self.perform(now, outputs)
    }

    fn close(&mut self, now: Time, stream: StreamId) -> Vec<Event> {
        let outputs = self.controller.close(now, stream);
        self.perform(now, outputs)
    }

    fn frame(&mut self, now: Time, port: u32, frame: &[u8]) -> Vec<Event> {
        if self.is_internal(port) {
            return vec![];
        }
        self.counters.received += 1;
        if !self.gate.lets_in(port, frame) {
            return vec![];
        }
        let comes = self.flows.as_mut().map_or(Comes::In, |flows| flows.comes(now, (port, frame)));
        if comes == Comes::Later {
            return vec![];
        }
        self.at(now);
        let mut events = vec![];
        let before = self.counters.left();
        let outputs = self.run(now, self.origin, port, frame.to_vec(), &mut events);
        if comes == Comes::First
            && self.counters.left() == before
            && let Some(flows) = &mut self.flows
        {
            flows.vanished((port, frame));
        }
        events.extend(self.perform(now, outputs));
        events
    }

    fn link(&mut self, port: u32, is_up: bool) {
        if is_up {
            self.down.remove(&port);
            for target in self.agents.iter_mut().flat_map(Agent::targets) {
                target.switch().port_set(port, true);
            }
        } else {
            self.down.insert(port);
            self.set_ports();
        }
    }

    fn may_have(&mut self, port: u32) -> Result<(), Status> {
        if self.is_internal(port) {
            let why = format!("port {port} leads to another device of the rack");
            return Err(Status::new(Code::InvalidArgument, why));
        }
        let target = self.agents.get_mut(self.origin).and_then(Agent::target);
        target.map_or(Ok(()), |target| target.may_have(port))
    }

    fn tick(&mut self, now: Time) -> Vec<Event> {
        self.at(now);
        let mut events = vec![];
        let mut outputs = vec![];
        for device in 0..self.agents.len() {
            let Some(target) = self.agents[device].target() else { continue };
            for output in self.groups[device].tick(target, now) {
                outputs.extend(self.leave(now, device, output.port, output.frame, &mut events));
            }
            let effects = self.agents[device].tick(now);
            outputs.extend(self.effects(now, device, effects, &mut events));
        }
        outputs.extend(self.controller.tick(now));
        events.extend(self.perform(now, outputs));
        events
    }

    fn deadline(&mut self) -> Option<Time> {
        let RackSwitch { agents, groups, .. } = self;
        let timers =
            agents.iter_mut().zip(groups).filter_map(|(agent, groups)| groups.deadline(agent.target()?));
        let timers: Option<Time> = timers.min();
        let held = self.agents.iter().filter_map(Agent::deadline);
        let flows = self.flows.as_ref().and_then(RackFlows::deadline);
        let own = [timers, flows, self.controller.deadline()];
        held.chain(own.into_iter().flatten()).min()
    }

    fn is_busy(&self) -> bool {
        self.working.is_some() || !self.asks.is_empty() || self.controller.is_busy()
    }

    fn is_open(&self) -> bool {
        true
    }

    /// The controller does calls that touch different things at one time.
    fn makes_way(&mut self, _: &Call) -> bool {
        true
    }

    fn go_on(&mut self, now: Time) -> Vec<Event> {
        self.at(now);
        let outputs = match self.working.take() {
            None => self.controller.go_on(now),
            Some(working) => match self.agents.get_mut(working.device).and_then(Agent::go_on) {
                Some(answer) => self.answer(now, &working, answer),
                None => {
                    self.working = Some(working);
                    vec![]
                }
            },
        };
        self.perform(now, outputs)
    }

    fn show(&self) -> ShowResponse {
        let name = |device: usize| self.names.get(device).cloned().unwrap_or_default();
        let of = |(groups, name): (&AgentGroups, &String)| {
            let named = groups.show().into_iter().map(|group| Group { switch: name.clone(), ..group });
            named.collect::<Vec<_>>()
        };
        let groups = self.groups.iter().zip(&self.names).flat_map(of).collect();
        let pinned_apps = self.flows.iter().flat_map(|flows| flows.show(&name)).collect();
        ShowResponse { groups, pinned_apps, ..show::rack(&self.controller, &[]) }
    }

    fn metrics(&mut self) -> Vec<Metric> {
        let RackCounters { received, sent, hops, nowhere, endless, .. } = self.counters;
        let mut own = vec![
            Metric::new("frames_received_total", received),
            Metric::new("frames_sent_total", sent),
            Metric::new("frames_held", self.gate.held()),
            Metric::new("hand_overs_total", hops),
            Metric::new("frames_lost_total", nowhere).with("place", "a helper's unlinked port"),
            Metric::new("frames_lost_total", self.gate.lost()).with("place", "the held rack"),
            Metric::new("frames_lost_total", endless).with("place", "a loop"),
        ];
        own.extend(self.flows.iter().flat_map(RackFlows::metrics));
        let agents = &mut self.agents;
        metric::rack(&self.controller, own, |device, name| {
            let Some(target) = agents.get_mut(device).and_then(Agent::target) else { return vec![] };
            let switch = target.view();
            let counters = switch.counters();
            let of = |metric, value| Metric::new(metric, value).with("device", name);
            let mut all = vec![
                of("device_frames_received_total", counters.received),
                of("device_frames_sent_total", counters.sent),
            ];
            all.extend(metric::drops(counters, Some(name)));
            all
        })
    }
}
