//! The path of a packet: out of a queue, over a wire, to an end or through a device, into a queue.

use crate::calendar::Event;
use crate::device::Work;
use crate::medium::Sent;
use crate::network::Node;
use crate::outlet::Waiting;
use crate::place::{Owner, Place, Reason};
use crate::queue::{FIRST, Refused};
use crate::trim::trim;
use crate::violation::Outcome;
use crate::world::World;
use base_time::Time;
use dataplane_api::{Became, Port, QueueRecord, Queued, QueuedPacket};

/// Maximum number of packets that one event takes through egress; others wait for another event at the same time.
const EGRESS_BUDGET: u32 = 256;

/// Runs the network of a world.
pub trait Drive: World {
    /// Processes the next event up to and at `limit`; false if there is none.
    #[inline(always)]
    fn next_event(&mut self, limit: Time) -> Outcome<bool> {
        let network = self.network_mut();
        let Some((at, event)) = network.calendar.pop(limit) else {
            return Ok(false);
        };
        // Events at one moment: `check_progress` bounds them, since a circle without delay would stop time.
        network.events_now = if at > network.now { 0 } else { network.events_now + 1 };
        network.events += 1;
        network.now = at;
        match event {
            Event::Arrive(wire) => arrive(self, wire),
            Event::Served(device) => served(self, device),
            Event::Again(device) => come_back(self, device),
            Event::Wake(outlet) => wake(self, outlet),
            Event::Timer(device) => timer(self, device),
            Event::Own(event) => self.happen(event),
        }?;
        self.network_mut().check_progress()?;
        self.happened();
        Ok(true)
    }

    /// An end sends a frame.
    fn send(&mut self, end: u32, frame: Vec<u8>, owner: Owner) -> Outcome {
        let network = self.network_mut();
        let node = &mut network.ends[end as usize];
        node.counts.created += 1;
        let outlet = node.outlet;
        if network.is_idle(outlet, 0) {
            network.ends[end as usize].counts.sent += 1;
            network.outlets[outlet as usize].queue.pass(network.now);
            transmit(self, outlet, frame, owner)?;
            return self.network().check_end(end);
        }
        let waiting = Waiting::Frame(frame, owner);
        if let Err(refused) = network.outlets[outlet as usize].queue.push(0, waiting, network.now) {
            network.ends[end as usize].counts.dropped += 1;
            refuse(self, outlet, refused, owner);
        }
        self.network_mut().ready.push_back(outlet);
        send_ready(self)?;
        self.network().check_end(end)
    }

    /// Injects a frame from outside of the network at a port of a device.
    fn inject(&mut self, device: u32, port: Port, frame: Vec<u8>, owner: Owner) -> Outcome {
        let network = self.network_mut();
        network.injected += 1;
        network.devices[device as usize].counts.arrived += 1;
        take(self, device, Work::Frame(port, frame, owner))?;
        self.network().check_device(device)
    }
}

impl<W: World> Drive for W {}

fn refuse<W: World>(world: &mut W, outlet: u32, refused: Refused, owner: Owner) {
    world.network_mut().outlets[outlet as usize].refused += 1;
    let reason = match refused {
        Refused::Full => Reason::QueueFull,
        Refused::NoSuchPriority => Reason::NoSuchPriority,
    };
    world.dropped(Place::Outlet(outlet), reason, owner);
}

fn wake<W: World>(world: &mut W, outlet: u32) -> Outcome {
    let network = world.network_mut();
    network.outlets[outlet as usize].is_woken = false;
    network.ready.push_back(outlet);
    send_ready(world)?;
    let network = world.network();
    network.check_node(network.outlets[outlet as usize].node)
}

/// Sends frames from the outlets that are ready, and from those that this fills.
fn send_ready<W: World>(world: &mut W) -> Outcome {
    send_on(world, EGRESS_BUDGET)
}

/// The same for so many packets at most.
fn send_on<W: World>(world: &mut W, mut budget: u32) -> Outcome {
    while let Some(outlet) = world.network_mut().ready.pop_front() {
        empty_outlet(world, outlet, &mut budget)?;
    }
    Ok(())
}

