//! A device of the emulator with a program that an agent may replace.

use super::grouped::Grouped;
use super::passed::Passed;
use crate::idle::Idle;
use base_bits::Bits;
use base_time::{Duration, Time};
use controller::Agent;
use dataplane_api::{
    Became, Counters, Departed, Device, EgressResult, EntryError, Port, QueueRecord, Queued, QueuedPacket,
};
use device::Switch;
use device_control::{AgentEdges, Controlled, Popular};
use group_front::{Meter, Settings};
use p4runtime_server::Builder;
use server_groups::wire::Flow;
use server_groups::{Counters as GroupCounters, Report};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A device of the emulator. It has the switch while packets run, and the agent has it while the agent works; each holds the other's unused one meanwhile.
pub(super) struct Driven {
    switch: Switch,
    /// Without a program.
    idle: Idle,
    runs: bool,
    /// True if the device is not a helper: its program names its own ports.
    owns_ports: bool,
    /// Edges with spares that leave here.
    edges: AgentEdges,
    /// Ports that are down.
    down: BTreeSet<Port>,
    /// Apps whose popular flows are promoted, at their switch.
    popular: Vec<Popular>,
    /// Apps that share this switch, and have an affinity.
    passed: Vec<Passed>,
    /// The front, if it can be a member of a group.
    grouped: Option<Box<Grouped>>,
    /// Meters of the groups that it calls.
    meters: Vec<Meter>,
    /// True without any of these: packets meet only the switch. Asked with each packet, where a walk through empty lists would cost more.
    is_plain: bool,
}

impl Driven {
    /// A device that runs the agent's switch; the agent keeps `other` from now on.
    pub(super) fn new<B: Builder<Target = Controlled>>(
        agent: &mut Agent<B>,
        other: Switch,
        owns_ports: bool,
    ) -> Driven {
        let (idle, edges, down) = (Idle::default(), AgentEdges::default(), BTreeSet::new());
        let mut driven = Driven {
            switch: other,
            idle,
            runs: false,
            owns_ports,
            edges,
            down,
            popular: vec![],
            passed: vec![],
            grouped: None,
            meters: vec![],
            is_plain: true,
        };
        driven.take(agent);
        driven
    }

    /// Counts the packets of flows, and of apps, from now on.
    pub(super) fn watch(self, popular: Vec<Popular>, passed: Vec<Passed>) -> Driven {
        Driven { popular, passed, ..self }.settled()
    }

    /// The device can be a member of a group, and calls the groups of the meters.
    pub(super) fn with_groups(mut self, front: Option<Settings>, meters: Vec<Meter>) -> Driven {
        self.grouped = front.map(|settings| Box::new(Grouped::new(settings, &self.switch)));
        self.meters = meters;
        self.settled()
    }

    fn settled(mut self) -> Driven {
        let counts = !(self.popular.is_empty() && self.passed.is_empty() && self.meters.is_empty());
        self.is_plain = self.grouped.is_none() && !counts;
        self
    }

    /// The switch with its program, if one runs.
    pub(super) fn running(&mut self) -> Option<&mut Switch> {
        self.runs.then_some(&mut self.switch)
    }

    /// For a server: reports for its group's controller since the last call, true if it has restarted, and true if a program runs.
    pub(super) fn look(&mut self) -> (Vec<Report<Flow>>, bool, bool) {
        let (reports, began) = self.grouped.as_mut().map_or((vec![], false), |grouped| grouped.look());
        (reports, began, self.runs)
    }

    /// For a server: counters, and the number of flows whose state is here.
    pub(super) fn counts(&self) -> (GroupCounters, u64) {
        self.grouped.as_ref().map_or_else(Default::default, |grouped| (grouped.counts(), grouped.flows()))
    }

    /// Calls of the groups that it calls.
    pub(super) fn meters(&self) -> &[Meter] {
        &self.meters
    }

    /// Lends the switch to the agent. True if another program runs afterwards, or none.
    pub(super) fn run_agent<B: Builder<Target = Controlled>, R>(
        &mut self,
        agent: &mut Agent<B>,
        work: impl FnOnce(&mut Agent<B>) -> R,
    ) -> (R, bool) {
        let token = |agent: &mut Agent<B>| agent.target().map(|target| Arc::clone(target.token()));
        let before = token(agent);
        self.exchange(agent);
        let result = work(agent);
        self.take(agent);
        self.count();
        let is_same = match (before, token(agent)) {
            (Some(before), Some(after)) => Arc::ptr_eq(&before, &after),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            // Earlier drops are known: a device without a program begins to count again.
            self.idle = Idle::default();
            self.bar_ports();
            if let Some(grouped) = &mut self.grouped {
                grouped.begin(&self.switch);
            }
        }
        (result, !is_same)
    }

