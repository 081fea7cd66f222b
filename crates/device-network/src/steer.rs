//! Changes to a running network: new programs, held frames, faults.

use crate::drive::take;
use crate::medium::Harm;
use crate::network::{Network, Node};
use crate::place::{Owner, Place, Reason};
use crate::violation::Outcome;
use crate::world::World;
use dataplane_api::{Device, Port};
use std::collections::{BTreeMap, BTreeSet};

/// Frames that have passed a port, as far as they are not lost.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Passed {
    /// Came in, and the device holds no packet; else fewer.
    pub received: u64,
    /// Left, and were not lost on the link.
    pub sent: u64,
}

impl<E: Copy> Network<E> {
    /// Holds frames outside of a device, except frames on the ports `open`.
    pub fn hold(&mut self, device: u32, open: BTreeSet<Port>) {
        if let Some(node) = self.devices.get_mut(device as usize) {
            node.close(open);
        }
    }

    /// True if frames wait outside of a device.
    pub fn keeps_frames(&self) -> bool {
        self.devices.iter().any(|node| node.kept() > 0)
    }

    /// True if a device is down.
    pub fn is_down(&self, device: u32) -> bool {
        self.devices.get(device as usize).is_some_and(|node| node.is_down)
    }

    /// Frames through each port of a device that has a link.
    pub fn passed(&self, device: u32) -> BTreeMap<Port, Passed> {
        let Some(node) = self.devices.get(device as usize) else { return BTreeMap::new() };
        let queued = node.outlets().map(|outlet| u64::from(self.outlets[outlet as usize].queue.len()));
        let held = node.moving() + queued.sum::<u64>();
        let mut all: BTreeMap<Port, Passed> = BTreeMap::new();
        for wire in &self.wires {
            if wire.to.node == Node::Device(device) {
                let passed = all.entry(wire.to.port).or_default();
                passed.received = wire.medium.counts.delivered.saturating_sub(held);
            }
            if wire.from.node == Node::Device(device) {
                all.entry(wire.from.port).or_default().sent = wire.medium.counts.delivered + wire.flying();
            }
        }
        all
    }
}

/// Changes devices and links of a world's network while it runs.
pub trait Steer: World {
    /// Runs `work` on a device; it returns true if the device runs another program now, and then packets inside and in
    /// its queues are lost, and counted. Does nothing if the device does not exist.
    fn steer(&mut self, device: u32, work: impl FnOnce(&mut dyn Device) -> bool) -> Outcome {
        let network = self.network_mut();
        let Some(node) = network.devices.get_mut(device as usize) else { return Ok(()) };
        let before = node.counters();
        let is_new = work(node.device_mut());
        node.changed();
        if is_new {
            let lost = node.end_program(before) + network.clear_queues(device);
            end_all(self, device, lost, Reason::Replaced);
        }
        let network = self.network_mut();
        network.watch_timer(device);
        network.check_device(device)
    }

    /// Admits frames again, held frames first.
    fn release(&mut self, device: u32) -> Outcome {
        let Some(node) = self.network_mut().devices.get_mut(device as usize) else { return Ok(()) };
        for work in node.open() {
            take(self, device, work)?;
        }
        self.network().check_device(device)
    }

    /// Sets the faults of a wire, in addition to its settings. Frames on a wire that goes down are lost; returns their
    /// number. The device that sends on the wire gets the state of the link.
    fn harm_wire(&mut self, wire: u32, harm: Harm) -> Outcome<u64> {
        let network = self.network_mut();
        let state = &mut network.wires[wire as usize];
        if let Node::Device(device) = state.from.node {
            network.devices[device as usize].link(state.from.port, !harm.is_down);
        }
        let cut = state.suffer(harm);
        (0..cut).for_each(|_| self.dropped(Place::Wire(wire), Reason::LinkDown, Owner::NOBODY));
        self.network().check_wire(wire)?;
        Ok(cut)
    }

    /// Sets whether a device is down, and the factor of its service time. Packets in a device that goes down are lost;
    /// returns their number.
    fn harm_device(&mut self, device: u32, is_down: bool, factor: u64) -> Outcome<u64> {
        let network = self.network_mut();
        let inside = network.devices[device as usize].suffer(is_down, factor);
        let lost = inside + if is_down { network.clear_queues(device) } else { 0 };
        end_all(self, device, lost, Reason::DeviceDown);
        let network = self.network_mut();
        network.watch_timer(device);
        network.check_device(device)?;
        Ok(lost)
    }
}

impl<W: World> Steer for W {}

/// Reports that `packets` packets have ended at a device.
fn end_all<W: World>(world: &mut W, device: u32, packets: u64, reason: Reason) {
    world.network_mut().devices[device as usize].counts.dropped += packets;
    (0..packets).for_each(|_| world.dropped(Place::Device(device), reason, Owner::NOBODY));
}
