//! A device while it runs: packets that wait, packets inside, and an audit of its counters.

use crate::place::Owner;
use crate::queue::rewind;
use base_time::{Duration, Rng, Time};
use dataplane_api::{
    Became, Counters, Departed, Device, DropReason, EgressResult, Output, Port, QueueRecord, Queued,
    QueuedPacket,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a device treats packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceSettings {
    /// Service time of a packet.
    pub service: Duration,
    /// Number of packets processed in parallel.
    pub parallel: u32,
    /// Maximum number of packets that wait for processing.
    pub backlog: u32,
    /// Maximum number of packets that wait for ports without a link, for each priority.
    pub unlinked_queue: u32,
    /// Maximum random delay of a recirculated packet. Recirculated packets keep their order.
    pub recirculation: Duration,
    /// A packet that finds the queue of its port full waits in the queue of the highest priority instead, and leaves without most of its payload
    /// (NDP, SIGCOMM'17): the receiver learns at once what was lost. Only UDP over IPv4 is cut; other packets are dropped.
    pub trims: bool,
}

impl Default for DeviceSettings {
    /// Without time and without limits.
    fn default() -> DeviceSettings {
        DeviceSettings {
            service: Duration::ZERO,
            parallel: u32::MAX,
            backlog: u32::MAX,
            unlinked_queue: u32::MAX,
            recirculation: Duration::ZERO,
            trims: false,
        }
    }
}

/// Time that a device has spent besides its service time, since it was last asked.
#[derive(Clone, Default, Debug)]
pub struct Spent(Arc<AtomicU64>);

impl Spent {
    /// Some more.
    pub fn add(&self, time: Duration) {
        self.0.fetch_add(time.as_ps(), Ordering::Relaxed);
    }

    /// All of it; from now on there is none.
    #[inline]
    pub fn take(&self) -> Duration {
        // Asked with each packet, and nearly always there is none: a read is far cheaper than an exchange.
        match self.0.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            _ => Duration::from_ps(self.0.swap(0, Ordering::Relaxed)),
        }
    }
}

/// Work at the start of ingress.
pub(crate) enum Work {
    /// A frame that was received on a port.
    Frame(Port, Vec<u8>, Owner),
    /// A recirculated packet.
    Again(QueuedPacket, Owner),
}

impl Work {
    /// Owner of the packet.
    pub fn owner(&self) -> Owner {
        let (Work::Frame(.., owner) | Work::Again(_, owner)) = self;
        *owner
    }
}

/// Port numbers below this have places of their own in a list.
const MOST_NUMBERED: usize = 1024;

/// The most frames that wait outside of a device that takes none in.
const MOST_KEPT: usize = 1 << 16;

/// A device of a network.
pub struct DeviceNode {
    device: Box<dyn Device>,
    /// True if the device may have timers, and is asked for its deadline.
    has_timers: bool,
    /// Time that calls of frame externs take.
    spent: Spent,
    settings: DeviceSettings,
    /// Factor of the service time: a fault.
    factor: u64,
    /// True if the device receives and sends nothing: a fault.
    pub(crate) is_down: bool,
    /// Each with the time since which it waits.
    backlog: VecDeque<(Time, Work)>,
    /// Packets inside, in the order in which they leave: time of leaving, results, owner.
    inside: VecDeque<(Time, Became, Owner)>,
    /// Number of packets in `inside`.
    held_inside: u64,
    /// Recirculated packets that return, in order.
    returning: VecDeque<(Time, QueuedPacket, Owner)>,
    chance: Rng,
    /// Ports with links, sorted, and their outlets.
    pub(crate) ports: Vec<(Port, u32)>,
    /// The outlet of each port by its number, as far as numbers are small: asked for with each packet.
    by_number: Vec<u32>,
    /// The outlet of all other ports.
    pub(crate) unlinked: u32,
    /// Ports with links that are down.
    cut: BTreeSet<Port>,
    /// When the calendar will next ask for its timers.
    pub(crate) timer: Option<Time>,
    /// Counters of the network at this device.
    pub counts: DeviceCounts,
    seen: Seen,
    /// Counters of former programs of the device.
    past: Counters,
    /// The sum of its drops.
    past_dropped: u64,
    /// If frames from outside are held: the ports that still admit frames, and the held frames.
    gate: Option<BTreeSet<Port>>,
    kept: VecDeque<Work>,
    /// Drops by the program that [`next_fresh_drop`](Self::next_fresh_drop) has reported.
    reported_drops: BTreeMap<DropReason, u64>,
    reported: u64,
}