/// Sends from an outlet until it is empty or its wire is busy.
fn empty_outlet<W: World>(world: &mut W, at: u32, budget: &mut u32) -> Outcome {
    loop {
        let network = world.network_mut();
        let now = network.now;
        let outlet = &mut network.outlets[at as usize];
        if outlet.queue.is_empty() {
            return Ok(());
        }
        let free_at = outlet.wire.map_or(now, |wire| network.wires[wire as usize].medium.free_at);
        if free_at > now || *budget == 0 {
            // One wake-up per outlet is scheduled at most.
            if !std::mem::replace(&mut outlet.is_woken, true) {
                network.calendar.schedule(free_at.max(now), Event::Wake(at));
            }
            return Ok(());
        }
        *budget -= 1;
        match (outlet.queue.pop(now), outlet.node) {
            (Some(Waiting::Frame(frame, owner)), Node::End(end)) => {
                network.ends[end as usize].counts.sent += 1;
                transmit(world, at, frame, owner)?;
            }
            (Some(Waiting::Packet { packet, enqueued, depth, owner, is_trimmed }), Node::Device(device)) => {
                network.devices[device as usize].counts.queued -= 1;
                let depth_at_dequeue = outlet.queue.len();
                let record = QueueRecord { enqueued, depth_at_enqueue: depth, depth_at_dequeue };
                egress(world, device, at, (packet, owner, is_trimmed), record)?;
            }
            _ => return Ok(()),
        }
    }
}

/// A packet leaves its queue: egress, then the wire.
fn egress<W: World>(
    world: &mut W,
    device: u32,
    outlet: u32,
    (packet, owner, is_trimmed): (Queued, Owner, bool),
    record: QueueRecord,
) -> Outcome {
    let port = packet.replica.port;
    world.calls(device, owner);
    let network = world.network_mut();
    let node = &mut network.devices[device as usize];
    let (output, more) = node.depart(packet, record, network.now);
    let audit = node.audit_egress(port, output.as_ref(), more.as_deref());
    audit.map_err(|message| network.violation(Place::Device(device), message))?;
    report_program_drops(world, device, owner);
    if let Some(more) = more {
        enqueue(world, device, more.requeued, owner);
        send_all_back(world, device, more.again, owner)?;
    }
    let network = world.network_mut();
    network.watch_timer(device);
    let has_wire = network.outlets[outlet as usize].wire.is_some();
    match output {
        None => Ok(()),
        Some(output) if has_wire => {
            let length = output.frame.len();
            let frame = if is_trimmed { trim(output.frame) } else { Some(output.frame) };
            let counts = &mut network.devices[device as usize].counts;
            let Some(frame) = frame else {
                counts.dropped += 1;
                refuse(world, outlet, Refused::Full, owner);
                return Ok(());
            };
            counts.sent += 1;
            network.outlets[outlet as usize].trimmed += u64::from(frame.len() < length);
            transmit(world, outlet, frame, owner)
        }
        Some(mut output) => {
            if world.take_out(device, &mut output, owner) {
                let network = world.network_mut();
                network.taken_out += 1;
                network.devices[device as usize].counts.sent += 1;
            } else {
                world.network_mut().devices[device as usize].counts.dropped += 1;
                world.dropped(Place::Port(device, port), Reason::NoLink, owner);
            }
            Ok(())
        }
    }
}

fn send_all_back<W: World>(world: &mut W, device: u32, again: Vec<QueuedPacket>, owner: Owner) -> Outcome {
    again.into_iter().try_for_each(|packet| send_back(world, device, packet, owner))
}

/// Sends a recirculated packet back to ingress.
fn send_back<W: World>(world: &mut W, device: u32, packet: QueuedPacket, owner: Owner) -> Outcome {
    let network = world.network_mut();
    match network.devices[device as usize].send_back(packet, owner, network.now) {
        Ok(at) => {
            network.calendar.schedule(at, Event::Again(device));
            Ok(())
        }
        Err(packet) => take(world, device, Work::Again(packet, owner)),
    }
}

fn come_back<W: World>(world: &mut W, device: u32) -> Outcome {
    let network = world.network_mut();
    let Some(work) = network.devices[device as usize].come_back(network.now) else { return Ok(()) };
    take(world, device, work)?;
    world.network().check_device(device)
}

