//! Devices joined by links that keep order, and a record of who did what.
//!
//! Everything that comes of one input frame, or of one timer, is one *transaction*, on whichever device it runs.

use crate::environment::Watch;
use base_time::{Duration, Rng, Time};
use dataplane_api::{Device, Output, Port, QueueRecord, Queued, QueuedPacket};
use device::{Observation, Source, Switch};
use ir::Name;
use ir_split::Linkage;
use std::collections::{BTreeMap, BTreeSet};

/// The number of a transaction, in the order in which they start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Transaction(pub usize);

/// What started a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A frame came in at the origin.
    Frame {
        /// By this port.
        port: Port,
        /// Its bytes.
        frame: Vec<u8>,
    },
    /// A timer ran out.
    Timer,
}

/// A transaction as it ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// What started it.
    pub cause: Cause,
    /// The origin whose packet it is, by its number.
    pub origin: usize,
    /// When.
    pub at: Time,
    /// What all that comes of it reads in egress, if that is steady.
    pub steady: Option<u64>,
    /// What left the network because of it.
    pub outputs: Vec<Output>,
    /// For each of them, how many had left before.
    pub left: Vec<usize>,
    /// Messages to the control plane because of it, in order, as text.
    pub digests: Vec<String>,
    /// What its devices read of clocks, queues and randomness.
    pub observations: Vec<Observation>,
}

/// A device's outgoing port and where its other end is.
pub type Links = BTreeMap<(usize, Port), (usize, Port)>;

/// The shortest frame of Ethernet, without its checksum: links fill up what is shorter.
const SHORTEST: usize = 60;

/// What they fill it up with: nothing that could pass for a payload of zeros.
const PADDING: u8 = 0xee;

/// Marks the port of a frame that left by another device than the one it came to: no whole program sends there.
const ASTRAY: Port = 1 << 31;

/// What waits for its time.
enum Event {
    Arrive { device: usize, port: Port, frame: Vec<u8> },
    Resume { device: usize, packet: QueuedPacket },
}

/// A network of devices.
pub struct Network {
    /// In the order of the placement; `None` has no part.
    pub devices: Vec<Option<Switch>>,
    links: Links,
    origins: Vec<usize>,
    watch: Watch,
    /// Ordered by time, then by when it was scheduled.
    events: BTreeMap<(Time, u64), (Transaction, Event)>,
    scheduled: u64,
    /// Queues are as deep as this says.
    depths: Rng,
    /// Delays up to this, drawn for each hop; no delay at all without.
    jitter: Option<(Duration, Rng)>,
    /// The last arrival at each end, and the last recirculation of each device: order is kept.
    last: BTreeMap<(usize, Option<Port>), Time>,
    records: Vec<Record>,
    /// Frames that went from one device to another.
    pub hops: usize,
    /// Frames that left.
    left: usize,
    /// The origin's.
    linkage: Linkage,
    /// Objects whose order of use does not show.
    unordered: BTreeSet<Name>,
    /// For each state object whose order of use shows, the transactions that touched it, in order.
    pub accesses: BTreeMap<Name, Vec<Transaction>>,
}

impl Network {
    /// A network at rest. `watch` is the environment that the devices were given, `linkage` the origins'.
    pub fn new(
        devices: Vec<Option<Switch>>,
        links: Links,
        origins: Vec<usize>,
        watch: Watch,
        linkage: Linkage,
    ) -> Network {
        Network {
            devices,
            links,
            origins,
            watch,
            events: BTreeMap::new(),
            scheduled: 0,
            depths: Rng::new(0).split("depths"),
            jitter: None,
            last: BTreeMap::new(),
            records: vec![],
            hops: 0,
            left: 0,
            linkage,
            unordered: BTreeSet::new(),
            accesses: BTreeMap::new(),
        }
    }

    /// These objects may be used in any order.
    pub fn with_unordered(mut self, objects: BTreeSet<Name>) -> Network {
        self.unordered = objects;
        self
    }

    /// Delays every hop and every recirculation by up to `most`, drawn from `rng`.
    pub fn with_jitter(mut self, most: Duration, rng: Rng) -> Network {
        self.jitter = Some((most, rng));
        self
    }

