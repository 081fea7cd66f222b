//! The device.

use crate::{Action, FlowRule};
use base_time::Time;
use dataplane_api::{
    Counters, Device, DropReason, EgressResult, Output, Port, QueueRecord, Queued, QueuedPacket, Replica,
};

/// Forwards frames unchanged, by its rules. A frame that matches no rule is dropped.
pub struct FlowSwitch {
    /// The highest priority first; of equals the first that was given.
    rules: Vec<FlowRule>,
    counters: Counters,
}

impl FlowSwitch {
    /// With these rules.
    pub fn new(mut rules: Vec<FlowRule>) -> FlowSwitch {
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
        FlowSwitch { rules, counters: Counters::default() }
    }

    fn action(&self, port: Port) -> Action {
        let matches = |rule: &&FlowRule| rule.in_port.is_none_or(|wanted| wanted == port);
        self.rules.iter().find(matches).map_or(Action::Drop, |rule| rule.action)
    }
}

impl Device for FlowSwitch {
    fn ingress(&mut self, port: Port, frame: Vec<u8>, _now: Time) -> Vec<Queued> {
        self.counters.received += 1;
        match self.action(port) {
            Action::Output(to) if to != port => {
                let replica = Replica { port: to, priority: 0 };
                vec![Queued { replica, bytes: frame.len() as u32, packet: Box::new(frame) }]
            }
            Action::Output(_) | Action::Drop => {
                *self.counters.dropped.entry(DropReason::Ingress).or_default() += 1;
                vec![]
            }
        }
    }

    fn egress(&mut self, packet: Queued, _queue: QueueRecord, _now: Time) -> EgressResult {
        let port = packet.replica.port;
        let Ok(frame) = packet.packet.downcast::<Vec<u8>>() else {
            // Another device's packet.
            *self.counters.dropped.entry(DropReason::Internal).or_default() += 1;
            return EgressResult::default();
        };
        self.counters.sent += 1;
        EgressResult { output: Some(Output { port, frame: *frame }), ..EgressResult::default() }
    }

    fn resume(&mut self, _packet: QueuedPacket, _now: Time) -> Vec<Queued> {
        *self.counters.dropped.entry(DropReason::Internal).or_default() += 1;
        vec![]
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}
