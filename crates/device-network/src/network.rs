//! Devices and ends, joined by links.

use crate::calendar::{Calendar, Event};
use crate::device::DeviceNode;
use crate::medium::WireSettings;
use crate::outlet::Outlet;
use crate::wire::Wire;
use base_time::{Rng, Time};
use dataplane_api::{Device, Port, Queued};
use dataplane_tables::{LINE, prefetch_lines};
use std::collections::VecDeque;
use std::sync::Arc;

/// Something that links are plugged into.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Node {
    /// A device, by its place in the list.
    Device(u32),
    /// An end, which takes frames out and puts others in: a host.
    End(u32),
}

/// A port of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Plug {
    /// The node.
    pub node: Node,
    /// Port of the device; 0 for an end.
    pub port: Port,
}

/// A cable between two ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Both ends.
    pub plugs: [Plug; 2],
    /// Delays and losses.
    pub settings: WireSettings,
    /// Maximum number of frames that wait before the link at each end, for each priority.
    pub queue: u32,
}

/// An end of the network.
pub struct EndNode {
    /// Queue of the end.
    pub outlet: u32,
    /// Counters since the start.
    pub counts: EndCounts,
}

/// Counters of an end since the start, in frames.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct EndCounts {
    /// Came by the link.
    pub received: u64,
    /// Put in here.
    pub created: u64,
    /// Handed to the link.
    pub sent: u64,
    /// Received and used: counted by the network's owner.
    pub absorbed: u64,
    /// Received and not used, which the network's owner counts, or not sent since the queue was full.
    pub dropped: u64,
}

/// Reason why a network cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuildError {
    /// Nothing can be plugged in there, or something is.
    Occupied(Plug),
    /// An end that has no link.
    Loose(u32),
}

/// Devices, ends and links in virtual time, and future events; `E` are the owner's events.
///
/// **Invariant**: deterministic. The same devices and calls give the same events on every machine. **Invariant**: packets
/// are conserved; see [`Violation`](crate::Violation).
pub struct Network<E> {
    /// Virtual time.
    pub now: Time,
    pub(crate) calendar: Calendar<E>,
    /// Two for each link, in the order of the links: from its first plug to its second, and back.
    pub wires: Vec<Wire>,
    /// One for each wire, in their order, then one for each device: that of all its ports without a link.
    pub outlets: Vec<Outlet>,
    /// Devices.
    pub devices: Vec<DeviceNode>,
    /// Ends.
    pub ends: Vec<EndNode>,
    /// Outlets that may be able to send.
    pub(crate) ready: VecDeque<u32>,
    /// Events so far.
    pub events: u64,
    /// The event after which everything is checked again.
    pub(crate) check_all_at: u64,
    /// Events at this very moment.
    pub(crate) events_now: u64,
    /// As many are too many: devices that send packets round in no time.
    pub most_events_now: u64,
    /// Frames put in at devices' ports.
    pub(crate) injected: u64,
    /// Frames taken out at devices' ports.
    pub(crate) taken_out: u64,
}

/// Number of events at one time that indicates an error.
const MOST_EVENTS_NOW: u64 = 1_000_000;

impl<E: Copy> Network<E> {
    /// A network at rest, at time 0; `chance` is the root of all that its links draw.
    pub fn new(
        devices: Vec<DeviceNode>,
        ends: usize,
        links: impl IntoIterator<Item = Link>,
        chance: &Rng,
    ) -> Result<Network<E>, BuildError> {
        let mut network = Network {
            now: Time::ZERO,
            calendar: Calendar::default(),
            wires: vec![],
            outlets: vec![],
            devices,
            ends: vec![],
            ready: VecDeque::new(),
            events: 0,
            check_all_at: 0,
            events_now: 0,
            most_events_now: MOST_EVENTS_NOW,
            injected: 0,
            taken_out: 0,
        };
        let mut end_outlets = vec![None; ends];
        for (number, link) in (0..).zip(links) {
            network.plug_in(number, link, chance, &mut end_outlets)?;
        }
        for (number, device) in (0..).zip(&mut network.devices) {
            device.plugged_in(network.outlets.len() as u32);
            device.set_chance(chance.split("recirculation").split_index(number.into()));
            network.outlets.push(Outlet::new(Node::Device(number), None, device.unlinked_queue()));
        }
        for (number, outlet) in (0..).zip(end_outlets) {
            let outlet = outlet.ok_or(BuildError::Loose(number))?;
            network.ends.push(EndNode { outlet, counts: EndCounts::default() });
        }
        Ok(network)
    }

