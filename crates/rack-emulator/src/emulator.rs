//! The rack and its virtual time: built, driven, asked.

use crate::circle::Circles;
use crate::event::Event;
use crate::fault::FaultState;
use crate::host::{HostNode, Received};
use crate::log::{Entry, Log, LogHash};
use crate::names::Names;
use crate::pcap::Pcap;
use crate::place::Reason;
use crate::running::{Ends, Running};
use crate::violation::Violation;
use crate::watch::Watched;
use base_time::{Duration, Time};
use dataplane_api::Device;
use device_network::{Drive, Network, Owner, Place, Spent};
use host_programs::{Captures, Effects};
use rack_model::{DeviceId, HostId, LinkId, Rack};
use std::collections::BTreeMap;
use std::fmt;

/// A device's implementation.
pub struct RackDevice {
    /// The device's name in the rack.
    pub name: String,
    /// Engine, for the report: `interp`, `native`.
    pub engine: String,
    /// The device.
    pub device: Box<dyn Device>,
    /// Reports of the frame externs about the time that calls take.
    pub spent: Spent,
}

/// The rack and the devices that were given do not go together: a mistake of the caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuildError(pub String);

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// Nothing is left to happen.
    Drained,
    /// The limit of time was reached.
    TimeLimit,
}

/// Every packet of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize)]
pub struct PacketBalance {
    /// Made by hosts and devices.
    pub created: u64,
    /// Taken by hosts.
    pub delivered: u64,
    /// Counted as dropped somewhere.
    pub dropped: u64,
    /// In a queue, in a device, on a link.
    pub in_flight: u64,
}

/// A rack in virtual time.
///
/// **Invariant**: deterministic. The same rack, devices and calls give the same events, byte for byte, on every
/// machine. **Invariant**: packets are conserved; see [`Violation`].
pub struct Emulator {
    pub(crate) rack: Rack,
    /// Devices and links, in the rack's order; hosts are its ends.
    pub(crate) network: Network<Event>,
    /// Engine of each device.
    pub(crate) engines: Vec<String>,
    pub(crate) hosts: Vec<HostNode>,
    /// One for each pair of each workload.
    pub(crate) pairs: Vec<Ends>,
    /// One for each workload.
    pub(crate) programs: Vec<Running>,
    /// The same.
    pub(crate) watched: Vec<Watched>,
    /// Programs with packets to send or in flight.
    pub(crate) active: u64,
    /// Since when there are none.
    pub(crate) inactive_since: Time,
    /// Effects of programs; empty between events.
    pub(crate) effects: Effects,
    /// One for each fault of the rack.
    pub(crate) faults: Vec<FaultState>,
    /// Frames handed in from outside that have not left yet.
    pub(crate) injections: Vec<Option<(u32, Vec<u8>)>>,
    /// Places in it that are free.
    pub(crate) free_injections: Vec<u32>,
    /// Drops by others than programs.
    pub(crate) drops: BTreeMap<(Place, Reason), u64>,
    /// Drops of packets of workloads, by programs too.
    pub(crate) owned_drops: BTreeMap<(Owner, Place, Reason), u64>,
    pub(crate) log: Log,
    /// For each link that is recorded.
    pub(crate) recordings: Vec<Option<Pcap>>,
    /// Devices that are up again, since somebody asked.
    pub(crate) restarted: Vec<DeviceId>,
    /// Events outside of the data plane, with their times.
    pub(crate) notes: Vec<(Time, String)>,
    /// State of the loop detection.
    pub(crate) circles: Circles,
    pub(crate) stopped: Option<Violation>,
}

/// Time after the last packet of the workloads at which a run ends at the latest, if the rack sets none.
const GRACE: Duration = Duration::from_s(1);

impl Emulator {
    /// A rack at time 0. There must be one device for each that the rack names, and each host must have one link.
    pub fn new(rack: &Rack, devices: Vec<RackDevice>) -> Result<Emulator, BuildError> {
        Emulator::with_captures(rack, devices, Captures::new())
    }

    /// The same with the captures of its workloads, by the paths that the rack names.
    pub fn with_captures(
        rack: &Rack,
        devices: Vec<RackDevice>,
        captures: Captures,
    ) -> Result<Emulator, BuildError> {
        crate::build::build(rack, devices, captures)
    }

