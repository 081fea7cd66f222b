//! Flows from their first packet to their last, over a model of a switch, two helpers, a program's own controller and the
//! network between: operations take up to 50 ms, are carried out in any order, and may get lost and be sent again.
//!
//! Properties: every lookup at the switch has the full tables' result; no flow is decided twice; every packet is processed once
//! or counted as dropped; when all flows are gone the switch is empty; one seed has one outcome; each flow is linearizable, also where the primary fails:
//! one order of the writes of an entry explains what the flow's packets found there. A switch that starts anew loses the packets that come before it has its flows and
//! copies again.

use base_time::{Duration, Rng, Time};
use flow_control::flows::{Counters, Flows, Limits, Output, Place};
use flow_control::history::{Place as Written, Read, Writes};
use flow_control::moves::{Answer, FullTables, Operation, Version, Write, WriteId};
use flow_control::pending::{Bounds, Order};
use flow_control::popularity::{Costs, Window};
use std::collections::{BTreeMap, BTreeSet};

type Flow = u32;
type Reads = Vec<Read<Option<Version>>>;
/// A flow's own entry, or that of its tenant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    Own(Flow),
    Tenant(u32),
}

const TENANTS: u32 = 7;
/// Time of a packet between the flow table and its last lookup, at most.
const INSIDE: Duration = Duration::from_ms(10);

/// The full tables. Flows of tenant 3 have no entry of their own, which is a miss they depend on.
#[derive(Clone, Default)]
struct Tables(BTreeMap<Key, Version>);

impl FullTables<Flow, Key> for Tables {
    fn content(&self, key: &Key) -> Option<Version> {
        self.0.get(key).copied()
    }

    fn touched(&self, flow: &Flow, _: Option<&Write<Key>>) -> Vec<Key> {
        vec![Key::Own(*flow), Key::Tenant(flow % TENANTS)]
    }

    fn apply(&mut self, write: &Write<Key>) {
        put(&mut self.0, write.key, write.content);
    }
}

fn put(table: &mut BTreeMap<Key, Version>, key: Key, content: Option<Version>) {
    match content {
        Some(version) => _ = table.insert(key, version),
        None => _ = table.remove(&key),
    }
}

#[derive(Clone, Debug)]
enum Event {
    /// A packet arrives at the switch.
    Packet(Flow),
    /// The packet, which has arrived at this time, is at its lookup of this number in the switch.
    Lookup(Flow, usize, Time),
    /// The packet is at the helper.
    AtHelper(Flow, u64, Sending),
    /// The program's controller has decided.
    Decision(Flow),
    /// An operation is at its device.
    Operation(u64),
    /// The answer is at the controller.
    Answer(u64),
    Marker(Flow),
    Window,
    Write,
    /// By hand.
    Move,
    /// The switch starts anew.
    Restart,
    /// The switch has its flows and copies again.
    Filled,
    /// The primary.
    Fail,
    Tick,
}

/// A packet on its way to a helper.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// When it has arrived at the switch.
    begin: Time,
    to_backup: bool,
}

/// How the network and devices behave.
#[derive(Clone, Copy)]
struct Faults {
    /// Messages lost, of a thousand.
    lost: u64,
    /// Restarts of the switch.
    restarts: u64,
    /// Entries that the switch has room for, and flows.
    room: usize,
    flows: usize,
    /// A mutant: the switch answers a flush at once.
    flush_at_once: bool,
    keep: bool,
    /// The primary fails, and packets go to the backup from then on.
    fails: bool,
    /// A mutant: primaries get writes before backups.
    primary_first: bool,
    /// A mutant: writes are acknowledged when they begin.
    hasty: bool,
    /// A mutant: a switch that starts anew lets packets in before it has its flows and copies again.
    opens_empty: bool,
    /// A mutant: it gets its copies without writes in progress.
    forgets_writes: bool,
    /// Most time of an operation on its way to a device.
    slow: Duration,
}

const SOUND: Faults = Faults {
    lost: 0,
    restarts: 0,
    room: 60,
    flows: 25,
    flush_at_once: false,
    keep: false,
    fails: false,
    primary_first: false,
    hasty: false,
    opens_empty: false,
    forgets_writes: false,
    slow: Duration::from_ms(50),
};

