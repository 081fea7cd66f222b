//! The split program at run time: its devices in a network, and a record of each transaction.

use crate::environment::Watch;
use crate::record::{Cause, Map, Record, Transaction};
use crate::watched::{Shared, Watched, open};
use base_time::{Duration, Probability, Rng, Time};
use dataplane_api::{Device as _, Output, Port};
use device::Switch;
use device_network::{
    DeviceNode, DeviceSettings, Drive, Link, Network, Node, Outcome, Owner, Place, Plug, Reason, Spent,
    Steer, WireSettings, World,
};
use ir::Name;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Padding of short frames on links: unlike a payload of zeros.
const PADDING: u8 = 0xee;

/// Marks the port of a frame that left by another device than the one it came to: no whole program sends there.
const ASTRAY: Port = 1 << 31;

/// Delays and losses of hand-overs.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Maximum random time of hops and recirculations. Order is kept on each link, and by recirculated packets of each
    /// device.
    pub delay: Duration,
    /// Probability that a link loses a frame.
    pub loss: Probability,
    /// Root of the random generators.
    pub chance: Rng,
}

impl Conditions {
    /// All consequences of a frame happen at one time, and nothing is lost.
    pub fn ideal() -> Conditions {
        Conditions { delay: Duration::ZERO, loss: Probability::ZERO, chance: Rng::new(0) }
    }
}

/// The split program on its devices, in virtual time.
pub struct SplitRun {
    network: Network<Transaction>,
    map: Arc<Map>,
    journal: Shared,
    /// Frames that went from one device to another.
    hops: usize,
    /// Frames that left.
    left: usize,
    /// Frames that links have lost.
    lost: usize,
    watch: Watch,
    /// State of spares at the beginning.
    begun: BTreeMap<(usize, String), Vec<u8>>,
}

/// The network did not come to rest, or is broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unsettled {
    /// After as many events as were given.
    StillBusy,
    /// Packets are not conserved: an internal error.
    Violation(String),
}

/// Links by the ports that they join.
pub(crate) type Joined = BTreeMap<(usize, Port), (usize, Port)>;

impl SplitRun {
    /// At rest. `watch` is the environment that the switches were given; devices without a part have none. `pads`: links pad short
    /// frames.
    pub(crate) fn new(
        switches: Vec<Option<Switch>>,
        joined: &Joined,
        map: Map,
        watch: Watch,
        conditions: &Conditions,
        pads: bool,
    ) -> Result<SplitRun, device_network::BuildError> {
        let map = Arc::new(Map { links: joined.keys().copied().collect(), ..map });
        let spares = switches.iter().enumerate().filter(|(index, _)| map.spares.contains(index));
        let begun = spares.flat_map(|(index, switch)| {
            let state = switch.iter().flat_map(Switch::state);
            state.map(move |(name, value)| ((index, name), value))
        });
        let begun = begun.collect();
        let journal = Shared::default();
        let settings = DeviceSettings { recirculation: conditions.delay, ..DeviceSettings::default() };
        let device = |(index, switch): (usize, Option<Switch>)| {
            let (map, watch, journal) = (Arc::clone(&map), watch.clone(), Arc::clone(&journal));
            let device = Watched::new(switch, index, map, watch, journal);
            DeviceNode::new(Box::new(device), settings, Spent::default())
        };
        let devices = switches.into_iter().enumerate().map(device).collect();
        let once = joined.iter().filter(|(from, to)| from < to);
        let links = once.map(|(from, to)| link([*from, *to], conditions, pads));
        let network = Network::new(devices, 0, links, &conditions.chance)?;
        let mut run = SplitRun { network, map, journal, hops: 0, left: 0, lost: 0, watch, begun };
        (0..run.network.devices.len() as u32).for_each(|device| run.network.watch_timer(device));
        Ok(run)
    }

