//! Edges with spares while a rack runs: what agents do for them, and what becomes of them, for the report.
//!
//! An agent sends its data plane a tick at an interval, so that a device that dies is noticed without packets, too. Its reaction to a
//! port that goes down is in [`driven`](super::driven).

use crate::rack::Racked;
use base_time::{Duration, Time};
use ir::{InstanceId, Name, Program};
use ir_split::{Part, SentEdge};
use rack_emulator::{EdgeReport, Emulator, Violation};
use rack_model::{DeviceId, NodeId};

/// A sender that begins without memory is given a generation at least so far after the last one (`failover::Generations`).
const REFILLED: u64 = 1 << 12;

/// All edges of a rack.
pub(super) struct Edges(Vec<Watched>);

struct Watched {
    device: DeviceId,
    edge: ir_split::Edge,
    /// The edge as the program says it to agents.
    sent: SentEdge,
    next: Time,
    /// The register `used`, as it was last.
    used: u64,
    /// The register `generations`, as it was last; none before the first look.
    generation: Option<u64>,
    /// Number of changes to another target.
    changes: u64,
    /// Objects at the targets whose contents another target lacks: those marked `@soft`.
    soft: Vec<Name>,
}

impl Edges {
    pub(super) fn new(racked: &Racked) -> Edges {
        let mut all = vec![];
        for placed in racked.parts() {
            let sent = SentEdge::of_program(&placed.part.program);
            all.extend(sent.into_iter().filter_map(|sent| {
                let is_it =
                    |edge: &&ir_split::Edge| edge.control == sent.control && edge.number == sent.number;
                let edge = placed.part.linkage.edges.iter().find(is_it)?.clone();
                let target = edge.targets.first().and_then(|(to, _)| racked.part(placed.app, to.0 as usize));
                Some(Watched {
                    device: DeviceId(placed.device as u32),
                    soft: target.map_or(vec![], |target| soft(&racked.apps[placed.app].whole, target.part)),
                    edge,
                    next: Time::ZERO + every(&sent),
                    sent,
                    used: 0,
                    generation: None,
                    changes: 0,
                })
            }));
        }
        Edges(all)
    }

    /// When the next tick is due.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.0.iter().map(|one| one.next).min()
    }

    /// Sends the ticks that are due.
    pub(super) fn tick(&mut self, emulator: &mut Emulator) -> Result<(), Violation> {
        let now = emulator.now();
        for one in &mut self.0 {
            if one.next > now {
                continue;
            }
            one.next = now + every(&one.sent);
            one.look(emulator);
            if let Some(port) = one.sent.ports.first().filter(|_| !emulator.is_down(one.device)) {
                emulator.hand_in(one.device, *port, one.sent.tick.clone())?;
            }
        }
        Ok(())
    }

    /// For each edge with spares, the device in use and the number of changes.
    pub(super) fn report(&mut self, emulator: &mut Emulator) -> Vec<EdgeReport> {
        let report = |one: &mut Watched| {
            one.look(emulator);
            let names = |emulator: &Emulator| one.targets(emulator);
            EdgeReport {
                device: emulator.rack().node_name(NodeId::Device(one.device)).to_string(),
                regions: one.edge.regions.iter().map(ToString::to_string).collect(),
                targets: names(emulator),
                used: one.used_by_name(emulator),
                changes: one.changes,
            }
        };
        self.0.iter_mut().map(report).collect()
    }
}

/// The objects marked `@soft` that a part has.
fn soft(whole: &Program, part: &Part) -> Vec<Name> {
    let all = (0..whole.instances.len()).map(InstanceId::from);
    let soft = all.filter(|object| ir_state::is_soft(whole, *object));
    let names = soft.map(|object| whole.instance(object).control_plane_name.clone());
    let has = |name: &Name| part.program.instances.iter().any(|one| one.control_plane_name == *name);
    names.filter(has).collect()
}

/// Between two ticks.
fn every(sent: &SentEdge) -> Duration {
    Duration::from_us(sent.tick_us)
}

impl Watched {
    /// Looks which target is in use, and notes a change.
    fn look(&mut self, emulator: &mut Emulator) {
        let register = |name: &str| {
            let name = format!("{}.{name}", self.edge.control);
            emulator.device(self.device)?.register_read(&name, self.edge.number).ok()?.to_u64()
        };
        // A device that is down, or has just restarted, has none.
        let (Some(used), Some(generation)) = (register("used"), register("generations")) else { return };
        if used == self.used && Some(generation) == self.generation {
            return;
        }
        let before = self.used_by_name(emulator);
        // A generation begins with each target; to have none left is a change without one. Where there was none, the first begins.
        let begun = generation - self.generation.unwrap_or(generation).min(generation);
        let begun = if begun < REFILLED { begun } else { 0 };
        let first = if self.used == 0 { begun.min(1) } else { 0 };
        let ended = u64::from(used == 0 && (self.used != 0 || begun > 0));
        self.changes += begun - first + ended;
        (self.used, self.generation) = (used, Some(generation));
        let after = self.used_by_name(emulator);
        if before == after {
            return;
        }
        let regions =
            self.edge.regions.iter().map(|region| format!("`{region}`")).collect::<Vec<_>>().join(", ");
        let device = emulator.rack().node_name(NodeId::Device(self.device)).to_string();
        match (before, after) {
            (Some(before), Some(after)) => {
                emulator.note(format!("`{device}` hands over to `{after}` instead of `{before}`: {regions}"));
                let soft: Vec<String> = self.soft.iter().map(|name| format!("`{name}`")).collect();
                if !soft.is_empty() {
                    let lacks = soft.join(", ");
                    emulator.note(format!("`{after}` lacks what `{before}` held in {lacks} (`@soft`)"));
                }
            }
            (Some(before), None) => {
                emulator.note(format!("`{device}` has no device left after `{before}`: {regions}"));
            }
            (None, _) => {}
        }
    }

    fn targets(&self, emulator: &Emulator) -> Vec<String> {
        let name = |device: u32| emulator.rack().node_name(NodeId::Device(DeviceId(device))).to_string();
        self.edge.targets.iter().map(|(device, _)| name(device.0)).collect()
    }

    fn used_by_name(&self, emulator: &Emulator) -> Option<String> {
        let at = (self.used != 0).then(|| self.used.trailing_zeros() as usize)?;
        self.targets(emulator).into_iter().nth(at)
    }
}
