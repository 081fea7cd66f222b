//! What those do who steer devices while the rack runs.

use crate::emulator::Emulator;
use crate::log::{Entry, digest};
use crate::place::Reason;
use crate::violation::Violation;
use dataplane_api::{Device, Port};
use rack_model::{DeviceId, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// Frames that have passed a port, as far as they are not lost.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Passed {
    /// Came in, and the device holds no packet; else fewer.
    pub received: u64,
    /// Left, and were not lost on the link.
    pub sent: u64,
}

impl Emulator {
    /// Lets somebody work on a device, who says whether it runs another program now; then what was inside or in its queues is lost,
    /// and counted. Nothing happens for a device of another rack.
    pub fn steer(
        &mut self,
        id: DeviceId,
        work: impl FnOnce(&mut dyn Device) -> bool,
    ) -> Result<(), Violation> {
        let at = id.0 as usize;
        if at >= self.devices.len() {
            return Ok(());
        }
        let before = self.devices[at].counters();
        if work(self.devices[at].device_mut()) {
            let lost = self.devices[at].end_program(before) + self.clear_queues(id);
            self.end_all(id, lost, Reason::Replaced);
        }
        self.watch_timer(at);
        Ok(self.check_device(id)?)
    }

    /// Frames wait outside of a device from now on, but for those that come in by these ports.
    pub fn hold(&mut self, id: DeviceId, open: BTreeSet<Port>) {
        if let Some(node) = self.devices.get_mut(id.0 as usize) {
            node.close(open);
        }
    }

    /// Frames come in again, those that waited first.
    pub fn release(&mut self, id: DeviceId) -> Result<(), Violation> {
        let Some(node) = self.devices.get_mut(id.0 as usize) else { return Ok(()) };
        for work in node.open() {
            self.device_takes(id.0 as usize, work)?;
        }
        Ok(self.check_device(id)?)
    }

    /// True if frames wait outside of a device.
    pub fn keeps_frames(&self) -> bool {
        self.devices.iter().any(|node| node.kept() > 0)
    }

    /// What has passed the ports of a device that have links.
    pub fn passed(&self, id: DeviceId) -> BTreeMap<Port, Passed> {
        let Some(node) = self.devices.get(id.0 as usize) else { return BTreeMap::new() };
        let queued = node.outlets().map(|outlet| u64::from(self.outlets[outlet as usize].queue.len()));
        let held = node.moving() + queued.sum::<u64>();
        let mut all: BTreeMap<Port, Passed> = BTreeMap::new();
        for wire in &self.wires {
            if wire.to.node == NodeId::Device(id) {
                let passed = all.entry(wire.to.port).or_default();
                passed.received = wire.medium.counts.delivered.saturating_sub(held);
            }
            if wire.from.node == NodeId::Device(id) {
                all.entry(wire.from.port).or_default().sent = wire.medium.counts.delivered + wire.flying();
            }
        }
        all
    }

    /// Devices that were down and are up again, since the last call.
    pub fn take_restarted(&mut self) -> Vec<DeviceId> {
        std::mem::take(&mut self.restarted)
    }

    /// True if [`take_restarted`](Emulator::take_restarted) has something to give.
    pub fn has_restarted(&self) -> bool {
        !self.restarted.is_empty()
    }

    /// True if a device is down.
    pub fn is_down(&self, id: DeviceId) -> bool {
        self.devices.get(id.0 as usize).is_some_and(|node| node.is_down)
    }

    /// Faults that are under way, by their places in the rack.
    pub fn active_faults(&self) -> impl Iterator<Item = usize> {
        (0..).zip(&self.faults).filter(|(_, fault)| fault.is_active).map(|(at, _)| at)
    }

    /// Something has happened that the log and the report are to tell.
    pub fn note(&mut self, what: String) {
        let entry = Entry::Noted { note: self.notes.len() as u32, digest: digest(what.as_bytes()) };
        self.notes.push((self.now, what));
        self.log(entry);
    }
}
