//! A rack of four devices that hold entries and run nothing, in virtual time: asks and answers are under way for a while, in order,
//! and a [`Channel`] says what becomes of each ask.
//!
//! | device | holds |
//! |---|---|
//! | 0, the origin | `one`, `everywhere`, `left` with `members`, `packets` |
//! | 1 | `two`, `everywhere`, `packets` |
//! | 2 | `three`, `everywhere`, `cells` |
//! | 3 | `four`, `everywhere`, `right` with `members`, `counted` |
//!
//! In a rack with cells apart, device 1 has `cells`, too.

use base_time::{Duration, Time};
use control_writes::{Count, Data, EntryKey};
use controller::{
    Agent, Answer, Ask, AskId, Call, Controller, DeviceId, Output, Part, Planner, RegionMap, Reply, Rollout,
    TableSizes, Ticket, Timing,
};
use p4runtime_proto::from_text;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{
    Entity, ForwardingPipelineConfig, MasterArbitrationUpdate, P4Data, ReadRequest, StreamMessageRequest,
    Uint128, WriteRequest, stream_message_request::Update as Asked,
};
use p4runtime_server::{Builder, Built, Status, StreamId, Target};
use p4runtime_store::{Catalog, Change, Live, Numbers, Result, Within, fault};
use state_modes::{Merge, Mode};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock};

/// Ids of the objects that each device has.
const HOLDS: [&[u32]; 4] =
    [&[1, 5, 7, 50, 60, 100], &[2, 5, 60, 100], &[3, 5, 61, 100], &[4, 5, 8, 9, 50, 70, 100]];

/// One way between the controller and an agent.
pub const DELAY: Duration = Duration::from_ms(5);

const TIMING: Timing = Timing {
    drain: Duration::ZERO,
    quiet: Duration::ZERO,
    patience_least: Duration::from_ms(20),
    patience_most: Duration::from_ms(200),
    look: Duration::from_ms(10),
    lease: Duration::from_ms(400),
    merge: Duration::from_ms(1_000),
};

/// Fate of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Passage {
    Through,
    Refused,
    AskLost,
    AnswerLost,
    /// The device does so many changes, fails at one, does so many others, and so on.
    Breaks(Vec<u32>),
}

/// The way to the agents.
pub type Channel = Box<dyn FnMut(usize, &Ask) -> Passage>;

#[derive(Default)]
pub struct Rack {
    /// Two devices have `cells`.
    is_apart: bool,
    sizes: TableSizes,
}

/// Id of `cells`.
const CELLS: u32 = 61;

fn whole() -> P4Info {
    static WHOLE: LazyLock<P4Info> = LazyLock::new(|| from_text(include_str!("rack.p4info.txtpb")).unwrap());
    WHOLE.clone()
}

/// The catalogue of [`whole`].
static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::new(Arc::new(whole())));

/// P4Info of one device.
fn held(device: usize, is_apart: bool) -> P4Info {
    let mut info = whole();
    let has = |id: u32| HOLDS[device].contains(&id) || is_apart && device == 1 && id == CELLS;
    let is_here = |id: Option<u32>| id.is_some_and(has);
    info.tables.retain(|t| is_here(t.preamble.as_ref().map(|p| p.id)));
    info.action_profiles.retain(|t| is_here(t.preamble.as_ref().map(|p| p.id)));
    info.counters.retain(|t| is_here(t.preamble.as_ref().map(|p| p.id)));
    info.direct_counters.retain(|t| is_here(t.preamble.as_ref().map(|p| p.id)));
    info.registers.retain(|t| is_here(t.preamble.as_ref().map(|p| p.id)));
    info
}

impl Planner for Rack {
    fn plan(&self, _: &ForwardingPipelineConfig, _: u64) -> std::result::Result<Rollout, Status> {
        let info = Arc::new(whole());
        let part = |device: usize| {
            let own = held(device, self.is_apart);
            let config = ForwardingPipelineConfig { p4info: Some(own.clone()), ..Default::default() };
            Part::new(&format!("d{device}"), config, vec![], &own, &info).map(Some)
        };
        let counters = info.counters.iter().filter_map(|counter| counter.preamble.as_ref());
        Ok(Rollout {
            modes: counters.map(|preamble| (preamble.id, Mode::Merged(Merge::Add))).collect(),
            merged_counters: Default::default(),
            parts: (0..HOLDS.len()).map(part).collect::<std::result::Result<_, _>>()?,
            numbers: Numbers::of(&info),
            plain: Arc::clone(&info),
            info,
            initial: vec![],
            memory: u64::MAX,
            origin: 0,
            wires: BTreeMap::new(),
            edges: vec![],
            edges_to: None,
            cuts_clones: true,
        })
    }

