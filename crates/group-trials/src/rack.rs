//! A group whose switch and servers run printed programs: the split of `counted.p4`, its fronts and its controller, in virtual time.
//!
//! ```text
//! send ──> switch ══ links with random delays ══> fronts, devices
//!            │ <════════════════════════════════════╛
//!            v received, compared with the whole program on one device
//! ```

use base_bits::Bits;
use base_diag::{Diagnostic, SourceMap};
use base_time::{Duration, Rng, Time};
use control_writes::Match;
use dataplane_api::{Device as _, Output};
use device::{Options, Switch};
use group_front::{Front, Settings};
use ir_split::{DeviceIndex, GroupEdge, Part, Placement, Policy, Site};
use server_groups::group::Limits;
use server_groups::server::Limits as ServerLimits;
use server_groups::wire::{Flow, Read};
use server_groups::{Command, Counters, Dispatch, Frame, Group, Hop, Member, Report, Write};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Buckets of the group.
pub const BUCKETS: usize = 64;

/// Ports that a server gives: it begins at its number times this.
pub const PORTS_OF_SERVER: u16 = 4096;

/// Packets come in here.
const INSIDE: u32 = 1;
/// Packets leave here.
const OUTSIDE: u32 = 2;
/// Port of member 0 at the switch.
const FIRST_LINK: u32 = 10;
/// Port of each server.
const LINK: u32 = 1;

/// The longest delay of a link, in ticks of a microsecond.
const LONGEST_DELAY: u64 = 6;

/// A flow without packets for so long has ended.
const IDLE: Duration = Duration::from_us(400);

/// Calls that wait for so long are dropped.
const OLD: Duration = Duration::from_us(1000);

type Result<T> = std::result::Result<T, String>;

/// The printed programs of a switch and its servers, and the whole program.
pub struct Programs {
    whole: Arc<ir::Program>,
    parts: Vec<Part>,
    /// The group, at the switch.
    pub edge: GroupEdge,
    has_filters: bool,
}

/// A step at the switch that decides about the servers of flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Logged {
    /// A packet of a flow has left for a server.
    Sent(u16, Member),
    /// The group's controller has written.
    Wrote(Write<Flow>),
}

impl Programs {
    /// For so many servers; `numbered`: calls have numbers. `change` may alter the source of the switch's program.
    pub fn new(servers: u32, numbered: bool, change: &dyn Fn(String) -> String) -> Result<Programs> {
        let numbered = numbered.then_some(DeviceIndex(1)).into_iter().collect();
        Programs::of(Placement { numbered, ..placement(servers) }, change)
    }

    /// With CLIP's two Bloom filters, whose arrays have so many cells.
    pub fn filtered(servers: u32, cells: u32, change: &dyn Fn(String) -> String) -> Result<Programs> {
        let filtered = [(DeviceIndex(1), cells)].into();
        Programs::of(Placement { filtered, ..placement(servers) }, change)
    }

    fn of(placement: Placement, change: &dyn Fn(String) -> String) -> Result<Programs> {
        let mut map = SourceMap::new();
        let source = include_str!("counted.p4").replace("BUCKETS", &BUCKETS.to_string());
        let whole = compiler::reparse("counted.p4", &source, &mut map).map_err(refused)?;
        let (_, parts, texts) = compiler::make_parts(&whole, &placement, &mut map).map_err(refused)?;
        let mut parts = parts.into_iter().collect::<Option<Vec<Part>>>().ok_or("a device has no part")?;
        let text = texts.first().cloned().flatten().ok_or("the switch has no program")?;
        let changed = change(text.clone());
        if changed != text {
            parts[0].program = compiler::reparse("switch.p4", &changed, &mut map).map_err(refused)?;
        }
        let edge = parts[0].linkage.groups.first().cloned().ok_or("the switch knows no group")?;
        Ok(Programs { whole, parts, edge, has_filters: !placement.filtered.is_empty() })
    }