    /// Virtual time.
    pub fn now(&self) -> Time {
        self.network.now
    }

    /// Lets the next event happen, and gives its time; none if nothing is left to happen.
    pub fn step(&mut self) -> Result<Option<Time>, Violation> {
        self.go_on()?;
        Ok(self.happens(Time::MAX)?.then_some(self.network.now))
    }

    /// Lets the next events up to and at `time` happen, as far as the [`limit`](Self::limit): at most `most`, and none after one
    /// by which a device is up again. How many.
    pub fn run_events(&mut self, time: Time, most: u64) -> Result<u64, Violation> {
        self.go_on()?;
        let mut events = 0;
        while events < most && self.happens(self.limit().min(time))? {
            events += 1;
            if self.has_restarted() {
                break;
            }
        }
        Ok(events)
    }

    /// An error if the run has stopped.
    fn go_on(&self) -> Result<(), Violation> {
        self.stopped.clone().map_or(Ok(()), Err)
    }

    /// Lets the next event up to and at `time` happen; false if there is none.
    #[inline(always)]
    fn happens(&mut self, time: Time) -> Result<bool, Violation> {
        self.next_event(time).map_err(|violation| self.stop(*violation))
    }

    fn stop(&mut self, violation: device_network::Violation) -> Violation {
        let violation = self.named(violation);
        self.stopped = Some(violation.clone());
        violation
    }

    /// The same, with the rack's name of the place.
    pub(crate) fn named(&self, violation: device_network::Violation) -> Violation {
        let device_network::Violation { at, place, message } = violation;
        Violation { at, place: self.names().place(place), message }
    }

    /// Lets everything up to and at `time` happen; then it is `time`.
    pub fn run_until(&mut self, time: Time) -> Result<(), Violation> {
        self.go_on()?;
        while self.happens(time)? {}
        self.network.now = self.network.now.max(time);
        self.network.check_all().map_err(|violation| self.stop(*violation))
    }

    /// When the run ends at the latest: at the rack's `until`; without that, a second after the workloads have sent
    /// their last packet, or sooner if frames go round without end. [`Time::MAX`] while they send.
    pub fn limit(&self) -> Time {
        match self.rack.until {
            Some(until) => until,
            None if self.active > 0 => Time::MAX,
            None => {
                let since = self.inactive_since;
                self.limit_of_loops(since).unwrap_or(Time::MAX).min(since + GRACE)
            }
        }
    }

    /// True if the rack says when the run ends.
    pub fn ends_at_a_time(&self) -> bool {
        self.rack.until.is_some()
    }

    /// Runs until nothing is left to happen or the [`limit`](Self::limit) is reached.
    pub fn run(&mut self) -> Result<RunEnd, Violation> {
        while self.run_events(Time::MAX, u64::MAX)? > 0 {}
        self.finish()
    }

    /// Final checks of [`run`](Self::run), for callers that step.
    pub fn finish(&mut self) -> Result<RunEnd, Violation> {
        let limit = self.limit();
        self.network.check_all().map_err(|violation| self.stop(*violation))?;
        if self.network.next_time().is_none() {
            return Ok(RunEnd::Drained);
        }
        self.network.now = self.network.now.max(limit);
        Ok(RunEnd::TimeLimit)
    }

    /// Time of the next event; `None` if no event is left.
    pub fn next_time(&self) -> Option<Time> {
        self.network.next_time()
    }

    /// All packets of the run so far.
    pub fn balance(&self) -> PacketBalance {
        let device_network::PacketBalance { created, delivered, dropped, in_flight } = self.network.balance();
        PacketBalance { created, delivered, dropped, in_flight }
    }

    /// A host sends `frame` at `at`, or now if that has passed. False, and nothing happens, for a host of another
    /// rack.
    pub fn send(&mut self, host: HostId, frame: Vec<u8>, at: Time) -> bool {
        let exists = (host.0 as usize) < self.hosts.len();
        if exists {
            let slot = self.free_injections.pop().unwrap_or_else(|| {
                self.injections.push(None);
                self.injections.len() as u32 - 1
            });
            self.injections[slot as usize] = Some((host.0, frame));
            self.network.schedule(at, Event::Inject(slot));
        }
        exists
    }