    fn replace(&mut self, map: RegionMap) -> std::result::Result<RegionMap, Status> {
        Ok(map)
    }

    fn resize(&mut self, sizes: TableSizes) -> std::result::Result<TableSizes, Status> {
        Ok(std::mem::replace(&mut self.sizes, sizes))
    }
}

struct Maker;

/// A device that reports given counts.
#[derive(Default)]
struct Device {
    counters: BTreeMap<(u32, u64), Count>,
    registers: BTreeMap<(u32, u64), Data>,
    breaks: VecDeque<u32>,
}

impl Builder for Maker {
    type Target = Device;

    fn build(&self, config: &ForwardingPipelineConfig) -> std::result::Result<Built<Device>, Status> {
        let info = Arc::new(config.p4info.clone().unwrap());
        let numbers = Numbers::of(&info);
        let (plain, memory) = (Arc::clone(&info), u64::MAX);
        Ok(Built { target: Device::default(), plain, info, numbers, initial: vec![], memory })
    }
}

impl Target for Device {
    fn apply(&mut self, _: &Catalog, change: &Change) -> Result<()> {
        match self.breaks.front_mut() {
            Some(0) => {
                self.breaks.pop_front();
                return fault("it breaks", "here").code(Code::ResourceExhausted);
            }
            Some(left) => *left -= 1,
            None => {}
        }
        match change {
            Change::Counter { counter, index, to } => drop(self.counters.insert((*counter, *index), *to)),
            Change::Register { register, index, to } => {
                self.registers.insert((*register, *index), to.clone());
            }
            _ => {}
        }
        Ok(())
    }

    fn take_digests(&mut self, _: &Catalog) -> Vec<(u32, P4Data)> {
        vec![]
    }

    fn take_idle(&mut self, _: &Catalog, _: Time) -> Vec<(u32, EntryKey)> {
        vec![]
    }
}

impl Live for Device {
    fn counter(&self, counter: u32, index: u64) -> Result<Count> {
        Ok(self.counters.get(&(counter, index)).copied().unwrap_or_default())
    }

    fn direct_counter(&self, _: u32, _: &EntryKey) -> Result<Count> {
        Ok(Count::default())
    }

    fn register(&self, register: u32, index: u64) -> Result<Data> {
        match self.registers.get(&(register, index)) {
            Some(data) => Ok(data.clone()),
            None => CATALOG.register_zero(register),
        }
    }

    fn since_last_hit(&self, _: u32, _: &EntryKey) -> Result<u64> {
        Ok(0)
    }
}

enum Message {
    Ask(DeviceId, Option<AskId>, Ask),
    Answer(AskId, Answer),
    BeganAnew(DeviceId),
}

/// See the module.
pub struct Rig {
    pub controller: Controller,
    agents: Vec<Agent<Maker>>,
    under_way: BTreeMap<(Time, u64), Message>,
    sent: u64,
    tickets: u64,
    pub channel: Channel,
    /// Time that each device takes for a request.
    pub slow: [Duration; HOLDS.len()],
    pub now: Time,
    /// Replies, and when they came.
    pub replies: BTreeMap<Ticket, (Time, Reply)>,
    /// The most calls that were under way at once.
    pub most: usize,
}

impl Rig {
    /// With its program, and a primary controller.
    pub fn started() -> Rig {
        Rig::of(Rack::default(), false)
    }

    /// The same, with a state that is stored.
    pub fn stored() -> Rig {
        Rig::of(Rack::default(), true)
    }

    /// The same, with cells apart.
    pub fn with_cells_apart() -> Rig {
        Rig::of(Rack { is_apart: true, ..Rack::default() }, false)
    }