struct Sent {
    operation: Operation<Flow, Key>,
    answer: Option<Answer>,
}

fn is_at_switch(operation: &Operation<Flow, Key>) -> bool {
    !matches!(operation, Operation::Backups(..) | Operation::Primaries(..) | Operation::Together(..))
}

struct World {
    faults: Faults,
    rng: Rng,
    now: Time,
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    flows: Flows<Flow, Key, u64>,
    tables: Tables,
    /// Writes under way, which lookups may see early.
    under_way: BTreeMap<WriteId, Write<Key>>,
    /// All writes of each entry, those that are not acknowledged, and what packets of each flow found.
    writes: BTreeMap<Key, Writes<Option<Version>>>,
    open: BTreeMap<WriteId, (Key, Written)>,
    reads: BTreeMap<(Flow, Key), Reads>,
    /// When packets that wait have arrived.
    arrived: BTreeMap<u64, Time>,
    versions: u64,
    /// Devices.
    flow_table: BTreeSet<Flow>,
    copies: BTreeMap<Key, Version>,
    primary: BTreeMap<Key, Version>,
    backup: BTreeMap<Key, Version>,
    /// The flow table and the copies that the switch gets again: it has started anew.
    lost_there: Option<(BTreeSet<Flow>, BTreeMap<Key, Version>)>,
    sent: BTreeMap<u64, Sent>,
    /// Flows that were asked for and are not decided.
    asked: BTreeSet<Flow>,
    seen: BTreeMap<Flow, u64>,
    resident: BTreeMap<Flow, (u64, Time)>,
    packets: u64,
    here: u64,
    there: u64,
    inside: u64,
    /// Packets that were on their way to the primary when it failed, or came to a switch that had started anew.
    lost: u64,
    has_failed: bool,
    log: Vec<String>,
    ended: bool,
}

impl World {
    fn new(seed: u64, faults: Faults) -> World {
        let limits = Limits {
            pending: Bounds { flows: 40, packets: 4 },
            order: if faults.keep { Order::Keep } else { Order::Any },
            patience: Duration::from_ms(400),
            writes: 64,
            headroom: 3,
            costs: Costs {
                window: Duration::from_ms(100),
                write: Duration::from_ms(2),
                writes: 3,
                together: 1,
                idle: Duration::from_ms(300),
            },
        };
        let tenants = (0..TENANTS).map(|tenant| (Key::Tenant(tenant), Version(u64::from(tenant))));
        let full: BTreeMap<Key, Version> = tenants.collect();
        World {
            faults,
            rng: Rng::new(seed),
            now: Time::ZERO,
            events: BTreeMap::new(),
            count: 0,
            flows: Flows::new(limits, faults.flows),
            tables: Tables(full.clone()),
            under_way: BTreeMap::new(),
            writes: full.iter().map(|(key, version)| (*key, Writes::new(Some(*version)))).collect(),
            open: BTreeMap::new(),
            reads: BTreeMap::new(),
            arrived: BTreeMap::new(),
            versions: 1000,
            flow_table: BTreeSet::new(),
            copies: BTreeMap::new(),
            primary: full.clone(),
            backup: full,
            lost_there: None,
            sent: BTreeMap::new(),
            asked: BTreeSet::new(),
            seen: BTreeMap::new(),
            resident: BTreeMap::new(),
            packets: 0,
            here: 0,
            there: 0,
            inside: 0,
            lost: 0,
            has_failed: false,
            log: vec![],
            ended: false,
        }
    }

    fn at(&mut self, after: Duration, event: Event) {
        self.count += 1;
        self.events.insert((self.now + after, self.count), event);
    }

    fn some(&mut self, most: Duration) -> Duration {
        Duration::from_ps(self.rng.below(most.as_ps().max(1)))
    }

    fn version(&mut self) -> Version {
        self.versions += 1;
        Version(self.versions)
    }

    /// Sends again what gets lost, after a while; nothing is carried out twice.
    fn deliver(&mut self, most: Duration, event: Event) {
        let mut after = self.some(most);
        while self.rng.below(1000) < self.faults.lost {
            after = after + Duration::from_ms(60) + self.some(most);
        }
        self.at(after, event);
    }

