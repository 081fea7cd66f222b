//! The rack's controller and its agents in virtual time, beside the emulator.
//!
//! ```text
//! controller ══ ask ══ channel ══> agent ── lends, takes ── emulator's device
//!            <═ answer ═ channel ══
//! ```
//!
//! There is a controller for each switch that the rack is ([`switches`](super::switches)). Its time begins with the bring-up, the rack's when that is done.

use super::channel::{Channel, Direction};
use super::domain::Domain;
use super::driven::Driven;
use super::edges::Edges;
use super::groups::Groups;
use super::merged;
use super::passed::Passed;
use super::pinned::{Moving, PinnedApp};
use super::refused;
use super::switches::Staged;
use crate::functions;
use crate::rack::{Placed, Racked, SplitApp};
use base_diag::{Diagnostic, SourceMap, codes::emulate as codes};
use base_time::{Duration, Rng, Time};
use compiler::reparse;
use controller::{
    Agent, Answer, Ask, AskId, Call, DeviceId, Effect, MergeTraffic, Output, PortCount, RegionMap, Reply,
    Steer, Ticket, Timing,
};
use device::Options;
use device_control::{Known, Maker, Popular, write_group};
use flow_rules::FlowSwitch;
use ir_split::GroupEntry;
use p4runtime_proto::p4::v1::Update;
use rack_emulator::{Emulator, LinkReport, PinnedReport, RackDevice, Spent, Violation};
use rack_model::{Rack, Replace};
use server_groups::wire::Flow;
use server_groups::{Member, Report};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

/// Agents carry out requests in zero time: answers take only the messages' delays. The losses of links are known, so
/// that the rack never counts as empty with packets inside.
pub(super) const TIMING: Timing = Timing {
    drain: Duration::from_ms(1_000),
    quiet: Duration::from_ms(1_000),
    patience_least: Duration::from_ms(1),
    patience_most: Duration::from_s(60),
    look: Duration::from_ms(10),
    lease: Duration::from_ms(100),
    merge: Duration::from_s(1),
};

/// Number of attempts to bring up a switch with devices that do not answer.
const TRIES: u32 = 20;

/// Controllers and agents of a rack in virtual time.
pub(super) struct Control {
    rack: Rack,
    /// Agents, indexed by device; `None` where the device runs nothing.
    agents: Vec<Option<Agent<Maker>>>,
    domains: Vec<Domain>,
    channel: Channel<Message>,
    /// Duration of the bring-up: the controller's time at the rack's time 0.
    began: Duration,
    /// Edges with spares.
    pub(super) edges: Edges,
    /// Apps whose flows are pinned.
    pinned: Vec<PinnedApp>,
    /// Groups of servers.
    pub(super) groups: Groups,
    /// Plans that are yet to come, the first first.
    replaces: VecDeque<Replace>,
    /// Plans that are being brought in.
    replacing: u64,
    /// Plans that have taken over.
    pub(super) replaced: u64,
    /// Time of the next task.
    next: Option<Time>,
}

#[derive(Clone)]
enum Message {
    Ask {
        domain: usize,
        device: DeviceId,
        id: Option<AskId>,
        ask: Ask,
    },
    Push {
        domain: usize,
        device: DeviceId,
        frame: Vec<u8>,
    },
    Answer {
        domain: usize,
        id: AskId,
        answer: Answer,
    },
    BeganAnew {
        domain: usize,
        device: DeviceId,
    },
    /// A server of a group reports.
    Group {
        group: usize,
        from: Member,
        report: Report<Flow>,
    },
}

/// Work of bring-up, before the rack's time begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct BringUp {
    /// Duration, in picoseconds.
    pub took_ps: u64,
    /// Messages between controller and agents.
    pub messages: u64,
    /// Number of lost messages.
    pub lost: u64,
    /// Number of switches that the controllers see.
    pub switches: usize,
}

