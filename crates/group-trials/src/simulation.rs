//! A group under way: a switch, servers, links with random delays that keep the order of frames, and what is remembered to judge.

use base_time::Rng;
use server_groups::group::Limits;
use server_groups::server::Limits as ServerLimits;
use server_groups::{Command, Effect, Frame, Group, Hop, Member, Report, Server, Table, Write};
use std::collections::{BTreeMap, BTreeSet};

/// A flow; its hash is its number.
pub type Flow = u32;

/// Buckets of the group.
pub const BUCKETS: u32 = 256;

/// The longest delay of a link, in ticks.
pub const LONGEST_DELAY: u64 = 6;

/// Properties of the group and of its links.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Pins of the switch.
    pub pins: usize,
    /// Links keep the order of frames.
    pub keeps_order: bool,
    /// Servers hold packets while they ask.
    pub holds: bool,
    /// Frames lost, of 1,000.
    pub lost: u64,
}

/// No pins, and nothing goes wrong.
impl Default for Setting {
    fn default() -> Self {
        Setting { pins: 0, keeps_order: true, holds: true, lost: 0 }
    }
}

impl Setting {
    /// Longer than a round trip where frames are lost; else nothing is asked again.
    fn patience(&self) -> u64 {
        if self.lost > 0 { 8 * LONGEST_DELAY } else { u64::MAX }
    }
}

/// Counters of a simulation.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    /// Packets sent by the switch.
    pub sent: u64,
    /// Packets handled by servers.
    pub handled: u64,
    /// Packets handled by the switch itself.
    pub at_switch: u64,
    /// Packets handled by a server after the switch itself handled a later one of their flow.
    pub overtaken: u64,
    /// Changes of the members.
    pub changes: u64,
    /// Buckets that moved.
    pub moves: u64,
    /// Packets handled by a server while another had the state of their flow.
    pub wrong: u64,
    /// Packets handled after a later one of their flow.
    pub reordered: u64,
    /// Packets that went on from a server to another.
    pub extra_hops: u64,
    /// Packets dropped by servers.
    pub dropped: u64,
    /// Packets that are held at the end.
    pub held: u64,
    /// The most flows with a pin at a time.
    pub pins: usize,
}

enum Event {
    Up(Member, Frame<Flow, u32>),
    Down(Member, Frame<Flow, u32>),
    Report(Member, Report<Flow>),
    End(Flow),
}

/// A group with its switch, servers and links.
pub struct Simulation {
    setting: Setting,
    /// Source of all random numbers.
    pub rng: Rng,
    /// The tick.
    pub now: u64,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    /// When the last frame reaches the end of each link.
    last: BTreeMap<(bool, Member), u64>,
    table: Table<Flow>,
    group: Group<Flow>,
    servers: BTreeMap<Member, Server<Flow, u32>>,
    owner: BTreeMap<Flow, Member>,
    handled: BTreeMap<Flow, u32>,
    /// The last packet of each flow that the switch itself has handled.
    at_switch: BTreeMap<Flow, u32>,
    /// Flows that each server has asked about, for the variant without holds.
    asked: BTreeSet<(Member, Flow)>,
    /// Packets handled by each server.
    at_server: BTreeMap<Member, u64>,
    counts: Counts,
}

impl Simulation {
    /// A group of so many servers, which have joined.
    pub fn new(seed: u64, servers: u16, setting: Setting) -> Simulation {
        let limits = Limits {
            pins: setting.pins,
            pins_of_bucket: 16,
            settle_after: 10,
            patience: setting.patience(),
            open: 32,
        };
        let members: Vec<_> = (0..servers).map(|member| (Member(member), 1)).collect();
        let group = Group::new(&members, BUCKETS as usize, limits);
        let mut simulation = Simulation {
            setting,
            rng: Rng::new(seed),
            now: 0,
            events: BTreeMap::new(),
            count: 0,
            last: BTreeMap::new(),
            table: Table::new(group.rows()),
            group,
            servers: BTreeMap::new(),
            owner: BTreeMap::new(),
            handled: BTreeMap::new(),
            at_switch: BTreeMap::new(),
            asked: BTreeSet::new(),
            at_server: BTreeMap::new(),
            counts: Counts::default(),
        };
        for (member, _) in members {
            simulation.start(member);
        }
        simulation
    }

    fn start(&mut self, member: Member) {
        let limits = ServerLimits { patience: self.setting.patience(), ..ServerLimits::default() };
        self.servers.insert(member, Server::new(member, limits));
    }

    fn at(&mut self, time: u64, event: Event) {
        if !matches!(event, Event::End(_)) && self.rng.below(1000) < self.setting.lost {
            return;
        }
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    /// When a frame reaches the end of a link that it enters now.
    fn arrival(&mut self, is_up: bool, member: Member) -> u64 {
        let time = self.now + 1 + self.rng.below(LONGEST_DELAY);
        let last = self.last.entry((is_up, member)).or_default();
        *last = if self.setting.keeps_order { time.max(*last) } else { time };
        *last
    }

    fn down(&mut self, to: Member, frame: Frame<Flow, u32>) {
        let time = self.arrival(false, to);
        self.at(time, Event::Down(to, frame));
    }

    /// One tick.
    pub fn step(&mut self) {
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= self.now) {
            match entry.remove() {
                Event::Down(to, frame) => self.arrive(to, frame),
                Event::Up(to, frame) => self.down(to, frame),
                Event::Report(from, report) => self.group.report(from, report, self.now),
                Event::End(flow) => self.end(flow),
            }
            self.commands();
        }
        if self.setting.lost > 0 {
            let members: Vec<Member> = self.servers.keys().copied().collect();
            for member in members {
                let mut out = vec![];
                if let Some(server) = self.servers.get_mut(&member) {
                    server.tick(self.now, &mut out);
                }
                self.effects(member, out);
            }
        }
        self.group.poll(self.now);
        self.commands();
        self.now += 1;
    }