    /// Skewed: a few flows have most packets, and which ones changes with time.
    fn popular(&mut self, flows: u32) -> Flow {
        let shift = (self.now.as_ps() / Duration::from_ms(700).as_ps()) as u32 * 13;
        let bits = self.rng.below(10) as u32;
        let range = (flows >> bits).max(1);
        (self.rng.below(u64::from(range)) as u32 + shift) % flows
    }

    fn outputs(&mut self) {
        while let Some(output) = self.flows.output() {
            match output {
                Output::Decide(flow, _) => {
                    assert!(self.asked.insert(flow), "flow {flow} is decided twice");
                    // Sometimes nobody answers.
                    if self.rng.below(1000) >= self.faults.lost {
                        self.deliver(Duration::from_ms(30), Event::Decision(flow));
                    }
                }
                Output::Do(operation) => {
                    if let Operation::Backups(id, write) | Operation::Primaries(id, write) = &operation {
                        self.under_way.insert(*id, write.clone());
                    }
                    if let Operation::Put(key, version) = &operation
                        && self.tables.content(key) != Some(*version)
                    {
                        self.under_way.insert(
                            WriteId(u64::MAX - version.0),
                            Write { key: *key, content: Some(*version) },
                        );
                    }
                    self.count += 1;
                    let id = self.count;
                    self.sent.insert(id, Sent { operation, answer: None });
                    self.deliver(self.faults.slow, Event::Operation(id));
                }
                Output::Send(flow, packet) => {
                    let after = self.some(Duration::from_ms(5));
                    self.inside += 1;
                    let begin = self.arrived.get(&packet).copied().unwrap_or(self.now);
                    let sending = Sending { begin, to_backup: self.has_failed };
                    self.at(after, Event::AtHelper(flow, packet, sending));
                }
                Output::Mark(flow) => self.deliver(Duration::from_ms(5), Event::Marker(flow)),
                Output::Written(id) => {
                    let (key, written) = self.open.remove(&id).expect("it has begun");
                    self.writes.get_mut(&key).expect("it has begun").end(written, self.now);
                }
                Output::Moved(..) => {}
            }
        }
    }

    /// A device carries an operation out.
    fn execute(&mut self, id: u64) {
        let Some(sent) = self.sent.get(&id) else { return };
        let operation = sent.operation.clone();
        if self.lost_there.is_some() && is_at_switch(&operation) {
            // It is sent again.
            return self.at(Duration::from_ms(1), Event::Operation(id));
        }
        let mut answer = Answer::Done;
        let mut after = Duration::ZERO;
        match &operation {
            Operation::Put(key, version) => {
                if self.copies.len() >= self.faults.room && !self.copies.contains_key(key) {
                    answer = Answer::Full;
                } else {
                    self.copies.insert(*key, *version);
                }
            }
            Operation::Remove(key) => drop(self.copies.remove(key)),
            Operation::Admit(flow) => {
                if self.flow_table.len() >= self.faults.flows {
                    answer = Answer::Full;
                } else {
                    self.flow_table.insert(*flow);
                    self.resident.insert(*flow, (0, self.now));
                }
            }
            Operation::Expel(flow) => {
                self.flow_table.remove(flow);
                self.resident.remove(flow);
            }
            Operation::Flush(_) if self.faults.flush_at_once => {}
            Operation::Flush(_) => after = INSIDE,
            Operation::Backups(_, write) if !self.faults.primary_first => {
                put(&mut self.backup, write.key, write.content);
            }
            Operation::Primaries(_, write) if self.faults.primary_first => {
                put(&mut self.backup, write.key, write.content);
            }
            Operation::Backups(_, write) | Operation::Primaries(_, write) => {
                put(&mut self.primary, write.key, write.content);
            }
            Operation::Together(..) => unreachable!("nothing is written together"),
        }
        if let Some(sent) = self.sent.get_mut(&id) {
            sent.answer = Some(answer);
        }
        let back = self.some(self.faults.slow.scaled(2, 5));
        self.at(after + back, Event::Answer(id));
    }