/// Sends a frame on the wire of an outlet.
#[inline]
fn transmit<W: World>(world: &mut W, outlet: u32, mut frame: Vec<u8>, owner: Owner) -> Outcome {
    let network = world.network_mut();
    let Some(wire) = network.outlets[outlet as usize].wire else {
        return Ok(());
    };
    let state = &mut network.wires[wire as usize];
    state.medium.pad(&mut frame);
    // Before `send`, which takes the frame.
    if !state.medium.is_too_long(&frame) {
        world.sent(wire, &frame);
    }
    let network = world.network_mut();
    let sent = network.wires[wire as usize].send(frame, owner, network.now);
    match sent {
        Sent::TooLong => world.dropped(Place::Wire(wire), Reason::TooLong, owner),
        Sent::Lost => world.dropped(Place::Wire(wire), Reason::Loss, owner),
        Sent::Cut => world.dropped(Place::Wire(wire), Reason::LinkDown, owner),
        Sent::ArrivesTwice(at) => {
            network.calendar.schedule(at, Event::Arrive(wire));
            network.calendar.schedule(at, Event::Arrive(wire));
        }
        Sent::Arrives(at) => network.calendar.schedule(at, Event::Arrive(wire)),
    }
    world.network().check_wire(wire)
}

fn arrive<W: World>(world: &mut W, wire: u32) -> Outcome {
    let network = world.network_mut();
    let state = &mut network.wires[wire as usize];
    let to = state.to;
    let Some((frame, owner)) = state.deliver(network.now) else {
        return network.check_wire(wire);
    };
    world.arrived(wire, &frame);
    match to.node {
        Node::End(end) => {
            world.network_mut().ends[end as usize].counts.received += 1;
            world.receive(end, frame, owner)?;
            world.network().check_end(end)?;
        }
        Node::Device(device) => {
            world.network_mut().devices[device as usize].counts.arrived += 1;
            take(world, device, Work::Frame(to.port, frame, owner))?;
            world.network().check_device(device)?;
        }
    }
    world.network().check_wire(wire)
}

/// A packet comes to a device: it gets inside, waits, or is dropped.
pub(crate) fn take<W: World>(world: &mut W, device: u32, work: Work) -> Outcome {
    let owner = work.owner();
    let now = world.network().now;
    let node = &mut world.network_mut().devices[device as usize];
    if node.is_down {
        node.counts.dropped += 1;
        world.dropped(Place::Device(device), Reason::DeviceDown, owner);
        return Ok(());
    }
    let keeps_out = node.keeps_out(&work);
    if !keeps_out && node.has_room() {
        return enter(world, device, work, now);
    }
    let fits = if keeps_out { node.keep(work) } else { node.wait(work, now) };
    if !fits {
        node.counts.dropped += 1;
        world.dropped(Place::Device(device), Reason::BacklogFull, owner);
    }
    Ok(())
}

fn enter<W: World>(world: &mut W, device: u32, work: Work, since: Time) -> Outcome {
    let owner = work.owner();
    world.calls(device, owner);
    let network = world.network_mut();
    let entered = network.devices[device as usize].enter(work, since, network.now);
    let through = entered.map_err(|message| network.violation(Place::Device(device), message))?;
    report_program_drops(world, device, owner);
    let network = world.network_mut();
    network.calendar.schedule(through, Event::Served(device));
    network.watch_timer(device);
    network.prefetch_path(device);
    Ok(())
}

/// The packet that has been longest inside is through; the next one gets inside.
fn served<W: World>(world: &mut W, device: u32) -> Outcome {
    let network = world.network_mut();
    let Some((queued, owner)) = network.devices[device as usize].leave(network.now) else { return Ok(()) };
    match queued {
        Became::One(packet) => match world.network().passes(device, &packet) {
            Some(outlet) => return pass(world, device, outlet, packet, owner),
            None => enqueue_one(world, device, packet, owner),
        },
        Became::Several(packets) => enqueue(world, device, packets, owner),
    }
    if let Some((since, work)) = world.network_mut().devices[device as usize].next_work() {
        enter(world, device, work, since)?;
    }
    send_ready(world)?;
    world.network().check_device(device)
}

