//! Groups of servers of a rack that one process runs: the fronts of its servers, and each group's controller.
//!
//! Frames pass all devices at one moment, so a change of the members is done when the call ends, but for flows that go on.

use super::{Controlled, GroupStep, Maker, RackGroup, group_refusal, write_group};
use base_time::{Duration, Time};
use controller::{Agent, Rollout};
use dataplane_api::Output;
use group_front::{Front, Meter};
use ir_split::DeviceIndex;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4rack::v1::steer_request::{ChangeGroup, change_group::Change};
use p4runtime_proto::p4rack::v1::{Group, Server};
use p4runtime_server::Status;
use server_groups::{Counters, Member};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Looks at a group in which something is going on.
const LOOK: Duration = Duration::from_ms(10);

/// All groups of a rack.
#[derive(Default)]
pub(super) struct RackGroups {
    all: Vec<Running>,
    /// The plan that they are of.
    plan: Option<Weak<Rollout>>,
}

struct Running {
    group: RackGroup,
    meter: Meter,
    /// By device.
    fronts: BTreeMap<usize, Fronted>,
    /// Stands for the switch's program that has the group's entries.
    filled: Option<Arc<()>>,
    next: Time,
}

/// A member whose device runs its program.
struct Fronted {
    member: Member,
    front: Front,
    /// Stands for the program.
    of: Arc<()>,
    /// It runs another program than before.
    began: bool,
    /// Counters of fronts before.
    past: Counters,
}