    fn answered(&mut self, id: u64) {
        let Some(sent) = self.sent.remove(&id) else { return };
        if let Operation::Primaries(id, _) = &sent.operation {
            self.under_way.remove(id);
        }
        self.flows.answer(&sent.operation, sent.answer.unwrap_or(Answer::Done), &mut self.tables);
        let tables = &self.tables;
        self.under_way.retain(|_, write| tables.content(&write.key) != write.content);
    }

    /// A packet of the flow has found this.
    fn found(&mut self, flow: Flow, key: Key, value: Option<Version>, begin: Time) {
        self.reads.entry((flow, key)).or_default().push(Read { value, begin, end: self.now });
    }

    /// A write of the entry begins.
    fn begin_write(&mut self, key: Key, version: Version) -> Written {
        let writes = self.writes.entry(key).or_insert(Writes::new(None));
        let written = writes.begin(Some(version), self.now);
        if self.faults.hasty {
            writes.end(written, self.now);
        }
        written
    }

    /// One order of the writes of an entry explains what packets of each flow have found.
    fn check_histories(&self) {
        for ((flow, key), reads) in &self.reads {
            let nothing = Writes::new(None);
            let writes = self.writes.get(key).unwrap_or(&nothing);
            let ended = writes.check(reads);
            assert_eq!(ended, Ok(()), "flow {flow} is not linearizable at {key:?}");
        }
    }

    fn look_up(&mut self, flow: Flow, number: usize, begin: Time) {
        let key = self.tables.touched(&flow, None)[number];
        let found = self.copies.get(&key).copied();
        self.found(flow, key, found, begin);
        let early = self.under_way.values().any(|write| write.key == key && write.content == found);
        let full = self.tables.content(&key);
        assert!(found == full || early, "flow {flow} finds {found:?} at {key:?}, not {full:?}");
        if number == 0 {
            let after = self.some(Duration::from_ms(4));
            self.at(after, Event::Lookup(flow, 1, begin));
        } else {
            self.here += 1;
            self.inside -= 1;
        }
    }

