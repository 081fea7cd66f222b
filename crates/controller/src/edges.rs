//! Edges with spares: the senders are read at an interval, and may use again the targets whose state is right (crate `failover`).
//!
//! ```text
//! a device is stale, has restarted     its edges bar it: written at the next look
//! a sender's `failed` says so          the target is audited: differs -> stale; equal -> its state is right
//! it is repaired, or equal             hold-down, then forgiven
//! ```
//!
//! The last usable target of an edge is never barred for its state: a doubt here must not stop traffic.

use crate::ask::Holdings;
use crate::edge::{Edge, EdgeRegisters};
use crate::limits::Limits;
use crate::part::Rollout;
use crate::spread::Spread;
use base_time::{Duration, Time};
use failover::{Allowed, Generations, Keeper, Kept, Target, Targets, Thresholds};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Entity, Update, entity::Entity as Kind, p4_data::Data};
use p4runtime_server::Status;
use std::collections::{BTreeMap, BTreeSet};

/// An edge and the state of its targets, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeState {
    /// The edge.
    pub edge: Edge,
    /// Nothing of a target while its sender has not been read.
    pub targets: Vec<Option<Kept>>,
    /// The target in use, as it was read last.
    pub used: Option<usize>,
}

/// All edges of the running rollout.
#[derive(Default)]
pub(crate) struct Edges {
    all: Vec<Watched>,
    /// When senders are read next.
    due: Time,
    /// Targets to be compared with the desired state.
    suspects: BTreeSet<usize>,
    /// When a target may be compared again.
    compared: BTreeMap<usize, Time>,
    /// Limits set by an operator, which replace those of the plan.
    limits: Option<Limits>,
}

struct Watched {
    edge: Edge,
    /// Unknown until the sender has been read, where another controller was there before.
    keeper: Option<Keeper>,
    generations: Generations,
    used: Targets,
    /// Targets whose ports are down.
    down: Targets,
}

impl Watched {
    fn kept(&self, target: Target) -> Option<Kept> {
        self.keeper.as_ref()?.kept(target)
    }
}

/// Time after which a target that does not answer is asked again.
const AGAIN: Duration = Duration::from_ms(1_000);

/// New registers of a sender: the edge, and the targets that it may use.
pub(crate) type Written = Vec<(usize, Allowed)>;

impl Edges {
    /// Takes the edges of a rollout that was just filled. Settings of an operator stay.
    pub(crate) fn fill(&mut self, edges: &[Edge]) {
        let held = self.held();
        let watched = |edge: &Edge| {
            let edge = Edge { limits: self.limits.unwrap_or(edge.limits), ..edge.clone() };
            let mut keeper = Keeper::new(edge.targets.len(), micros(edge.limits.hold_down));
            if edge.numbered().any(|(_, device)| !held.contains(&device)) {
                let kept_out = edge.numbered().filter(|(_, device)| held.contains(device));
                kept_out.for_each(|(target, _)| keeper.hold(target));
            }
            let keeper = Some(keeper);
            Watched {
                edge,
                keeper,
                generations: Generations::default(),
                used: Targets::NONE,
                down: Targets::NONE,
            }
        };
        let all = edges.iter().map(watched).collect();
        *self = Edges { all, limits: self.limits, ..Edges::default() };
    }

    /// Takes the edges of a rollout that ran before.
    pub(crate) fn adopt(&mut self, edges: &[Edge]) {
        self.fill(edges);
        self.all.iter_mut().for_each(|one| one.keeper = None);
    }

    /// The limits of all edges; none without edges.
    pub(crate) fn limits(&self) -> Option<Limits> {
        self.all.first().map(|one| one.edge.limits)
    }

    /// Thresholds that an operator has set.
    pub(crate) fn thresholds(&self) -> Option<Thresholds> {
        self.limits.map(|limits| limits.thresholds)
    }

