//! Plans of flows that are made again while a rack runs: when apps that share a switch have other shares of the traffic than their plan
//! reckons with, or other helpers are in use, another plan gives each another number of flows there.
//!
//! ```text
//! watching ── other shares or helpers: another plan ────────> draining ── no app has more flows than it may keep ──> changing
//!    ^  ^                                                                                                              │
//!    │  └────── the plan is the same, or there is none                                            refused: as before   │
//!    └─────────────────────────────────── tables have the new sizes, apps have the new room ───────────────────────────┘
//! ```
//!
//! A rack in virtual time plans at once. A switch plans in a thread beside the one that runs packets ([`Resizing::beside`]); *planning* is the
//! phase until that thread is done.
//!
//! Apps that get less room give up their least popular flows first, so that both plans have room for what is at the switch when the tables
//! change their sizes (`Steer::Resize`), which no packet sees: packets are kept out until none is inside.

use crate::AppFlows;
use crate::beside::Beside;
use app_allocation::{Drift, WEIGHT};
use base_time::{Duration, Time};
use controller::{Call, Reply, Steer, TableSizes, Ticket};
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Ahead;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The ticket of the call.
const TICKET: Ticket = Ticket(u64::MAX);

/// Time for flows to leave the switch. Then the plan stays, and is made again if shares still differ.
const PATIENCE: Duration = Duration::from_s(60);

/// A plan for measured shares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Flows of each app at the switch.
    pub rooms: Vec<usize>,
    /// Sizes of the tables for it.
    pub tables: TableSizes,
}

/// The traffic and the devices that a plan is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conditions {
    /// Shares of the apps in millionths.
    pub shares: Vec<u64>,
    /// Names of devices that are out of use.
    pub out: BTreeSet<String>,
    /// The shares differ from those of the plan before.
    pub has_drifted: bool,
}

/// Makes a plan; an error says why there is none.
pub type Replan = Arc<dyn Fn(&Conditions) -> Result<Sizes, String> + Send + Sync>;

/// Outcome of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Replanned {
    /// Another plan is coming: flows of each app at the switch.
    Begun(Conditions, Vec<usize>),
    /// The other plan has taken over.
    Done,
    /// The plan is good for these conditions, too.
    Same(Conditions),
    /// The old plan stays, for this reason.
    Stays(String),
}

impl Replanned {
    /// For people; `names` are the apps'.
    pub fn words(&self, names: &[String]) -> String {
        let each = |values: Vec<String>| {
            let each = names.iter().zip(values).map(|(name, value)| format!("{name} {value}"));
            each.collect::<Vec<_>>().join(", ")
        };
        let why = |Conditions { shares, out, has_drifted }: &Conditions| {
            let out: Vec<String> = out.iter().map(|name| format!("`{name}`")).collect();
            let devices = match out.as_slice() {
                [] => "all helpers are in use".to_string(),
                out => format!("{} out of use", out.join(", ")),
            };
            if !has_drifted {
                return devices;
            }
            let shares = each(shares.iter().copied().map(percent).collect());
            let changed = format!("shares of the traffic have changed ({shares})");
            if out.is_empty() { changed } else { format!("{changed}, {devices}") }
        };
        match self {
            Replanned::Begun(conditions, rooms) => format!(
                "{}: another plan of flows at the switch is taking over: {}",
                why(conditions),
                each(rooms.iter().map(ToString::to_string).collect())
            ),
            Replanned::Done => "the other plan of flows has taken over".to_string(),
            Replanned::Same(conditions) => {
                format!("{}, and the plan of flows is the same", why(conditions))
            }
            Replanned::Stays(why) => format!("the plan of flows stays: {why}"),
        }
    }
}

/// The plan of the apps of one switch.
pub struct Resizing {
    drift: Drift,
    outage: Outage,
    replan: Replan,
    phase: Phase,
    reported: Vec<Replanned>,
    /// Plans are made in threads.
    is_beside: bool,
    /// Work for a thread that has not been taken yet.
    work: Option<Ahead>,
}

