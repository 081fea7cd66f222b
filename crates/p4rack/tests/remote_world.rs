//! Agents of a rack with pinned flows, their controller, and messages on the way, in virtual time.

use crate::moves::HOSTS;
use base_time::{Duration, Rng, Time};
use controller::{Agent, Answer, Ask, AskId, Call, DeviceId, Effect, Heard, Reply, Ticket};
use device_control::{Event, Known, Maker, RemoteRack, Served, Splitter, wires};
use p4rack::rack::Racked;
use p4rack::{flows, replan};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    MasterArbitrationUpdate, StreamMessageRequest, Uint128, stream_message_request::Update as Asked,
};
use p4runtime_proto::p4rack::v1::{PinnedApp, Sample, SampleResponse};
use p4runtime_server::{Status, StreamId};
use state_journal::{Batch, Kept, Waiting};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Time until a connection that broke is there again.
const PAUSE: Duration = Duration::from_ms(500);

/// Limit on the links that one frame and its copies pass.
const MOST_HOPS: usize = 64;

/// Batches of the controller's state.
#[derive(Default)]
pub(crate) struct Stored {
    kept: Kept,
    /// Batches that are on their way, with the time at which they are stored.
    coming: VecDeque<(Time, Batch)>,
    count: u64,
    /// Replies that wait for them.
    waiting: Waiting<(Ticket, Reply)>,
}

pub(crate) enum Mail {
    ToAgent(Option<AskId>, Ask),
    ToController(Heard),
}

/// Agents, their controller, and messages on the way.
pub(crate) struct World<'r> {
    pub(crate) racked: &'r Racked,
    pub(crate) rack: RemoteRack,
    pub(crate) maker: Maker,
    pub(crate) agents: Vec<Agent<Maker>>,
    /// Connections that are there.
    pub(crate) here: Vec<bool>,
    /// When the last message to or from a device arrives: they do not overtake each other.
    pub(crate) last: Vec<Time>,
    pub(crate) mail: BTreeMap<(Time, u64), (usize, Mail)>,
    pub(crate) wires: BTreeMap<(usize, u32), (usize, u32)>,
    /// The origin takes no frames in.
    pub(crate) held: bool,
    pub(crate) now: Time,
    pub(crate) numbers: u64,
    pub(crate) tickets: u64,
    pub(crate) replies: BTreeMap<Ticket, Reply>,
    pub(crate) rng: Rng,
    /// Microseconds that a message takes.
    pub(crate) delays: Range<u64>,
    /// Writes to agents that break the connection, of a thousand.
    pub(crate) breaks: u64,
    pub(crate) hand_overs: u64,
    /// The switch's agent reports frames.
    pub(crate) reports: bool,
    /// One frame of so many; the ports whose frames do not count.
    pub(crate) sampling: (u64, Vec<u32>),
    pub(crate) report: SampleResponse,
    /// Frames in each of its reports.
    pub(crate) sizes: Vec<usize>,
    /// Changes that the rack has made by itself.
    pub(crate) reported: Vec<String>,
    /// The controller's state; none if it is not stored.
    pub(crate) store: Option<Stored>,
    /// Requests that agents have carried out, and batches that were stored.
    pub(crate) actions: u64,
    /// The controller is killed after so many of them.
    pub(crate) killed_after: Option<u64>,
}

fn rack_of(racked: &Racked, maker: &Maker) -> RemoteRack {
    let app = &racked.apps[0];
    let maker = Maker { own: Some(Arc::clone(&app.whole)), ..maker.clone() };
    let splitter = Splitter::new(maker, app.placement.clone());
    let splitter =
        splitter.with_parts(&app.whole, (app.parts.clone(), app.texts.clone())).expect("it is split");
    let flows = flows::app_flows(racked, 0).unwrap_or_else(|found| panic!("{found:#?}"));
    let addresses = app.placement.devices.iter().map(ToString::to_string).collect();
    let resizing = replan::resizing_of(&racked.rack, app, &flows);
    RemoteRack::new(splitter, addresses, 1, 0).with_flows(flows).planned_by(resizing)
}

