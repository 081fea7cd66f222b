//! A device without a program.

use base_time::Time;
use dataplane_api::{Counters, Device, DropReason, EgressResult, Port, QueueRecord, Queued, QueuedPacket};

/// Takes frames and drops them, counted.
#[derive(Default)]
pub struct Idle {
    counters: Counters,
}

impl Device for Idle {
    fn ingress(&mut self, _port: Port, _frame: Vec<u8>, _now: Time) -> Vec<Queued> {
        self.counters.received += 1;
        *self.counters.dropped.entry(DropReason::NoProgram).or_default() += 1;
        vec![]
    }

    fn egress(&mut self, _packet: Queued, _queue: QueueRecord, _now: Time) -> EgressResult {
        EgressResult::default()
    }

    fn resume(&mut self, _packet: QueuedPacket, _now: Time) -> Vec<Queued> {
        vec![]
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}
