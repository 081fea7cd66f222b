//! Controller, agents and devices as they are, over a control network that loses messages of all kinds, and doubles and reorders those of the
//! merge. Every packet that a device has counted is counted beside it.

use crate::parts::{PARTS, compiled_text, know_parts};
use base_time::{Duration, Rng, Time};
use controller::{
    Agent, Answer, Ask, AskId, Call, Controller, DeviceId, Effect, Output, Reply, Ticket, Timing, Wires,
};
use dataplane_api::Device as _;
use device_control::{Controlled, Maker, Splitter, wires};
use ir_split::{DeviceIndex, Placement, Policy, Site};
use p4runtime_proto::p4::v1::{
    CounterData, CounterEntry, Entity, Index, P4Data, ReadRequest, RegisterEntry, Uint128, Update,
    WriteRequest, entity::Entity as Kind, p4_data::Data, update::Type,
};
use p4runtime_store::Live as _;
use state_journal::Kept;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub const CELLS: u64 = 4;
pub const REGISTER: &str = "I.seen";
pub const STEP: Duration = Duration::from_us(20);

pub const TIMING: Timing = Timing {
    drain: Duration::from_ms(5),
    quiet: Duration::from_ms(1),
    patience_least: Duration::from_ms(1),
    patience_most: Duration::from_s(60),
    look: Duration::from_ms(10),
    merge: Duration::from_ms(2),
    lease: Duration::from_ms(100),
};

#[derive(Clone)]
pub enum Message {
    Ask(DeviceId, Option<AskId>, Ask),
    Answer(AskId, Answer),
    Push(DeviceId, Vec<u8>),
    BeganAnew(DeviceId),
}

/// Percents of messages that are lost, and of those of the merge that come twice; the most that these take longer.
#[derive(Clone, Copy)]
pub struct Faults {
    pub loss: u64,
    pub double: u64,
    pub jitter: Duration,
    /// A restart in so many steps.
    pub restart: u64,
    /// A controller that is killed in so many.
    pub kill: u64,
}

pub const CALM: Faults = Faults { loss: 0, double: 0, jitter: Duration::ZERO, restart: 0, kill: 0 };
pub const HARD: Faults = Faults { loss: 20, double: 20, jitter: Duration::from_ms(3), restart: 700, kill: 0 };

/// A device's counts as the controller knows them, by object and cell.
pub type Taken = BTreeMap<u32, BTreeMap<u64, u128>>;

pub struct Rig {
    pub controller: Controller,
    /// Makes the next one.
    pub made_of: (Maker, Placement),
    /// The file of the controller.
    pub kept: Kept,
    /// Counts that an ended controller had heard, until the next one knows them.
    pub taken: Vec<(u64, Taken)>,
    /// Id of the object.
    pub id: u32,
    pub agents: Vec<Agent<Maker>>,
    pub wires: Wires,
    pub now: Time,
    pub under_way: BTreeMap<(Time, u64), Message>,
    pub sent: u64,
    /// Calls to and from a device stay in order.
    pub last: BTreeMap<(usize, bool), Time>,
    pub rng: Rng,
    pub faults: Faults,
    pub replies: Vec<Reply>,
    /// Amount that packets have added to each cell.
    pub truth: BTreeMap<u64, u128>,
    /// Largest amount of it that may be lost.
    pub lost: BTreeMap<u64, u128>,
    /// Values that each device showed before.
    pub shown: Vec<[u128; CELLS as usize]>,
    /// Shown values grow, and there is a truth.
    pub checks: bool,
    pub restarts: u64,
    /// The object is a counter.
    pub counts: bool,
    /// Messages to and from this device do not arrive, once this many of its pushes have.
    pub mute: Option<(usize, u64)>,
}

pub fn controller(maker: &Maker, placement: &Placement) -> Controller {
    let mut controller = Controller::new(Splitter::new(maker.clone(), placement.clone()), 1, 0, TIMING);
    controller.keep_notes();
    controller
}

