//! The controller of a server group beside the agent of its switch (`docs/internals/groups.md`).
//!
//! ```text
//! fronts ── reports ──> GroupControl ── entries ──────────────────────> tables of the switch
//!                                    └─ instructions, as frames, after them ─> a port of the switch
//! ```
//!
//! Entries of the controller replace those that the split has made. A switch that restarts gets all of them at once ([`GroupControl::refill`]), before a
//! frame reaches it.

use crate::group_load::GroupLoad;
use base_time::{Duration, Time};
use control_writes::Match;
use device::Switch;
use group_front::{Meter, Settings};
use ir_split::{DeviceIndex, GroupEdge, GroupEntry, GroupRules, Variant};
use server_groups::group::{Limits, MemberStatus};
use server_groups::scaling::Wanted;
use server_groups::wire::{Flow, Wire};
use server_groups::{Command, Frame, Group, Member, Refusal, Report, Write, server};
use std::collections::BTreeMap;

/// Something to do at the switch. Steps are done in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroupStep {
    /// Written together.
    Write(Vec<GroupEntry>),
    /// A frame that comes in by this port, as an agent hands it in.
    HandIn(u32, Vec<u8>),
}

/// State of a server in its group, for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Not in the group.
    Out,
    /// The server was away for too long, or has restarted.
    Dead,
    /// Not all others know it yet.
    Joining,
    /// The server gets new flows.
    Member,
    /// The server gets no new flows.
    Draining,
    /// The same, and it leaves after its last flow.
    Leaving,
}

impl Standing {
    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Out => "out",
            Standing::Dead => "dead",
            Standing::Joining => "joining",
            Standing::Member => "member",
            Standing::Draining => "draining",
            Standing::Leaving => "leaving",
        }
    }
}

/// A group of a rack: its controller, and what the devices of its members need.
pub struct RackGroup {
    /// Name of the group.
    pub name: String,
    /// The switch.
    pub switch: DeviceIndex,
    /// Port of each member's device that leads to the switch.
    pub ports: BTreeMap<Member, u32>,
    /// Controller of the group.
    pub control: GroupControl,
}

impl RackGroup {
    /// The member that a device is.
    pub fn member(&self, device: DeviceIndex) -> Option<Member> {
        self.control.all().find(|(_, at)| *at == device).map(|(member, _)| member)
    }

    /// Settings of a member's front.
    pub fn front(&self, member: Member) -> Option<Settings> {
        Some(self.control.front(member, *self.ports.get(&member)?))
    }
}

/// A group that runs.
pub struct GroupControl {
    edge: GroupEdge,
    rules: GroupRules,
    group: Group<Flow>,
    /// Watches the load.
    load: Option<GroupLoad>,
    /// Members that are away, and since when.
    away: BTreeMap<Member, Time>,
    /// Dead members with their weights: they are added when they are back.
    dead: BTreeMap<Member, u32>,
    /// Changes so far: added, drained, removed, dead.
    changes: u64,
}

impl GroupControl {
    /// With these members at first, each with its weight.
    pub fn new(edge: GroupEdge, members: &[(Member, u32)], rules: GroupRules) -> GroupControl {
        let limits = Limits {
            settle_after: us(rules.settle_us).as_ps(),
            patience: us(rules.answer_us).as_ps(),
            ..Limits::default()
        };
        let group = Group::new(members, edge.buckets as usize, limits);
        let group = match rules.variant {
            Variant::Exact => group,
            Variant::Pin => group.stateless(),
            Variant::Bloom => group.filtered(us(rules.idle_us).as_ps()),
        };
        let group = match edge.blocks {
            0 => group,
            blocks => group.leasing(edge.members.len() as u16, blocks, us(rules.idle_us).as_ps()),
        };
        let load = rules.scale.map(GroupLoad::new);
        let (away, dead) = (BTreeMap::new(), BTreeMap::new());
        GroupControl { edge, rules, group, load, away, dead, changes: 0 }
    }

    /// The group at the switch.
    pub fn edge(&self) -> &GroupEdge {
        &self.edge
    }

