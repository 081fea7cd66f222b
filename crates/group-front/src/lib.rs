//! A member of a server group in front of its device.
//!
//! ```text
//!          ┌──────────────── front ────────────────┐
//! switch ──> a frame of the group ──> Server ──────┼──> handled here: the device runs the packet
//!        <─────── sent to another member <─────────┤
//!          ├─ any other frame ─────────────────────┼──> the device
//!        <──────────────────────────────────────── ┼─── what the device sends
//!          └── reports for the controller          │
//! ```
//!
//! The device knows nothing of groups. A frame that is held counts as absorbed, and as created when it goes on.

mod meter;
mod numbers;

pub use meter::Meter;

use numbers::Numbers;

use base_time::{Duration, Time};
use dataplane_api::{Counters, Device, DropReason, EgressResult, Output, Port, QueueRecord, Queued, Replica};
use server_groups::server::Limits;
use server_groups::wire::{Flow, Read, Wire};
use server_groups::{Effect, Frame, Hop, Instruction, Member, Report, Server};
use std::collections::VecDeque;

/// How a member is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Frames of the group.
    pub wire: Wire,
    /// Number of this server in the group.
    pub me: Member,
    /// The port that leads to the switch.
    pub port: Port,
    /// A flow without packets for so long has ended.
    pub idle: Duration,
    /// The device keeps nothing of a flow: all packets are handled, and no flow is remembered.
    pub is_stateless: bool,
    /// Bounds; its patience is in picoseconds.
    pub limits: Limits,
    /// Calls of the switch that have waited for longer before the device are dropped.
    pub max_age: Option<Duration>,
}

/// A frame that leaves as it is.
struct Raw(Vec<u8>);

/// A member. Everything that reaches its device passes here.
pub struct Front {
    settings: Settings,
    server: Server<Flow, Vec<u8>>,
    reports: Vec<Report<Flow>>,
    /// Packets that went to the device: it counts them as received once more.
    handled: u64,
    /// Frames of the group.
    own: Counters,
    /// All counters, the device's included.
    all: Counters,
    /// When questions are asked again.
    patience_ends: Option<Time>,
    /// When flows without packets are looked for.
    next_look: Option<Time>,
    /// Frames that were for other members, or damaged.
    refused: u64,
    /// Numbers of the calls that were handled, if calls have numbers.
    handled_calls: Numbers,
    /// The device has forgotten all flows and leases that it knew of.
    has_begun: bool,
}

impl Front {
    /// A member that knows no other one and no flow.
    pub fn new(settings: Settings, device: &dyn Device) -> Front {
        Front {
            server: Server::new(settings.me, settings.limits),
            settings,
            reports: vec![],
            handled: 0,
            own: Counters::default(),
            all: device.counters().clone(),
            patience_ends: None,
            next_look: None,
            refused: 0,
            handled_calls: Numbers::default(),
            has_begun: false,
        }
    }

    /// A frame arrives that has waited for so long: see [`Device::ingress_after`].
    pub fn ingress(
        &mut self,
        device: &mut dyn Device,
        port: Port,
        frame: Vec<u8>,
        waited: Duration,
        now: Time,
    ) -> Vec<Queued> {
        if !std::mem::replace(&mut self.has_begun, true) {
            device.lease(None);
        }
        let is_late = self.settings.max_age.is_some_and(|most| waited > most);
        let read = match port == self.settings.port {
            true => self.settings.wire.read(self.settings.me, frame),
            false => Read::Other(frame),
        };
        let queued = match read {
            Read::Other(frame) => device.ingress(port, frame, now),
            Read::Wrong => {
                self.refused += 1;
                self.own.received += 1;
                self.balance(1, 0);
                vec![]
            }
            // Frames between servers are few, and others wait for them.
            Read::Leased(_) | Read::Frame(Frame::Packet { hop: Hop::First { .. }, .. }) if is_late => {
                self.own.received += 1;
                self.server.counters.drops.late += 1;
                self.balance(1, 0);
                vec![]
            }
            Read::Leased(packet) => {
                self.own.received += 1;
                self.server.counters.handled += 1;
                self.carry_out(device, vec![Effect::Handle { flow: vec![], packet }], 1, now)
            }
            Read::Frame(Frame::Packet { flow, packet, hop: Hop::First { .. }, .. })
                if self.settings.is_stateless =>
            {
                self.own.received += 1;
                self.server.counters.handled += 1;
                self.carry_out(device, vec![Effect::Handle { flow, packet }], 1, now)
            }
            Read::Frame(Frame::Instruction(Instruction::Lease { version, blocks })) => {
                let leased = device.lease(Some(&blocks));
                let (busy, usable) = (leased.busy, leased.usable);
                self.reports.push(Report::Leased { version, busy, usable });
                self.own.received += 1;
                self.balance(1, 0);
                vec![]
            }
            Read::Frame(frame) => {
                self.own.received += 1;
                let mut effects = vec![];
                self.server.receive(frame, now.as_ps(), &mut effects);
                self.carry_out(device, effects, 1, now)
            }
        };
        self.count(device);
        queued
    }

    /// A packet leaves its queue: see [`Device::egress`].
    pub fn egress(
        &mut self,
        device: &mut dyn Device,
        packet: Queued,
        queue: QueueRecord,
        now: Time,
    ) -> EgressResult {
        let Queued { replica, bytes, packet } = packet;
        let result = match packet.downcast::<Raw>() {
            Ok(raw) => {
                self.own.sent += 1;
                let output = Some(Output { port: replica.port, frame: raw.0 });
                EgressResult { output, ..EgressResult::default() }
            }
            Err(packet) => device.egress(Queued { replica, bytes, packet }, queue, now),
        };
        self.count(device);
        result
    }