/// A device shows what it must not.
pub type Check = Result<(), String>;

impl Rig {
    /// A switch with this many helpers, each with its program.
    pub fn new(text: &str, helpers: u32, seed: u64) -> Rig {
        let known = PARTS.clone();
        let maker =
            Maker { own: Some(compiled_text(text)), known, ..Maker::new(seed, netfn_registry::all()) };
        let all: Vec<DeviceIndex> = (1..=helpers).map(DeviceIndex).collect();
        let policy = if helpers > 1 { Policy::Shard } else { Policy::Direct };
        let mut placement = Placement::whole("tor");
        placement.devices.extend(all.iter().map(|at| format!("nic{}", at.0).as_str().into()));
        placement.sites = [("R".into(), Site::at(all.clone(), policy))].into();
        for at in &all {
            let tor = DeviceIndex(0);
            placement
                .ports
                .extend([((tor, *at), 100 + u64::from(at.0)), ((*at, tor), 1)].map(|(k, v)| (k, v as _)));
        }
        let wires = wires(&placement);
        let agents = placement.devices.iter().map(|_| Agent::new(Maker { own: None, ..maker.clone() }));
        let agents: Vec<_> = agents.collect();
        let shown = vec![[0; CELLS as usize]; agents.len()];
        let mut rig = Rig {
            controller: controller(&maker, &placement),
            made_of: (maker, placement),
            kept: Kept::default(),
            taken: vec![],
            id: 0,
            agents,
            wires,
            now: Time::ZERO,
            under_way: BTreeMap::new(),
            sent: 0,
            last: BTreeMap::new(),
            rng: Rng::new(seed),
            faults: CALM,
            replies: vec![],
            truth: BTreeMap::new(),
            lost: BTreeMap::new(),
            shown,
            checks: true,
            restarts: 0,
            counts: text.contains("counter("),
            mute: None,
        };
        assert_eq!(rig.call(Call::Start(Box::default(), vec![])), Reply::Done(Ok(())));
        rig.id = rig.id_of();
        know_parts(&rig.controller.rollout().expect("there is a program"), &rig.made_of.0.registry);
        rig
    }

    /// Makes a call, and waits for its reply.
    pub fn call(&mut self, call: Call) -> Reply {
        let outputs = self.controller.call(self.now, Ticket(0), call);
        self.perform(outputs);
        for _ in 0..1_000_000 {
            if let Some(reply) = self.replies.pop() {
                return reply;
            }
            self.pass(STEP).unwrap();
        }
        panic!("there is no reply");
    }

    /// The controller ends, and another one goes on with its stored state. Messages to and from the first may still arrive.
    pub fn restart_controller(&mut self) {
        let devices = 0..self.agents.len();
        let taken = |device: usize| {
            let incarnation = self.agents[device].incarnation();
            (incarnation, self.controller.merge_taken(DeviceId(device), incarnation))
        };
        self.taken = devices.map(taken).collect();
        self.under_way.retain(|_, message| match message {
            Message::Ask(.., ask) => matches!(ask, Ask::Merge(_)),
            Message::Push(..) | Message::BeganAnew(_) => true,
            Message::Answer(..) => false,
        });
        self.replies.clear();
        self.controller = controller(&self.made_of.0, &self.made_of.1);
        let state = self.kept.state().expect("it can be read").expect("there is one");
        // The devices are asked once for what they hold.
        let loss = std::mem::take(&mut self.faults.loss);
        assert_eq!(self.call(Call::Resume(Box::new(state), BTreeSet::new())), Reply::Done(Ok(())));
        self.faults.loss = loss;
    }