/// A packet that waits for nothing leaves, as it would by way of its queue.
fn pass<W: World>(world: &mut W, device: u32, outlet: u32, packet: Queued, owner: Owner) -> Outcome {
    let network = world.network_mut();
    network.outlets[outlet as usize].queue.pass(network.now);
    let record = QueueRecord { enqueued: network.now, depth_at_enqueue: 0, depth_at_dequeue: 0 };
    egress(world, device, outlet, (packet, owner, false), record)?;
    // Packets that have come of it may wait there by now, or elsewhere.
    let mut budget = EGRESS_BUDGET - 1;
    empty_outlet(world, outlet, &mut budget)?;
    send_on(world, budget)?;
    world.network().check_device(device)
}

fn report_program_drops<W: World>(world: &mut W, device: u32, owner: Owner) {
    while let Some(reason) = world.network_mut().devices[device as usize].next_fresh_drop() {
        world.dropped(Place::Device(device), Reason::Program(reason), owner);
    }
}

/// Puts packets into the queues of their ports, which become ready.
fn enqueue<W: World>(world: &mut W, device: u32, queued: Vec<Queued>, owner: Owner) {
    queued.into_iter().for_each(|packet| enqueue_one(world, device, packet, owner));
}

#[inline]
fn enqueue_one<W: World>(world: &mut W, device: u32, packet: Queued, owner: Owner) {
    let network = world.network_mut();
    let node = &mut network.devices[device as usize];
    let at = node.outlet_of(packet.replica.port);
    let outlet = &mut network.outlets[at as usize];
    let priority = packet.replica.priority;
    let is_trimmed = node.trims() && outlet.wire.is_some() && outlet.queue.is_full(priority);
    let priority = if is_trimmed { FIRST } else { priority };
    let (enqueued, depth) = (network.now, outlet.queue.len());
    let waiting = Waiting::Packet { packet, enqueued, depth, owner, is_trimmed };
    match outlet.queue.push(priority, waiting, network.now) {
        Ok(()) => {
            node.counts.queued += 1;
            network.ready.push_back(at);
        }
        Err(refused) => {
            node.counts.dropped += 1;
            refuse(world, at, refused, owner);
        }
    }
}