    /// An operator has set them.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = Some(limits);
        for Watched { edge, keeper, .. } in &mut self.all {
            edge.limits = limits;
            if let Some(keeper) = keeper {
                keeper.set_hold_down(micros(limits.hold_down));
            }
        }
    }

    /// Registers of a device that begins without memory.
    pub(crate) fn begin(&mut self, device: usize, seconds: u32) -> Vec<Update> {
        let mut updates = vec![];
        for one in self.all.iter_mut().filter(|one| one.edge.sender == device) {
            let allowed = one.keeper.as_mut().map(Keeper::restart).unwrap_or_default();
            updates.push(one.edge.write(one.edge.registers.generations, one.generations.next(seconds)));
            updates.extend(one.edge.allow(allowed));
        }
        updates
    }

    /// A device may not be as it should be.
    pub(crate) fn bar(&mut self, device: usize, now: Time) {
        for Watched { edge, keeper, .. } in &mut self.all {
            let Some(keeper) = keeper else { continue };
            let is_usable = |target: &Target| keeper.kept(*target) == Some(Kept::Usable);
            let has_other = edge.numbered().any(|(target, at)| at != device && is_usable(&target));
            if let Some(target) = edge.target(device).filter(|_| has_other) {
                keeper.bar(target);
                self.due = now;
            }
        }
    }

    /// Keeps a device out of use, or uses it again, for an operator. Each edge to the device must have another usable target.
    pub(crate) fn keep_out(&mut self, device: usize, ends: bool, now: Time) -> Result<(), Status> {
        let mut kept = vec![];
        for Watched { edge, keeper, .. } in &mut self.all {
            let Some(target) = edge.target(device) else { continue };
            let Some(keeper) = keeper else {
                return Err(Status::new(Code::Unavailable, "the edge has not been read yet: try again"));
            };
            let is_usable =
                |(other, _): &(Target, usize)| *other != target && keeper.kept(*other) == Some(Kept::Usable);
            if !ends && !edge.numbered().any(|other| is_usable(&other)) {
                let why = "no other device is ready: packets for its regions would be dropped";
                return Err(Status::new(Code::FailedPrecondition, why));
            }
            // Changed after the loop: if one edge refuses, none has changed.
            kept.push((keeper, target));
        }
        if kept.is_empty() {
            return Err(Status::new(Code::FailedPrecondition, "no edge with spares leads to this device"));
        }
        kept.into_iter()
            .for_each(|(keeper, target)| if ends { keeper.let_go(target) } else { keeper.hold(target) });
        self.due = now;
        Ok(())
    }

    /// True if no sender uses the device, and none will before its state is right: it is out at each edge to it, and the senders know.
    pub(crate) fn is_out(&self, device: usize) -> bool {
        let mut to_it = self.all.iter().filter_map(|one| Some((one, one.edge.target(device)?))).peekable();
        to_it.peek().is_some()
            && to_it.all(|(one, target)| one.keeper.as_ref().is_some_and(|keeper| keeper.is_unused(target)))
    }

    /// Devices that an operator keeps out of use.
    pub(crate) fn held(&self) -> BTreeSet<usize> {
        self.devices(|one, target| one.kept(target) == Some(Kept::Held))
    }

    /// Devices that an edge is without, because they have failed there or their state is not right, and that no sender uses. An edge whose spare fails does not notice it.
    pub(crate) fn failed(&self) -> BTreeSet<usize> {
        let used = self.devices(|one, target| one.used.contains(target));
        &self.devices(|one, target| one.kept(target) == Some(Kept::Out)) - &used
    }

    /// The devices that are such a target of an edge.
    fn devices(&self, is: impl Fn(&Watched, Target) -> bool) -> BTreeSet<usize> {
        let targets = self.all.iter().flat_map(|one| one.edge.numbered().map(move |target| (one, target)));
        targets.filter(|(one, (target, _))| is(one, *target)).map(|(_, (_, device))| device).collect()
    }

    /// The place of a device in the order in which a write reaches them, where packets come to what is written over the edges `leading`, or over any. First those that no edge
    /// leads to, then targets that are not in use, then those in use (ExoPlane's switch, backups, primaries): no packet at a spare sees less than one that has been
    /// at the device before it. Without `leading`, shards have no such order: each of their devices is in use at some edge.
    pub(crate) fn phase(&self, device: usize, leading: Option<&BTreeSet<usize>>) -> usize {
        let target = |one: &Watched| one.edge.target(device);
        let is_used = |(at, one): (usize, &Watched)| {
            leading.is_none_or(|leading| leading.contains(&at))
                && target(one).is_some_and(|target| one.used.contains(target))
        };
        match self.all.iter().any(|one| target(one).is_some()) {
            false => 0,
            true => 1 + usize::from(self.all.iter().enumerate().any(is_used)),
        }
    }

    /// All edges, for people.
    pub(crate) fn states(&self) -> Vec<EdgeState> {
        let state = |Watched { edge, keeper, used, .. }: &Watched| EdgeState {
            edge: edge.clone(),
            targets: edge.numbered().map(|(target, _)| keeper.as_ref()?.kept(target)).collect(),
            used: used.target().and_then(|target| edge.device(target)),
        };
        self.all.iter().map(state).collect()
    }

    /// A device is as it should be.
    pub(crate) fn is_right(&mut self, device: usize, now: Time) {
        self.suspects.remove(&device);
        self.compared.remove(&device);
        for Watched { edge, keeper, .. } in &mut self.all {
            if let (Some(keeper), Some(target)) = (keeper, edge.target(device)) {
                keeper.state_is_right(target, micros_of(now));
            }
        }
    }

    /// The devices that send over edges.
    pub(crate) fn senders(&self) -> BTreeSet<usize> {
        self.all.iter().map(|one| one.edge.sender).collect()
    }

    /// Time of the next reading of senders; `None` without edges.
    pub(crate) fn deadline(&self) -> Option<Time> {
        (!self.all.is_empty()).then_some(self.due)
    }

    /// Notes that senders are being read; the next reading is after `span`.
    pub(crate) fn look(&mut self, now: Time, span: Duration) {
        self.due = now + span;
    }

    /// Targets to be compared now.
    pub(crate) fn take_suspects(&mut self, now: Time) -> Vec<usize> {
        let compared = &mut self.compared;
        let is_due = |device: &usize| compared.get(device).is_none_or(|at| *at <= now);
        let due: Vec<usize> = std::mem::take(&mut self.suspects).into_iter().filter(is_due).collect();
        compared.extend(due.iter().map(|device| (*device, now + AGAIN)));
        due
    }

    pub(crate) fn queries(&self, sender: usize) -> Vec<Entity> {
        let own = self.all.iter().filter(|one| one.edge.sender == sender);
        let cells = own.flat_map(|Watched { edge, .. }| {
            let EdgeRegisters { failed, forgiven, barred, generations, used, down, left } = edge.registers;
            [failed, forgiven, barred, generations, used, down, left].map(|id| edge.cell(id, None))
        });
        cells.collect()
    }

    /// A sender has been read.
    pub(crate) fn read(&mut self, sender: usize, found: &[Entity]) {
        let cells = cells(found);
        for Watched { edge, keeper, generations, used, down } in &mut self.all {
            let cell = |id: u32| cells.get(&(id, edge.number as i64)).copied();
            let of = edge.registers;
            let all = (cell(of.failed), cell(of.forgiven), cell(of.barred), cell(of.generations));
            // A part of the registers says nothing: the next look reads all again.
            let (Some(failed), Some(forgiven), Some(barred), Some(generation)) = all else { continue };
            if edge.sender != sender {
                continue;
            }
            generations.read(generation);
            *down = Targets(cell(of.down).unwrap_or(0));
            let allowed =
                Allowed { forgiven: Targets(forgiven), barred: Targets(barred), ..Allowed::default() };
            let adopt = || Keeper::adopt(edge.targets.len(), micros(edge.limits.hold_down), allowed);
            let keeper = keeper.get_or_insert_with(adopt);
            if keeper.to_write().is_none() {
                *used = Targets(cell(of.used).unwrap_or(0));
            }
            keeper.read(Targets(failed), Targets(cell(of.left).unwrap_or(0)));
            self.suspects.extend(keeper.out().filter_map(|target| edge.device(target)));
        }
    }

    /// The senders that may use a target again now, with all targets of these edges.
    pub(crate) fn returning(&self, now: Time) -> BTreeMap<usize, BTreeSet<usize>> {
        let mut found: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for Watched { edge, keeper, down, .. } in &self.all {
            let due = keeper.as_ref().and_then(|keeper| keeper.next_release(*down));
            if due.is_some_and(|due| due <= micros_of(now)) {
                found.entry(edge.sender).or_default().extend(&edge.targets);
            }
        }
        found
    }

    /// A sender may use targets again whose hold-down has passed: the next [`changes`](Edges::changes) let it. A write that reaches a target
    /// before another one is ordered by the target in use, so none may be under way. Those that writes then take to be in use stand before all others that are.
    pub(crate) fn let_back(&mut self, sender: usize, now: Time) {
        for Watched { edge, keeper, used, down, .. } in &mut self.all {
            let Some(keeper) = keeper.as_mut().filter(|_| edge.sender == sender) else { continue };
            let was_usable = |keeper: &Keeper, target| keeper.kept(target) == Some(Kept::Usable);
            let out: Vec<Target> = edge
                .numbered()
                .map(|(target, _)| target)
                .filter(|target| !was_usable(keeper, *target))
                .collect();
            keeper.release(micros_of(now), *down);
            let back = out.into_iter().filter(|target| was_usable(keeper, *target));
            *used = back.fold(*used, Targets::with).preferred();
        }
    }

    /// The updates that a sender needs now; none if its registers have the desired values.
    pub(crate) fn changes(&self, sender: usize) -> (Vec<Update>, Written) {
        let (mut updates, mut written) = (vec![], vec![]);
        for (at, Watched { edge, keeper, .. }) in self.all.iter().enumerate() {
            let Some(keeper) = keeper.as_ref().filter(|_| edge.sender == sender) else { continue };
            if let Some(allowed) = keeper.to_write() {
                updates.extend(edge.allow(allowed));
                written.push((at, allowed));
            }
        }
        (updates, written)
    }

    pub(crate) fn wrote(&mut self, written: Written) {
        for (at, allowed) in written {
            if let Some(keeper) = self.all.get_mut(at).and_then(|one| one.keeper.as_mut()) {
                keeper.wrote(allowed);
            }
        }
    }
}

