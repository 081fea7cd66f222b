//! Control of devices while the rack runs.

use crate::emulator::Emulator;
use crate::log::{Entry, digest};
use crate::violation::Violation;
use dataplane_api::{Device, Port};
use device_network::{Drive, Owner, Passed, Steer};
use rack_model::DeviceId;
use std::collections::{BTreeMap, BTreeSet};

impl Emulator {
    /// Runs `work` on a device; it returns true if the device runs another program now, and then packets inside and in
    /// its queues are lost, and counted. Does nothing for a device that does not exist.
    pub fn steer(
        &mut self,
        id: DeviceId,
        work: impl FnOnce(&mut dyn Device) -> bool,
    ) -> Result<(), Violation> {
        Steer::steer(self, id.0, work).map_err(|violation| self.named(*violation))
    }

    /// Frames wait outside of a device from now on, but for those that come in by these ports.
    pub fn hold(&mut self, id: DeviceId, open: BTreeSet<Port>) {
        self.network.hold(id.0, open);
    }

    /// Frames come in again, those that waited first.
    pub fn release(&mut self, id: DeviceId) -> Result<(), Violation> {
        Steer::release(self, id.0).map_err(|violation| self.named(*violation))
    }

    /// Injects a frame at a port of a device, for the device's agent.
    pub fn hand_in(&mut self, id: DeviceId, port: Port, frame: Vec<u8>) -> Result<(), Violation> {
        Drive::inject(self, id.0, port, frame, Owner::NOBODY).map_err(|violation| self.named(*violation))
    }

    /// True if frames wait outside of a device.
    pub fn keeps_frames(&self) -> bool {
        self.network.keeps_frames()
    }

    /// Frames through each port of a device that has a link.
    pub fn passed(&self, id: DeviceId) -> BTreeMap<Port, Passed> {
        self.network.passed(id.0)
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
        self.network.is_down(id.0)
    }

    /// Active faults, by their indices in the rack.
    pub fn active_faults(&self) -> impl Iterator<Item = usize> {
        (0..).zip(&self.faults).filter(|(_, fault)| fault.is_active).map(|(at, _)| at)
    }

    /// Adds an event to the log and the report.
    pub fn note(&mut self, what: String) {
        let entry = Entry::Noted { note: self.notes.len() as u32, digest: digest(what.as_bytes()) };
        self.notes.push((self.network.now, what));
        self.log(entry);
    }
}
