//! The switch as a device that a driver runs.

use super::Switch;
use super::ingress::Work;
use super::packet::Waiting;
use crate::trace::{Cause, PacketId};
use crate::value::Value;
use base_bits::Bits;
use base_time::Time;
use dataplane_api::{
    Counters, Device, EgressResult, EntryError, Output, Port, QueueRecord, Queued, QueuedPacket,
};
use std::collections::BTreeMap;

impl Device for Switch {
    fn ingress(&mut self, port: Port, frame: &[u8], now: Time) -> Vec<Queued> {
        self.counters.received += 1;
        let life = self.new_life();
        let mut packet = self.fresh(port, frame.to_vec(), life, now);
        self.begin(&mut packet, PacketId::default(), Cause::Received, Some(port));
        self.run_ingress(vec![Work::Start(packet)], now)
    }

    fn egress(&mut self, packet: Queued, queue: QueueRecord, now: Time) -> EgressResult {
        match packet.packet.downcast::<Waiting>() {
            Ok(waiting) => self.run_egress(waiting.packet, queue, now),
            Err(_) => EgressResult::default(),
        }
    }

    fn resume(&mut self, packet: QueuedPacket, now: Time) -> Vec<Queued> {
        match packet.downcast::<Waiting>() {
            Ok(waiting) => self.run_ingress(vec![Work::Start(waiting.packet)], now),
            Err(_) => vec![],
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.frame_deadline()
    }

    fn tick(&mut self, now: Time) -> Vec<Queued> {
        self.frame_tick(now)
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn register_read(&self, name: &str, index: u64) -> Result<Bits, EntryError> {
        self.register_value(name, index)?.to_key().ok_or_else(|| EntryError {
            message: format!("the cells of register `{name}` are no numbers"),
            help: None,
        })
    }

    fn state(&self) -> BTreeMap<String, Vec<u8>> {
        crate::snapshot::snapshot(&self.program, &self.state)
    }
}

impl Switch {
    /// Runs a frame and all that comes of it to the end at one moment.
    pub fn process(&mut self, port: Port, frame: &[u8], now: Time) -> Vec<Output> {
        let queued = self.ingress(port, frame, now);
        self.drain(queued, now)
    }

    /// Reads one cell of a register, whatever its type.
    pub fn register_value(&self, name: &str, index: u64) -> Result<&Value, EntryError> {
        crate::control_plane::register_cell(&self.program, &self.state, name, index)
    }
}
