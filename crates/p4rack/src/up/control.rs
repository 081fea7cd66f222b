//! The rack's controller and its agents in virtual time, beside the emulator.
//!
//! ```text
//! controller ══ ask ══ channel ══> agent ── lends, takes ── emulator's device
//!            <═ answer ═ channel ══
//! ```
//!
//! There is a controller for each switch that the rack is ([`switches`](super::switches)). Its time begins with the bring-up, the rack's when that is done.

mod bring_up;
mod messages;

use super::channel::{Channel, Direction};
use super::domain::Domain;
use super::edges::Edges;
use super::groups::Groups;
use super::merged;
use super::pinned::{Moving, PinnedApp};
use super::replans::Replans;
use base_time::{Duration, Time};
pub use bring_up::BringUp;
use controller::{
    Agent, Call, DeviceId, Effect, MergeTraffic, Output, RegionMap, Reply, Steer, Ticket, Timing,
};
use device_control::Maker;
use messages::Message;
use rack_emulator::{Emulator, LinkReport, PinnedReport, Violation};
use rack_model::{Rack, Replace};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Agents carry out requests in zero time: answers take only the messages' delays. The losses of links are known, so
/// that the rack never counts as empty with packets inside.
pub(super) const TIMING: Timing = Timing {
    drain: Duration::from_ms(1_000),
    quiet: Duration::from_ms(1_000),
    patience_least: Duration::from_ms(1),
    patience_most: Duration::from_s(60),
    look: Duration::from_ms(10),
    lease: Duration::from_ms(100),
    merge: Duration::from_s(1),
};

/// Controllers and agents of a rack in virtual time.
pub(super) struct Control {
    rack: Rack,
    /// Agents, indexed by device; `None` where the device runs nothing.
    agents: Vec<Option<Agent<Maker>>>,
    domains: Vec<Domain>,
    channel: Channel<Message>,
    /// Duration of the bring-up: the controller's time at the rack's time 0.
    began: Duration,
    /// Edges with spares.
    pub(super) edges: Edges,
    /// Apps whose flows are pinned.
    pinned: Vec<PinnedApp>,
    /// Plans of these apps.
    replans: Vec<Replans>,
    /// Groups of servers.
    pub(super) groups: Groups,
    /// Plans that are yet to come, the first first.
    replaces: VecDeque<Replace>,
    /// Plans that are being brought in.
    replacing: u64,
    /// Plans that have taken over.
    pub(super) replaced: u64,
    /// Time of the next task.
    next: Option<Time>,
}