/// Registers of a rollout's senders, whose receivers know none of them yet.
pub(crate) fn first(rollout: &Rollout, seconds: u32, out: &mut Spread) {
    for edge in &rollout.edges {
        let generation = Generations::default().next(seconds);
        out.entry(edge.sender).or_default().push(edge.write(edge.registers.generations, generation));
    }
}

/// Devices that may lack writes, by what all devices hold: no sender uses them, and each of their edges leads to another device, which has the same entries.
pub(crate) fn left_out(edges: &[Edge], held: &BTreeMap<usize, Holdings>) -> BTreeSet<usize> {
    let mut out: BTreeMap<usize, bool> = BTreeMap::new();
    for edge in edges {
        let cells = cells(held.get(&edge.sender).map_or(&[], |held| &held.entities));
        let cell = |id: u32| Targets(cells.get(&(id, edge.number as i64)).copied().unwrap_or(0));
        let EdgeRegisters { failed, forgiven, barred, .. } = edge.registers;
        let (unlike, barred) = (cell(failed) ^ cell(forgiven), cell(barred));
        let is_out = |target: Target| unlike.contains(target) || barred.contains(target);
        let has_other = edge.numbered().any(|(target, _)| !is_out(target));
        for (target, device) in edge.numbered() {
            *out.entry(device).or_insert(true) &= has_other && is_out(target);
        }
    }
    out.into_iter().filter(|(_, is_out)| *is_out).map(|(device, _)| device).collect()
}

/// Cells of registers, by register and index.
fn cells(found: &[Entity]) -> BTreeMap<(u32, i64), u32> {
    let number = |entity: &Entity| {
        let Some(Kind::RegisterEntry(cell)) = &entity.entity else { return None };
        let data = cell.data.as_ref().and_then(|data| data.data.as_ref());
        let (Some(index), Some(Data::Bitstring(bytes))) = (&cell.index, data) else { return None };
        let number = bytes.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        Some(((cell.register_id, index.index), number))
    };
    found.iter().filter_map(number).collect()
}

fn micros_of(now: Time) -> u64 {
    micros(now.since(Time::ZERO))
}

fn micros(time: Duration) -> u64 {
    time.as_ps() / Duration::from_us(1).as_ps()
}

#[cfg(test)]
mod tests;