    /// Makes the two wires of a link, and an outlet at each end.
    fn plug_in(
        &mut self,
        number: u32,
        link: Link,
        chance: &Rng,
        ends: &mut [Option<u32>],
    ) -> Result<(), BuildError> {
        let Link { plugs: [a, b], settings, queue } = link;
        // Links of large racks are mostly equal: shared settings keep a wire within a few cache lines (docs/emulator.md).
        let before = self.wires.last().map(|wire| &wire.medium.settings);
        let settings = before.filter(|known| ***known == settings).cloned().unwrap_or(Arc::new(settings));
        for (direction, (from, to)) in (0..).zip([(a, b), (b, a)]) {
            let outlet = self.outlets.len() as u32;
            self.outlets.push(Outlet::new(from.node, Some(self.wires.len() as u32), queue));
            self.wires.push(Wire::new(number, direction, (from, to), settings.clone(), chance));
            let is_free = match from.node {
                Node::Device(device) => self.devices.get_mut(device as usize).is_some_and(|device| {
                    let is_free = !device.ports.iter().any(|(port, _)| *port == from.port);
                    device.ports.push((from.port, outlet));
                    is_free
                }),
                Node::End(end) => {
                    ends.get_mut(end as usize).is_some_and(|known| known.replace(outlet).is_none())
                }
            };
            if !is_free {
                return Err(BuildError::Occupied(from));
            }
        }
        Ok(())
    }

    /// Has an event of the owner's happen at `at`, or now if that has passed.
    #[inline]
    pub fn schedule(&mut self, at: Time, event: E) {
        self.calendar.schedule(at.max(self.now), Event::Own(event));
    }

    /// When the next event comes; none if nothing is left to happen.
    pub fn next_time(&self) -> Option<Time> {
        self.calendar.next_time()
    }

    /// The device of a node.
    pub fn device(&self, device: u32) -> Option<&dyn Device> {
        self.devices.get(device as usize).map(DeviceNode::device)
    }

    /// Prefetches the queue and the wire of the packet that has just entered a device, which it needs when its service time is over. In a
    /// rack with thousands of ports, no recent packet has used their memory.
    #[inline(always)]
    pub(crate) fn prefetch_path(&self, device: u32) {
        let node = &self.devices[device as usize];
        let Some(packet) = node.entered().first() else { return };
        let outlet = node.outlet_of(packet.replica.port) as usize;
        prefetch_lines(&self.outlets[outlet], 2);
        // A wire has the number of its outlet; ports without a link have none.
        if let Some(wire) = self.wires.get(outlet) {
            prefetch_lines(wire, size_of::<Wire>() / LINE);
        }
    }

    /// True if a packet of this priority would be the next that leaves by an outlet, at once.
    #[inline(always)]
    pub(crate) fn is_idle(&self, outlet: u32, priority: u8) -> bool {
        let outlet = &self.outlets[outlet as usize];
        let free = |wire: u32| self.wires[wire as usize].medium.free_at <= self.now;
        self.ready.is_empty() && outlet.queue.lets_pass(priority) && outlet.wire.is_none_or(free)
    }

    /// The outlet of a packet that has just left a device's inside if it waits for nothing there, and no other packet gets inside before it is sent.
    #[inline(always)]
    pub(crate) fn passes(&self, device: u32, packet: &Queued) -> Option<u32> {
        let node = &self.devices[device as usize];
        let outlet = node.outlet_of(packet.replica.port);
        (node.has_no_backlog() && self.is_idle(outlet, packet.replica.priority)).then_some(outlet)
    }

    /// Empties the queues of all ports of a device: of how many packets.
    pub(crate) fn clear_queues(&mut self, device: u32) -> u64 {
        let outlets: Vec<u32> = self.devices[device as usize].outlets().collect();
        let cleared = outlets.iter().map(|at| self.outlets[*at as usize].queue.clear(self.now)).sum();
        self.devices[device as usize].counts.queued -= cleared;
        cleared
    }

    /// Sees to it that the calendar asks for a device's timers no later than they run out.
    #[inline]
    pub fn watch_timer(&mut self, device: u32) {
        let Some(node) = self.devices.get_mut(device as usize) else { return };
        let Some(deadline) = node.deadline() else { return };
        let at = deadline.max(self.now);
        if node.timer.is_none_or(|planned| at < planned) {
            node.timer = Some(at);
            self.calendar.schedule(at, Event::Timer(device));
        }
    }
}