    /// A frame arrives at an origin and runs at time `at`. If `steady`, its copies read the same values in egress for
    /// one port.
    pub fn inject(&mut self, origin: usize, port: Port, frame: &[u8], at: Time, steady: bool) {
        let cause = Cause::Frame { port, frame: frame.to_vec() };
        let record = Record::new(cause, origin, at, steady.then(|| at.as_us()));
        let transaction = self.begin(record);
        self.network.schedule(at, transaction);
    }

    fn begin(&mut self, record: Record) -> Transaction {
        let records = &mut open(&self.journal).records;
        records.push(record);
        Transaction(records.len() - 1)
    }

    /// Runs all that is due at `until` or before. Gives up after `limit` events.
    pub fn run_until(&mut self, until: Time, limit: usize) -> Result<(), Unsettled> {
        for _ in 0..limit {
            if !self.step(until)? {
                return Ok(());
            }
        }
        Err(Unsettled::StillBusy)
    }

    /// Runs until nothing is left to happen.
    pub fn settle(&mut self, limit: usize) -> Result<(), Unsettled> {
        self.run_until(Time::MAX, limit)?;
        Ok(self.network.check_all()?)
    }

    /// Runs everything due at `now`, then until no packet is in flight; timers may still expire later. Returns the time
    /// then.
    pub fn rest(&mut self, now: Time, limit: usize) -> Result<Time, Unsettled> {
        self.run_until(now, limit)?;
        for _ in 0..limit {
            if self.network.balance().in_flight == 0 {
                return Ok(self.network.now.max(now));
            }
            self.step(Time::MAX)?;
        }
        Err(Unsettled::StillBusy)
    }

    /// Runs until a frame has left one device for another, or nothing is left to happen; true if one has.
    pub(crate) fn run_to_hop(&mut self, limit: usize) -> Result<bool, Unsettled> {
        let before = self.hops;
        for _ in 0..limit {
            if self.hops > before || !self.step(Time::MAX)? {
                return Ok(self.hops > before);
            }
        }
        Err(Unsettled::StillBusy)
    }

    /// All devices run other parts from now on: packets in devices and queues are lost, those on links are not.
    pub(crate) fn renew(&mut self, switches: Vec<Option<Switch>>, map: Map) -> Result<(), Unsettled> {
        self.map = Arc::new(Map { links: self.map.links.clone(), ..map });
        for (index, switch) in (0..).zip(switches) {
            let map = Arc::clone(&self.map);
            let renew = |device: &mut dyn dataplane_api::Device| {
                let device: &mut dyn Any = device;
                if let Some(watched) = device.downcast_mut::<Watched>() {
                    watched.renew(switch, map);
                }
                true
            };
            self.steer(index, renew)?;
        }
        Ok(())
    }

    /// The environment of its switches.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The current state of the last transaction.
    pub(crate) fn last_record(&self) -> Option<Record> {
        open(&self.journal).records.last().cloned()
    }

    /// Virtual time.
    pub(crate) fn now(&self) -> Time {
        self.network.now
    }

    /// True if something is yet to happen: timers that run out later.
    pub(crate) fn has_timers(&self) -> bool {
        self.network.next_time().is_some()
    }

    /// Frames that links have lost.
    pub(crate) fn lost(&self) -> usize {
        self.lost
    }

    fn step(&mut self, until: Time) -> Result<bool, Unsettled> {
        Ok(self.next_event(until)?)
    }

    /// The switch of a device with a part; the control plane writes to it.
    pub fn with_switch<R>(&mut self, device: usize, work: impl FnOnce(&mut Switch) -> R) -> Option<R> {
        let mut result = None;
        let steered = self.steer(device as u32, |device| {
            let device: &mut dyn Any = device;
            let watched = device.downcast_mut::<Watched>();
            result = watched.and_then(|watched| watched.switch.as_mut()).map(work);
            false
        });
        steered.ok().and(result)
    }

    /// Packets of one flow are to leave in the order in which they came.
    pub fn keeps_order(&self) -> bool {
        self.map.linkage.keeps_order
    }

    /// Frames that went from one device to another.
    pub fn hops(&self) -> usize {
        self.hops
    }