    fn step(&mut self, event: Event, flows: u32) {
        match event {
            Event::Packet(flow) => {
                self.packets += 1;
                self.inside += 1;
                let begin = self.now;
                self.arrived.insert(self.packets, begin);
                if self.lost_there.is_some() && !self.faults.opens_empty {
                    self.inside -= 1;
                    self.lost += 1;
                } else if let Some((count, last)) =
                    self.resident.get_mut(&flow).filter(|_| self.flow_table.contains(&flow))
                {
                    *count += 1;
                    *last = self.now;
                    let after = self.some(Duration::from_ms(4));
                    self.at(after, Event::Lookup(flow, 0, begin));
                } else {
                    let (after, packet) = (self.some(Duration::from_us(300)), self.packets);
                    let sending = Sending { begin, to_backup: self.has_failed };
                    self.at(after, Event::AtHelper(flow, packet, sending));
                }
            }
            Event::Lookup(flow, number, begin) => self.look_up(flow, number, begin),
            Event::AtHelper(_, _, Sending { to_backup: false, .. }) if self.has_failed => {
                self.inside -= 1;
                self.lost += 1;
            }
            Event::AtHelper(flow, packet, Sending { begin, to_backup }) => {
                self.inside -= 1;
                let table = if to_backup { &self.backup } else { &self.primary };
                let found: Vec<_> = self
                    .tables
                    .touched(&flow, None)
                    .into_iter()
                    .map(|key| (key, table.get(&key).copied()))
                    .collect();
                found.iter().for_each(|(key, value)| self.found(flow, *key, *value, begin));
                // A flow of tenant 3 needs no entry of its own.
                if found.iter().any(|(key, value)| *key == Key::Own(flow) && value.is_some())
                    || flow % TENANTS == 3
                {
                    self.there += 1;
                    *self.seen.entry(flow).or_default() += 1;
                } else {
                    self.flows.packet(flow, packet, self.now);
                }
            }
            Event::Decision(flow) => {
                self.asked.remove(&flow);
                if self.rng.chance(1, 20) {
                    self.flows.refused(&flow);
                } else {
                    let version = self.version();
                    let write = Write { key: Key::Own(flow), content: Some(version) };
                    let is_taken = self.flows.decided(&flow, vec![write], &mut self.tables);
                    if is_taken {
                        self.begin_write(Key::Own(flow), version);
                    }
                    if !is_taken && self.flows.awaits_decision(&flow) {
                        self.asked.insert(flow);
                        self.at(Duration::from_ms(5), Event::Decision(flow));
                    }
                }
            }
            Event::Operation(id) => self.execute(id),
            Event::Answer(id) => self.answered(id),
            Event::Marker(flow) => self.flows.marker_returned(&flow, &mut self.tables),
            Event::Window => {
                let now = self.now;
                let residents = self
                    .resident
                    .iter_mut()
                    .map(|(flow, (count, last))| (*flow, std::mem::take(count), now.since(*last)));
                let residents: Vec<_> = residents.collect();
                let reports = std::mem::take(&mut self.seen).into_iter();
                let threshold = self.flows.threshold();
                let reports: Vec<_> = reports.filter(|(_, count)| *count >= threshold).collect();
                let room = self.faults.flows.saturating_sub(self.flow_table.len());
                self.flows.window(Window { reports, residents, room, over: 0 }, &mut self.tables);
                if !self.ended {
                    self.at(Duration::from_ms(100), Event::Window);
                }
            }
            Event::Write => {
                let key = match self.rng.below(3) {
                    0 => Key::Own(self.popular(flows)),
                    _ => Key::Tenant(self.rng.below(u64::from(TENANTS)) as u32),
                };
                // An entry of a flow is written once it is there.
                if matches!(key, Key::Tenant(_)) || self.primary.contains_key(&key) {
                    let version = self.version();
                    let write = Write { key, content: Some(version) };
                    if let Some(id) = self.flows.write(write, &mut self.tables) {
                        let written = self.begin_write(key, version);
                        self.open.insert(id, (key, written));
                    }
                }
            }
            Event::Move => {
                let flow = self.popular(flows);
                if self.rng.chance(1, 2) {
                    self.flows.demote(&flow, &mut self.tables);
                } else {
                    self.flows.promote(&flow, &mut self.tables);
                }
            }
            Event::Restart => self.restart(),
            Event::Filled => {
                if let Some((flow_table, copies)) = self.lost_there.take() {
                    let now = self.now;
                    self.resident = flow_table.iter().map(|flow| (*flow, (0, now))).collect();
                    (self.flow_table, self.copies) = (flow_table, copies);
                }
            }
            Event::Fail => self.has_failed = true,
            Event::Tick => {
                self.flows.tick(self.now);
                if !self.ended {
                    self.at(Duration::from_ms(50), Event::Tick);
                }
            }
        }
    }

    /// The switch loses all it has, and the packets inside.
    fn restart(&mut self) {
        if self.lost_there.is_some() {
            return;
        }
        let (flow_table, mut copies) =
            (std::mem::take(&mut self.flow_table), std::mem::take(&mut self.copies));
        if self.faults.forgets_writes {
            copies = copies
                .into_iter()
                .map(|(key, version)| (key, self.tables.content(&key).unwrap_or(version)))
                .collect();
        }
        self.lost_there = Some((flow_table, copies));
        self.resident.clear();
        let before = self.events.len();
        self.events.retain(|_, event| !matches!(event, Event::Lookup(..)));
        let gone = (before - self.events.len()) as u64;
        self.inside -= gone;
        self.lost += gone;
        let after = self.some(Duration::from_ms(100));
        self.at(after, Event::Filled);
    }

    fn drain(&mut self, flows: u32, until: Option<Time>) {
        while let Some((&(time, count), _)) = self.events.first_key_value() {
            if until.is_some_and(|until| time > until) {
                break;
            }
            self.now = time;
            let Some(event) = self.events.remove(&(time, count)) else { break };
            self.log.push(format!("{time:?} {event:?}"));
            let tail = self.log.len().saturating_sub(20);
            assert!(
                self.log.len() < 200_000,
                "it never ends: {:?} {:#?}",
                self.flows.counters(),
                &self.log[tail..]
            );
            self.step(event, flows);
            self.outputs();
            // An expired flow may be requested again.
            let flows = &self.flows;
            self.asked.retain(|flow| flows.awaits_decision(flow));
        }
    }

