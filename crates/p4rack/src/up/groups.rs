//! Server groups while a rack runs: each group's controller beside the agent of its switch, and the fronts of its servers.
//!
//! ```text
//! front of a server ── report ── channel ──> GroupControl ── entries, instructions ──> the switch, at the same moment
//! ```
//!
//! The agents of the servers are asked at an interval; a server that is down for `hold`, or restarts, has died. The state of the switch is
//! written again when its program is new ([`Groups::refill`]).

use super::control::Control;
use super::driven::Driven;
use crate::groups;
use crate::rack::Racked;
use base_time::{Duration, Time};
use device::Switch;
use device_control::{GroupStep, RackGroup, Standing, group_refusal, write_group};
use group_front::{Meter, Settings};
use ir_split::DeviceIndex;
use rack_emulator::{DropReport, Emulator, GroupReport, Reason, ServerReport, Violation};
use rack_model::{DeviceId, MemberChange, Membership, NodeId};
use server_groups::wire::Flow;
use server_groups::{Member, Report};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// All groups of a rack.
#[derive(Default)]
pub(super) struct Groups(Vec<Running>);

struct Running {
    group: RackGroup,
    /// Changes that are yet to come, the first first.
    changes: VecDeque<Membership>,
    every: Duration,
    next: Time,
    /// The members as they were last.
    standings: BTreeMap<Member, Standing>,
}

impl Groups {
    pub(super) fn new(racked: &Racked) -> Groups {
        let running = |(at, group): (usize, RackGroup)| {
            let changes = racked.rack.memberships.iter().filter(|change| change.group == at);
            let mut changes: Vec<Membership> = changes.cloned().collect();
            changes.sort_by_key(|change| change.at);
            let rules = group.control.rules();
            let pace = rules.settle_us.min(rules.hold_us);
            let all = group.control.all();
            let standings = all.map(|(member, _)| (member, group.control.standing(member))).collect();
            Running {
                changes: changes.into(),
                every: Duration::from_ns((pace * 500).max(1)),
                next: Time::ZERO,
                standings,
                group,
            }
        };
        Groups(groups::groups(racked).into_iter().map(running).collect())
    }

    /// Settings of a device's front, if the device can be a member.
    pub(super) fn front(&self, device: DeviceId) -> Option<Settings> {
        self.0.iter().find_map(|one| one.group.front(one.member(device)?))
    }

    /// Counters of calls that leave a device.
    pub(super) fn meters(&self, device: DeviceId) -> Vec<Meter> {
        self.0.iter().filter(|one| one.switch() == device).map(|one| one.group.control.meter()).collect()
    }

    /// Gives a switch with a new program all entries of its groups.
    pub(super) fn refill(&self, device: DeviceId, switch: &mut Switch) {
        for one in self.0.iter().filter(|one| one.switch() == device) {
            let written = write_group(switch, &one.group.control.refill());
            debug_assert!(written.is_ok(), "its program has the tables: {written:?}");
        }
    }

    /// When the next look is due.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.0.iter().map(|one| one.changes.front().map_or(one.next, |change| change.at.min(one.next))).min()
    }

    /// True if a change is yet to come.
    pub(super) fn is_busy(&self) -> bool {
        self.0.iter().any(|one| !one.changes.is_empty())
    }

    /// A server's report has arrived.
    pub(super) fn report(&mut self, group: usize, from: Member, report: Report<Flow>, now: Time) {
        if let Some(one) = self.0.get_mut(group) {
            one.group.control.report(from, report, now);
        }
    }

    /// Does what is due. `control` is the rack's, without its groups.
    pub(super) fn tick(&mut self, control: &mut Control, emulator: &mut Emulator) -> Result<(), Violation> {
        for (number, one) in self.0.iter_mut().enumerate() {
            one.change(emulator);
            if one.next <= emulator.now() {
                one.next = emulator.now() + one.every;
                one.look(number, control, emulator)?;
            }
            one.carry_out(control, emulator)?;
            one.note(emulator);
        }
        Ok(())
    }

    /// The groups, for the report that has these drops.
    pub(super) fn reports(&self, emulator: &Emulator, drops: &[DropReport]) -> Vec<GroupReport> {
        let each = self.0.iter().enumerate();
        each.map(|(number, one)| one.report(number, &self.0, emulator, drops)).collect()
    }
}

impl Running {
    fn switch(&self) -> DeviceId {
        DeviceId(self.group.switch.0)
    }

    fn member(&self, device: DeviceId) -> Option<Member> {
        self.group.member(DeviceIndex(device.0))
    }

    fn name_of(&self, member: Member, emulator: &Emulator) -> String {
        let device = self.group.control.device(member).map_or(u32::MAX, |device| device.0);
        emulator.rack().node_name(NodeId::Device(DeviceId(device))).to_string()
    }

    /// Changes that the rack's file asks for by now.
    fn change(&mut self, emulator: &mut Emulator) {
        let now = emulator.now();
        while self.changes.front().is_some_and(|change| change.at <= now)
            && let Some(change) = self.changes.pop_front()
        {
            let Some(member) = self.member(change.server.value) else { continue };
            let done = match change.change {
                MemberChange::Add { weight } => self.group.control.add(member, weight, now),
                MemberChange::Remove => self.group.control.drain(member, true, now),
                MemberChange::Drain => self.group.control.drain(member, false, now),
            };
            if let Err(why) = done {
                let (name, why) = (self.name_of(member, emulator), group_refusal(why));
                emulator.note(format!("group `{}` stays as it is: `{name}`: {why}", self.group.name));
            }
        }
    }