    fn start(&self, device: usize) -> Result<Switch> {
        let part = self.parts.get(device).ok_or("there is no such device")?;
        let mut switch = ir_interp::switch(Arc::clone(&part.program), Options::default()).map_err(refused)?;
        ir_prove::link(&mut switch, &part.linkage).map_err(|error| error.message)?;
        Ok(switch)
    }
}

/// A switch and its servers.
fn placement(servers: u32) -> Placement {
    let devices: Vec<DeviceIndex> = (1..=servers).map(DeviceIndex).collect();
    let ports = devices.iter().flat_map(|&device| {
        let tor = DeviceIndex(0);
        let there = u64::from(FIRST_LINK + device.0 - 1);
        [((tor, device), there), ((device, tor), LINK.into())]
    });
    Placement {
        devices: (0..=servers).map(|n| format!("device{n}").as_str().into()).collect(),
        ports: ports.collect(),
        sites: [("Count".into(), Site::at(devices, Policy::Group))].into(),
        ..Placement::whole("device0")
    }
}

fn refused(found: Vec<Diagnostic>) -> String {
    found.iter().map(|problem| format!("{problem:?}\n")).collect()
}

struct Server {
    front: Front,
    device: Switch,
}

enum Event {
    /// A frame reaches the server.
    Down(Member, Vec<u8>),
    /// A frame reaches the switch.
    Up(Member, Vec<u8>),
    Report(Member, Report<Flow>),
}

/// A packet that has come out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Number of the flow.
    pub flow: u16,
    /// As the sender numbered it.
    pub number: u32,
    /// As the server counted it.
    pub count: u32,
    /// The flow's port.
    pub port: u16,
}

impl Packet {
    fn frame(self) -> Vec<u8> {
        let Packet { flow, number, count, port } = self;
        let mut bytes = flow.to_be_bytes().to_vec();
        bytes.extend(number.to_be_bytes());
        bytes.extend(count.to_be_bytes());
        bytes.extend(port.to_be_bytes());
        bytes
    }

    fn read(frame: &[u8]) -> Option<Packet> {
        let number = |at: usize| Some(u32::from_be_bytes(frame.get(at..at + 4)?.try_into().ok()?));
        let short = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
        Some(Packet { flow: short(0)?, number: number(2)?, count: number(6)?, port: short(10)? })
    }
}

/// The rack.
pub struct Rack<'p> {
    programs: &'p Programs,
    switch: Switch,
    whole: Switch,
    servers: BTreeMap<Member, Server>,
    /// The group's controller.
    pub group: Group<Flow>,
    /// Source of all random numbers.
    pub rng: Rng,
    now: u64,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    last: BTreeMap<(bool, Member), u64>,
    sent: BTreeMap<u16, u32>,
    /// Flows with a packet that the switch has sent to each server.
    touched: BTreeMap<Member, BTreeSet<Flow>>,
    /// Flows that a server had to do with before it died: packets may be lost, and their state.
    pub hurt: BTreeSet<u16>,
    /// The last death of each server.
    died: BTreeMap<Member, u64>,
    /// Packets that the rack has sent, in order.
    pub received: Vec<Packet>,
    /// Packets that the unsplit program sends, in order.
    pub expected: Vec<Packet>,
    /// Links carry some calls and answers twice.
    pub doubles: bool,
    /// Calls and answers that came twice.
    pub doubled: (u64, u64),
    /// Steps of the switch, in order.
    pub log: Vec<Logged>,
    /// Frames from other servers and instructions wait for longer than calls may.
    pub waits: bool,
}