fn timer<W: World>(world: &mut W, device: u32) -> Outcome {
    let network = world.network_mut();
    let node = &mut network.devices[device as usize];
    if node.timer != Some(network.now) {
        return Ok(());
    }
    node.timer = None;
    if node.deadline().is_some_and(|at| at <= network.now) {
        let owner = world.owner_of_timer(device);
        world.calls(device, owner);
        let network = world.network_mut();
        let queued = network.devices[device as usize].tick(network.now);
        let queued = queued.map_err(|message| network.violation(Place::Device(device), message))?;
        world.ticked(device);
        report_program_drops(world, device, owner);
        enqueue(world, device, queued, owner);
        send_ready(world)?;
        world.network().check_device(device)?;
    }
    world.network_mut().watch_timer(device);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Pipe, Relay, link};
    use crate::{DeviceNode, DeviceSettings, Link, Network, Spent, TRIMMED};
    use base_time::{Duration, Rate, Rng};
    use dataplane_api::{Counters, Device, EgressResult, Output, Replica};
    use std::sync::{Arc, Mutex};

    /// `0:2 -- 1:1`, and port 2 of device 1 leads out.
    fn two_devices(jitter: Duration) -> Relay {
        let device =
            |_| DeviceNode::new(Box::new(Pipe::default()), DeviceSettings::default(), Spent::default());
        let mut link = link([(Node::Device(0), 2), (Node::Device(1), 1)], None);
        (link.settings.jitter, link.settings.padding) = (jitter, Some(0xee));
        let devices = (0..2).map(device).collect();
        Relay::new(Network::new(devices, 0, [link], &Rng::new(1)).unwrap())
    }

    #[test]
    fn all_that_comes_of_a_frame_happens_at_once_and_has_its_owner() {
        let mut relay = two_devices(Duration::ZERO);
        let at = Time::ZERO + Duration::from_us(3);
        relay.run_until(at).unwrap();
        relay.network.now = at;
        relay.inject(0, 9, vec![1; 3], Owner(5)).unwrap();
        relay.inject(0, 9, vec![], Owner(6)).unwrap();
        relay.run_until(at).unwrap();
        let left = relay.left.iter().map(|(at, device, out, owner)| (*at, *device, out.port, owner.0));
        assert_eq!(left.collect::<Vec<_>>(), [(at, 1, 2, 5), (at, 1, 2, 6)]);
        let first = &relay.left[0].2.frame;
        assert_eq!((first.len(), first[2], first[3]), (60, 1, 0xee));
        assert_eq!(relay.network.balance().delivered, 2);
        assert_eq!(relay.network.next_time(), None);
    }

    #[test]
    fn recirculated_packets_keep_their_order() {
        let settings = DeviceSettings { recirculation: Duration::from_us(4), ..DeviceSettings::default() };
        let device = DeviceNode::new(Box::new(Pipe::default()), settings, Spent::default());
        let mut relay = Relay::new(Network::new(vec![device], 0, [], &Rng::new(1)).unwrap());
        for number in 0..100 {
            relay.inject(0, 9, vec![], Owner(number)).unwrap();
        }
        relay.run_until(Time::MAX).unwrap();
        let order: Vec<u32> = relay.left.iter().map(|(.., owner)| owner.0).collect();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
        assert!(relay.left[0].0 < relay.left[99].0);
    }

    #[test]
    fn frames_keep_their_order_over_a_link_that_shakes() {
        let mut relay = two_devices(Duration::from_us(4));
        for number in 0..100 {
            relay.inject(0, 9, vec![number], Owner(number.into())).unwrap();
        }
        relay.run_until(Time::MAX).unwrap();
        let order: Vec<u32> = relay.left.iter().map(|(.., owner)| owner.0).collect();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
        assert!(relay.left[0].0 < relay.left[99].0);
    }

    /// A device whose only link takes frames of 1,000 bytes in 8 us, with room for two of them.
    fn narrow(trims: bool) -> Relay {
        let settings = DeviceSettings { trims, ..DeviceSettings::default() };
        let device = DeviceNode::new(Box::new(Pipe::default()), settings, Spent::default());
        let ends = [(Node::Device(0), 2), (Node::End(0), 0)];
        let link = Link { queue: 2, ..link(ends, Some(Rate::from_bits_per_s(1_000_000_000))) };
        Relay::new(Network::new(vec![device], 1, [link], &Rng::new(1)).unwrap())
    }

    fn frame(protocol: u8) -> Vec<u8> {
        let mut frame = vec![0; 1000];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[23] = protocol;
        frame
    }

    /// A device that notes its calls. A frame says by its bytes where it goes, with which priority, and how often it starts again. Results are lists, or
    /// packets that need none.
    struct Noting {
        lists: bool,
        notes: Arc<Mutex<Vec<String>>>,
        counters: Counters,
    }

    impl Noting {
        fn note(&self, what: &str, frame: &[u8], now: Time) {
            self.notes.lock().unwrap().push(format!("{now} {what} {frame:?}"));
        }

        fn queue(frame: Vec<u8>) -> Queued {
            let replica = Replica { port: frame[0].into(), priority: frame[1] };
            Queued { replica, bytes: frame.len() as u32, packet: Box::new(frame) }
        }
    }

    impl Device for Noting {
        fn ingress(&mut self, _: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
            self.counters.received += 1;
            self.note("ingress", &frame, now);
            vec![Noting::queue(frame)]
        }

        fn admit(&mut self, port: Port, frame: Vec<u8>, _: Duration, now: Time) -> Became {
            let mut packets = self.ingress(port, frame, now);
            match packets.pop() {
                Some(packet) if !self.lists => Became::One(packet),
                packet => Became::Several(packet.into_iter().collect()),
            }
        }

        fn egress(&mut self, packet: Queued, record: QueueRecord, now: Time) -> EgressResult {
            let port = packet.replica.port;
            let mut frame: Vec<u8> = *packet.packet.downcast().unwrap();
            self.note(&format!("{record:?} egress"), &frame, now);
            if frame[2] > 0 {
                frame[2] -= 1;
                return EgressResult { again: vec![Box::new(frame)], ..EgressResult::default() };
            }
            self.counters.sent += 1;
            // A clone waits behind it, with another priority.
            let clones = frame[3] == 0;
            self.counters.created += u64::from(clones);
            let clone = clones.then(|| Noting::queue([&frame[..3], &[1]].concat()));
            let output = Some(Output { port, frame });
            EgressResult { output, requeued: clone.into_iter().collect(), again: vec![] }
        }

        fn resume(&mut self, packet: QueuedPacket, now: Time) -> Vec<Queued> {
            let frame: Vec<u8> = *packet.downcast().unwrap();
            self.note("resume", &frame, now);
            vec![Noting::queue(frame)]
        }

        fn counters(&self) -> &Counters {
            &self.counters
        }
    }

    /// Queues without room, with little and with much, on slow and fast links and without one; frames that come at once and alone.
    fn noted(lists: bool, service: Duration) -> impl PartialEq + std::fmt::Debug {
        let notes = Arc::<Mutex<Vec<String>>>::default();
        let device = Noting { lists, notes: Arc::clone(&notes), counters: Counters::default() };
        let settings = DeviceSettings { service, parallel: 2, backlog: 3, ..DeviceSettings::default() };
        let node = DeviceNode::new(Box::new(device), settings, Spent::default());
        let queues = [(0, Some(80)), (1, Some(80)), (3, Some(20)), (64, None)];
        let links = (0..).zip(queues).map(|(end, (queue, mbit))| {
            let rate = mbit.map(|mbit| Rate::from_bits_per_s(mbit * 1_000_000));
            Link { queue, ..link([(Node::End(end), 0), (Node::Device(0), end)], rate) }
        });
        let mut relay = Relay::new(Network::new(vec![node], 4, links, &Rng::new(1)).unwrap());
        let (mut chance, mut at) = (Rng::new(7), Time::ZERO);
        for number in 0..2000u32 {
            at += Duration::from_us([0, 0, 1, 10, 100][chance.index(5)]);
            relay.run_until(at).unwrap();
            relay.network.now = at;
            let priority = [0, 0, 0, 3, 7, 8][chance.index(6)];
            let again = u8::from(chance.index(8) == 0);
            let frame = vec![chance.index(5) as u8, priority, again, chance.index(6) as u8];
            match chance.index(3) {
                0 => relay.inject(0, 9, frame, Owner(number)).unwrap(),
                _ => relay.send(chance.index(4) as u32, frame, Owner(number)).unwrap(),
            }
        }
        relay.run_until(Time::MAX).unwrap();
        let network = &relay.network;
        let outlets = network
            .outlets
            .iter()
            .map(|outlet| (outlet.refused, outlet.queue.longest(), outlet.queue.mean_milli(network.now)));
        let outlets: Vec<_> = outlets.collect();
        assert!(outlets.iter().take(8).skip(1).step_by(2).all(|(refused, ..)| *refused > 0), "{outlets:?}");
        let ends: Vec<_> = network.ends.iter().map(|end| end.counts).collect();
        let wires: Vec<_> = network.wires.iter().map(|wire| wire.medium.counts).collect();
        let notes = std::mem::take(&mut *notes.lock().unwrap());
        let done = (network.events, network.balance(), network.devices[0].counts);
        (done, outlets, ends, wires, relay.left.len(), notes)
    }

    #[test]
    fn packets_that_wait_for_nothing_leave_as_by_way_of_their_queues() {
        for service in [Duration::ZERO, Duration::from_us(5)] {
            assert!(noted(false, service) == noted(true, service), "{service}");
        }
    }

    /// One frame is on the wire, two wait, two wait as headers, and one is lost.
    #[test]
    fn a_device_that_trims_sends_headers_of_what_meets_a_full_queue() {
        for (trims, protocol, sent, trimmed, bytes) in [
            (false, 17, 3, 0, 3000),
            (true, 17, 5, 2, 3000 + 2 * TRIMMED as u64),
            // The rest of a TCP segment would be taken for all of it.
            (true, 6, 3, 0, 3000),
        ] {
            let mut relay = narrow(trims);
            for _ in 0..6 {
                relay.inject(0, 9, frame(protocol), Owner(1)).unwrap();
            }
            relay.run_until(Time::MAX).unwrap();
            let (wire, outlet) = (&relay.network.wires[0], &relay.network.outlets[0]);
            assert_eq!((wire.medium.counts.frames, outlet.trimmed), (sent, trimmed), "{trims} {protocol}");
            assert_eq!((wire.medium.counts.bytes, outlet.refused), (bytes, 6 - sent));
            assert_eq!(relay.network.balance().dropped, 6 - sent);
        }
    }
}
