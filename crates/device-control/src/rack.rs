//! A rack as one switch: its devices, the links between them, an agent beside each, and the controller. Without I/O.
//!
//! Frames pass links and devices at one moment, so that none is inside while the controller works.

mod channel;
mod frames;
mod served;

pub use channel::{Channel, Direct, Passage};

use super::agent_groups::AgentGroups;
use super::gate::Gate;
use super::group_show::no_group;
use super::rack_flows::RackFlows;
use super::{AppFlows, Controlled, Event, Maker, Resizing, Splitter};
use base_time::{Duration, Time};
use controller::{Agent, Answer, Ask, AskId, Controller, DeviceId, Output, Timing, Wires};
use p4runtime_proto::p4::v1::Entity;
use p4runtime_proto::p4rack::v1::steer_request::ChangeGroup;
use p4runtime_server::{SLICE, Status};
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
    controller: Controller,
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
    /// Without a program: [`controller::Call::Start`] or a controller brings it. `device` is the whole's id; `epoch_ns` the Unix time of
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
        RackSwitch { flows: RackFlows::of(flows), ..self }
    }

    /// The same, with a plan of these flows that is made again when apps have other shares of the traffic.
    #[must_use]
    pub fn planned_by(mut self, resizing: Option<Resizing>) -> RackSwitch<C> {
        if let (Some(flows), Some(resizing)) = (&mut self.flows, resizing) {
            flows.plan_by(resizing);
        }
        self
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
        // If the answer is lost, the request is carried out all the same.
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
}
