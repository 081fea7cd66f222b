//! The whole program, run beside its split.
//!
//! Ports that join devices are not the program's: the split drops and counts what it sends there, without its egress. A
//! packet that does so says nothing, and what comes behind it may see another state.

use base_time::Time;
use dataplane_api::{Device, Output, Port, QueueRecord, Queued};
use ir_interp::Switch;
use std::collections::VecDeque;

/// The whole program on one device.
pub struct Whole {
    /// Its device.
    pub switch: Switch,
    /// The ports that join devices in the split.
    reserved: Vec<Port>,
    /// More than one packet came of the last frame or timer.
    pub has_copied: bool,
}

impl Whole {
    /// The program on this device, in a split where these ports join devices.
    pub fn new(switch: Switch, reserved: &[u64]) -> Whole {
        let reserved = reserved.iter().filter_map(|&port| Port::try_from(port).ok()).collect();
        Whole { switch, reserved, has_copied: false }
    }

    /// Takes in a frame; gives what leaves, or nothing if a packet is sent to a port that joins devices.
    pub fn frame(&mut self, port: Port, frame: &[u8], now: Time) -> Option<Vec<Output>> {
        let queued = self.switch.ingress(port, frame, now);
        self.drain(queued, now)
    }

    /// Runs a timer; gives the same.
    pub fn tick(&mut self, now: Time) -> Option<Vec<Output>> {
        let queued = self.switch.tick(now);
        self.drain(queued, now)
    }

    fn drain(&mut self, queued: Vec<Queued>, now: Time) -> Option<Vec<Output>> {
        let mut waiting = VecDeque::from(queued);
        let (mut outputs, mut is_ours) = (vec![], true);
        self.has_copied = false;
        while let Some(packet) = waiting.pop_front() {
            self.has_copied |= !waiting.is_empty();
            is_ours &= !self.reserved.contains(&packet.replica.port);
            let record = QueueRecord { enqueued: now, ..QueueRecord::default() };
            let result = self.switch.egress(packet, record, now);
            let came = result.output.iter().count() + result.requeued.len() + result.again.len();
            self.has_copied |= came > 1;
            outputs.extend(result.output);
            waiting.extend(result.requeued);
            for again in result.again {
                waiting.extend(self.switch.resume(again, now));
            }
        }
        is_ours.then_some(outputs)
    }
}