impl RackGroups {
    pub fn new(groups: Vec<RackGroup>) -> RackGroups {
        let running = |group: RackGroup| {
            let meter = group.control.meter();
            Running { group, meter, fronts: BTreeMap::new(), filled: None, next: Time::ZERO }
        };
        RackGroups { all: groups.into_iter().map(running).collect(), plan: None }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Another plan has other frames: its groups stay as their switch has them at first.
    pub fn follow_plan(&mut self, rollout: Option<Arc<Rollout>>) {
        let Some(rollout) = rollout else { return };
        match &self.plan {
            Some(plan) if plan.as_ptr() != Arc::as_ptr(&rollout) => self.all.clear(),
            Some(_) => {}
            None => self.plan = Some(Arc::downgrade(&rollout)),
        }
    }

    /// Follows changes of the devices' programs: a new program of the switch gets the group's entries, and a server with a new one knows no
    /// flows.
    pub fn follow(&mut self, agents: &mut [Agent<Maker>]) {
        for one in &mut self.all {
            if let Some(target) = agents.get_mut(one.group.switch.0 as usize).and_then(Agent::target)
                && !one.filled.as_ref().is_some_and(|of| Arc::ptr_eq(of, target.token()))
            {
                one.filled = Some(Arc::clone(target.token()));
                write(target, &one.group.control.refill());
            }
            let members: Vec<(Member, DeviceIndex)> = one.group.control.all().collect();
            for (member, device) in members {
                let device = device.0 as usize;
                let Some(target) = agents.get_mut(device).and_then(Agent::target) else { continue };
                let known = one.fronts.get(&device);
                if known.is_some_and(|known| Arc::ptr_eq(&known.of, target.token())) {
                    continue;
                }
                let Some(settings) = one.group.front(member) else { continue };
                let (of, began) = (Arc::clone(target.token()), known.is_some());
                let past = known.map_or_else(Counters::default, Fronted::counts);
                let front = Front::new(settings, &*target.switch());
                one.fronts.insert(device, Fronted { member, front, of, began, past });
            }
        }
    }

    /// The front of a device, if it is a server.
    pub fn front(&mut self, device: usize) -> Option<&mut Front> {
        let fronted = self.all.iter_mut().find_map(|one| one.fronts.get_mut(&device))?;
        Some(&mut fronted.front)
    }

    /// A frame comes to a switch.
    pub fn came(&mut self, device: usize, port: u32, frame: &[u8]) {
        self.of_switch(device).for_each(|one| one.meter.came(port, frame));
    }

    /// A frame leaves a switch.
    pub fn left(&mut self, device: usize, output: &Output) {
        self.of_switch(device).for_each(|one| one.meter.left(output));
    }

    fn of_switch(&mut self, device: usize) -> impl Iterator<Item = &mut Running> {
        self.all.iter_mut().filter(move |one| one.group.switch.0 as usize == device)
    }

    /// Hands reports to the controllers, and looks at the servers if it is time.
    pub fn look(&mut self, now: Time) {
        for Running { group, fronts, next, .. } in &mut self.all {
            for fronted in fronts.values_mut() {
                for report in fronted.front.take_reports() {
                    group.control.report(fronted.member, report, now);
                }
            }
            let began = fronts.values().any(|fronted| fronted.began);
            if *next > now && !began {
                continue;
            }
            *next = now + LOOK;
            for fronted in fronts.values_mut() {
                group.control.look(fronted.member, true, std::mem::take(&mut fronted.began), now);
            }
            group.control.poll(now);
        }
    }

    /// The next things to do at a switch, in order.
    pub fn step(&mut self) -> Option<(usize, Vec<GroupStep>)> {
        self.all.iter_mut().find_map(|one| Some((one.group.switch.0 as usize, one.group.control.step()?)))
    }

    /// When the next look is due.
    pub fn deadline(&self) -> Option<Time> {
        let going_on = self.all.iter().filter(|one| !one.group.control.is_at_rest());
        going_on.map(|one| one.next).min()
    }

    /// A server comes or goes.
    pub fn change(&mut self, change: &ChangeGroup, names: &[String], now: Time) -> Result<(), Status> {
        let known: Vec<&str> = self.all.iter().map(|one| one.group.name.as_str()).collect();
        let known = known.join("`, `");
        let Some(one) = self.all.iter_mut().find(|one| one.group.name == change.group) else {
            let why = match known.is_empty() {
                true => "no group can be changed here".to_string(),
                false => format!("there is no group `{}`; there is `{known}`", change.group),
            };
            return Err(Status::new(Code::NotFound, why));
        };
        let name = |device: DeviceIndex| names.get(device.0 as usize).map_or("?", String::as_str);
        let all: Vec<(Member, DeviceIndex)> = one.group.control.all().collect();
        let Some((member, _)) = all.iter().find(|(_, device)| name(*device) == change.device) else {
            let servers: Vec<&str> = all.iter().map(|(_, device)| name(*device)).collect();
            let why = format!(
                "`{}` is no server of group `{}`; its servers are `{}`",
                change.device,
                change.group,
                servers.join("`, `")
            );
            return Err(Status::new(Code::NotFound, why));
        };
        let control = &mut one.group.control;
        let done = match change.change() {
            Change::Add => control.add(*member, change.weight.max(1), now),
            Change::Remove => control.drain(*member, true, now),
            Change::Drain => control.drain(*member, false, now),
        };
        one.next = now;
        done.map_err(|why| {
            let why = format!("`{}` in group `{}`: {}", change.device, change.group, group_refusal(why));
            Status::new(Code::FailedPrecondition, why)
        })
    }

    /// All groups, for people.
    pub fn show(&self, names: &[String]) -> Vec<Group> {
        self.all.iter().map(|one| one.show(names)).collect()
    }
}

impl Running {
    fn show(&self, names: &[String]) -> Group {
        let Running { group: RackGroup { name, switch, control, .. }, meter, fronts, .. } = self;
        let name_of = |device: DeviceIndex| names.get(device.0 as usize).cloned().unwrap_or_default();
        let status = control.status();
        let server = |(member, device): (Member, DeviceIndex)| {
            let fronted = fronts.get(&(device.0 as usize));
            let counts = fronted.map_or_else(Counters::default, Fronted::counts);
            let status = status.get(&member).copied().unwrap_or_default();
            Server {
                device: name_of(device),
                standing: control.standing(member).word().to_string(),
                weight: status.weight,
                buckets: status.current as u64,
                flows: fronted.map_or(0, |fronted| fronted.front.server().owned().count() as u64),
                opened: counts.opened,
                calls: meter.sent.get(&member).copied().unwrap_or(0),
                handled: counts.handled,
                extra_steps: counts.extra_hops,
                dropped: counts.dropped() + counts.refused,
            }
        };
        Group {
            name: name.clone(),
            switch: name_of(*switch),
            changes: control.changes(),
            is_steady: control.is_steady(),
            sent: meter.sent.values().sum(),
            returned: meter.returned,
            servers: control.all().map(server).collect(),
        }
    }
}

impl Fronted {
    fn counts(&self) -> Counters {
        let mut sum = self.past.plus(&self.front.server().counters);
        sum.refused += self.front.refused();
        sum
    }
}

/// Writes entries of a group. A program that came from elsewhere may lack the tables; then nothing is led to the group.
pub(super) fn write(target: &mut Controlled, entries: &[ir_split::GroupEntry]) {
    let written = write_group(&mut target.switch(), entries);
    debug_assert!(written.is_ok(), "its program has the tables: {written:?}");
    target.publish();
}