    /// Asks the agents of all servers.
    fn look(
        &mut self,
        number: usize,
        control: &mut Control,
        emulator: &mut Emulator,
    ) -> Result<(), Violation> {
        let now = emulator.now();
        let all: Vec<_> = self.group.control.all().collect();
        let mut handled = BTreeMap::new();
        for (member, device) in all {
            let id = DeviceId(device.0);
            let (mut reports, mut began, mut runs) = (vec![], false, false);
            emulator.steer(id, |device| {
                if let Some(driven) = (device as &mut dyn Any).downcast_mut::<Driven>() {
                    handled.insert(member, driven.counts().0.handled);
                    (reports, began, runs) = driven.look();
                }
                false
            })?;
            for report in reports {
                control.send_report(emulator, id, (number, member, report));
            }
            let is_up = runs && !emulator.is_down(id);
            self.group.control.look(member, is_up, began, now);
        }
        self.group.control.measure(&handled, now);
        self.group.control.poll(now);
        Ok(())
    }

    /// Carries out what the group's controller wants of the switch.
    fn carry_out(&mut self, control: &mut Control, emulator: &mut Emulator) -> Result<(), Violation> {
        while let Some(steps) = self.group.control.step() {
            for step in steps {
                match step {
                    // A switch without its program gets everything when it has one.
                    GroupStep::Write(entries) => control.write_switch(emulator, self.switch(), &entries)?,
                    GroupStep::HandIn(port, frame) if !emulator.is_down(self.switch()) => {
                        emulator.hand_in(self.switch(), port, frame)?;
                    }
                    GroupStep::HandIn(..) => {}
                }
            }
        }
        Ok(())
    }

    /// Notes changes of the members.
    fn note(&mut self, emulator: &mut Emulator) {
        let all: Vec<Member> = self.group.control.all().map(|(member, _)| member).collect();
        for member in all {
            let standing = self.group.control.standing(member);
            let before = self.standings.insert(member, standing).unwrap_or(Standing::Out);
            if before == standing {
                continue;
            }
            let (name, group) = (self.name_of(member, emulator), &self.group.name);
            emulator.note(match standing {
                Standing::Out => format!("`{name}` has left group `{group}`"),
                Standing::Dead => format!("`{name}` is dead: its flows of group `{group}` are lost"),
                Standing::Joining => format!("`{name}` joins group `{group}`"),
                Standing::Member => format!("`{name}` gets new flows of group `{group}`"),
                Standing::Draining => format!("`{name}` gets no new flows of group `{group}`"),
                Standing::Leaving => format!("`{name}` leaves group `{group}` after its last flow"),
            });
        }
    }

    /// Frames that found no room on their path to a server.
    fn queue_full(&self, emulator: &Emulator, drops: &[DropReport]) -> u64 {
        let switch = emulator.rack().node_name(NodeId::Device(self.switch()));
        let ports = self.group.control.edge().members.iter().map(|(_, port)| format!("{switch}:{port}"));
        let ports: BTreeSet<String> = ports.collect();
        let servers: BTreeSet<String> =
            self.group.control.all().map(|(member, _)| self.name_of(member, emulator)).collect();
        let (queue, backlog) = (Reason::QueueFull.words(), Reason::BacklogFull.words());
        let is_it = |drop: &&DropReport| {
            ports.contains(&drop.place) && drop.reason == queue
                || servers.contains(&drop.place) && drop.reason == backlog
        };
        drops.iter().filter(is_it).map(|drop| drop.packets).sum()
    }

    fn report(
        &self,
        number: usize,
        all: &[Running],
        emulator: &Emulator,
        drops: &[DropReport],
    ) -> GroupReport {
        let driven = |id: DeviceId| (emulator.device(id)? as &dyn Any).downcast_ref::<Driven>();
        // Meters of a switch are in the order of its groups.
        let before = all[..number].iter().filter(|one| one.switch() == self.switch()).count();
        let meter = driven(self.switch()).and_then(|driven| driven.meters().get(before));
        let sent = meter.map_or(0, |meter| meter.sent.values().sum());
        let returned = meter.map_or(0, |meter| meter.returned);
        let status = self.group.control.status();
        let server = |(member, device): (Member, DeviceIndex)| {
            let device = Some(DeviceId(device.0));
            let (counts, flows) = device.and_then(driven).map_or_else(Default::default, Driven::counts);
            ServerReport {
                name: self.name_of(member, emulator),
                standing: self.group.control.standing(member).word().to_string(),
                buckets: status.get(&member).map_or(0, |status| status.current as u64),
                flows,
                opened: counts.opened,
                calls: meter.and_then(|meter| meter.sent.get(&member)).copied().unwrap_or(0),
                handled: counts.handled,
                extra_hops: counts.extra_hops,
                dropped: counts.drops.sum(),
                reasons: counts.drops.by_name().map(|(reason, count)| (reason.to_string(), count)).collect(),
            }
        };
        GroupReport {
            group: self.group.name.clone(),
            switch: emulator.rack().node_name(NodeId::Device(self.switch())).to_string(),
            changes: self.group.control.changes(),
            is_steady: self.group.control.is_steady(),
            sent,
            returned,
            lost: sent - returned.min(sent),
            repeated: meter.map_or(0, |meter| meter.repeated),
            queue_full: self.queue_full(emulator, drops),
            servers: self.group.control.all().map(server).collect(),
        }
    }
}