    fn of(rack: Rack, is_stored: bool) -> Rig {
        let mut rig = Rig {
            controller: Controller::new(rack, 1, 0, TIMING),
            agents: HOLDS.iter().map(|_| Agent::new(Maker)).collect(),
            under_way: BTreeMap::new(),
            sent: 0,
            tickets: 0,
            channel: Box::new(|_, _| Passage::Through),
            slow: [Duration::ZERO; HOLDS.len()],
            now: Time::ZERO,
            replies: BTreeMap::new(),
            most: 0,
        };
        if is_stored {
            rig.controller.keep_notes();
            rig.controller.wait_for_store();
        }
        let start = rig.call(Call::Start(Box::default(), vec![]));
        rig.settle();
        assert_eq!(rig.ended(start), Ok(()));
        let hello = MasterArbitrationUpdate {
            device_id: 1,
            election_id: Some(Uint128 { high: 0, low: 1 }),
            ..MasterArbitrationUpdate::default()
        };
        let hello = StreamMessageRequest { update: Some(Asked::Arbitration(hello)) };
        let outputs = rig.controller.message(rig.now, StreamId(0), &hello);
        rig.take(outputs);
        rig
    }

    /// So many batches are stored.
    pub fn store(&mut self, batches: u64) {
        let outputs = self.controller.stored(self.now, batches);
        self.take(outputs);
    }

    /// Begins a call.
    pub fn call(&mut self, call: Call) -> Ticket {
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        let outputs = self.controller.call(self.now, ticket, call);
        self.take(outputs);
        ticket
    }

    /// Begins a write; each update is like `INSERT table_entry { .. }`.
    pub fn write(&mut self, atomicity: &str, updates: &[String]) -> Ticket {
        self.call(Call::Write(Box::new(request(atomicity, updates))))
    }

    /// Begins a read.
    pub fn read(&mut self, query: &str) -> Ticket {
        let request: ReadRequest = from_text(&format!("device_id: 1 entities {{ {query} }}")).unwrap();
        self.call(Call::Read(request))
    }

    /// A device restarts, and says so.
    pub fn restart(&mut self, device: usize) {
        self.agents[device].restart();
        self.send(Message::BeganAnew(DeviceId(device)));
    }

    /// A device restarts, and the controller hears that before the answers that are under way.
    pub fn restart_at_once(&mut self, device: usize) {
        self.agents[device].restart();
        let outputs = self.controller.restarted(self.now, DeviceId(device));
        self.take(outputs);
    }

    /// The program, as controllers push it.
    pub fn config() -> ForwardingPipelineConfig {
        ForwardingPipelineConfig { p4info: Some(whole()), ..ForwardingPipelineConfig::default() }
    }

    /// How a call has ended.
    pub fn ended(&self, ticket: Ticket) -> std::result::Result<(), Status> {
        match &self.replies.get(&ticket).expect("a reply").1 {
            Reply::Done(ended) | Reply::Found(_, ended) => ended.clone(),
            Reply::Traced(traced) => traced.clone().map(drop),
            Reply::Merged(said) => said.clone().map(drop),
        }
    }

    /// When it has.
    pub fn ended_at(&self, ticket: Ticket) -> Time {
        self.replies.get(&ticket).expect("a reply").0
    }

    /// Result of a read.
    pub fn found(&self, ticket: Ticket) -> Vec<Entity> {
        match &self.replies.get(&ticket).expect("a reply").1 {
            Reply::Found(found, Ok(())) => found.entities().collect(),
            other => panic!("{other:?}"),
        }
    }

    /// Entities of a device that match a query.
    pub fn holds(&self, device: usize, query: &str) -> Vec<Entity> {
        match self.agents[device].read(vec![from_text(query).unwrap()]) {
            Answer::Found(found) => found,
            other => panic!("{other:?}"),
        }
    }

    /// Goes on until all calls are answered and no device is out of step.
    pub fn settle(&mut self) {
        self.step_while(|rig| {
            rig.is_waited_for() || !rig.under_way.is_empty() || !rig.controller.stale().is_empty()
        });
    }

    /// Goes on until all calls are answered.
    pub fn answer_all(&mut self) {
        self.step_while(Rig::is_waited_for);
    }

    fn is_waited_for(&self) -> bool {
        self.replies.len() < self.tickets as usize
    }