    fn run(&mut self, flows: u32, packets: u64, time: Duration) {
        self.at(Duration::from_ms(100), Event::Window);
        self.at(Duration::from_ms(50), Event::Tick);
        let gap = Duration::from_ps(time.as_ps() / packets.max(1));
        for _ in 0..self.faults.restarts {
            let after = self.some(time);
            self.at(after, Event::Restart);
        }
        if self.faults.fails {
            let after = self.some(time);
            self.at(after, Event::Fail);
        }
        for packet in 0..packets {
            let flow = self.popular(flows);
            self.at(Duration::ZERO, Event::Packet(flow));
            if packet % 50 == 0 {
                self.at(Duration::ZERO, Event::Write);
            }
            if packet % 25 == 10 {
                self.at(Duration::ZERO, Event::Move);
            }
            let until = self.now + gap;
            self.drain(flows, Some(until));
            self.now = until;
        }
        self.ended = true;
        self.drain(flows, None);
        // All flows end: nothing may be left at the switch.
        self.flows.tick(self.now + Duration::from_s(10));
        for flow in 0..flows {
            self.flows.idle(&flow, &mut self.tables);
            self.flows.demote(&flow, &mut self.tables);
        }
        self.outputs();
        self.drain(flows, None);
        let Counters { dropped, .. } = self.flows.counters();
        assert_eq!(
            self.packets,
            self.here + self.there + dropped + self.lost + self.inside,
            "{:?}",
            self.flows.counters()
        );
        assert_eq!(self.inside, 0);
        assert!(self.flows.is_at_rest(), "{:?}", self.flows.numbers());
        assert_eq!((self.copies.len(), self.flow_table.len()), (0, 0), "left at the switch");
        assert_eq!(self.primary, self.tables.0, "helpers differ from the full tables");
        assert_eq!(self.backup, self.primary);
        self.check_histories();
    }
}

fn run(seed: u64, faults: Faults, packets: u64) -> World {
    let mut world = World::new(seed, faults);
    world.run(200, packets, Duration::from_ms(3000));
    world
}

#[test]
fn flows_come_stay_and_go() {
    let world = run(1, SOUND, 6000);
    let Counters { asked, promoted, evicted, .. } = world.flows.counters();
    assert!(asked > 50 && promoted > 30 && evicted > 20, "{:?}", world.flows.counters());
    assert!(world.here * 3 > world.there, "{} here, {} there", world.here, world.there);
}

#[test]
fn packets_that_wait_keep_their_order_until_the_marker_is_back() {
    let world = run(2, Faults { keep: true, ..SOUND }, 4000);
    assert!(world.flows.counters().promoted > 20, "{:?}", world.flows.counters());
}

#[test]
fn moves_by_hand_break_nothing() {
    for seed in 0..8 {
        run(seed, SOUND, 6000);
    }
}

#[test]
fn faults_of_network_and_switch_break_nothing() {
    for seed in features::seeds(4, 1000) {
        let mut rng = Rng::new(seed).split("faults");
        let faults = Faults {
            lost: [0, 20, 100][rng.index(3)],
            restarts: rng.below(3),
            room: 2 + rng.index(60),
            flows: 1 + rng.index(25),
            keep: rng.chance(1, 2),
            fails: rng.chance(1, 2),
            slow: Duration::from_ms([1, 10, 50][rng.index(3)]),
            ..SOUND
        };
        run(seed, faults, 1500);
    }
}

#[test]
fn one_seed_has_one_outcome() {
    let faults = Faults { lost: 50, restarts: 1, ..SOUND };
    let (one, two) = (run(7, faults, 1500), run(7, faults, 1500));
    assert_eq!(one.log, two.log);
    assert_eq!(one.flows.counters(), two.flows.counters());
    assert_ne!(one.log, run(8, faults, 1500).log);
}