/// `brought up in 1.2ms as 1 switch, with 24 messages between controller and agents`
impl fmt::Display for BringUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BringUp { took_ps, messages, lost, switches } = *self;
        let several = if switches == 1 { "" } else { "es" };
        let took = rack_emulator::time_words(took_ps);
        write!(
            f,
            "brought up in {took} as {switches} switch{several}, with {messages} messages between controller and agents"
        )?;
        if lost > 0 { write!(f, ", of which {lost} were lost") } else { Ok(()) }
    }
}

impl Control {
    /// Brings a rack up in one of its stages: every device has its program and its entries, at time 0.
    pub(super) fn bring_up(
        racked: &Racked,
        stage: Option<usize>,
        timing: Timing,
    ) -> Result<(Control, Emulator, BringUp), Vec<Diagnostic>> {
        let rack = racked.rack.in_stage(stage);
        let timing = Timing { merge: rack.control.merge, ..timing };
        let staged = Staged { racked, stages: rack.stages_up_to(stage), timing };
        staged.check_replaces(&rack)?;
        staged.check_spares(&rack)?;
        staged.check_merged(&rack)?;
        let known = Known::default();
        let seeds = Rng::new(rack.seed).split("devices");
        let spent: Vec<Spent> = rack.devices.iter().map(|_| Spent::default()).collect();
        let all = racked.externs();
        let maker = |index: usize| {
            let seed = seeds.split_index(index as u64).next_u64();
            let registry = functions::offered(&rack.devices[index], &spent[index], &all);
            Maker { known: known.clone(), ..Maker::new(seed, registry) }
        };
        let (mut engines, mut agents) = (vec![], vec![]);
        for at in 0..rack.devices.len() {
            // An agent runs one program.
            let placed = racked.parts_on(at).next();
            agents.push(placed.map(|_| Agent::new(maker(at))));
            engines.push(match placed {
                Some(Placed { part, text, .. }) if known.engine(text, &part.program, &all)?.compiled => {
                    "native"
                }
                Some(_) => "interp",
                None if racked.flow_rules(at).is_some() => "flow rules",
                None => "idle",
            });
        }
        let (mut domains, mut starts) = (vec![], vec![]);
        // The place of each app's first controller.
        let mut firsts = vec![];
        for (at, app) in racked.apps.iter().enumerate() {
            let switches = match staged.is_one(at) {
                true => vec![staged.one(app, maker(app.placement.origin().0 as usize))?],
                false => staged.apart(at)?,
            };
            firsts.push(domains.len());
            let (some, their_starts): (Vec<_>, Vec<_>) = switches.into_iter().unzip();
            domains.extend(some);
            starts.extend(their_starts);
        }
        let mut replaces = rack.replaces.clone();
        replaces.sort_by_key(|replace| replace.at);
        let mut control = Control {
            agents,
            domains,
            channel: Channel::new(&rack),
            began: Duration::ZERO,
            edges: Edges::new(racked),
            pinned: PinnedApp::of(racked, &|app| firsts[app])?,
            groups: Groups::new(racked),
            replaces: replaces.into(),
            replacing: 0,
            replaced: 0,
            next: None,
            rack,
        };
        let took = control.start(starts)?;
        let bring_up = BringUp {
            took_ps: took.as_ps(),
            messages: control.channel.sent(),
            lost: control.channel.lost,
            switches: control.domains.len(),
        };
        let emulator = control.emulate(racked, &engines, spent)?;
        Ok((control, emulator, bring_up))
    }

