//! Plans of flows that are made again while a rack runs: when apps that share a switch have other shares of the traffic than their plan
//! reckons with, another plan gives each another number of flows there.
//!
//! ```text
//! watching ── shares differ for long enough: another plan ──> draining ── no app has more flows than it may keep ──> changing
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

/// Makes a plan for shares of the traffic, in millionths, one for each app; an error says why there is none.
pub type Replan = Arc<dyn Fn(&[u64]) -> Result<Sizes, String> + Send + Sync>;

/// Outcome of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Replanned {
    /// Another plan is coming, for these shares in millionths: flows of each app at the switch.
    Begun(Vec<u64>, Vec<usize>),
    /// The other plan has taken over.
    Done,
    /// The shares have changed, and the plan is good for them, too.
    Same(Vec<u64>),
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
        let shares = |shares: &[u64]| each(shares.iter().copied().map(percent).collect());
        match self {
            Replanned::Begun(measured, rooms) => format!(
                "shares of the traffic have changed ({}): another plan of flows at the switch is taking over: {}",
                shares(measured),
                each(rooms.iter().map(ToString::to_string).collect())
            ),
            Replanned::Done => "the other plan of flows has taken over".to_string(),
            Replanned::Same(measured) => {
                format!(
                    "shares of the traffic have changed ({}), and the plan of flows is the same",
                    shares(measured)
                )
            }
            Replanned::Stays(why) => format!("the plan of flows stays: {why}"),
        }
    }
}

/// The plan of the apps of one switch.
pub struct Resizing {
    drift: Drift,
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
    /// A thread makes a plan for these shares.
    Planning {
        shares: Vec<u64>,
        plan: Beside<Result<Sizes, String>>,
    },
    /// Apps give up flows, at the latest until this time. The rooms are those before.
    Draining {
        to: Sizes,
        shares: Vec<u64>,
        before: Vec<usize>,
        until: Time,
    },
    /// The call is under way.
    Changing {
        to: Sizes,
        shares: Vec<u64>,
        before: Vec<usize>,
    },
}

impl Resizing {
    /// `planned` are the shares of the plan that runs, in millionths; another is made when one differs by `margin` for the time `after`.
    pub fn new(planned: Vec<u64>, margin: u64, after: Duration, replan: Replan) -> Resizing {
        let drift = Drift::new(planned, margin, after);
        Resizing { drift, replan, phase: Phase::Watching, reported: vec![], is_beside: false, work: None }
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
            Phase::Watching => Some(self.drift.next()),
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

    /// The call that is due for the controller of these apps.
    pub fn call(&mut self, now: Time, apps: &mut [&mut AppFlows]) -> Option<(Ticket, Call)> {
        match &mut self.phase {
            Phase::Watching => self.watch(now, apps),
            Phase::Planning { shares, plan } => {
                let plan = plan.over()?;
                let shares = std::mem::take(shares);
                self.phase = Phase::Watching;
                self.planned(now, shares, plan.unwrap_or_else(|why| Err(format!("no plan: {why}"))), apps);
            }
            Phase::Draining { .. } | Phase::Changing { .. } => {}
        }
        let Phase::Draining { to, shares, before, until } = &self.phase else { return None };
        let is_over = |(app, room): (&&mut AppFlows, &usize)| app.at_switch() > *room;
        if apps.iter().zip(&to.rooms).any(is_over) {
            if now >= *until {
                let before = before.clone();
                self.end(apps, &before, Replanned::Stays("flows do not leave the switch".to_string()));
            }
            return None;
        }
        let (to, shares, before) = (to.clone(), shares.clone(), before.clone());
        let call = Call::Steer(None, Steer::Resize(to.tables.clone()));
        self.phase = Phase::Changing { to, shares, before };
        Some((TICKET, call))
    }

    /// The reply to a call; false if it is somebody else's.
    pub fn replied(&mut self, ticket: Ticket, reply: &Reply, apps: &mut [&mut AppFlows]) -> bool {
        let Phase::Changing { to, shares, before } = &self.phase else { return false };
        if ticket != TICKET {
            return false;
        }
        match reply {
            Reply::Done(Err(status)) => {
                let (before, why) = (before.clone(), status.message.clone());
                // The program's own reason: flows would leave the switch again and again for a plan that cannot come.
                if status.code == Code::FailedPrecondition {
                    let shares = shares.clone();
                    self.drift.plan(shares);
                }
                self.end(apps, &before, Replanned::Stays(why));
            }
            _ => {
                let (rooms, shares) = (to.rooms.clone(), shares.clone());
                self.drift.plan(shares);
                self.end(apps, &rooms, Replanned::Done);
            }
        }
        true
    }

    fn watch(&mut self, now: Time, apps: &mut [&mut AppFlows]) {
        let packets: Vec<u64> = apps.iter().map(|app| app.packets()).collect();
        let Some(shares) = self.drift.measured(now, &packets) else { return };
        if !self.is_beside {
            let plan = (self.replan)(&shares);
            return self.planned(now, shares, plan, apps);
        }
        let (replan, of) = (Arc::clone(&self.replan), shares.clone());
        let (plan, work) = Beside::new(move || replan(&of));
        self.work = Some(work);
        self.phase = Phase::Planning { shares, plan };
    }

    /// A plan for these shares has been made, or there is none.
    fn planned(
        &mut self,
        now: Time,
        shares: Vec<u64>,
        plan: Result<Sizes, String>,
        apps: &mut [&mut AppFlows],
    ) {
        let before: Vec<usize> = apps.iter().map(|app| app.room()).collect();
        let reported = match plan {
            // There is no plan for these shares: others are planned for.
            Err(why) => {
                self.drift.plan(shares);
                Replanned::Stays(why)
            }
            Ok(to) if to.rooms == before => {
                self.drift.plan(shares.clone());
                Replanned::Same(shares)
            }
            Ok(to) => {
                for ((app, room), before) in apps.iter_mut().zip(&to.rooms).zip(&before) {
                    app.set_room(*room.min(before));
                }
                let reported = Replanned::Begun(shares.clone(), to.rooms.clone());
                self.phase = Phase::Draining { to, shares, before, until: now + PATIENCE };
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
