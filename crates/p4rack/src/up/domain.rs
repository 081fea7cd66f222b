//! The devices of a rack that one controller steers.

use super::switches::Plan;
use base_time::Time;
use controller::{Call, Controller, Output, Ticket, Timing, Wires};
use std::collections::BTreeSet;

/// Devices that one controller presents as one switch.
pub(super) struct Domain {
    pub(super) controller: Controller,
    /// Indices of the devices in the rack.
    pub(super) devices: Vec<usize>,
    pub(super) wires: Wires,
    /// Devices that were stale at the last check.
    pub(super) stale: BTreeSet<usize>,
}

impl Domain {
    pub(super) fn new(plan: Plan, devices: Vec<usize>, wires: Wires, timing: Timing) -> Domain {
        let controller = Controller::new(plan, 1, 0, timing);
        Domain { controller, devices, wires, stale: BTreeSet::new() }
    }

    /// Calls the controller; `number` is the domain's place, which the outputs carry.
    pub(super) fn call(
        &mut self,
        number: usize,
        now: Time,
        call: Call,
    ) -> impl Iterator<Item = (usize, Output)> {
        let outputs = self.controller.call(now, Ticket(0), call);
        outputs.into_iter().map(move |output| (number, output))
    }
}