/// Counters of a network at a device, in frames or packets.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct DeviceCounts {
    /// Came by a link, or were put in.
    pub arrived: u64,
    /// Handed to a link, or taken out at a port without one.
    pub sent: u64,
    /// Ended here, but not by the program: backlog, queues, ports without a link.
    pub dropped: u64,
    /// In the queues of its ports now.
    pub queued: u64,
    /// The most that ever waited to get inside.
    pub longest_backlog: u64,
}

/// Sums of the device's own counters when last looked at.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Seen {
    received: u64,
    sent: u64,
    created: u64,
    dropped: u64,
}

/// Packets that went into and out of a device in one call.
struct Call {
    name: &'static str,
    given: u64,
    got: u64,
    received: u64,
    sent: u64,
}

impl DeviceNode {
    /// A device without links. Its frame externs report the time of calls to `spent`.
    pub fn new(device: Box<dyn Device>, settings: DeviceSettings, spent: Spent) -> DeviceNode {
        let mut node = DeviceNode {
            device,
            has_timers: true,
            spent,
            settings,
            factor: 1,
            is_down: false,
            backlog: VecDeque::new(),
            inside: VecDeque::new(),
            held_inside: 0,
            returning: VecDeque::new(),
            chance: Rng::new(0),
            ports: vec![],
            by_number: vec![],
            unlinked: 0,
            cut: BTreeSet::new(),
            timer: None,
            counts: DeviceCounts::default(),
            seen: Seen::default(),
            past: Counters::default(),
            past_dropped: 0,
            gate: None,
            kept: VecDeque::new(),
            reported_drops: BTreeMap::new(),
            reported: 0,
        };
        node.begin();
        node
    }

    /// The device may have been changed.
    pub(crate) fn changed(&mut self) {
        self.has_timers = self.device.may_have_timers();
    }

    /// A program begins: its earlier counts do not belong to this network.
    fn begin(&mut self) {
        self.changed();
        self.seen = self.look();
        self.reported_drops = self.device.counters().dropped.clone();
        self.reported = self.seen.dropped;
    }

    /// The device that runs the program.
    pub fn device(&self) -> &dyn Device {
        self.device.as_ref()
    }

    /// The device, for changes: see [`Drive::steer`](crate::Drive::steer).
    pub(crate) fn device_mut(&mut self) -> &mut dyn Device {
        self.device.as_mut()
    }

    /// The device runs another program; `before` are the old one's counters. Packets inside are lost; returns their
    /// number.
    pub(crate) fn end_program(&mut self, before: Counters) -> u64 {
        self.past_dropped = before.dropped.values().sum();
        self.past = before;
        self.begin();
        self.cut.iter().for_each(|port| self.device.link(*port, false));
        let frames = self.backlog.iter().filter(|(_, work)| matches!(work, Work::Frame(..))).count() as u64;
        let lost = self.held() - self.kept.len() as u64 - frames;
        self.backlog.retain(|(_, work)| matches!(work, Work::Frame(..)));
        self.returning.clear();
        self.inside.clear();
        self.held_inside = 0;
        lost
    }

    /// Sets the state of a port's link in all programs of the device.
    pub(crate) fn link(&mut self, port: Port, is_up: bool) {
        let is_new = if is_up { self.cut.remove(&port) } else { self.cut.insert(port) };
        if is_new {
            self.device.link(port, is_up);
        }
    }

    /// Counters of all programs that the device has run.
    pub fn counters(&self) -> Counters {
        let mut all = self.past.clone();
        let now = self.device.counters();
        all.received += now.received;
        all.sent += now.sent;
        all.created += now.created;
        now.dropped.iter().for_each(|(reason, n)| *all.dropped.entry(*reason).or_default() += n);
        all
    }