    /// Runs the controllers until all programs and entries are installed. Returns the time that took.
    fn start(&mut self, starts: Vec<Vec<Update>>) -> Result<Duration, Vec<Diagnostic>> {
        let mut now = Time::ZERO;
        let mut left = starts.len();
        let mut outputs: VecDeque<(usize, Output)> = VecDeque::new();
        for (domain, updates) in starts.iter().enumerate() {
            let call = Call::Start(Box::default(), updates.clone());
            outputs.extend(self.domains[domain].call(domain, now, call));
        }
        let mut tries = vec![1; starts.len()];
        loop {
            while let Some((domain, output)) = outputs.pop_front() {
                match output {
                    Output::Reply(_, Reply::Done(Err(status)))
                        if status.is_unavailable() && tries[domain] < TRIES =>
                    {
                        tries[domain] += 1;
                        let call = Call::Start(Box::default(), starts[domain].clone());
                        outputs.extend(self.domains[domain].call(domain, now, call));
                    }
                    Output::Reply(_, Reply::Done(Err(status))) => {
                        return Err(vec![
                            Diagnostic::error(codes::EMULATION, "the rack cannot be brought up")
                                .note(status.message)
                                .note(format!("the controller gave up after {}", now.since(Time::ZERO))),
                        ]);
                    }
                    Output::Reply(..) => left -= 1,
                    Output::Ask(device, id, ask) => self.ask(now, None, (domain, device, id, ask)),
                    Output::Send(..) | Output::End(..) => {}
                }
            }
            if left == 0 {
                break;
            }
            let deadlines = self.domains.iter().filter_map(|domain| domain.controller.deadline());
            let Some(next) = deadlines.chain(self.channel.next_time()).min() else {
                return Err(refused("the controller is idle"));
            };
            now = now.max(next);
            while let Some(message) = self.channel.arrive(now) {
                outputs.extend(
                    self.arrive(now, message, None).map_err(|violation| refused(&violation.to_string()))?,
                );
            }
            outputs.extend(self.tick(now));
        }
        self.began = now.since(Time::ZERO);
        self.next = self.find_next();
        Ok(self.began)
    }

    /// The emulator; its devices run the agents' switches.
    fn emulate(
        &mut self,
        racked: &Racked,
        engines: &[&str],
        spent: Vec<Spent>,
    ) -> Result<Emulator, Vec<Diagnostic>> {
        let nothing = reparse("nothing.p4", NOTHING, &mut SourceMap::new())?;
        let mut devices = vec![];
        let devices_of_rack = self.rack.devices.iter().zip(&mut self.agents).zip(engines).zip(spent);
        for (at, (((device, agent), engine), spent)) in devices_of_rack.enumerate() {
            let other = ir_interp::switch(Arc::clone(&nothing), Options::default())?;
            let driven: Box<dyn dataplane_api::Device> = match (agent, racked.flow_rules(at)) {
                (Some(agent), _) => {
                    let is_origin =
                        |app: &SplitApp| app.placement.origins().any(|origin| origin.0 as usize == at);
                    let id = rack_model::DeviceId(at as u32);
                    let mut driven = Driven::new(agent, other, racked.apps.iter().any(is_origin))
                        .with_groups(self.groups.front(id), self.groups.meters(id))
                        .watch(popular(&self.pinned, at), passed(&self.pinned, at));
                    driven.running().into_iter().for_each(|switch| self.groups.refill(id, switch));
                    Box::new(driven)
                }
                // The printed rules are the ones that run.
                (None, Some(rules)) => {
                    Box::new(FlowSwitch::new(flow_rules::read(&rules).map_err(|why| refused(&why))?))
                }
                (None, None) => Box::new(crate::idle::Idle::default()),
            };
            let (name, engine) = (device.name.value.clone(), engine.to_string());
            devices.push(RackDevice { name, engine, device: driven, spent });
        }
        let captures = racked.captures.clone();
        Emulator::with_captures(&self.rack, devices, captures).map_err(|error| refused(&error.0))
    }