    /// Edges with spares do not use the ports that are down.
    fn bar_ports(&mut self) {
        if self.runs {
            self.edges.bar(&mut self.switch, &self.down);
        }
    }

    fn take<B: Builder<Target = Controlled>>(&mut self, agent: &mut Agent<B>) {
        self.runs = agent.target().is_some();
        if let Some(target) = agent.target() {
            // Ticks come from elsewhere: see `edges`.
            self.edges.follow(target, Time::ZERO);
        }
        self.exchange(agent);
    }

    fn exchange<B: Builder<Target = Controlled>>(&mut self, agent: &mut Agent<B>) {
        if let Some(target) = agent.target() {
            std::mem::swap(&mut self.switch, &mut *target.switch());
        }
    }

    /// The front knows what its switch has counted.
    fn count(&mut self) {
        if let Some(grouped) = self.grouped.as_mut().filter(|_| self.runs) {
            grouped.front.count(&self.switch);
        }
    }

    fn device(&self) -> &dyn Device {
        if self.runs { &self.switch } else { &self.idle }
    }

    fn device_mut(&mut self) -> &mut dyn Device {
        if self.runs { &mut self.switch } else { &mut self.idle }
    }
}

impl Device for Driven {
    fn ingress(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
        self.ingress_after(port, frame, Duration::ZERO, now)
    }

    fn admit(&mut self, port: Port, frame: Vec<u8>, waited: Duration, now: Time) -> Became {
        if self.is_plain && self.runs {
            return self.switch.admit(port, frame, waited, now);
        }
        Became::Several(self.ingress_after(port, frame, waited, now))
    }

    fn ingress_after(&mut self, port: Port, frame: Vec<u8>, waited: Duration, now: Time) -> Vec<Queued> {
        self.meters.iter_mut().for_each(|meter| meter.came(port, &frame));
        let is_counted = self.popular.iter().any(|popular| popular.counts_from(port))
            || self.passed.iter().any(|passed| passed.counts_from(port));
        let came = is_counted.then(|| frame.clone());
        let became = match &mut self.grouped {
            Some(grouped) if self.runs => grouped.front.ingress(&mut self.switch, port, frame, waited, now),
            _ => self.device_mut().ingress(port, frame, now),
        };
        if let Some(came) = came {
            let left = || became.iter().map(|queued| queued.replica.port);
            self.popular.iter().for_each(|popular| popular.count(port, &came, left(), now));
            self.passed.iter().for_each(|passed| passed.count(port, &came, left()));
        }
        became
    }

    fn depart(&mut self, packet: Queued, queue: QueueRecord, now: Time) -> Departed {
        if self.is_plain && self.runs {
            return self.switch.depart(packet, queue, now);
        }
        self.egress(packet, queue, now).into()
    }

    fn egress(&mut self, packet: Queued, queue: QueueRecord, now: Time) -> EgressResult {
        let result = match &mut self.grouped {
            Some(grouped) if self.runs => grouped.front.egress(&mut self.switch, packet, queue, now),
            _ => self.device_mut().egress(packet, queue, now),
        };
        if let Some(output) = &result.output {
            self.meters.iter_mut().for_each(|meter| meter.left(output));
        }
        result
    }

    fn resume(&mut self, packet: QueuedPacket, now: Time) -> Vec<Queued> {
        let queued = self.device_mut().resume(packet, now);
        self.count();
        queued
    }

    fn may_have_timers(&self) -> bool {
        self.grouped.is_some() || self.device().may_have_timers()
    }

    fn deadline(&self) -> Option<Time> {
        match &self.grouped {
            Some(grouped) if self.runs => grouped.front.deadline(&self.switch),
            _ => self.device().deadline(),
        }
    }

    fn tick(&mut self, now: Time) -> Vec<Queued> {
        match &mut self.grouped {
            Some(grouped) if self.runs => grouped.front.tick(&mut self.switch, now),
            _ => self.device_mut().tick(now),
        }
    }

    /// A helper's part of a program names the origin's ports. At the helper, ports with these numbers are links of the rack.
    fn link(&mut self, port: Port, is_up: bool) {
        if self.owns_ports {
            self.device_mut().link(port, is_up);
        }
        let has_changed = if is_up { self.down.remove(&port) } else { self.down.insert(port) };
        if has_changed {
            self.bar_ports();
        }
    }

    fn counters(&self) -> &Counters {
        match &self.grouped {
            Some(grouped) if self.runs => grouped.front.counters(),
            _ => self.device().counters(),
        }
    }

    fn register_read(&self, name: &str, index: u64) -> Result<Bits, EntryError> {
        self.device().register_read(name, index)
    }

    fn state(&self) -> BTreeMap<String, Vec<u8>> {
        self.device().state()
    }
}