    fn commands(&mut self) {
        while let Some(command) = self.group.command() {
            match command {
                Command::Write(writes) => {
                    for write in &writes {
                        self.table.write(write);
                        let moves = matches!(write, Write::Row { row, .. } if row.previous.is_some());
                        self.counts.moves += u64::from(moves);
                    }
                    self.counts.pins = self.counts.pins.max(self.table.pins().count());
                }
                Command::Instruction { to, instruction } => self.down(to, Frame::Instruction(instruction)),
            }
        }
    }

    fn end(&mut self, flow: Flow) {
        if let Some(owner) = self.owner.get(&flow).copied()
            && let Some(server) = self.servers.get_mut(&owner)
        {
            let mut out = vec![];
            if server.ended(flow % BUCKETS, &flow, &mut out) {
                self.owner.remove(&flow);
            } else {
                self.at(self.now + 20, Event::End(flow));
            }
            self.effects(owner, out);
        }
    }

    /// The switch gets a packet of a flow; packets of a flow have ascending numbers.
    pub fn send(&mut self, flow: Flow, packet: u32) {
        self.counts.sent += 1;
        let Some(dispatch) = self.table.dispatch(&flow, flow) else { return };
        let hop = Hop::First { previous: dispatch.previous };
        self.down(dispatch.to, Frame::Packet { flow, bucket: dispatch.bucket, hop, packet });
    }

    /// The switch handles a packet of a flow whose entry it has.
    pub fn handle_at_switch(&mut self, flow: Flow, packet: u32) {
        self.counts.at_switch += 1;
        self.at_switch.insert(flow, packet);
    }

    fn arrive(&mut self, at: Member, frame: Frame<Flow, u32>) {
        if let Frame::Packet { flow, bucket, hop: Hop::First { previous: Some(to) }, packet } = frame
            && !self.setting.holds
            && self.asked.contains(&(at, flow))
        {
            let frame = Frame::Packet { flow, bucket, hop: Hop::Probe { back: at, number: 0 }, packet };
            return self.up(at, to, frame);
        }
        if let Frame::Answer { flow, .. } | Frame::Packet { flow, hop: Hop::Returned { .. }, .. } = &frame {
            self.asked.remove(&(at, *flow));
        }
        let Some(server) = self.servers.get_mut(&at) else { return };
        let mut out = vec![];
        server.receive(frame, self.now, &mut out);
        self.effects(at, out);
    }

    fn up(&mut self, at: Member, to: Member, frame: Frame<Flow, u32>) {
        let time = self.arrival(true, at);
        self.at(time, Event::Up(to, frame));
    }

    fn effects(&mut self, at: Member, effects: Vec<Effect<Flow, u32>>) {
        for effect in effects {
            match effect {
                Effect::Handle { flow, packet } => self.handle(at, flow, packet),
                Effect::Send { to, frame } => {
                    if let Frame::Packet { flow, hop: Hop::Probe { .. }, .. } = &frame {
                        self.asked.insert((at, *flow));
                    }
                    self.up(at, to, frame);
                }
                Effect::Report(report) => {
                    let time = self.arrival(true, at);
                    self.at(time, Event::Report(at, report));
                }
            }
        }
    }

    fn handle(&mut self, at: Member, flow: Flow, packet: u32) {
        self.counts.handled += 1;
        *self.at_server.entry(at).or_default() += 1;
        self.counts.wrong += u64::from(*self.owner.entry(flow).or_insert(at) != at);
        let last = self.handled.entry(flow).or_default();
        self.counts.reordered += u64::from(packet <= *last);
        *last = packet.max(*last);
        self.counts.overtaken += u64::from(self.at_switch.get(&flow).is_some_and(|last| packet <= *last));
    }

    /// A server comes. False if it is there.
    pub fn add(&mut self, member: Member) -> bool {
        self.counts.changes += 1;
        self.start(member);
        let added = self.group.add(member, 1, self.now).is_ok();
        self.commands();
        added
    }

    /// A server gets no more flows, and leaves after its last one. False if it is the last server.
    pub fn remove(&mut self, member: Member) -> bool {
        self.counts.changes += 1;
        let removed = self.group.drain(member, true, self.now).is_ok();
        self.commands();
        removed
    }

    /// The servers that take new flows.
    pub fn taking(&self) -> Vec<Member> {
        let status = self.group.status();
        status.iter().filter(|(_, status)| !status.draining).map(|(member, _)| *member).collect()
    }

    /// The flow has no more packets; its state is forgotten `after` ticks.
    pub fn end_after(&mut self, flow: Flow, after: u64) {
        self.at(self.now + after, Event::End(flow));
    }

    /// The server that has the state of a flow.
    pub fn owner(&self, flow: Flow) -> Option<Member> {
        self.owner.get(&flow).copied()
    }

    /// Packets handled by each server so far.
    pub fn at_server(&self) -> &BTreeMap<Member, u64> {
        &self.at_server
    }

    /// Flows with a pin.
    pub fn pins(&self) -> usize {
        self.table.pins().count()
    }

    /// Lets everything arrive that is under way; where frames are lost, so long that all is asked again that has no answer.
    pub fn settle(&mut self) {
        let end = self.now + if self.setting.lost > 0 { 4000 } else { 0 };
        while !self.events.is_empty() || self.now < end {
            self.step();
        }
    }

    /// The counters so far, with those of the servers.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts;
        for server in self.servers.values() {
            counts.extra_hops += server.counters.extra_hops;
            counts.dropped += server.counters.drops.sum() - server.counters.drops.refused;
            counts.held += server.held() as u64;
        }
        counts
    }
}