    /// All links are plugged in; `unlinked` is the outlet of all other ports.
    pub(crate) fn plugged_in(&mut self, unlinked: u32) {
        self.unlinked = unlinked;
        self.ports.sort_unstable();
        let small = self.ports.iter().map(|(port, _)| *port as usize).filter(|port| *port < MOST_NUMBERED);
        let mut by_number = vec![unlinked; small.max().map_or(0, |last| last + 1)];
        for (port, outlet) in &self.ports {
            if let Some(known) = by_number.get_mut(*port as usize) {
                *known = *outlet;
            }
        }
        self.by_number = by_number;
    }

    /// The outlet of a port.
    #[inline]
    pub(crate) fn outlet_of(&self, port: Port) -> u32 {
        if let Some(outlet) = self.by_number.get(port as usize) {
            return *outlet;
        }
        match self.ports.binary_search_by_key(&port, |(p, _)| *p) {
            Ok(at) => self.ports[at].1,
            Err(_) => self.unlinked,
        }
    }

    /// Packets in the backlog, inside, returning, and held.
    pub(crate) fn held(&self) -> u64 {
        (self.backlog.len() + self.returning.len() + self.kept.len()) as u64 + self.held_inside
    }

    /// Packets inside.
    pub(crate) fn inside(&self) -> u64 {
        self.held_inside
    }

    /// Number of packets inside, counted again from the contents.
    pub(crate) fn recount_inside(&self) -> u64 {
        self.inside.iter().map(|(_, queued, _)| queued.packets().len() as u64).sum()
    }

    /// Frames that wait outside.
    pub(crate) fn kept(&self) -> u64 {
        self.kept.len() as u64
    }

    /// Packets in the backlog, inside and returning.
    pub(crate) fn moving(&self) -> u64 {
        self.held() - self.kept()
    }

    /// From now on frames wait outside, but for those by these ports.
    pub(crate) fn close(&mut self, open: BTreeSet<Port>) {
        self.gate = Some(open);
    }

    /// Admits frames again. Returns the held frames.
    pub(crate) fn open(&mut self) -> VecDeque<Work> {
        self.gate = None;
        std::mem::take(&mut self.kept)
    }

    /// True if a frame has to wait outside.
    #[inline]
    pub(crate) fn keeps_out(&self, work: &Work) -> bool {
        match (work, &self.gate) {
            (Work::Frame(port, ..), Some(open)) => !open.contains(port),
            _ => false,
        }
    }

    /// Holds a frame; false if too many are held, and the frame is lost.
    pub(crate) fn keep(&mut self, work: Work) -> bool {
        let fits = self.kept.len() < MOST_KEPT;
        if fits {
            self.kept.push_back(work);
        }
        fits
    }

    /// True if a packet can get inside at once.
    pub(crate) fn has_room(&self) -> bool {
        (self.inside.len() as u64) < u64::from(self.settings.parallel)
    }

    /// Queues a packet; false if the backlog is full and the packet is lost.
    pub(crate) fn wait(&mut self, work: Work, now: Time) -> bool {
        let fits = (self.backlog.len() as u64) < u64::from(self.settings.backlog);
        if fits {
            self.backlog.push_back((now, work));
            self.counts.longest_backlog = self.counts.longest_backlog.max(self.backlog.len() as u64);
        }
        fits
    }

    /// Sets the random generator.
    pub(crate) fn set_chance(&mut self, chance: Rng) {
        self.chance = chance;
    }

    /// Sends a recirculated packet back. Returns the time of its return, or the packet itself if it returns at once.
    pub(crate) fn send_back(
        &mut self,
        packet: QueuedPacket,
        owner: Owner,
        now: Time,
    ) -> Result<Time, QueuedPacket> {
        let most = self.settings.recirculation.as_ps();
        if most == 0 {
            return Err(packet);
        }
        let at = now + Duration::from_ps(self.chance.between(0, most));
        let at = self.returning.back().map_or(now, |(at, ..)| *at).max(at);
        self.returning.push_back((at, packet, owner));
        Ok(at)
    }

