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
//! Apps that get less room give up their least popular flows first, so that both plans have room for what is at the switch when the tables
//! change their sizes (`Steer::Resize`), which no packet sees: packets are kept out until none is inside.

use crate::AppFlows;
use app_allocation::{Drift, WEIGHT};
use base_time::{Duration, Time};
use controller::{Call, Reply, Steer, TableSizes, Ticket};
use p4runtime_proto::google::rpc::Code;

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
pub type Replan = Box<dyn Fn(&[u64]) -> Result<Sizes, String>>;

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

/// The plan of the apps of one switch.
pub struct Resizing {
    drift: Drift,
    replan: Replan,
    phase: Phase,
    reported: Vec<Replanned>,
}

enum Phase {
    Watching,
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
        Resizing { drift, replan, phase: Phase::Watching, reported: vec![] }
    }

    /// When [`call`](Resizing::call) has something to do that no flow's move brings about.
    pub fn next_time(&self) -> Option<Time> {
        match &self.phase {
            Phase::Watching => Some(self.drift.next()),
            Phase::Draining { until, .. } => Some(*until),
            Phase::Changing { .. } => None,
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
        if let Phase::Watching = self.phase {
            self.watch(now, apps);
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
        let before: Vec<usize> = apps.iter().map(|app| app.room()).collect();
        let reported = match (self.replan)(&shares) {
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
pub fn percent(share: u64) -> String {
    let tenths = (share * 1000 + WEIGHT / 2) / WEIGHT;
    format!("{}.{} %", tenths / 10, tenths % 10)
}