    /// The device of a member.
    pub fn device(&self, member: Member) -> Option<DeviceIndex> {
        self.edge.members.get(usize::from(member.0)).map(|(device, _)| *device)
    }

    /// All that can be members.
    pub fn all(&self) -> impl Iterator<Item = (Member, DeviceIndex)> + use<'_> {
        (0..).map(Member).zip(self.edge.members.iter().map(|(device, _)| *device))
    }

    /// Settings of the front of a member whose device has this port towards the switch.
    pub fn front(&self, me: Member, port: u32) -> Settings {
        front_settings(self.edge.wire.clone(), me, port, &self.rules)
    }

    /// All entries, for a switch that begins.
    pub fn refill(&self) -> Vec<GroupEntry> {
        let rows = (0..).zip(self.group.rows()).map(|(bucket, row)| Write::Row { bucket, row });
        let pins = self.group.pins().map(|(flow, row)| Write::Pin { flow: flow.clone(), row });
        let leased = self.group.leased();
        rows.chain(pins)
            .chain(self.group.roles())
            .chain(leased)
            .map(|write| self.edge.entry(&write))
            .collect()
    }

    /// The next things to do at the switch, in order; none if nothing is left to do.
    pub fn step(&mut self) -> Option<Vec<GroupStep>> {
        Some(match self.group.command()? {
            Command::Write(writes) => {
                vec![GroupStep::Write(writes.iter().map(|write| self.edge.entry(write)).collect())]
            }
            Command::Instruction { to, instruction } => {
                let port = self.edge.members.get(usize::from(to.0)).map_or(0, |(_, port)| *port as u32);
                let frames = self.edge.wire.write(to, Frame::Instruction(instruction));
                frames.into_iter().map(|frame| GroupStep::HandIn(port, frame)).collect()
            }
        })
    }

    /// A server reports.
    pub fn report(&mut self, from: Member, report: Report<Flow>, now: Time) {
        self.group.report(from, report, now.as_ps());
    }

    /// A server has just started: instructions to it may have been lost.
    pub fn began(&mut self, member: Member, now: Time) {
        self.group.began(member, now.as_ps());
    }

    /// A server comes, or one that was leaving stays.
    pub fn add(&mut self, member: Member, weight: u32, now: Time) -> Result<(), Refusal> {
        self.group.add(member, weight, now.as_ps())?;
        self.dead.remove(&member);
        self.changes += 1;
        Ok(())
    }

    /// A server gets no new flows. `leaves`: it leaves after its last one.
    pub fn drain(&mut self, member: Member, leaves: bool, now: Time) -> Result<(), Refusal> {
        if leaves && self.dead.remove(&member).is_some() {
            self.changes += 1;
            return Ok(());
        }
        self.group.drain(member, leaves, now.as_ps())?;
        self.changes += 1;
        Ok(())
    }

    /// Looks at a server. `is_up`: it runs its program. `began`: it has restarted since the last look, and knows no flows. Gives its new
    /// standing, if that has changed.
    pub fn look(&mut self, member: Member, is_up: bool, began: bool, now: Time) -> Option<Standing> {
        let Some(known) = self.group.standing(member) else {
            let weight = self.dead.get(&member).copied().filter(|_| is_up && !began)?;
            return self.add(member, weight, now).ok().map(|()| Standing::Joining);
        };
        if !began {
            if is_up {
                self.away.remove(&member);
                return None;
            }
            if now.since(*self.away.entry(member).or_insert(now)) < us(self.rules.hold_us) {
                return None;
            }
        }
        self.away.remove(&member);
        self.group.died(member, now.as_ps()).ok()?;
        self.changes += 1;
        // One that was leaving is gone.
        if !known.draining {
            self.dead.insert(member, known.weight);
        }
        Some(Standing::Dead)
    }

    /// The packets that each server has handled so far: the group may grow, shrink, or weigh its members anew.
    pub fn measure(&mut self, handled: &BTreeMap<Member, u64>, now: Time) {
        let Some(mut load) = self.load.take() else { return };
        let takes = |member: &Member| self.standing(*member) == Standing::Member;
        if let Some(loads) = load.loads(handled, takes, now) {
            match load.step(&loads, now) {
                Some(Wanted::Grow) => {
                    let is_out =
                        |(member, _): &(Member, DeviceIndex)| self.standing(*member) == Standing::Out;
                    let free = self.all().find(is_out);
                    // It is not in the group, and has a weight.
                    let _ = free.map(|(member, _)| self.add(member, 1, now));
                }
                Some(Wanted::Shrink(member)) => drop(self.drain(member, true, now)),
                None => {}
            }
            for (member, weight) in load.weights(&loads, now) {
                // It was a member a moment ago.
                let _ = self.group.weigh(member, weight, now.as_ps());
            }
        }
        self.load = Some(load);
    }

    /// Time has passed.
    pub fn poll(&mut self, now: Time) {
        self.group.poll(now.as_ps());
    }

    /// Nothing is going on: no change, no move, nobody away.
    pub fn is_steady(&self) -> bool {
        self.group.is_steady() && self.away.is_empty()
    }

    /// The state of a server.
    pub fn standing(&self, member: Member) -> Standing {
        match self.group.standing(member) {
            None if self.dead.contains_key(&member) => Standing::Dead,
            None => Standing::Out,
            Some(known) if known.leaving => Standing::Leaving,
            Some(known) if known.draining => Standing::Draining,
            Some(known) if !known.joined => Standing::Joining,
            Some(_) => Standing::Member,
        }
    }

    /// Nothing is going on, and nobody is waited for.
    pub fn is_at_rest(&self) -> bool {
        self.is_steady() && self.dead.is_empty()
    }

    /// Rules of the group.
    pub fn rules(&self) -> &GroupRules {
        &self.rules
    }

    /// The number of blocks that are leased to a server; none where the group leases none.
    pub fn blocks(&self, member: Member) -> Option<u64> {
        let leased = self.group.blocks(member)?;
        Some(leased.iter().map(|byte| u64::from(byte.count_ones())).sum())
    }

    /// Buckets and pins of each member.
    pub fn status(&self) -> BTreeMap<Member, MemberStatus> {
        self.group.status()
    }

    /// Counts the group's calls at its switch.
    pub fn meter(&self) -> Meter {
        Meter::new(self.edge.wire.clone(), self.edge.members.iter().map(|(_, port)| *port as u32))
    }

    /// Changes of the members so far.
    pub fn changes(&self) -> u64 {
        self.changes
    }
}

