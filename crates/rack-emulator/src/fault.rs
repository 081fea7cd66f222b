//! Faults: when one begins or ends, the effect on wires and devices is computed anew.

use crate::emulator::Emulator;
use crate::event::Event;
use crate::log::Entry;
use crate::node::node_id;
use base_time::Time;
use device_network::{Harm, Node, Outcome, Steer, Wire};
use rack_model::{DeviceId, FaultKind};

/// A fault of the rack while it runs.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct FaultState {
    pub is_active: bool,
    /// Packets lost since it began because a link or device went down: in flight, inside, in queues.
    pub swept: u64,
}

impl Emulator {
    pub(crate) fn plan_faults(&mut self) {
        for (fault, described) in (0..).zip(&self.rack.faults) {
            self.network.schedule(described.at, Event::Fault { fault, begins: true });
            if described.ends() < Time::MAX {
                self.network.schedule(described.ends(), Event::Fault { fault, begins: false });
            }
        }
        self.faults = vec![FaultState::default(); self.rack.faults.len()];
    }

    pub(crate) fn fault(&mut self, fault: u32, begins: bool) -> Outcome {
        self.faults[fault as usize].is_active = begins;
        self.log(Entry::Fault { fault, begins });
        let kind = self.rack.faults[fault as usize].kind.clone();
        let mut swept = 0;
        for wire in 0..self.network.wires.len() {
            if concerns_wire(&kind, &self.network.wires[wire]) {
                let harm = self.harm_of(&self.network.wires[wire]);
                swept += self.harm_wire(wire as u32, harm)?;
            }
        }
        if let FaultKind::DeviceDown(device) | FaultKind::Slow { device, .. } = kind {
            swept += self.sweep_device(device)?;
        }
        self.faults[fault as usize].swept += swept;
        Ok(())
    }

    /// Combined effect of all active faults on a wire.
    fn harm_of(&self, wire: &Wire) -> Harm {
        let mut harm = Harm::default();
        for (fault, state) in self.rack.faults.iter().zip(&self.faults) {
            if !state.is_active || !concerns_wire(&fault.kind, wire) {
                continue;
            }
            match &fault.kind {
                FaultKind::LinkDown(_) | FaultKind::Partition(_) => harm.is_down = true,
                FaultKind::Loss { share, .. } => harm.losses.push(*share),
                FaultKind::Delay { by, .. } => harm.delay += *by,
                FaultKind::DeviceDown(_)
                | FaultKind::Slow { .. }
                | FaultKind::ControlDelay { .. }
                | FaultKind::ControlLoss { .. } => {}
            }
        }
        harm
    }

    /// A device is as slow, and as down, as all active faults together make it.
    fn sweep_device(&mut self, id: DeviceId) -> Outcome<u64> {
        let (mut is_down, mut factor) = (false, 1u64);
        for (fault, state) in self.rack.faults.iter().zip(&self.faults) {
            match fault.kind {
                FaultKind::DeviceDown(device) if state.is_active && device == id => is_down = true,
                FaultKind::Slow { device, factor: times } if state.is_active && device == id => {
                    factor = factor.saturating_mul(times.into());
                }
                _ => {}
            }
        }
        if self.network.is_down(id.0) && !is_down {
            self.restarted.push(id);
        }
        self.harm_device(id.0, is_down, factor)
    }
}

fn concerns_wire(kind: &FaultKind, wire: &Wire) -> bool {
    match kind {
        FaultKind::LinkDown(link) | FaultKind::Delay { link, .. } => link.0 == wire.link,
        FaultKind::Loss { link, from, .. } => {
            link.0 == wire.link && from.is_none_or(|from| from == node_id(wire.from.node))
        }
        FaultKind::Partition(nodes) => {
            let inside = |node: Node| nodes.contains(&node_id(node));
            inside(wire.from.node) != inside(wire.to.node)
        }
        FaultKind::DeviceDown(_)
        | FaultKind::Slow { .. }
        | FaultKind::ControlDelay { .. }
        | FaultKind::ControlLoss { .. } => false,
    }
}
