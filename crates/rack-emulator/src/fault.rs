//! Faults: they begin, and the wires and devices concerned suffer; they end, and what is left of them is worked out anew.

use crate::calendar::Event;
use crate::emulator::Emulator;
use crate::log::Entry;
use crate::medium::Harm;
use crate::place::{Owner, Place, Reason};
use crate::violation::Violation;
use crate::wire::Wire;
use base_time::Time;
use rack_model::{DeviceId, FaultKind, NodeId};

/// A fault of the rack while it runs.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct FaultState {
    pub is_active: bool,
    /// Packets that ended since it began where a link or device was down: on the way, inside, in queues.
    pub swept: u64,
}

impl Emulator {
    pub(crate) fn plan_faults(&mut self) {
        for (fault, described) in (0..).zip(&self.rack.faults) {
            self.calendar.schedule(described.at, Event::Fault { fault, begins: true });
            if described.ends() < Time::MAX {
                self.calendar.schedule(described.ends(), Event::Fault { fault, begins: false });
            }
        }
        self.faults = vec![FaultState::default(); self.rack.faults.len()];
    }

    pub(crate) fn fault(&mut self, fault: u32, begins: bool) -> Result<(), Box<Violation>> {
        self.faults[fault as usize].is_active = begins;
        self.log(Entry::Fault { fault, begins });
        let kind = self.rack.faults[fault as usize].kind.clone();
        let mut swept = 0;
        for wire in 0..self.wires.len() {
            if concerns_wire(&kind, &self.wires[wire]) {
                let harm = self.harm_of(&self.wires[wire]);
                let cut = self.wires[wire].suffer(harm);
                swept += cut;
                (0..cut)
                    .for_each(|_| self.drop_at(Place::Wire(wire as u32), Reason::LinkDown, Owner::NOBODY));
                self.check_wire(wire as u32)?;
            }
        }
        if let FaultKind::DeviceDown(device) | FaultKind::Slow { device, .. } = kind {
            swept += self.sweep_device(device)?;
        }
        self.faults[fault as usize].swept += swept;
        Ok(())
    }

    /// What all active faults together do to a wire.
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
    fn sweep_device(&mut self, id: DeviceId) -> Result<u64, Box<Violation>> {
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
        let node = &mut self.devices[id.0 as usize];
        if node.is_down && !is_down {
            self.restarted.push(id);
        }
        let swept = node.suffer(is_down, factor) + if is_down { self.clear_queues(id) } else { 0 };
        self.end_all(id, swept, Reason::DeviceDown);
        if !is_down {
            self.watch_timer(id.0 as usize);
        }
        self.check_device(id)?;
        Ok(swept)
    }

    /// Empties the queues of all ports of a device: of how many packets.
    pub(crate) fn clear_queues(&mut self, id: DeviceId) -> u64 {
        let outlets: Vec<u32> = self.devices[id.0 as usize].outlets().collect();
        let cleared = outlets.iter().map(|at| self.outlets[*at as usize].queue.clear(self.now)).sum();
        self.devices[id.0 as usize].counts.queued -= cleared;
        cleared
    }

    /// So many packets have ended at a device.
    pub(crate) fn end_all(&mut self, id: DeviceId, packets: u64, reason: Reason) {
        self.devices[id.0 as usize].counts.dropped += packets;
        (0..packets).for_each(|_| self.drop_at(Place::Device(id.0), reason, Owner::NOBODY));
    }
}

fn concerns_wire(kind: &FaultKind, wire: &Wire) -> bool {
    match kind {
        FaultKind::LinkDown(link) | FaultKind::Delay { link, .. } => *link == wire.link,
        FaultKind::Loss { link, from, .. } => {
            *link == wire.link && from.is_none_or(|from| from == wire.from.node)
        }
        FaultKind::Partition(nodes) => {
            let inside = |node: NodeId| nodes.contains(&node);
            inside(wire.from.node) != inside(wire.to.node)
        }
        FaultKind::DeviceDown(_)
        | FaultKind::Slow { .. }
        | FaultKind::ControlDelay { .. }
        | FaultKind::ControlLoss { .. } => false,
    }
}