/// Settings of the front of a server whose device has this port towards the switch.
pub(crate) fn front_settings(wire: Wire, me: Member, port: u32, rules: &GroupRules) -> Settings {
    let limits = server::Limits { patience: us(rules.patience_us).as_ps(), ..server::Limits::default() };
    let max_age = rules.max_age_us.map(us);
    let is_stateless = rules.variant == Variant::Pin;
    Settings { wire, me, port, idle: us(rules.idle_us), is_stateless, limits, max_age }
}

pub(crate) fn us(time: u64) -> Duration {
    Duration::from_us(time)
}

/// Writes entries of a group to its switch. An entry that is to go may be gone already: a flow's pin, if its server dies while the pin ends.
pub fn write_group(switch: &mut Switch, entries: &[GroupEntry]) -> Result<(), dataplane_api::EntryError> {
    for GroupEntry { table, keys, action, args } in entries {
        let keys: Vec<Match> = keys.iter().cloned().map(Match::Exact).collect();
        match args {
            Some(args) => {
                if switch.table_modify(table, &keys, action, args, None).is_err() {
                    switch.table_add(table, &keys, action, args, None)?;
                }
            }
            None => drop(switch.table_delete(table, &keys, None)),
        }
    }
    Ok(())
}

/// Why a change is refused, for people.
pub fn group_refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::Present => "it is a member already",
        Refusal::Unknown => "it is no member",
        Refusal::Last => "no other server would take new flows",
        Refusal::NoWeight => "its weight is 0",
    }
}