    /// Time of the next task, in the rack's time.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.next
    }

    fn find_next(&self) -> Option<Time> {
        let deadlines = self.domains.iter().filter_map(|domain| domain.controller.deadline());
        let held = self.agents.iter().flatten().filter_map(Agent::deadline);
        let due = deadlines
            .chain(held)
            .chain(self.channel.next_time())
            .min()
            .map(|at| at.max(Time::ZERO + self.began) - self.began);
        let replace = self.replaces.front().map(|replace| replace.at);
        let moves = self.pinned.iter().filter_map(|app| app.moving.as_ref()?.next_time());
        let (edges, groups) = (self.edges.next_time(), self.groups.next_time());
        replace.into_iter().chain(edges).chain(groups).chain(moves).chain(due).min()
    }

    /// True if a replacement of the plan or a move of a flow is planned or under way, or a message is in flight.
    pub(super) fn is_busy(&self) -> bool {
        let moves = self.pinned.iter().filter_map(|app| app.moving.as_ref()).any(Moving::is_busy);
        let is_planned = !self.replaces.is_empty() || self.groups.is_busy() || moves;
        is_planned || self.replacing > 0 || self.channel.next_time().is_some()
    }

    /// The apps whose flows are pinned, for the report.
    pub(super) fn report_pinned(&self, now: Time, links: &[LinkReport]) -> Vec<PinnedReport> {
        self.pinned.iter().map(|app| app.report(now, links)).collect()
    }

    /// Begins what is due of the moves of flows.
    fn move_flows(&mut self, now: Time) -> Vec<(usize, Output)> {
        let mut outputs = vec![];
        for moving in self.pinned.iter_mut().filter_map(|app| app.moving.as_mut()) {
            let (number, calls) = moving.calls(now, &self.domains);
            let controller = &mut self.domains[number].controller;
            let called =
                calls.into_iter().flat_map(|(ticket, call)| controller.call(now + self.began, ticket, call));
            outputs.extend(called.map(|output| (number, output)));
        }
        outputs
    }

    /// True if the copies of merged registers may lack what was counted by `time`, of the rack.
    pub(super) fn merges_since(&self, time: Time) -> bool {
        self.domains.iter().any(|domain| domain.controller.merges_since(time + self.began))
    }

    /// Does everything due now, and handles events since the last call.
    pub(super) fn watch(&mut self, emulator: &mut Emulator) -> Result<(), Violation> {
        let now = emulator.now() + self.began;
        let mut outputs = VecDeque::new();
        self.edges.tick(emulator)?;
        for app in &mut self.pinned {
            app.sample(emulator.now(), &|| emulator.link_reports());
        }
        for device in emulator.take_restarted() {
            self.restart(device.0 as usize, emulator, now)?;
        }
        // A group's controller asks agents through `self`, so it is taken out for the call.
        let mut groups = std::mem::take(&mut self.groups);
        let ticked = groups.tick(self, emulator);
        self.groups = groups;
        ticked?;
        while self.replaces.front().is_some_and(|replace| replace.at <= emulator.now())
            && let Some(replace) = self.replaces.pop_front()
        {
            let name = |device: rack_model::DeviceId| self.rack.devices[device.0 as usize].name.value.clone();
            let map: RegionMap =
                replace.map.iter().map(|p| (p.region.value.clone(), name(p.device.value))).collect();
            let words: Vec<String> =
                map.iter().map(|(region, device)| format!("{region} on {device}")).collect();
            emulator.note(format!("another plan is taking over: {}", words.join(", ")));
            self.replacing += 1;
            outputs.extend(self.domains[0].call(0, now, Call::Steer(None, Steer::Replace(map))));
        }
        while let Some(message) = self.channel.arrive(now) {
            outputs.extend(self.arrive(now, message, Some(emulator))?);
        }
        for (agent, id) in self.agents.iter_mut().zip(0..) {
            // The lease of held frames has expired: the controller was silent for too long.
            if let Some(Effect::LetIn) = agent.as_mut().and_then(|agent| agent.let_in(now)) {
                emulator.release(rack_model::DeviceId(id))?;
                let name = &self.rack.devices[id as usize].name.value;
                emulator.note(format!("`{name}` has lost its controller: frames are admitted again"));
            }
        }
        outputs.extend(self.tick(now));
        outputs.extend(self.move_flows(emulator.now()));
        // Outputs of controllers may cause further outputs; all happen at the same time.
        while let Some((domain, output)) = outputs.pop_front() {
            match output {
                Output::Ask(device, id, ask) => self.ask(now, Some(emulator), (domain, device, id, ask)),
                Output::Reply(ticket, reply) if self.has_moved(emulator.now(), (domain, ticket), &reply) => {
                    outputs.extend(self.move_flows(emulator.now()));
                }
                Output::Reply(_, reply) => {
                    self.replacing -= 1;
                    emulator.note(match reply {
                        Reply::Done(Err(status)) => format!("the old plan stays: {}", status.message),
                        _ => {
                            self.replaced += 1;
                            "the other plan has taken over".to_string()
                        }
                    });
                }
                Output::Send(..) | Output::End(..) => {}
            }
        }
        for domain in &mut self.domains {
            let stale: BTreeSet<usize> = domain.controller.stale().keys().map(|device| device.0).collect();
            for device in domain.stale.difference(&stale) {
                let name = &self.rack.devices[domain.devices[*device]].name.value;
                emulator.note(format!("`{name}` is in sync again"));
            }
            domain.stale = stale;
        }
        self.next = self.find_next();
        Ok(())
    }

    /// True if the reply is to a call of an app's moves.
    fn has_moved(&mut self, now: Time, (domain, ticket): (usize, Ticket), reply: &Reply) -> bool {
        let mut moving = self.pinned.iter_mut().filter_map(|app| app.moving.as_mut());
        moving.any(|moving| moving.replied(now, domain, ticket, reply))
    }

    /// A device is up again, and has forgotten everything; its agent says so.
    fn restart(&mut self, device: usize, emulator: &mut Emulator, now: Time) -> Result<(), Violation> {
        if self.agents[device].is_none() {
            return Ok(());
        }
        let lost = self.unheard(device, emulator)?;
        self.with_agent(device, Some(emulator), Agent::restart)?;
        emulator.release(rack_model::DeviceId(device as u32))?;
        emulator.note(format!("`{}` has restarted", self.rack.devices[device].name.value));
        lost.into_iter().for_each(|lost| emulator.note(lost));
        for (domain, Domain { devices, .. }) in self.domains.iter().enumerate() {
            if let Some(at) = devices.iter().position(|at| *at == device) {
                let message = Message::BeganAnew { domain, device: DeviceId(at) };
                // It says so until it is heard.
                let faults = std::iter::empty();
                self.channel.send(now, device, Direction::ToController, false, faults, (message, true));
            }
        }
        Ok(())
    }

    /// Counts of a device in merged objects that no controller has received.
    fn unheard(&mut self, device: usize, emulator: &mut Emulator) -> Result<Vec<String>, Violation> {
        let mut lost = vec![];
        for domain in 0..self.domains.len() {
            let Some(at) = self.domains[domain].devices.iter().position(|at| *at == device) else { continue };
            let incarnation = self.with_agent(device, Some(emulator), |agent| agent.incarnation())?;
            let incarnation = incarnation.unwrap_or_default();
            let taken = self.domains[domain].controller.merge_taken(DeviceId(at), incarnation);
            let mut counted = BTreeMap::new();
            for object in taken.into_keys() {
                let own = self.with_agent(device, Some(emulator), |agent| agent.counted(object))?;
                counted.insert(object, own.unwrap_or_default());
            }
            let of = |object| counted.remove(&object).unwrap_or_default();
            let controller = &self.domains[domain].controller;
            lost.extend(merged::unheard(controller, DeviceId(at), incarnation, of));
        }
        Ok(lost)
    }

    /// Notes how much the merge has said.
    pub(super) fn note_merges(&self, emulator: &mut Emulator) {
        for domain in &self.domains {
            let MergeTraffic { rounds, messages, bytes, .. } = domain.controller.merge_traffic();
            if rounds > 0 {
                emulator.note(format!(
                    "copies of objects were merged in {rounds} rounds, with {messages} messages of {bytes} bytes in all"
                ));
            }
        }
    }

    fn tick(&mut self, now: Time) -> Vec<(usize, Output)> {
        let tick = |(number, domain): (usize, &mut Domain)| {
            let is_due = domain.controller.deadline().is_some_and(|at| at <= now);
            let outputs = if is_due { domain.controller.tick(now) } else { vec![] };
            outputs.into_iter().map(move |output| (number, output))
        };
        self.domains.iter_mut().enumerate().flat_map(tick).collect()
    }

    fn ask(
        &mut self,
        now: Time,
        emulator: Option<&Emulator>,
        (domain, device, id, ask): (usize, DeviceId, Option<AskId>, Ask),
    ) {
        let to = self.domains[domain].devices[device.0];
        self.send(now, emulator, (to, Direction::ToAgent), Message::Ask { domain, device, id, ask });
    }

    fn send(
        &mut self,
        now: Time,
        emulator: Option<&Emulator>,
        (device, direction): (usize, Direction),
        message: Message,
    ) {
        let is_down = emulator.is_some_and(|emulator| emulator.is_down(rack_model::DeviceId(device as u32)));
        let active = emulator.into_iter().flat_map(Emulator::active_faults);
        let faults = active.filter_map(|at| self.rack.faults.get(at)).map(|fault| &fault.kind);
        let is_merge = matches!(&message, Message::Push { .. } | Message::Ask { ask: Ask::Merge(_), .. });
        self.channel.send(now, device, direction, is_down, faults, (message, !is_merge));
    }

    /// The agent of a server sends a report to the controller of its group.
    pub(super) fn send_report(
        &mut self,
        emulator: &Emulator,
        device: rack_model::DeviceId,
        (group, from, report): (usize, Member, Report<Flow>),
    ) {
        let now = emulator.now() + self.began;
        let to = (device.0 as usize, Direction::ToController);
        self.send(now, Some(emulator), to, Message::Group { group, from, report });
    }

    /// Writes entries of a group to a switch, if it has its program.
    pub(super) fn write_switch(
        &mut self,
        emulator: &mut Emulator,
        device: rack_model::DeviceId,
        entries: &[GroupEntry],
    ) -> Result<(), Violation> {
        self.with_agent(device.0 as usize, Some(emulator), |agent| {
            let Some(target) = agent.target() else { return };
            let written = write_group(&mut target.switch(), entries);
            debug_assert!(written.is_ok(), "its program has the tables: {written:?}");
        })?;
        Ok(())
    }

    /// A message arrives.
    fn arrive(
        &mut self,
        now: Time,
        message: Message,
        emulator: Option<&mut Emulator>,
    ) -> Result<Vec<(usize, Output)>, Violation> {
        let (domain, outputs) = match message {
            Message::Answer { domain, id, answer } => {
                (domain, self.domains[domain].controller.answer(now, id, answer))
            }
            Message::Push { domain, device, frame } => {
                (domain, self.domains[domain].controller.pushed(now, device, &frame))
            }
            Message::BeganAnew { domain, device } => {
                (domain, self.domains[domain].controller.restarted(now, device))
            }
            Message::Group { group, from, report } => {
                // The controller's time begins with the bring-up, that of groups when the rack is up.
                let now = now.max(Time::ZERO + self.began) - self.began;
                self.groups.report(group, from, report, now);
                return Ok(vec![]);
            }
            Message::Ask { domain, device, id, ask } => {
                let mut emulator = emulator;
                let answer = self.work(now, (domain, device), ask, emulator.as_deref_mut())?;
                if let (Some(id), Some(answer)) = (id, answer) {
                    let from = self.domains[domain].devices[device.0];
                    let message = Message::Answer { domain, id, answer };
                    self.send(now, emulator.as_deref(), (from, Direction::ToController), message);
                }
                return Ok(vec![]);
            }
        };
        Ok(outputs.into_iter().map(|output| (domain, output)).collect())
    }

    /// An agent carries out a request.
    fn work(
        &mut self,
        now: Time,
        (domain, device): (usize, DeviceId),
        ask: Ask,
        emulator: Option<&mut Emulator>,
    ) -> Result<Option<Answer>, Violation> {
        let Domain { devices, wires, .. } = &self.domains[domain];
        let at = devices[device.0];
        let id = rack_model::DeviceId(at as u32);
        match (ask, emulator) {
            (Ask::Ports, Some(emulator)) => {
                let passed = emulator.passed(id).into_iter();
                let count = |passed: rack_emulator::Passed| PortCount {
                    received: passed.received,
                    sent: passed.sent,
                };
                Ok(Some(Answer::Ports(passed.map(|(port, passed)| (port, count(passed))).collect())))
            }
            (ask, mut emulator) => {
                // Ports that lead to other devices.
                let internal = wires.keys().filter(|(from, _)| *from == device.0).map(|(_, port)| *port);
                let internal: BTreeSet<u32> = internal.collect();
                let done = self.with_agent(at, emulator.as_deref_mut(), |agent| {
                    agent.targets().for_each(|target| target.at(now));
                    agent.ask(now, ask)
                })?;
                let Some((answer, effects)) = done else { return Ok(None) };
                for effect in &effects {
                    if let Effect::Push(frame) = effect {
                        let message = Message::Push { domain, device, frame: frame.clone() };
                        self.send(now, emulator.as_deref(), (at, Direction::ToController), message);
                    }
                }
                let Some(emulator) = emulator else { return Ok(answer) };
                for effect in effects {
                    match effect {
                        Effect::KeepOut => emulator.hold(id, internal.clone()),
                        Effect::LetIn => emulator.release(id)?,
                        Effect::Push(_) => {}
                        // Nobody listens.
                        Effect::Inject(_) | Effect::Stream(_) => {}
                    }
                }
                Ok(answer)
            }
        }
    }

    /// Lets the agent of a device work on the device's switch.
    fn with_agent<R>(
        &mut self,
        device: usize,
        emulator: Option<&mut Emulator>,
        work: impl FnOnce(&mut Agent<Maker>) -> R,
    ) -> Result<Option<R>, Violation> {
        let Some(agent) = &mut self.agents[device] else { return Ok(None) };
        let Some(emulator) = emulator else { return Ok(Some(work(agent))) };
        let mut result = None;
        let (id, groups) = (rack_model::DeviceId(device as u32), &self.groups);
        emulator.steer(id, |device| {
            let Some(driven) = (device as &mut dyn Any).downcast_mut::<Driven>() else { return false };
            let (done, is_another) = driven.run_agent(agent, work);
            result = Some(done);
            if let Some(switch) = driven.running().filter(|_| is_another) {
                groups.refill(id, switch);
            }
            is_another
        })?;
        Ok(result)
    }
}

/// The counts of the apps whose switch this device is.
fn popular(pinned: &[PinnedApp], device: usize) -> Vec<Popular> {
    let moving = pinned.iter().filter_map(|app| app.moving.as_ref());
    moving.filter_map(|moving| moving.popular_at(device).cloned()).collect()
}

/// The counts of the apps that share this device as their switch.
fn passed(pinned: &[PinnedApp], device: usize) -> Vec<Passed> {
    pinned.iter().filter_map(|app| app.passed_at(device).cloned()).collect()
}

/// A program that does nothing, for unused switches.
const NOTHING: &str = "\
#include <core.p4>
#include <v1model.p4>
struct none {}
parser P(packet_in p, out none h, inout none m, inout standard_metadata_t s) { state start { transition accept; } }
control C(inout none h, inout none m) { apply { } }
control G(inout none h, inout none m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in none h) { apply { } }
V1Switch(P(), C(), G(), G(), C(), D()) main;
";