enum Phase {
    Watching,
    /// A thread makes a plan.
    Planning {
        conditions: Conditions,
        plan: Beside<Result<Sizes, String>>,
    },
    /// Apps give up flows, at the latest until this time. The rooms are those before.
    Draining {
        to: Sizes,
        conditions: Conditions,
        before: Vec<usize>,
        until: Time,
    },
    /// The call is under way.
    Changing {
        to: Sizes,
        conditions: Conditions,
        before: Vec<usize>,
    },
}

/// Devices that are out of use, and those that the plan is made without.
struct Outage {
    planned: BTreeSet<String>,
    seen: BTreeSet<String>,
    since: Time,
    after: Duration,
}

impl Outage {
    /// True if the devices have been others than the plan's for long enough, and once more each time that this is over without a plan for them.
    fn has_changed(&mut self, now: Time, out: &BTreeSet<String>) -> bool {
        if self.seen != *out {
            self.seen = out.clone();
            self.since = now;
        }
        let has_changed = self.seen != self.planned && now.since(self.since) >= self.after;
        if has_changed {
            self.since = now;
        }
        has_changed
    }

    fn next(&self) -> Option<Time> {
        (self.seen != self.planned).then_some(self.since + self.after)
    }
}

impl Resizing {
    /// `planned` are the shares of the plan that runs, in millionths; another is made when one differs by `margin`, or other devices are out of
    /// use, for the time `after`.
    pub fn new(planned: Vec<u64>, margin: u64, after: Duration, replan: Replan) -> Resizing {
        let drift = Drift::new(planned, margin, after);
        let outage = Outage { planned: BTreeSet::new(), seen: BTreeSet::new(), since: Time::ZERO, after };
        let (phase, reported) = (Phase::Watching, vec![]);
        Resizing { drift, outage, replan, phase, reported, is_beside: false, work: None }
    }

    /// The same, with plans that threads make: see [`take_work`](Resizing::take_work).
    #[must_use]
    pub fn beside(self) -> Resizing {
        Resizing { is_beside: true, ..self }
    }

    /// Work for a thread. When it is over, or was dropped, [`call`](Resizing::call) goes on.
    pub fn take_work(&mut self) -> Option<Ahead> {
        self.work.take()
    }

    /// When [`call`](Resizing::call) has something to do that no flow's move brings about.
    pub fn next_time(&self) -> Option<Time> {
        match &self.phase {
            Phase::Watching => self.outage.next().into_iter().chain([self.drift.next()]).min(),
            Phase::Draining { until, .. } => Some(*until),
            // Whoever runs the thread, or has the call, goes on.
            Phase::Planning { .. } | Phase::Changing { .. } => None,
        }
    }

    /// True while another plan is being brought in.
    pub fn is_busy(&self) -> bool {
        !matches!(self.phase, Phase::Watching)
    }

    /// Outcomes since the last call.
    pub fn take_reported(&mut self) -> Vec<Replanned> {
        std::mem::take(&mut self.reported)
    }

    /// The call that is due for the controller of these apps. `out` has the names of devices that are out of use.
    pub fn call(
        &mut self,
        now: Time,
        out: &BTreeSet<String>,
        apps: &mut [&mut AppFlows],
    ) -> Option<(Ticket, Call)> {
        match &mut self.phase {
            Phase::Watching => self.watch(now, out, apps),
            Phase::Planning { conditions, plan } => {
                let plan = plan.over()?.unwrap_or_else(|why| Err(format!("no plan: {why}")));
                let conditions = conditions.clone();
                self.phase = Phase::Watching;
                self.planned(now, conditions, plan, apps);
            }
            Phase::Draining { .. } | Phase::Changing { .. } => {}
        }
        let Phase::Draining { to, conditions, before, until } = &self.phase else { return None };
        let is_over = |(app, room): (&&mut AppFlows, &usize)| app.at_switch() > *room;
        if apps.iter().zip(&to.rooms).any(is_over) {
            if now >= *until {
                let before = before.clone();
                self.end(apps, &before, Replanned::Stays("flows do not leave the switch".to_string()));
            }
            return None;
        }
        let (to, conditions, before) = (to.clone(), conditions.clone(), before.clone());
        let call = Call::Steer(None, Steer::Resize(to.tables.clone()));
        self.phase = Phase::Changing { to, conditions, before };
        Some((TICKET, call))
    }