    pub fn perform(&mut self, outputs: Vec<Output>) {
        // It is kept before anything leaves.
        self.kept.follow(&self.controller.noted());
        for output in outputs {
            match output {
                Output::Ask(device, id, ask) => self.send(device.0, true, Message::Ask(device, id, ask)),
                Output::Reply(_, reply) => self.replies.push(reply),
                Output::Send(..) | Output::End(..) => {}
            }
        }
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    pub fn send(&mut self, device: usize, is_down: bool, message: Message) {
        const DELAY: Duration = Duration::from_us(100);
        if self.chance(self.faults.loss) {
            return;
        }
        if let Some((_, left)) = self.mute.as_mut().filter(|(mute, _)| *mute == device) {
            if *left == 0 {
                return;
            }
            *left -= u64::from(matches!(message, Message::Push(..)));
        }
        if !matches!(message, Message::Push(..) | Message::Ask(.., Ask::Merge(_))) {
            let last = self.last.entry((device, is_down)).or_default();
            *last = (*last).max(self.now + DELAY);
            self.under_way.insert((*last, self.sent), message);
            self.sent += 1;
            return;
        }
        for _ in 0..1 + u64::from(self.chance(self.faults.double)) {
            let longer = Duration::from_ps(self.rng.below(self.faults.jitter.as_ps() + 1));
            self.under_way.insert((self.now + DELAY + longer, self.sent), message.clone());
            self.sent += 1;
        }
    }

    /// Time passes, and messages come.
    pub fn pass(&mut self, time: Duration) -> Check {
        let until = self.now + time;
        loop {
            let message = self.under_way.first_key_value().map(|((at, _), _)| *at);
            let due = message.into_iter().chain(self.controller.deadline()).min();
            let Some(due) = due.filter(|due| *due <= until) else { break };
            self.now = self.now.max(due);
            while let Some(first) = self.under_way.first_entry().filter(|first| first.key().0 <= self.now) {
                let message = first.remove();
                self.arrive(message)?;
            }
            if self.controller.deadline().is_some_and(|due| due <= self.now) {
                let outputs = self.controller.tick(self.now);
                self.perform(outputs);
            }
        }
        self.now = until;
        Ok(())
    }

    pub fn arrive(&mut self, message: Message) -> Check {
        let outputs = match message {
            Message::Answer(id, answer) => self.controller.answer(self.now, id, answer),
            Message::Push(device, frame) => self.controller.pushed(self.now, device, &frame),
            Message::BeganAnew(device) => self.controller.restarted(self.now, device),
            Message::Ask(device, id, ask) => {
                let is_merge = matches!(ask, Ask::Merge(_));
                // A program that takes the place of another one begins with zeros, as after a restart.
                let before = matches!(ask, Ask::Commit(_)).then(|| self.unheard(device.0));
                let program = self.program(device.0);
                let agent = &mut self.agents[device.0];
                agent.targets().for_each(|target| target.at(self.now));
                let (answer, effects) = match ask {
                    // No packet is ever inside.
                    Ask::Ports => (Some(Answer::Ports(BTreeMap::new())), vec![]),
                    ask => agent.ask(self.now, ask),
                };
                if let Some(before) = before.filter(|_| self.program(device.0) != program) {
                    self.lose(device.0, before);
                }
                for effect in effects {
                    if let Effect::Push(frame) = effect {
                        self.send(device.0, false, Message::Push(device, frame));
                    }
                }
                if let (Some(id), Some(answer)) = (id, answer) {
                    self.send(device.0, false, Message::Answer(id, answer));
                }
                return if is_merge && self.checks { self.check(device.0) } else { Ok(()) };
            }
        };
        self.perform(outputs);
        Ok(())
    }

    pub fn cell(&mut self, device: usize, cell: u64) -> Option<u128> {
        let id = self.id;
        let target: &mut Controlled = self.agents[device].target()?;
        if self.counts {
            return Some(target.counter(id, cell).ok()?.packets.into());
        }
        target.switch().register_read(REGISTER, cell).ok()?.to_u128()
    }

    /// A copy never shows more than there is, and never less than before.
    pub fn check(&mut self, device: usize) -> Check {
        for cell in 0..CELLS {
            let Some(shown) = self.cell(device, cell) else { return Ok(()) };
            let truth = self.truth.get(&cell).copied().unwrap_or(0);
            let before = std::mem::replace(&mut self.shown[device][cell as usize], shown);
            if shown > truth {
                return Err(format!("device {device} shows {shown} of {truth}"));
            }
            if shown < before {
                return Err(format!("device {device} goes back from {before} to {shown}"));
            }
        }
        Ok(())
    }

    /// A packet comes in. True if a device has counted it.
    pub fn packet(&mut self, cell: u8, by: u8, value: u32) -> bool {
        let frame = [vec![cell, by], value.to_be_bytes().to_vec(), vec![0; 60]].concat();
        let mut at = vec![(0, 3, frame)];
        let mut is_counted = false;
        while let Some((device, port, frame)) = at.pop() {
            let Some(target) = self.agents[device].target() else { continue };
            for out in target.process(port, &frame, self.now) {
                is_counted |= if by == 255 { device == 0 } else { device != 0 };
                if let Some((next, entry)) = self.wires.get(&(device, out.port)) {
                    at.push((*next, *entry, out.frame));
                }
            }
        }
        if is_counted {
            let more = if self.counts { 1 } else { value };
            *self.truth.entry(cell.into()).or_default() += u128::from(more);
        }
        is_counted
    }

    pub fn any_packet(&mut self) -> bool {
        let cell = self.rng.below(CELLS) as u8;
        let by = if self.rng.below(3) == 0 { 255 } else { self.rng.below(64) as u8 };
        let value = 1 + self.rng.below(3) as u32;
        self.packet(cell, by, value)
    }

    pub fn id_of(&self) -> u32 {
        let rollout = self.controller.rollout().expect("there is a program");
        if let Some(direct) = rollout.info.direct_counters.first() {
            return direct.direct_table_id;
        }
        let named = match self.counts {
            true => rollout.info.counters[0].preamble.as_ref(),
            false => rollout.info.registers[0].preamble.as_ref(),
        };
        named.map(|preamble| preamble.id).expect("it has an id")
    }

    /// Stands for the program that a device runs.
    pub fn program(&mut self, device: usize) -> Option<*const ()> {
        self.agents[device].target().map(|target| Arc::as_ptr(target.token()))
    }

    /// Counts of a device that the controller does not know.
    pub fn unheard(&mut self, device: usize) -> BTreeMap<u64, u128> {
        let incarnation = self.agents[device].incarnation();
        let taken = match self.controller.rollout() {
            Some(_) => self.controller.merge_taken(DeviceId(device), incarnation),
            None => match self.taken.get(device) {
                Some((of, taken)) if *of == incarnation => taken.clone(),
                _ => BTreeMap::new(),
            },
        };
        let (id, taken) = (self.id, taken.into_values().next().unwrap_or_default());
        let counted = self.agents[device].counted(id).into_iter();
        let own = |(cell, own): (u64, u128)| (cell, own - taken.get(&cell).copied().unwrap_or(0).min(own));
        // Packets and bytes are a cell each to the merge.
        counted.map(own).map(|(cell, own)| (if self.counts { cell / 2 } else { cell }, own)).collect()
    }

    pub fn lose(&mut self, device: usize, unheard: BTreeMap<u64, u128>) {
        unheard.into_iter().for_each(|(cell, count)| *self.lost.entry(cell).or_default() += count);
        self.shown[device] = [0; CELLS as usize];
    }

    pub fn restart(&mut self, device: usize) {
        let unheard = self.unheard(device);
        self.lose(device, unheard);
        self.agents[device].restart();
        self.restarts += 1;
        // It says so until it is heard.
        let at = (self.now + Duration::from_us(100), self.sent);
        self.under_way.insert(at, Message::BeganAnew(DeviceId(device)));
        self.sent += 1;
    }

    /// No more packets come; devices are repaired and merged.
    pub fn settle(&mut self) -> Check {
        let stop = self.now;
        while self.controller.merges_since(stop) || !self.controller.stale().is_empty() {
            self.pass(Duration::from_ms(1))?;
            if self.now > stop + Duration::from_s(120) {
                return Err("it does not end".to_string());
            }
        }
        Ok(())
    }

    /// All copies are equal, and lack nothing but what is known to be lost.
    pub fn after(&mut self) -> Check {
        for cell in 0..CELLS {
            let all: Vec<_> = (0..self.agents.len()).map(|device| self.cell(device, cell)).collect();
            let [Some(first), rest @ ..] = all.as_slice() else {
                return Err("the switch runs nothing".into());
            };
            if rest.iter().any(|other| other != &Some(*first)) {
                return Err(format!("copies differ: {all:?}"));
            }
            let [truth, lost] = [&self.truth, &self.lost].map(|all| all.get(&cell).copied().unwrap_or(0));
            if *first > truth || first + lost < truth {
                return Err(format!("{first} of {truth}, of which {lost} may be lost"));
            }
        }
        Ok(())
    }

    pub fn run(&mut self, faults: Faults, steps: u64) -> Check {
        self.faults = faults;
        for _ in 0..steps {
            self.any_packet();
            self.pass(STEP)?;
            if faults.restart > 0 && self.rng.below(faults.restart) == 0 {
                let device = self.rng.below(self.agents.len() as u64) as usize;
                self.restart(device);
            }
            if faults.kill > 0 && self.rng.below(faults.kill) == 0 {
                self.restart_controller();
            }
        }
        self.settle()?;
        self.after()
    }

    pub fn query(&self, cell: u64, value: Option<u32>) -> Entity {
        let index = Some(Index { index: cell as i64 });
        if self.counts {
            let data = value.map(|value| CounterData { packet_count: value.into(), byte_count: 0 });
            return Entity {
                entity: Some(Kind::CounterEntry(CounterEntry { counter_id: self.id, index, data })),
            };
        }
        let data = value.map(|value| {
            let bytes = value.to_be_bytes();
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(3);
            P4Data { data: Some(Data::Bitstring(bytes[zeros..].to_vec())) }
        });
        Entity { entity: Some(Kind::RegisterEntry(RegisterEntry { register_id: self.id, index, data })) }
    }

    /// As a controller reads it.
    pub fn read(&mut self, cell: u64) -> u128 {
        let entities = vec![self.query(cell, None)];
        let request = ReadRequest { device_id: 1, entities, ..ReadRequest::default() };
        let Reply::Found(found, Ok(())) = self.call(Call::Read(request)) else { panic!("it cannot be read") };
        let e = match found.entities().next().and_then(|found| found.entity) {
            Some(Kind::CounterEntry(e)) => return e.data.map_or(0, |data| data.packet_count as u128),
            Some(Kind::RegisterEntry(e)) => e,
            other => panic!("{other:?}"),
        };
        let Some(Data::Bitstring(bytes)) = e.data.and_then(|data| data.data) else { panic!("no number") };
        bytes.iter().fold(0, |value, byte| value << 8 | u128::from(*byte))
    }

    pub fn write(&mut self, cell: u64, value: u32) -> Reply {
        let entity = Some(self.query(cell, Some(value)));
        let updates = vec![Update { r#type: Type::Modify as i32, entity }];
        let election_id = Some(Uint128 { high: 0, low: 1 });
        let request = WriteRequest { device_id: 1, election_id, updates, ..WriteRequest::default() };
        self.truth.insert(cell, value.into());
        self.lost.remove(&cell);
        self.shown.iter_mut().for_each(|shown| shown[cell as usize] = 0);
        self.call(Call::Operate(Box::new(request)))
    }
}