    /// Runs a frame that has waited for so long, and all that comes of it, to the end; the frames that leave.
    pub fn process(
        &mut self,
        device: &mut dyn Device,
        port: Port,
        frame: Vec<u8>,
        waited: Duration,
        now: Time,
    ) -> Vec<Output> {
        let queued = self.ingress(device, port, frame, waited, now);
        self.drain(device, queued, now)
    }

    /// Runs what is due to the end: see [`Front::tick`].
    pub fn run_timers(&mut self, device: &mut dyn Device, now: Time) -> Vec<Output> {
        let queued = self.tick(device, now);
        self.drain(device, queued, now)
    }

    fn drain(&mut self, device: &mut dyn Device, queued: Vec<Queued>, now: Time) -> Vec<Output> {
        let (mut waiting, mut left) = (VecDeque::from(queued), vec![]);
        let record = QueueRecord { enqueued: now, ..QueueRecord::default() };
        while let Some(packet) = waiting.pop_front() {
            let result = self.egress(device, packet, record, now);
            left.extend(result.output);
            waiting.extend(result.requeued);
            for packet in result.again {
                waiting.extend(device.resume(packet, now));
                self.count(device);
            }
        }
        left
    }

    /// When [`Front::tick`] is due, the device's timers included.
    pub fn deadline(&self, device: &dyn Device) -> Option<Time> {
        [self.patience_ends, self.next_look, device.deadline()].into_iter().flatten().min()
    }

    /// Time has passed: see [`Device::tick`].
    pub fn tick(&mut self, device: &mut dyn Device, now: Time) -> Vec<Queued> {
        let mut effects = vec![];
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        if is_due(self.patience_ends) {
            self.patience_ends = None;
            self.server.tick(now.as_ps(), &mut effects);
        }
        if is_due(self.next_look) {
            self.next_look = None;
            let before = now.as_ps().saturating_sub(self.settings.idle.as_ps());
            self.server.end_unused(before, &mut effects);
        }
        let mut queued = self.carry_out(device, effects, 0, now);
        if device.deadline().is_some_and(|at| at <= now) {
            queued.extend(device.tick(now));
        }
        self.count(device);
        queued
    }

    /// Reports for the controller since the last call.
    pub fn take_reports(&mut self) -> Vec<Report<Flow>> {
        std::mem::take(&mut self.reports)
    }

    /// True if [`Front::take_reports`] has something to give.
    pub fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Counters of the device and of the group's frames: see [`Device::counters`].
    pub fn counters(&self) -> &Counters {
        &self.all
    }

    /// State and counters of this server.
    pub fn server(&self) -> &Server<Flow, Vec<u8>> {
        &self.server
    }

    /// The settings that it began with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Frames that were for other members, or damaged.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The device has changed by other calls than those of the front.
    pub fn count(&mut self, device: &dyn Device) {
        let inner = device.counters();
        self.all.received = (inner.received + self.own.received).saturating_sub(self.handled);
        self.all.sent = inner.sent + self.own.sent;
        self.all.created = inner.created + self.own.created;
        self.all.dropped.clone_from(&inner.dropped);
        if let Some(own) = self.own.dropped.get(&DropReason::Absorbed) {
            *self.all.dropped.entry(DropReason::Absorbed).or_default() += own;
        }
    }

    fn carry_out(
        &mut self,
        device: &mut dyn Device,
        effects: Vec<Effect<Flow, Vec<u8>>>,
        came: u64,
        now: Time,
    ) -> Vec<Queued> {
        let (mut queued, mut went) = (vec![], 0);
        for effect in effects {
            match effect {
                Effect::Handle { packet, .. } if !self.is_new(&packet) => {
                    self.server.counters.handled -= 1;
                    self.server.counters.drops.repeated += 1;
                }
                Effect::Handle { packet, .. } => {
                    went += 1;
                    self.handled += 1;
                    queued.extend(device.ingress(self.settings.port, packet, now));
                }
                Effect::Send { to, frame } => {
                    for frame in self.settings.wire.write(to, frame) {
                        went += 1;
                        let replica = Replica { port: self.settings.port, priority: 0 };
                        let bytes = frame.len() as u32;
                        queued.push(Queued { replica, bytes, packet: Box::new(Raw(frame)) });
                    }
                }
                Effect::Report(report) => self.reports.push(report),
            }
        }
        self.balance(came, went);
        let Settings { limits, idle, .. } = &self.settings;
        if self.server.waiting() > 0 {
            let patience = Duration::from_ps(limits.patience.saturating_add(1));
            self.patience_ends.get_or_insert(now + patience);
        }
        if self.server.owned().next().is_some() {
            let part = Duration::from_ps((idle.as_ps() / 4).max(1));
            self.next_look.get_or_insert(now + part);
        }
        queued
    }

    /// False of a call that was handled before.
    fn is_new(&mut self, packet: &[u8]) -> bool {
        self.settings.wire.call_number(packet).is_none_or(|number| self.handled_calls.put(number))
    }

    fn balance(&mut self, came: u64, went: u64) {
        self.own.created += went.saturating_sub(came);
        let kept = came.saturating_sub(went);
        if kept > 0 {
            *self.own.dropped.entry(DropReason::Absorbed).or_default() += kept;
        }
    }
}