    /// Goes on as long as this is true.
    pub fn step_while(&mut self, goes_on: impl Fn(&Rig) -> bool) {
        let mut steps = 0;
        while goes_on(self) {
            steps += 1;
            assert!(
                steps < 100_000,
                "calls do not end: {:?}; {} under way at {}, next {:?}, {} on their way",
                self.controller.stale(),
                self.controller.under_way(),
                self.now,
                self.next(),
                self.under_way.len()
            );
            self.step();
        }
    }

    /// Goes on until then.
    pub fn run_until(&mut self, time: Time) {
        while self.next().is_some_and(|next| next <= time) {
            self.step();
        }
        self.now = time;
    }

    fn next(&self) -> Option<Time> {
        let arrives = self.under_way.first_key_value().map(|((at, _), _)| *at);
        self.controller.deadline().into_iter().chain(arrives).min()
    }

    fn step(&mut self) {
        self.now = self.next().expect("something is waited for").max(self.now);
        let first = self.under_way.first_entry().filter(|first| first.key().0 <= self.now);
        let outputs = match first.map(|first| first.remove()) {
            None => self.controller.tick(self.now),
            Some(Message::Answer(id, answer)) => self.controller.answer(self.now, id, answer),
            Some(Message::BeganAnew(device)) => self.controller.restarted(self.now, device),
            Some(Message::Ask(device, id, ask)) => {
                self.work(device, id, ask);
                vec![]
            }
        };
        self.take(outputs);
    }

    fn work(&mut self, device: DeviceId, id: Option<AskId>, ask: Ask) {
        let agent = &mut self.agents[device.0];
        let passage = (self.channel)(device.0, &ask);
        let answer = match &passage {
            Passage::AskLost => return,
            Passage::Refused => Some(Answer::Refused(Status::new(Code::ResourceExhausted, "not now"))),
            Passage::Through | Passage::AnswerLost | Passage::Breaks(_) => {
                if let Passage::Breaks(after) = &passage {
                    agent.targets().for_each(|device| device.breaks = after.iter().copied().collect());
                }
                let answer = match ask {
                    Ask::Ports => Some(Answer::Ports(BTreeMap::new())),
                    ask => agent.ask(self.now, ask).0,
                };
                agent.targets().for_each(|device| device.breaks.clear());
                answer
            }
        };
        if let (Some(id), Some(answer)) = (id, answer.filter(|_| passage != Passage::AnswerLost)) {
            self.send(Message::Answer(id, answer));
        }
    }

    fn take(&mut self, outputs: Vec<Output>) {
        self.most = self.most.max(self.controller.under_way());
        for output in outputs {
            match output {
                Output::Ask(device, id, ask) => self.send(Message::Ask(device, id, ask)),
                Output::Reply(ticket, reply) => drop(self.replies.insert(ticket, (self.now, reply))),
                Output::Send(..) | Output::End(..) => {}
            }
        }
    }

    fn send(&mut self, message: Message) {
        let more = match &message {
            Message::Ask(device, ..) => self.slow[device.0],
            Message::Answer(..) | Message::BeganAnew(_) => Duration::ZERO,
        };
        self.under_way.insert((self.now + DELAY + more, self.sent), message);
        self.sent += 1;
    }
}

pub fn request(atomicity: &str, updates: &[String]) -> WriteRequest {
    let update = |update: &String| {
        let (how, entity) = update.split_once(' ').unwrap();
        format!("updates {{ type: {how} entity {{ {entity} }} }}\n")
    };
    let updates: String = updates.iter().map(update).collect();
    from_text(&format!("device_id: 1 election_id {{ low: 1 }} atomicity: {atomicity}\n{updates}")).unwrap()
}

/// An entry of a table without a profile.
pub fn entry(how: &str, table: u32, key: u32, value: u8) -> String {
    let action = format!("action {{ action_id: 100 params {{ param_id: 1 value: \"\\x{value:02x}\" }} }}");
    let (high, low) = (key >> 8, key & 255);
    let key = if high > 0 { format!("\\x{high:02x}\\x{low:02x}") } else { format!("\\x{low:02x}") };
    let action = if how == "DELETE" { String::new() } else { format!("action {{ {action} }}") };
    format!(
        "{how} table_entry {{ table_id: {table} match {{ field_id: 1 exact {{ value: \"{key}\" }} }} {action} }}"
    )
}