    /// A frame comes in at an origin; it starts to run when time comes to `at`. What all that comes of it finds in egress is
    /// the same for one port if it is `steady`.
    pub fn inject(&mut self, origin: usize, port: Port, frame: &[u8], at: Time, steady: bool) {
        let transaction = self.begin(Cause::Frame { port, frame: frame.to_vec() }, origin, at);
        self.records[transaction.0].steady = steady.then(|| at.as_us());
        let device = self.origins.get(origin).copied().unwrap_or(0);
        self.schedule(at, transaction, Event::Arrive { device, port, frame: frame.to_vec() });
    }

    fn begin(&mut self, cause: Cause, origin: usize, at: Time) -> Transaction {
        let (outputs, left, digests, observations) = (vec![], vec![], vec![], vec![]);
        self.records.push(Record { cause, origin, at, steady: None, outputs, left, digests, observations });
        Transaction(self.records.len() - 1)
    }

    fn schedule(&mut self, at: Time, transaction: Transaction, event: Event) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), (transaction, event));
    }

    /// Runs all events and timers that are due at `until` or before. Gives up after `limit` of them.
    pub fn run_until(&mut self, until: Time, limit: usize) -> Result<(), StillBusy> {
        for _ in 0..limit {
            let event = self.events.first_key_value().map(|((at, _), _)| *at);
            let timer = self.next_timer();
            match (event, timer) {
                (event, Some((at, device))) if at <= until && event.is_none_or(|e| at <= e) => {
                    self.tick(device, at);
                }
                (Some(at), _) if at <= until => {
                    let Some(((at, _), (transaction, event))) = self.events.pop_first() else {
                        return Ok(());
                    };
                    self.handle(at, transaction, event);
                }
                _ => return Ok(()),
            }
        }
        Err(StillBusy)
    }

    /// Runs until nothing waits any more.
    pub fn settle(&mut self, limit: usize) -> Result<(), StillBusy> {
        self.run_until(Time::MAX, limit)
    }

    /// When the first packet under way arrives.
    pub fn next_event(&self) -> Option<Time> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    fn next_timer(&self) -> Option<(Time, usize)> {
        let timers = self.devices.iter().enumerate().filter_map(|(i, d)| Some((d.as_ref()?.deadline()?, i)));
        timers.min()
    }

    fn tick(&mut self, device: usize, at: Time) {
        let origin = self.origins.iter().position(|origin| *origin == device).unwrap_or(0);
        let transaction = self.begin(Cause::Timer, origin, at);
        self.watch.set_steady(None);
        let Some(switch) = self.devices[device].as_mut() else { return };
        let queued = switch.tick(at);
        self.forward(device, queued, at, transaction, false);
    }

    fn handle(&mut self, at: Time, transaction: Transaction, event: Event) {
        self.watch.set_steady(self.records[transaction.0].steady);
        let (device, queued, amid_egress) = match event {
            Event::Arrive { device, port, frame } => {
                let Some(switch) = self.devices[device].as_mut() else { return };
                let is_handed_over = self.links.contains_key(&(device, port));
                let amid_egress = is_handed_over && self.linkage.is_amid_egress(&frame);
                (device, switch.ingress(port, frame, at), amid_egress)
            }
            Event::Resume { device, packet } => {
                let Some(switch) = self.devices[device].as_mut() else { return };
                (device, switch.resume(packet, at), false)
            }
        };
        self.forward(device, queued, at, transaction, amid_egress);
    }

    /// Takes packets through egress, and what leaves over the links. Packets that go on `amid_egress` have been in the
    /// program's queue before.
    fn forward(
        &mut self,
        device: usize,
        queued: Vec<Queued>,
        at: Time,
        transaction: Transaction,
        amid_egress: bool,
    ) {
        self.records[transaction.0].observations.extend(self.watch.take());
        let queued = queued.into_iter().map(|packet| (packet, amid_egress));
        let mut waiting: std::collections::VecDeque<_> = queued.collect();
        while let Some((packet, amid_egress)) = waiting.pop_front() {
            let Some(switch) = self.devices[device].as_mut() else { return };
            let record = QueueRecord {
                enqueued: at,
                depth_at_enqueue: self.depths.index(64) as u32,
                depth_at_dequeue: self.depths.index(64) as u32,
            };
            self.watch.queued_for(packet.replica.port);
            let result = switch.egress(packet, record, at);
            let leaves_by_link =
                result.output.as_ref().is_some_and(|o| self.links.contains_key(&(device, o.port)));
            let seen = self.watch.take();
            let is_ours = leaves_by_link || amid_egress;
            let of_program = seen.into_iter().filter(|o| !is_ours || !is_read_at_egress(&o.source));
            self.records[transaction.0].observations.extend(of_program);
            waiting.extend(result.requeued.into_iter().map(|packet| (packet, false)));
            for packet in result.again {
                let when = self.arrival((device, None), at);
                self.schedule(when, transaction, Event::Resume { device, packet });
            }
            if let Some(output) = result.output {
                self.leave(device, output, at, transaction);
            }
        }
        self.note(device, transaction);
    }

    fn leave(&mut self, device: usize, output: Output, at: Time, transaction: Transaction) {
        match self.links.get(&(device, output.port)).copied() {
            Some((to, port)) => {
                let when = self.arrival((to, Some(port)), at);
                let mut frame = output.frame;
                self.hops += 1;
                frame.resize(frame.len().max(SHORTEST), PADDING);
                self.schedule(when, transaction, Event::Arrive { device: to, port, frame });
            }
            None => {
                let record = &mut self.records[transaction.0];
                let is_home = self.origins.get(record.origin) == Some(&device);
                let port = if is_home { output.port } else { output.port | ASTRAY };
                record.outputs.push(Output { port, ..output });
                record.left.push(self.left);
                self.left += 1;
            }
        }
    }

    /// When something that leaves now arrives: never before what left before it.
    fn arrival(&mut self, end: (usize, Option<Port>), now: Time) -> Time {
        let Some((most, rng)) = &mut self.jitter else { return now };
        let delay = Duration::from_ps(rng.between(1, most.as_ps().max(1)));
        let last = self.last.entry(end).or_insert(Time::ZERO);
        *last = (now + delay).max(*last);
        *last
    }

    /// Notes what a device has touched in this call.
    fn note(&mut self, device: usize, transaction: Transaction) {
        let Some(switch) = self.devices[device].as_mut() else { return };
        let accesses = switch.take_accesses();
        self.records[transaction.0].digests.extend(switch.take_digests().iter().map(|d| format!("{d:?}")));
        for access in accesses {
            if self.unordered.contains(&access.object) || self.is_runtime(&access.object) {
                continue;
            }
            // Each origin has its own.
            let object = match self.origins.iter().skip(1).any(|origin| *origin == device) {
                true => format!("{}@{device}", access.object).into(),
                false => access.object,
            };
            let users = self.accesses.entry(object).or_default();
            if users.last() != Some(&transaction) {
                users.push(transaction);
            }
        }
    }

    /// True for the objects that the splitter adds.
    fn is_runtime(&self, name: &str) -> bool {
        let last = name.rsplit('.').next().and_then(|last| last.strip_prefix(&self.linkage.prefix));
        !self.linkage.prefix.is_empty() && last.is_some_and(|rest| rest.starts_with('_'))
    }

    /// Packets of one flow are to leave in the order in which they came.
    pub fn keeps_order(&self) -> bool {
        self.linkage.keeps_order
    }

    /// What ran since the last time.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// The state of the program's objects, all devices together. What several devices count adds up; any other object
    /// that two devices have is the origins', or an error of the split: the second one is named `object@device`.
    pub fn state(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (index, switch) in self.devices.iter().enumerate() {
            let Some(switch) = switch else { continue };
            for (name, value) in switch.state() {
                if self.is_runtime(&name) {
                    continue;
                }
                if let (true, Some(sum)) = (self.unordered.contains(name.as_str()), all.get_mut(&name)) {
                    *sum = device::add_counts(sum, &value);
                    continue;
                }
                let key = if all.contains_key(&name) { format!("{name}@{index}") } else { name };
                all.insert(key, value);
            }
        }
        all
    }
}

/// What a device reads when egress starts. On a pass that only hands a packet over it is not the program's.
fn is_read_at_egress(source: &Source) -> bool {
    use Source::{DequeueDepth, DequeueTimedelta, EgressTimestamp, EnqueueDepth, EnqueueTimestamp};
    matches!(source, EgressTimestamp | EnqueueTimestamp | EnqueueDepth | DequeueTimedelta | DequeueDepth)
}

/// The network did not come to rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StillBusy;