    /// Takes the transactions recorded since the last call.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut open(&self.journal).records)
    }

    /// For each state object whose order of use shows, the transactions that touched it, in order.
    pub fn accesses(&self) -> BTreeMap<Name, Vec<Transaction>> {
        open(&self.journal).accesses.clone()
    }

    /// The state of the program's objects, all devices together. Counts of several devices add up, registers are merged; any other object on
    /// two devices belongs to the origins, or is an error of the split: the second one is named `object@device`.
    pub fn state(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (index, node) in self.network.devices.iter().enumerate() {
            for (name, value) in node.device().state() {
                // Where nothing fails, no packet comes to a spare; and a handler on a server may keep nothing.
                let is_untouched = self.map.spares.contains(&index)
                    && (value.is_empty() || self.begun.get(&(index, name.clone())) == Some(&value));
                if self.map.is_runtime(&name) || is_untouched {
                    continue;
                }
                if let (Some(join), Some(known)) = (self.map.joined.get(name.as_str()), all.get_mut(&name)) {
                    *known = join.join(known, &value);
                    continue;
                }
                let key = if all.contains_key(&name) { format!("{name}@{index}") } else { name };
                all.insert(key, value);
            }
        }
        all
    }
}

/// A link that takes a drawn time, and no more for a long frame than for a short one: every order that the delays allow comes up.
fn link(ends: [(usize, Port); 2], conditions: &Conditions, pads: bool) -> Link {
    let plugs = ends.map(|(device, port)| Plug { node: Node::Device(device as u32), port });
    let (jitter, loss) = (conditions.delay, conditions.loss);
    let settings = WireSettings { jitter, loss, padding: pads.then_some(PADDING), ..WireSettings::default() };
    Link { plugs, settings, queue: u32::MAX }
}

impl From<Box<device_network::Violation>> for Unsettled {
    fn from(violation: Box<device_network::Violation>) -> Unsettled {
        Unsettled::Violation(format!("{:?}: {}", violation.place, violation.message))
    }
}

impl World for SplitRun {
    type Event = Transaction;

    fn network(&self) -> &Network<Transaction> {
        &self.network
    }

    fn network_mut(&mut self) -> &mut Network<Transaction> {
        &mut self.network
    }

    /// A frame comes in.
    fn happen(&mut self, Transaction(number): Transaction) -> Outcome {
        let started = |record: &Record| (record.cause.clone(), record.origin);
        let record = open(&self.journal).records.get(number).map(started);
        let Some((Cause::Frame { port, frame }, origin)) = record else { return Ok(()) };
        let device = self.map.origins[origin];
        Drive::inject(self, device as u32, port, frame, Owner(number as u32))
    }

    /// There are no ends.
    fn receive(&mut self, _: u32, _: Vec<u8>, _: Owner) -> Outcome {
        Ok(())
    }

    fn take_out(&mut self, device: u32, output: &mut Output, Owner(number): Owner) -> bool {
        let mut journal = open(&self.journal);
        if let Some(record) = journal.records.get_mut(number as usize) {
            let is_home = self.map.origins.get(record.origin) == Some(&(device as usize));
            let port = if is_home { output.port } else { output.port | ASTRAY };
            record.outputs.push(Output { port, frame: std::mem::take(&mut output.frame) });
            record.left.push(self.left);
            self.left += 1;
        }
        true
    }

    fn calls(&mut self, _: u32, Owner(number): Owner) {
        open(&self.journal).current = number as usize;
    }

    fn owner_of_timer(&mut self, device: u32) -> Owner {
        let origin = self.map.origin_at(device as usize);
        let Transaction(number) = self.begin(Record::new(Cause::Timer, origin, self.network.now, None));
        Owner(number as u32)
    }

    fn sent(&mut self, _: u32, _: &[u8]) {
        self.hops += 1;
    }

    fn dropped(&mut self, _: Place, reason: Reason, _: Owner) {
        self.lost += usize::from(reason == Reason::Loss);
    }
}