    /// The reply to a call; false if it is somebody else's.
    pub fn replied(&mut self, ticket: Ticket, reply: &Reply, apps: &mut [&mut AppFlows]) -> bool {
        let Phase::Changing { to, conditions, before } = &self.phase else { return false };
        if ticket != TICKET {
            return false;
        }
        match reply {
            Reply::Done(Err(status)) => {
                let (before, why) = (before.clone(), status.message.clone());
                // The program's own reason: flows would leave the switch again and again for a plan that cannot come.
                if status.code == Code::FailedPrecondition {
                    let conditions = conditions.clone();
                    self.is_planned(conditions);
                }
                self.end(apps, &before, Replanned::Stays(why));
            }
            _ => {
                let (rooms, conditions) = (to.rooms.clone(), conditions.clone());
                self.is_planned(conditions);
                self.end(apps, &rooms, Replanned::Done);
            }
        }
        true
    }

    /// A plan for these conditions is used, or there is none for them.
    fn is_planned(&mut self, conditions: Conditions) {
        self.drift.plan(conditions.shares);
        self.outage.planned = conditions.out;
    }

    fn watch(&mut self, now: Time, out: &BTreeSet<String>, apps: &mut [&mut AppFlows]) {
        let packets: Vec<u64> = apps.iter().map(|app| app.packets()).collect();
        let measured = self.drift.measured(now, &packets);
        if !self.outage.has_changed(now, out) && measured.is_none() {
            return;
        }
        let has_drifted = measured.is_some();
        let shares = measured.unwrap_or_else(|| self.drift.planned().to_vec());
        let conditions = Conditions { shares, out: out.clone(), has_drifted };
        if !self.is_beside {
            let plan = (self.replan)(&conditions);
            return self.planned(now, conditions, plan, apps);
        }
        let (replan, of) = (Arc::clone(&self.replan), conditions.clone());
        let (plan, work) = Beside::new(move || replan(&of));
        self.work = Some(work);
        self.phase = Phase::Planning { conditions, plan };
    }

    /// A plan for these conditions has been made, or there is none.
    fn planned(
        &mut self,
        now: Time,
        conditions: Conditions,
        plan: Result<Sizes, String>,
        apps: &mut [&mut AppFlows],
    ) {
        let before: Vec<usize> = apps.iter().map(|app| app.room()).collect();
        let reported = match plan {
            // There is no plan for these conditions: others are planned for.
            Err(why) => {
                self.is_planned(conditions);
                Replanned::Stays(why)
            }
            Ok(to) if to.rooms == before => {
                self.is_planned(conditions.clone());
                Replanned::Same(conditions)
            }
            Ok(to) => {
                for ((app, room), before) in apps.iter_mut().zip(&to.rooms).zip(&before) {
                    app.set_room(*room.min(before));
                }
                let reported = Replanned::Begun(conditions.clone(), to.rooms.clone());
                self.phase = Phase::Draining { to, conditions, before, until: now + PATIENCE };
                reported
            }
        };
        self.reported.push(reported);
    }

    fn end(&mut self, apps: &mut [&mut AppFlows], rooms: &[usize], reported: Replanned) {
        apps.iter_mut().zip(rooms).for_each(|(app, room)| app.set_room(*room));
        self.reported.push(reported);
        self.phase = Phase::Watching;
    }
}

/// A share of the traffic in percent, with a digit behind the point.
fn percent(share: u64) -> String {
    let tenths = (share * 1000 + WEIGHT / 2) / WEIGHT;
    format!("{}.{} %", tenths / 10, tenths % 10)
}