impl<'p> Rack<'p> {
    /// With these members from the start.
    pub fn new(programs: &'p Programs, members: &[Member], seed: u64) -> Result<Rack<'p>> {
        let weights: Vec<_> = members.iter().map(|member| (*member, 1)).collect();
        let limits =
            Limits { pins: 64, pins_of_bucket: 2, settle_after: us(40), patience: us(400), open: 16 };
        let whole = ir_interp::switch(Arc::clone(&programs.whole), Options::default()).map_err(refused)?;
        let group = Group::new(&weights, BUCKETS, limits);
        let group = if programs.has_filters { group.filtered(IDLE.as_ps()) } else { group };
        let mut rack = Rack {
            programs,
            switch: programs.start(0)?,
            whole,
            servers: BTreeMap::new(),
            group,
            rng: Rng::new(seed),
            now: 0,
            events: BTreeMap::new(),
            count: 0,
            last: BTreeMap::new(),
            sent: BTreeMap::new(),
            touched: BTreeMap::new(),
            hurt: BTreeSet::new(),
            died: BTreeMap::new(),
            received: vec![],
            expected: vec![],
            doubles: false,
            doubled: (0, 0),
            log: vec![],
            waits: false,
        };
        for member in members {
            rack.start(*member)?;
        }
        let rows = (0..).zip(rack.group.rows());
        let writes: Vec<_> = rows.map(|(bucket, row)| Write::Row { bucket, row }).collect();
        rack.write(&writes)?;
        rack.commands()?;
        Ok(rack)
    }

    fn start(&mut self, me: Member) -> Result<()> {
        let mut device = self.programs.start(usize::from(me.0) + 1)?;
        let first = Bits::new(16, u128::from(me.0 * PORTS_OF_SERVER));
        device.register_write("GroupIngress.next", 0, &first).map_err(|error| error.message)?;
        let limits = ServerLimits { patience: Duration::from_us(200).as_ps(), ..ServerLimits::default() };
        let settings = Settings {
            wire: self.programs.edge.wire.clone(),
            me,
            port: LINK,
            idle: IDLE,
            is_stateless: false,
            limits,
            max_age: Some(Duration::from_us(500)),
        };
        let front = Front::new(settings, &device);
        self.servers.insert(me, Server { front, device });
        Ok(())
    }

    fn time(&self) -> Time {
        Time::from_ps(us(self.now))
    }

    /// A packet of a flow comes in, at the rack and at the whole program.
    pub fn send(&mut self, flow: u16) -> Result<()> {
        let number = self.sent.entry(flow).or_default();
        *number += 1;
        let frame = Packet { flow, number: *number, count: 0, port: 0 }.frame();
        let queued = self.whole.ingress(INSIDE, frame.clone(), Time::ZERO);
        for Output { frame, .. } in self.whole.drain(queued, Time::ZERO) {
            self.expected.extend(Packet::read(&frame));
        }
        self.at_switch(INSIDE, frame)
    }

    fn at_switch(&mut self, port_in: u32, frame: Vec<u8>) -> Result<()> {
        let now = self.time();
        let queued = self.switch.ingress(port_in, frame, now);
        for Output { port, frame } in self.switch.drain(queued, now) {
            if port == OUTSIDE {
                let packet = Packet::read(&frame).ok_or("a damaged packet came out")?;
                self.received.push(packet);
                continue;
            }
            let member =
                port.checked_sub(FIRST_LINK).ok_or_else(|| format!("a frame left by port {port}"))?;
            let to = Member(member as u16);
            if let Read::Frame(Frame::Packet { flow, .. }) = self.programs.edge.wire.read(to, frame.clone()) {
                if port_in == INSIDE
                    && let Ok(flow) = flow.as_slice().try_into()
                {
                    self.log.push(Logged::Sent(u16::from_be_bytes(flow), to));
                }
                // A server that has not heard of the death asks the dead one, and the packet in the question is lost.
                if !self.servers.contains_key(&to)
                    && self.died.get(&to).is_some_and(|at| self.now <= at + 3 * LONGEST_DELAY)
                {
                    self.hurt.extend(flow.as_slice().try_into().map(u16::from_be_bytes));
                }
                self.touched.entry(to).or_default().insert(flow);
            }
            let time = self.arrival(false, to);
            if self.programs.edge.wire.call_to(&frame).is_some() && self.is_doubled() {
                self.doubled.0 += 1;
                let late = time + self.rng.below(LONGEST_DELAY);
                self.at(late, Event::Down(to, frame.clone()));
            }
            self.at(time, Event::Down(to, frame));
        }
        Ok(())
    }

    fn at_server(&mut self, at: Member, frame: Option<Vec<u8>>) {
        let now = self.time();
        let wire = &self.programs.edge.wire;
        let is_call = |frame: &Vec<u8>| {
            matches!(wire.read(at, frame.clone()), Read::Frame(Frame::Packet { hop: Hop::First { .. }, .. }))
        };
        let waited = if self.waits && !frame.as_ref().is_some_and(is_call) { OLD } else { Duration::ZERO };
        let Some(Server { front, device }) = self.servers.get_mut(&at) else { return };
        let outputs = match frame {
            Some(frame) => front.process(device, LINK, frame, waited, now),
            None => front.run_timers(device, now),
        };
        let reports = front.take_reports();
        for Output { frame, .. } in outputs {
            let time = self.arrival(true, at);
            if self.programs.edge.wire.comes_back(&frame) && self.is_doubled() {
                self.doubled.1 += 1;
                let late = time + self.rng.below(LONGEST_DELAY);
                self.at(late, Event::Up(at, frame.clone()));
            }
            self.at(time, Event::Up(at, frame));
        }
        for report in reports {
            let time = self.now + 1 + self.rng.below(LONGEST_DELAY);
            self.at(time, Event::Report(at, report));
        }
    }

    /// Links carry one call or answer in eight twice.
    fn is_doubled(&mut self) -> bool {
        self.doubles && self.rng.below(8) == 0
    }

    /// Calls that servers have dropped because they came before, and answers that the switch has dropped.
    pub fn repeated(&self) -> Result<(u64, u64)> {
        let dropped = |server: &Server| server.front.server().counters.drops.repeated;
        let answers =
            self.switch.counter_read("GroupIngress.p4rack_drops", 4).map_err(|error| error.message)?;
        Ok((self.servers.values().map(dropped).sum(), answers.packets))
    }

    fn at(&mut self, time: u64, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    fn arrival(&mut self, is_up: bool, member: Member) -> u64 {
        let time = self.now + 1 + self.rng.below(LONGEST_DELAY);
        let last = self.last.entry((is_up, member)).or_default();
        *last = time.max(*last);
        *last
    }

    /// One microsecond.
    pub fn step(&mut self) -> Result<()> {
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= self.now) {
            match entry.remove() {
                Event::Down(to, frame) => self.at_server(to, Some(frame)),
                Event::Up(from, frame) => self.at_switch(FIRST_LINK + u32::from(from.0), frame)?,
                Event::Report(from, report) => self.group.report(from, report, us(self.now)),
            }
            self.commands()?;
        }
        let now = self.time();
        let is_due = |server: &Server| server.front.deadline(&server.device).is_some_and(|at| at <= now);
        let due: Vec<Member> =
            self.servers.iter().filter(|(_, server)| is_due(server)).map(|(m, _)| *m).collect();
        for member in due {
            self.at_server(member, None);
        }
        if self.now.is_multiple_of(10) {
            self.group.poll(us(self.now));
        }
        self.commands()?;
        self.now += 1;
        Ok(())
    }

    /// Carries out what the controller wants.
    pub fn commands(&mut self) -> Result<()> {
        while let Some(command) = self.group.command() {
            match command {
                Command::Write(writes) => self.write(&writes)?,
                Command::Instruction { to, instruction } => {
                    // As an agent hands it in beside the switch.
                    for frame in self.programs.edge.wire.write(to, Frame::Instruction(instruction)) {
                        self.at_switch(FIRST_LINK, frame)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes to the switch, as the controller does.
    pub fn write(&mut self, writes: &[Write<Flow>]) -> Result<()> {
        for write in writes {
            let entry = self.programs.edge.entry(write);
            let keys: Vec<Match> = entry.keys.into_iter().map(Match::Exact).collect();
            let made = match entry.args {
                Some(args) => {
                    let modified = self.switch.table_modify(&entry.table, &keys, &entry.action, &args, None);
                    modified.or_else(|_| {
                        self.switch.table_add(&entry.table, &keys, &entry.action, &args, None).map(|_| ())
                    })
                }
                // A pin that ends may be gone already when its server dies.
                None => {
                    drop(self.switch.table_delete(&entry.table, &keys, None));
                    Ok(())
                }
            };
            made.map_err(|error| error.message)?;
            self.log.push(Logged::Wrote(write.clone()));
        }
        Ok(())
    }

    /// Where the switch sends a packet of a flow, which ends there.
    pub fn dispatched(&mut self, flow: u16) -> Result<Option<Dispatch>> {
        let frame = Packet { flow, number: 0, count: 0, port: 0 }.frame();
        let queued = self.switch.ingress(INSIDE, frame, Time::ZERO);
        let Some(Output { port, frame }) = self.switch.drain(queued, Time::ZERO).pop() else {
            return Ok(None);
        };
        let to = Member(port.checked_sub(FIRST_LINK).ok_or("it left by another port")? as u16);
        match self.programs.edge.wire.read(to, frame) {
            Read::Frame(Frame::Packet { bucket, hop: Hop::First { previous }, flow: named, .. }) => {
                let is_it = named == flow.to_be_bytes();
                is_it
                    .then_some(Some(Dispatch { to, bucket, previous }))
                    .ok_or_else(|| "another flow is named".to_string())
            }
            other => Err(format!("{other:?}")),
        }
    }

    /// A server comes.
    pub fn add(&mut self, member: Member) -> Result<()> {
        if !self.servers.contains_key(&member) {
            self.start(member)?;
        }
        let _ = self.group.add(member, 1, us(self.now));
        self.commands()
    }

    /// A server gets no new flows, and leaves after its last one.
    pub fn remove(&mut self, member: Member) -> Result<()> {
        let _ = self.group.drain(member, true, us(self.now));
        self.commands()
    }

    /// A server is gone with all that it had.
    pub fn kill(&mut self, member: Member) -> Result<()> {
        self.servers.remove(&member);
        self.died.insert(member, self.now);
        let flows = self.touched.remove(&member).unwrap_or_default();
        self.hurt.extend(
            flows.iter().filter_map(|flow| Some(u16::from_be_bytes(flow.as_slice().try_into().ok()?))),
        );
        let is_its = |event: &Event| matches!(event, Event::Down(at, _) | Event::Up(at, _) | Event::Report(at, _) if *at == member);
        self.events.retain(|_, event| !is_its(event));
        let _ = self.group.died(member, us(self.now));
        self.commands()
    }

    /// Servers that are up.
    pub fn up(&self) -> Vec<Member> {
        self.servers.keys().copied().collect()
    }

    /// Members that take new flows.
    pub fn taking(&self) -> Vec<Member> {
        let status = self.group.status();
        status.iter().filter(|(_, status)| !status.draining).map(|(member, _)| *member).collect()
    }

    /// Lets everything arrive.
    pub fn settle(&mut self) -> Result<()> {
        let end = self.now + 5000;
        while self.now < end {
            self.step()?;
        }
        Ok(())
    }

    /// Packets that took another step, and those that the fronts dropped.
    pub fn extra_hops_and_drops(&self) -> (u64, u64) {
        let counters = |server: &Server| server.front.server().counters;
        let sum = |(hops, drops), server: &Server| {
            let Counters { extra_hops, drops: dropped, .. } = counters(server);
            (hops + extra_hops, drops + dropped.sum() - dropped.refused + server.front.refused())
        };
        self.servers.values().fold((0, 0), sum)
    }
}

fn us(count: u64) -> u64 {
    Duration::from_us(count).as_ps()
}