impl Control {
    /// Time of the next task, in the rack's time.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.next
    }

    fn find_next(&self) -> Option<Time> {
        let deadlines = self.domains.iter().filter_map(|domain| domain.controller.deadline());
        let held = self.agents.iter().flatten().filter_map(Agent::deadline);
        let due = deadlines
            .chain(held)
            .chain(self.channel.next_time())
            .min()
            .map(|at| at.max(Time::ZERO + self.began) - self.began);
        let replace = self.replaces.front().map(|replace| replace.at);
        let moves = self.pinned.iter().filter_map(|app| app.moving.as_ref()?.next_time());
        let replans = self.replans.iter().filter_map(Replans::next_time);
        let (edges, groups) = (self.edges.next_time(), self.groups.next_time());
        replace.into_iter().chain(edges).chain(replans).chain(groups).chain(moves).chain(due).min()
    }

    /// True if a replacement of the plan or a move of a flow is planned or under way, or a message is in flight.
    pub(super) fn is_busy(&self) -> bool {
        let moves = self.pinned.iter().filter_map(|app| app.moving.as_ref()).any(Moving::is_busy);
        let plans = !self.replaces.is_empty() || self.replans.iter().any(Replans::is_busy);
        let is_planned = plans || self.groups.is_busy() || moves;
        is_planned || self.replacing > 0 || self.channel.next_time().is_some()
    }

    /// The apps whose flows are pinned, for the report.
    pub(super) fn report_pinned(&self, now: Time, links: &[LinkReport]) -> Vec<PinnedReport> {
        self.pinned.iter().map(|app| app.report(now, links)).collect()
    }

    /// Begins what is due of the moves of flows.
    fn move_flows(&mut self, now: Time) -> Vec<(usize, Output)> {
        let mut outputs = vec![];
        for moving in self.pinned.iter_mut().filter_map(|app| app.moving.as_mut()) {
            let (number, calls) = moving.calls(now, &self.domains);
            let controller = &mut self.domains[number].controller;
            let called =
                calls.into_iter().flat_map(|(ticket, call)| controller.call(now + self.began, ticket, call));
            outputs.extend(called.map(|output| (number, output)));
        }
        for replans in &mut self.replans {
            outputs.extend(replans.calls((now, now + self.began), &mut self.pinned, &mut self.domains));
        }
        outputs
    }

    /// True if the copies of merged registers may lack what was counted by `time`, of the rack.
    pub(super) fn merges_since(&self, time: Time) -> bool {
        self.domains.iter().any(|domain| domain.controller.merges_since(time + self.began))
    }

    /// Does everything due now, and handles events since the last call.
    pub(super) fn watch(&mut self, emulator: &mut Emulator) -> Result<(), Violation> {
        let now = emulator.now() + self.began;
        let mut outputs = VecDeque::new();
        self.edges.tick(emulator)?;
        for app in &mut self.pinned {
            app.sample(emulator.now(), &|| emulator.link_reports());
        }
        for device in emulator.take_restarted() {
            self.restart(device.0 as usize, emulator, now)?;
        }
        // A group's controller asks agents through `self`, so it is taken out for the call.
        let mut groups = std::mem::take(&mut self.groups);
        let ticked = groups.tick(self, emulator);
        self.groups = groups;
        ticked?;
        while self.replaces.front().is_some_and(|replace| replace.at <= emulator.now())
            && let Some(replace) = self.replaces.pop_front()
        {
            let name = |device: rack_model::DeviceId| self.rack.devices[device.0 as usize].name.value.clone();
            let map: RegionMap =
                replace.map.iter().map(|p| (p.region.value.clone(), name(p.device.value))).collect();
            let words: Vec<String> =
                map.iter().map(|(region, device)| format!("{region} on {device}")).collect();
            emulator.note(format!("another plan is taking over: {}", words.join(", ")));
            self.replacing += 1;
            outputs.extend(self.domains[0].call(0, now, Call::Steer(None, Steer::Replace(map))));
        }
        while let Some(message) = self.channel.arrive(now) {
            outputs.extend(self.arrive(now, message, Some(emulator))?);
        }
        for (agent, id) in self.agents.iter_mut().zip(0..) {
            // The lease of held frames has expired: the controller was silent for too long.
            if let Some(Effect::LetIn) = agent.as_mut().and_then(|agent| agent.let_in(now)) {
                emulator.release(rack_model::DeviceId(id))?;
                let name = &self.rack.devices[id as usize].name.value;
                emulator.note(format!("`{name}` has lost its controller: frames are admitted again"));
            }
        }
        outputs.extend(self.tick(now));
        outputs.extend(self.move_flows(emulator.now()));
        // Outputs of controllers may cause further outputs; all happen at the same time.
        while let Some((domain, output)) = outputs.pop_front() {
            match output {
                Output::Ask(device, id, ask) => self.ask(now, Some(emulator), (domain, device, id, ask)),
                Output::Reply(ticket, reply) if self.has_moved(emulator.now(), (domain, ticket), &reply) => {
                    outputs.extend(self.move_flows(emulator.now()));
                }
                Output::Reply(_, reply) => {
                    self.replacing -= 1;
                    emulator.note(match reply {
                        Reply::Done(Err(status)) => format!("the old plan stays: {}", status.message),
                        _ => {
                            self.replaced += 1;
                            "the other plan has taken over".to_string()
                        }
                    });
                }
                Output::Send(..) | Output::End(..) => {}
            }
        }
        self.replans.iter_mut().flat_map(Replans::take_reported).for_each(|reported| emulator.note(reported));
        for domain in &mut self.domains {
            let stale: BTreeSet<usize> = domain.controller.stale().keys().map(|device| device.0).collect();
            for device in domain.stale.difference(&stale) {
                let name = &self.rack.devices[domain.devices[*device]].name.value;
                emulator.note(format!("`{name}` is in sync again"));
            }
            domain.stale = stale;
        }
        self.next = self.find_next();
        Ok(())
    }

    /// True if the reply is to a call of an app's moves, or of a plan that is made again.
    fn has_moved(&mut self, now: Time, (domain, ticket): (usize, Ticket), reply: &Reply) -> bool {
        let pinned = &mut self.pinned;
        if self.replans.iter_mut().any(|replans| replans.replied((domain, ticket), reply, pinned)) {
            return true;
        }
        let mut moving = self.pinned.iter_mut().filter_map(|app| app.moving.as_mut());
        moving.any(|moving| moving.replied(now, domain, ticket, reply))
    }

    /// A device is up again, and has forgotten everything; its agent says so.
    fn restart(&mut self, device: usize, emulator: &mut Emulator, now: Time) -> Result<(), Violation> {
        if self.agents[device].is_none() {
            return Ok(());
        }
        let lost = self.unheard(device, emulator)?;
        self.with_agent(device, Some(emulator), Agent::restart)?;
        emulator.release(rack_model::DeviceId(device as u32))?;
        emulator.note(format!("`{}` has restarted", self.rack.devices[device].name.value));
        lost.into_iter().for_each(|lost| emulator.note(lost));
        for (domain, Domain { devices, .. }) in self.domains.iter().enumerate() {
            if let Some(at) = devices.iter().position(|at| *at == device) {
                let message = Message::BeganAnew { domain, device: DeviceId(at) };
                // It says so until it is heard.
                let faults = std::iter::empty();
                self.channel.send(now, device, Direction::ToController, false, faults, (message, true));
            }
        }
        Ok(())
    }

    /// Counts of a device in merged objects that no controller has received.
    fn unheard(&mut self, device: usize, emulator: &mut Emulator) -> Result<Vec<String>, Violation> {
        let mut lost = vec![];
        for domain in 0..self.domains.len() {
            let Some(at) = self.domains[domain].devices.iter().position(|at| *at == device) else { continue };
            let incarnation = self.with_agent(device, Some(emulator), |agent| agent.incarnation())?;
            let incarnation = incarnation.unwrap_or_default();
            let taken = self.domains[domain].controller.merge_taken(DeviceId(at), incarnation);
            let mut counted = BTreeMap::new();
            for object in taken.into_keys() {
                let own = self.with_agent(device, Some(emulator), |agent| agent.counted(object))?;
                counted.insert(object, own.unwrap_or_default());
            }
            let of = |object| counted.remove(&object).unwrap_or_default();
            let controller = &self.domains[domain].controller;
            lost.extend(merged::unheard(controller, DeviceId(at), incarnation, of));
        }
        Ok(lost)
    }

    /// Notes how much the merge has said.
    pub(super) fn note_merges(&self, emulator: &mut Emulator) {
        for domain in &self.domains {
            let MergeTraffic { rounds, messages, bytes, .. } = domain.controller.merge_traffic();
            if rounds > 0 {
                emulator.note(format!(
                    "copies of objects were merged in {rounds} rounds, with {messages} messages of {bytes} bytes in all"
                ));
            }
        }
    }

    fn tick(&mut self, now: Time) -> Vec<(usize, Output)> {
        let tick = |(number, domain): (usize, &mut Domain)| {
            let is_due = domain.controller.deadline().is_some_and(|at| at <= now);
            let outputs = if is_due { domain.controller.tick(now) } else { vec![] };
            outputs.into_iter().map(move |output| (number, output))
        };
        self.domains.iter_mut().enumerate().flat_map(tick).collect()
    }
}