    /// The recirculated packet that is back; none if it is lost meanwhile.
    pub(crate) fn come_back(&mut self, now: Time) -> Option<Work> {
        self.returning.front().filter(|(at, ..)| *at <= now)?;
        self.returning.pop_front().map(|(_, packet, owner)| Work::Again(packet, owner))
    }

    /// True if no packet waits to get inside.
    pub(crate) fn has_no_backlog(&self) -> bool {
        self.backlog.is_empty()
    }

    /// The packet that has waited longest, and since when.
    #[inline]
    pub(crate) fn next_work(&mut self) -> Option<(Time, Work)> {
        let work = self.backlog.pop_front()?;
        if self.backlog.is_empty() {
            rewind(&mut self.backlog);
        }
        Some(work)
    }

    /// A packet that waits since `since` enters: its program runs now; [`leave`](Self::leave) gives the results when its service time is over,
    /// at the returned time.
    #[inline(always)]
    pub(crate) fn enter(&mut self, work: Work, since: Time, now: Time) -> Result<Time, String> {
        let owner = work.owner();
        let (name, received, queued) = match work {
            Work::Frame(port, frame, _) => {
                ("ingress", 1, self.device.admit(port, frame, now.since(since), now))
            }
            Work::Again(packet, _) => ("resume", 0, Became::Several(self.device.resume(packet, now))),
        };
        let got = queued.packets().len() as u64;
        let takes = (self.settings.service + self.spent.take()) * self.factor;
        // Nobody overtakes one that was slow.
        let through = self.inside.back().map_or(now, |(at, ..)| *at).max(now + takes);
        self.held_inside += got;
        let audit = self.audit(Call { name, given: 1, got, received, sent: 0 });
        self.inside.push_back((through, queued, owner));
        audit.map(|()| through)
    }

    /// The packets of the frame that entered last.
    #[inline]
    pub(crate) fn entered(&self) -> &[Queued] {
        self.inside.back().map_or(&[], |(_, queued, _)| queued.packets())
    }

    /// Takes the results of the packet that leaves now; `None` if the packet was lost meanwhile.
    #[inline(always)]
    pub(crate) fn leave(&mut self, now: Time) -> Option<(Became, Owner)> {
        self.inside.front().filter(|(at, ..)| *at <= now)?;
        let (_, queued, owner) = self.inside.pop_front()?;
        if self.inside.is_empty() {
            rewind(&mut self.inside);
        }
        self.held_inside -= queued.packets().len() as u64;
        Some((queued, owner))
    }

    /// Sets whether the device is down, and the factor of its service time. Packets inside a device that goes down are
    /// lost; returns their number. Its memory is kept.
    pub(crate) fn suffer(&mut self, is_down: bool, factor: u64) -> u64 {
        (self.is_down, self.factor) = (is_down, factor);
        if !is_down {
            return 0;
        }
        let lost = self.held();
        self.backlog.clear();
        self.kept.clear();
        self.returning.clear();
        self.inside.clear();
        self.held_inside = 0;
        lost
    }

    /// The queues of all its ports.
    pub(crate) fn outlets(&self) -> impl Iterator<Item = u32> {
        self.ports.iter().map(|(_, outlet)| *outlet).chain([self.unlinked])
    }

    /// A packet leaves its queue: the frame to send, and packets that come of it besides. Pass both to [`audit_egress`](Self::audit_egress) first.
    #[inline(always)]
    pub(crate) fn depart(
        &mut self,
        packet: Queued,
        queue: QueueRecord,
        now: Time,
    ) -> (Option<Output>, Option<Box<EgressResult>>) {
        match self.device.depart(packet, queue, now) {
            Departed::Sent(output) => (output, None),
            Departed::Several(mut result) => (result.output.take(), Some(result)),
        }
    }