impl<'r> World<'r> {
    pub(crate) fn new(racked: &'r Racked, seed: u64) -> World<'r> {
        let mut world = World::empty(racked, seed, false);
        world.begin();
        world
    }

    /// The controller has not started. It stores its state, or does not.
    pub(crate) fn empty(racked: &'r Racked, seed: u64, is_stored: bool) -> World<'r> {
        let (known, registry) = (Known::sharing(&racked.codes), netfn_registry::all());
        for placed in racked.parts() {
            known.engine(placed.text, &placed.part.program, &registry).expect("it runs");
        }
        let maker = Maker { known, ..Maker::new(1, registry) };
        let placement = &racked.apps[0].placement;
        let count = placement.devices.len();
        World {
            racked,
            rack: rack_of(racked, &maker),
            agents: (0..count).map(|_| Agent::new(maker.clone())).collect(),
            maker,
            here: vec![false; count],
            last: vec![Time::ZERO; count],
            mail: BTreeMap::new(),
            wires: wires(placement),
            held: false,
            now: Time::ZERO,
            numbers: 0,
            tickets: 0,
            replies: BTreeMap::new(),
            rng: Rng::new(seed).split("agents"),
            delays: 0..20_000,
            breaks: 0,
            hand_overs: 0,
            reports: false,
            sampling: (0, vec![]),
            report: SampleResponse::default(),
            sizes: vec![],
            reported: vec![],
            store: is_stored.then(Stored::default),
            actions: 0,
            killed_after: None,
        }
    }

    /// The controller starts, and all agents are reached.
    pub(crate) fn begin(&mut self) {
        let started = self.start();
        assert_eq!(self.wait_for(started), Ok(()));
        self.greet();
    }

    /// The controller begins to start: from its state, if there is one.
    pub(crate) fn start(&mut self) -> Ticket {
        let state = self.store.as_ref().and_then(|store| store.kept.state().expect("it can be read"));
        if self.store.is_some() {
            self.rack.keep_notes();
        }
        let app = &self.racked.apps[0];
        let updates = device_control::updates(app.entries.writes(), &app.whole).expect("P4Runtime has them");
        let started = self.call(match state {
            Some(state) => Call::Resume(Box::new(state), BTreeSet::new()),
            None => Call::Start(Box::default(), updates),
        });
        (0..self.agents.len()).for_each(|device| self.reach(device, Duration::ZERO));
        started
    }

    /// A controller of the program connects.
    pub(crate) fn greet(&mut self) {
        let update = MasterArbitrationUpdate {
            device_id: 1,
            election_id: Some(Uint128 { high: 0, low: 1 }),
            ..MasterArbitrationUpdate::default()
        };
        let message = StreamMessageRequest { update: Some(Asked::Arbitration(update)) };
        let events = self.rack.message(self.now, StreamId(1), &message);
        self.take(events);
    }

    /// The controller's process is killed and starts again: what was on the way may or may not have arrived.
    pub(crate) fn restart_controller(&mut self) {
        for (_, (device, mail)) in std::mem::take(&mut self.mail) {
            if let Mail::ToAgent(_, ask) = mail
                && self.rng.chance(1, 2)
            {
                self.agents[device].ask(self.now, ask);
            }
        }
        self.here.fill(false);
        self.held = false;
        self.rack = rack_of(self.racked, &self.maker);
        self.begin();
    }

    /// The controller's process is killed and begins to start again. Requests and batches that were on their way arrive, or do not.
    pub(crate) fn kill(&mut self, (requests, batches): (bool, bool)) -> Ticket {
        self.here.fill(false);
        for (_, (device, mail)) in std::mem::take(&mut self.mail) {
            match mail {
                Mail::ToAgent(_, Ask::Ports | Ask::Sample { .. }) => {}
                Mail::ToAgent(_, ask) if requests => {
                    let (_, effects) = self.agents[device].ask(self.now, ask);
                    self.effects(device, effects);
                }
                _ => {}
            }
        }
        if let Some(store) = &mut self.store {
            let coming = std::mem::take(&mut store.coming);
            coming.iter().filter(|_| batches).for_each(|(_, batch)| store.kept.follow(batch));
            (store.count, store.waiting) = (0, Waiting::default());
        }
        self.replies.clear();
        self.killed_after = None;
        self.rack = rack_of(self.racked, &self.maker);
        self.start()
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.killed_after.is_some_and(|after| self.actions >= after)
    }

    /// An agent's process is killed and starts again.
    pub(crate) fn restart_agent(&mut self, device: usize) {
        self.agents[device] = Agent::new(self.maker.clone());
        if device == 0 {
            self.held = false;
        }
        self.shut(device);
    }

    pub(crate) fn later(&mut self, device: usize, after: Duration, mail: Mail) {
        let at = (self.now + after).max(self.last[device]);
        self.last[device] = at;
        self.numbers += 1;
        self.mail.insert((at, self.numbers), (device, mail));
    }

    pub(crate) fn delay(&mut self) -> Duration {
        Duration::from_us(self.delays.start + self.rng.below(self.delays.end - self.delays.start))
    }

    /// A connection breaks, and is there again after a while.
    pub(crate) fn shut(&mut self, device: usize) {
        self.cut(device);
        self.reach(device, PAUSE);
    }

    /// A connection breaks: nothing on it arrives, and it is not known what of it was done.
    pub(crate) fn cut(&mut self, device: usize) {
        self.here[device] = false;
        let lost: Vec<(Time, u64)> =
            self.mail.iter().filter(|(_, (of, _))| *of == device).map(|(at, _)| *at).collect();
        for at in lost {
            let Some((_, mail)) = self.mail.remove(&at) else { continue };
            match mail {
                Mail::ToAgent(Some(id), _) | Mail::ToController(Heard::Answer(id, _)) => {
                    self.later(device, Duration::ZERO, Mail::ToController(Heard::Answer(id, Answer::Lost)))
                }
                _ => {}
            }
        }
        self.later(device, Duration::ZERO, Mail::ToController(Heard::Gone("it broke".to_string())));
    }

    pub(crate) fn reach(&mut self, device: usize, after: Duration) {
        self.later(device, after, Mail::ToController(Heard::Here));
    }

    pub(crate) fn take(&mut self, events: Vec<Event>) {
        let mut events = VecDeque::from(events);
        loop {
            self.keep();
            while let Some(event) = events.pop_front() {
                match event {
                    Event::Reply(ticket, reply) => {
                        let ready = match &mut self.store {
                            Some(store) => store.waiting.reply((ticket, reply)),
                            None => Some((ticket, reply)),
                        };
                        self.replies.extend(ready);
                    }
                    Event::Ask(device, id, ask) if self.here[device.0] => {
                        let delay = self.delay();
                        self.later(device.0, delay, Mail::ToAgent(id, ask));
                    }
                    Event::Ask(device, Some(id), _) => {
                        let refused = Answer::Refused(Status::new(Code::Unavailable, "no agent"));
                        let heard = Heard::Answer(id, refused);
                        self.later(device.0, Duration::ZERO, Mail::ToController(heard));
                    }
                    _ => {}
                }
            }
            // Threads are fast here.
            if let Some(work) = self.rack.take_work() {
                work();
                events.extend(self.rack.tick(self.now));
                continue;
            }
            if !self.rack.is_busy() {
                return self.reported.extend(self.rack.take_reported());
            }
            events.extend(self.rack.go_on(self.now));
        }
    }

    /// The latest changes are on their way to where they are stored.
    pub(crate) fn keep(&mut self) {
        let batch = if self.store.is_some() { self.rack.noted() } else { Batch::default() };
        if batch.is_empty() {
            return;
        }
        let at = self.now + self.delay();
        if let Some(store) = &mut self.store {
            store.waiting.sent();
            let last = store.coming.back().map_or(at, |(last, _)| *last);
            store.coming.push_back((last.max(at), batch));
        }
    }

    /// Batches that are due are stored.
    pub(crate) fn store(&mut self) {
        loop {
            let is_killed = self.is_killed();
            let Some(store) = &mut self.store else { return };
            if is_killed || store.coming.front().is_none_or(|(at, _)| *at > self.now) {
                return;
            }
            let Some((_, batch)) = store.coming.pop_front() else { return };
            store.kept.follow(&batch);
            store.count += 1;
            self.actions += 1;
            self.replies.extend(store.waiting.kept(store.count));
            let events = self.rack.kept(self.now, store.count);
            self.take(events);
        }
    }

    pub(crate) fn effects(&mut self, device: usize, effects: Vec<Effect>) {
        for effect in effects {
            let heard = match effect {
                Effect::Stream(message) => Heard::Stream(message),
                Effect::Push(frame) => Heard::Pushed(frame),
                Effect::KeepOut | Effect::LetIn if device == 0 => {
                    self.held = effect == Effect::KeepOut;
                    continue;
                }
                _ => continue,
            };
            if self.here[device] {
                let delay = self.delay();
                self.later(device, delay, Mail::ToController(heard));
            }
        }
    }

    pub(crate) fn deliver(&mut self, device: usize, mail: Mail) {
        match mail {
            Mail::ToController(heard) => {
                self.here[device] |= matches!(heard, Heard::Here);
                let events = self.rack.heard(self.now, DeviceId(device), heard);
                self.take(events);
            }
            Mail::ToAgent(id, ask) => {
                if matches!(ask, Ask::Write(_)) && self.rng.below(1000) < self.breaks {
                    if self.rng.chance(1, 2) {
                        self.agents[device].ask(self.now, ask);
                    }
                    let lost = id.map(|id| Mail::ToController(Heard::Answer(id, Answer::Lost)));
                    lost.into_iter().for_each(|mail| self.later(device, Duration::ZERO, mail));
                    return self.shut(device);
                }
                if let Ask::Sample { every, uncounted } = ask {
                    if self.reports {
                        self.sampling = (every, uncounted);
                        let report = std::mem::take(&mut self.report);
                        self.sizes.push(report.samples.len());
                        let delay = self.delay();
                        self.later(device, delay, Mail::ToController(Heard::Sampled(report)));
                    }
                    return;
                }
                self.actions += u64::from(ask != Ask::Ports);
                let (answer, effects) = match ask {
                    // No frame is ever under way.
                    Ask::Ports => (Some(Answer::Ports(BTreeMap::new())), vec![]),
                    ask => self.agents[device].ask(self.now, ask),
                };
                self.effects(device, effects);
                if let (Some(id), Some(answer)) = (id, answer) {
                    let delay = self.delay();
                    self.later(device, delay, Mail::ToController(Heard::Answer(id, answer)));
                }
            }
        }
    }

    /// Time passes until something is due, at most this long.
    pub(crate) fn pass(&mut self, most: Duration) {
        let mail = self.mail.keys().next().map(|(at, _)| *at);
        let agents = self.agents.iter().filter_map(Agent::deadline).min();
        let stored = self.store.iter().filter_map(|store| Some(store.coming.front()?.0)).min();
        let due = [mail, agents, stored, self.rack.deadline(), Some(self.now + most)];
        let due = due.into_iter().flatten().min();
        self.now = due.unwrap_or(self.now).max(self.now).min(self.now + most);
        self.store();
        while !self.is_killed()
            && let Some(first) = self.mail.first_entry().filter(|first| first.key().0 <= self.now)
        {
            let (device, mail) = first.remove();
            self.deliver(device, mail);
        }
        for device in 0..self.agents.len() {
            if let Some(target) = self.agents[device].target() {
                target.at(self.now);
            }
            let effects = self.agents[device].tick(self.now);
            self.effects(device, effects);
        }
        if self.is_killed() {
            return;
        }
        let events = self.rack.tick(self.now);
        self.take(events);
    }

    pub(crate) fn call(&mut self, call: Call) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let events = self.rack.call(self.now, ticket, call);
        self.take(events);
        ticket
    }

    pub(crate) fn reply(&mut self, ticket: Ticket) -> Option<Result<(), Status>> {
        match self.replies.remove(&ticket)? {
            Reply::Done(how) => Some(how),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn wait_for(&mut self, ticket: Ticket) -> Result<(), Status> {
        for _ in 0..100_000 {
            if let Some(how) = self.reply(ticket) {
                return how;
            }
            self.pass(Duration::from_ms(100));
        }
        panic!("no reply; {:?}", self.rack.show().devices)
    }

    pub(crate) fn is_sound(&self) -> bool {
        let all_here = self.here.iter().all(|here| *here);
        all_here && !self.held && self.rack.show().devices.iter().all(|device| device.stale.is_empty())
    }

    /// Frames that leave when a frame comes.
    pub(crate) fn frame(&mut self, port: u32, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
        if self.held {
            return vec![];
        }
        let mut under_way = VecDeque::from([(0, port, frame.to_vec())]);
        let (mut left, mut hops) = (vec![], 0);
        while let Some((device, port, frame)) = under_way.pop_front() {
            hops += 1;
            assert!(hops < MOST_HOPS, "a loop");
            let Some(target) = self.agents[device].target() else { continue };
            let outputs = target.process(port, &frame, self.now);
            let (every, uncounted) = &self.sampling;
            if device == 0 && self.reports && !uncounted.contains(&port) {
                self.report.frames += 1;
                if *every > 0 && self.rng.chance(1, *every) {
                    let left = outputs.iter().map(|out| out.port).collect();
                    self.report.samples.push(Sample { port, frame, left });
                }
            }
            for out in outputs {
                match self.wires.get(&(device, out.port)) {
                    Some((next, entry)) => {
                        self.hand_overs += 1;
                        under_way.push_back((*next, *entry, out.frame));
                    }
                    None => left.push((out.port, out.frame)),
                }
            }
        }
        left.retain(|(port, _)| *port < HOSTS);
        left
    }

    pub(crate) fn app(&self) -> PinnedApp {
        self.rack.show().pinned_apps.remove(0)
    }
}