    /// From now on a host keeps all frames for [`take_received`](Self::take_received), and looks into none.
    pub fn listen(&mut self, host: HostId) {
        if let Some(node) = self.hosts.get_mut(host.0 as usize) {
            node.listener.get_or_insert_default();
        }
    }

    /// Frames that a listening host has received since the last call.
    pub fn take_received(&mut self, host: HostId) -> Vec<Received> {
        let node = self.hosts.get_mut(host.0 as usize);
        node.and_then(|n| n.listener.as_mut()).map(std::mem::take).unwrap_or_default()
    }

    /// From now on each frame on a link is delayed by up to `jitter` more, by the seed; frames keep their order.
    pub fn set_jitter(&mut self, link: LinkId, jitter: Duration) {
        for wire in self.network.wires.iter_mut().filter(|w| w.link == link.0) {
            wire.medium.set_jitter(jitter);
        }
    }

    /// From now on the text of the log is kept for [`take_log`](Self::take_log), or not.
    pub fn keep_log(&mut self, keep: bool) {
        self.log.keep_text(keep);
    }

    /// The text of the log since the last call: one event a line.
    pub fn take_log(&mut self) -> String {
        self.log.take_text()
    }

    /// The hash of all events so far.
    pub fn log_hash(&self) -> LogHash {
        self.log.hash()
    }

    /// From now on the frames that arrive at either end of a link are recorded.
    pub fn record(&mut self, link: LinkId) {
        if let Some(recording) = self.recordings.get_mut(link.0 as usize) {
            recording.get_or_insert_default();
        }
    }

    /// The recording of a link since the last call, in the format of pcap files; none if it is not recorded.
    pub fn take_recording(&mut self, link: LinkId) -> Option<Vec<u8>> {
        let recording = self.recordings.get_mut(link.0 as usize)?;
        Some(recording.as_mut()?.take())
    }

    /// Frames on a link now, in both directions.
    pub fn on_link(&self, link: LinkId) -> u64 {
        self.network.wires.iter().filter(|wire| wire.link == link.0).map(|wire| wire.flying()).sum()
    }

    /// A device.
    pub fn device(&self, id: DeviceId) -> Option<&dyn Device> {
        self.network.device(id.0)
    }

    /// The latencies of a workload of [`RunReport::workloads`](crate::RunReport::workloads), the least first, to one in
    /// 128, and how often each occurred.
    pub fn latencies(&self, workload: usize) -> Vec<(Duration, u64)> {
        let running = self.programs.get(workload);
        running.map(|running| running.tally.latencies.counts().collect()).unwrap_or_default()
    }

    /// The rack that runs.
    pub fn rack(&self) -> &Rack {
        &self.rack
    }

    /// In line: an entry that is made here is not worth to be written to memory and read again.
    #[inline(always)]
    pub(crate) fn log(&mut self, entry: Entry) {
        self.log.add(self.network.now, entry);
        if self.log.keeps_text() {
            self.log_line(entry);
        }
    }

    #[cold]
    fn log_line(&mut self, entry: Entry) {
        let line = self.names().line(entry);
        self.log.add_line(self.network.now, &line);
    }

    pub(crate) fn names(&self) -> Names<'_> {
        let Emulator { rack, network, programs, notes, .. } = self;
        Names { rack, network, programs, notes }
    }

    /// Counts a drop that is not the program's.
    pub(crate) fn drop_at(&mut self, place: Place, reason: Reason, owner: Owner) {
        *self.drops.entry((place, reason)).or_default() += 1;
        self.own_drop(place, reason, owner);
        self.log(Entry::Dropped { place, reason });
    }

    /// The same for a drop that the program's counters have.
    pub(crate) fn drop_by_program(&mut self, place: Place, reason: device_network::Reason, owner: Owner) {
        let reason = Reason::Network(reason);
        self.own_drop(place, reason, owner);
        self.log(Entry::Dropped { place, reason });
    }

    /// Counts the drop of a packet for the workload that it is of.
    fn own_drop(&mut self, place: Place, reason: Reason, owner: Owner) {
        if owner != Owner::NOBODY {
            *self.owned_drops.entry((owner, place, reason)).or_default() += 1;
        }
    }
}