    /// Checks that the device's counters explain the results of a packet for this port.
    #[inline(always)]
    pub(crate) fn audit_egress(
        &mut self,
        port: Port,
        output: Option<&Output>,
        more: Option<&EgressResult>,
    ) -> Result<(), String> {
        let sent = u64::from(output.is_some());
        let got = sent + more.map_or(0, |more| more.requeued.len() + more.again.len()) as u64;
        self.audit(Call { name: "egress", given: 1, got, received: 0, sent })?;
        match output {
            Some(output) if output.port != port => {
                Err(format!("egress for port {port} gave a frame for port {}", output.port))
            }
            _ => Ok(()),
        }
    }

    /// When its timers want to run.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        if !self.has_timers {
            return None;
        }
        self.device.deadline().filter(|at| *at < Time::MAX && !self.is_down)
    }

    /// True if packets are cut at a full queue.
    pub(crate) fn trims(&self) -> bool {
        self.settings.trims
    }

    /// The depth of the queue of its ports without a link.
    pub(crate) fn unlinked_queue(&self) -> u32 {
        self.settings.unlinked_queue
    }

    /// Runs its timers.
    pub(crate) fn tick(&mut self, now: Time) -> Result<Vec<Queued>, String> {
        let queued = self.device.tick(now);
        self.spent.take();
        self.audit(Call { name: "tick", given: 0, got: queued.len() as u64, received: 0, sent: 0 })?;
        match self.deadline() {
            Some(at) if at <= now => Err(format!("after a tick the next deadline, {at}, is not later")),
            _ => Ok(queued),
        }
    }

    /// Packets that the device has made and ended by its own account.
    pub fn created_and_dropped(&self) -> (u64, u64) {
        (self.past.created + self.seen.created, self.past_dropped + self.seen.dropped)
    }

    /// The reason of a drop by the program that was not reported yet.
    #[inline]
    pub(crate) fn next_fresh_drop(&mut self) -> Option<DropReason> {
        if self.reported >= self.seen.dropped { None } else { self.fresh_drop() }
    }

    fn fresh_drop(&mut self) -> Option<DropReason> {
        let reported = &mut self.reported_drops;
        let counted = self.device.counters().dropped.iter();
        let fresh =
            counted.map(|(reason, n)| (*reason, *n)).find(|(reason, n)| reported.get(reason) < Some(n));
        let (reason, _) = fresh?;
        *reported.entry(reason).or_default() += 1;
        self.reported += 1;
        Some(reason)
    }

    /// Checks that the device's counters explain the difference between the packets given to a call and those returned.
    #[inline(always)]
    fn audit(&mut self, call: Call) -> Result<(), String> {
        let now = self.look();
        let seen = &mut self.seen;
        let Call { name, given, got, received, sent } = call;
        let as_reported = (seen.received + received, seen.sent + sent, seen.created, seen.dropped);
        if (now.received, now.sent, now.created, now.dropped) == as_reported && given == got {
            (seen.received, seen.sent) = (now.received, now.sent);
            return Ok(());
        }
        // Of its parts: only here does the call have to be in memory.
        self.explain(Call { name, given, got, received, sent })
    }

    /// An error if the counters do not match a call that has created or ended packets.
    #[inline(never)]
    fn explain(&mut self, call: Call) -> Result<(), String> {
        let after = self.look();
        let before = std::mem::replace(&mut self.seen, after);
        let grown = |name: &str, before: u64, after: u64| {
            after.checked_sub(before).ok_or_else(|| format!("its counter `{name}` fell in {}", call.name))
        };
        let received = grown("received", before.received, after.received)?;
        let sent = grown("sent", before.sent, after.sent)?;
        let created = grown("created", before.created, after.created)?;
        let dropped = grown("dropped", before.dropped, after.dropped)?;
        let Call { name, given, got, .. } = call;
        if given + created != got + dropped {
            return Err(format!(
                "{name} was given {given} and gave {got} packets, but counted {created} created and {dropped} dropped"
            ));
        }
        if (received, sent) != (call.received, call.sent) {
            return Err(format!(
                "{name} counted {received} received and {sent} sent instead of {} and {}",
                call.received, call.sent
            ));
        }
        Ok(())
    }

    #[inline(always)]
    fn look(&self) -> Seen {
        let counters = self.device.counters();
        Seen {
            received: counters.received,
            sent: counters.sent,
            created: counters.created,
            dropped: match counters.dropped.is_empty() {
                true => 0,
                false => counters.dropped.values().sum(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Pipe, Relay};
    use crate::{Drive, Network, Steer};

    /// A device with a timer, which may say that it has none.
    struct Timed(Pipe, bool);

    impl Device for Timed {
        fn ingress(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
            self.0.ingress(port, frame, now)
        }

        fn egress(&mut self, packet: Queued, queue: QueueRecord, now: Time) -> EgressResult {
            self.0.egress(packet, queue, now)
        }

        fn resume(&mut self, packet: QueuedPacket, now: Time) -> Vec<Queued> {
            self.0.resume(packet, now)
        }

        fn may_have_timers(&self) -> bool {
            self.1
        }

        fn deadline(&self) -> Option<Time> {
            Some(Time::from_ps(5))
        }

        fn counters(&self) -> &Counters {
            self.0.counters()
        }
    }

    #[test]
    fn a_device_is_asked_for_timers_if_it_may_have_some_and_again_when_it_has_changed() {
        for has_timers in [false, true] {
            let timed = Box::new(Timed(Pipe::default(), has_timers));
            let node = DeviceNode::new(timed, DeviceSettings::default(), Spent::default());
            let mut relay = Relay::new(Network::new(vec![node], 0, [], &Rng::new(1)).unwrap());
            assert_eq!(relay.network.devices[0].deadline().is_some(), has_timers);
            let change = |device: &mut dyn Device| {
                let device: &mut dyn std::any::Any = device;
                device.downcast_mut::<Timed>().unwrap().1 = !has_timers;
                false
            };
            relay.steer(0, change).unwrap();
            assert_eq!(relay.network.devices[0].deadline().is_some(), !has_timers);
        }
    }

    type Count = fn(&mut Counters);

    /// A device that counts something besides in each call of ingress.
    struct Miscounting(Pipe, Counters, Count);

    impl Device for Miscounting {
        fn ingress(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
            let queued = self.0.ingress(port, frame, now);
            self.1 = self.0.counters().clone();
            (self.2)(&mut self.1);
            queued
        }

        fn egress(&mut self, packet: Queued, queue: QueueRecord, now: Time) -> EgressResult {
            self.0.egress(packet, queue, now)
        }

        fn resume(&mut self, packet: QueuedPacket, now: Time) -> Vec<Queued> {
            self.0.resume(packet, now)
        }

        fn counters(&self) -> &Counters {
            &self.1
        }
    }

    #[test]
    fn counters_that_do_not_explain_a_call_are_seen() {
        let counts: [(Count, &str); 4] = [
            (|counters| counters.received += 1, "ingress counted 2 received and 0 sent instead of 1 and 0"),
            (|counters| counters.sent += 1, "ingress counted 1 received and 1 sent instead of 1 and 0"),
            (|counters| counters.created += 1, "1 created and 0 dropped"),
            (
                |counters| *counters.dropped.entry(DropReason::Ingress).or_default() += 1,
                "0 created and 1 dropped",
            ),
        ];
        for (count, message) in counts {
            let device = Box::new(Miscounting(Pipe::default(), Counters::default(), count));
            let node = DeviceNode::new(device, DeviceSettings::default(), Spent::default());
            let mut relay = Relay::new(Network::new(vec![node], 0, [], &Rng::new(1)).unwrap());
            let violation = relay.inject(0, 9, vec![1], Owner(1)).unwrap_err();
            assert!(violation.message.contains(message), "{}", violation.message);
        }
    }

    #[test]
    fn each_port_has_its_outlet() {
        let device = Box::new(Pipe::default());
        let mut node = DeviceNode::new(device, DeviceSettings::default(), Spent::default());
        node.ports = vec![(70_000, 3), (5, 1), (1024, 2), (0, 4), (1023, 6)];
        node.plugged_in(9);
        let outlets = [0, 1, 5, 1022, 1023, 1024, 1025, 70_000].map(|port| node.outlet_of(port));
        assert_eq!(outlets, [4, 9, 1, 9, 6, 2, 9, 3]);
    }
}