#[test]
fn ten_thousand_flows_take_turns_at_a_hundred_places() {
    let (flows, packets) = if features::is_long() { (10_000, 40_000) } else { (1_000, 6_000) };
    let mut world = World::new(3, Faults { room: 160, flows: 100, ..SOUND });
    world.run(flows, packets, Duration::from_ms(6000));
    let Counters { promoted, evicted, full, .. } = world.flows.counters();
    assert!(promoted > 150 && evicted > 50, "{promoted} {evicted} {full}");
}

/// A run in which the histories say that some flow is not linearizable.
fn is_noticed(faults: Faults) -> bool {
    ends_with(faults, "not linearizable")
}

/// A run that fails for this reason.
fn ends_with(faults: Faults, reason: &str) -> bool {
    (0..16).any(|seed| {
        let ended = std::panic::catch_unwind(|| run(seed, faults, 3000));
        ended.err().and_then(|why| why.downcast::<String>().ok()).is_some_and(|why| why.contains(reason))
    })
}

#[test]
fn wrong_orders_of_writes_are_noticed() {
    let fails = Faults { fails: true, ..SOUND };
    assert!(is_noticed(Faults { primary_first: true, ..fails }), "the backup lacks what packets have seen");
    assert!(is_noticed(Faults { hasty: true, ..SOUND }), "acknowledged, and not there yet");
}

#[test]
fn a_switch_that_starts_anew_and_is_not_filled_first_is_noticed() {
    let restarts = Faults { restarts: 8, ..SOUND };
    assert!(is_noticed(Faults { opens_empty: true, ..restarts }), "its flows go to helpers");
    assert!(ends_with(Faults { forgets_writes: true, ..restarts }, " finds "), "its copies lack writes");
}

#[test]
fn a_primary_that_fails_breaks_no_flow() {
    for seed in features::seeds(3, 1000) {
        run(seed, Faults { fails: true, lost: 20 * (seed % 3), ..SOUND }, 1500);
    }
}

#[test]
fn a_switch_that_flushes_at_once_is_noticed() {
    let noticed = (0..16).any(|seed| {
        let faults = Faults { flush_at_once: true, slow: Duration::from_ms(1), ..SOUND };
        let ended = std::panic::catch_unwind(|| run(seed, faults, 6000));
        ended.err().and_then(|why| why.downcast::<String>().ok()).is_some_and(|why| why.contains(" finds "))
    });
    assert!(noticed);
}

#[test]
fn who_does_not_answer_is_given_up() {
    let limits = World::new(0, SOUND);
    let mut flows = limits.flows;
    let mut tables = Tables::default();
    flows.packet(1, 10, Time::ZERO);
    flows.packet(1, 11, Time::ZERO);
    assert_eq!(flows.output(), Some(Output::Decide(1, 10)));
    flows.tick(Time::ZERO + Duration::from_ms(399));
    assert_eq!(flows.place(&1), Some(Place::Pending));
    flows.tick(Time::ZERO + Duration::from_ms(400));
    assert_eq!((flows.place(&1), flows.counters().dropped, flows.counters().expired), (None, 2, 1));
    // The decision comes too late.
    assert!(!flows.decided(&1, vec![], &mut tables));
    flows.packet(1, 12, Time::ZERO + Duration::from_ms(500));
    assert_eq!(flows.output(), Some(Output::Decide(1, 12)));
    assert!(flows.decided(&1, vec![], &mut tables));
    assert_eq!(flows.output(), Some(Output::Send(1, 12)));
}

#[test]
fn packets_that_come_back_again_and_again_are_dropped() {
    let mut flows = World::new(0, SOUND).flows;
    let mut tables = Tables::default();
    flows.packet(1, 10, Time::ZERO);
    assert!(flows.decided(&1, vec![], &mut tables));
    (0..10).for_each(|packet| flows.packet(1, packet, Time::ZERO));
    assert_eq!((flows.counters().sent, flows.counters().dropped), (1 + 4, 6));
}

#[test]
fn writes_in_progress_are_bounded() {
    let mut flows = World::new(0, SOUND).flows;
    let mut tables = Tables::default();
    let write = |tenant| Write { key: Key::Tenant(tenant), content: Some(Version(1)) };
    let begun = (0..100).filter(|tenant| flows.write(write(*tenant), &mut tables).is_some()).count();
    assert_eq!((begun, flows.counters().busy), (64, 36));
}
