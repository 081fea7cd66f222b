//! Apps whose flows are pinned while a rack runs: where their packets are processed, and the flows that move. Hand-overs are counted on the
//! links from the switch to its helpers.

use super::domain::Domain;
use super::passed::Passed;
use crate::flows;
use crate::pinned::PinnedApp as PinnedOf;
use crate::rack::{Racked, SplitApp};
use base_diag::Diagnostic;
use base_time::{Duration, Time};
use controller::{Call, Reply, Ticket};
use device_control::{AppFlows, End, Moved, Popular, Side};
use pinned_flows::{Flow, words};
use rack_emulator::{LinkReport, MoveReport, MoveTotals, PinnedReport, ShareReport};
use std::collections::BTreeSet;

/// Moves of an app that the report lists; later ones are counted.
const MOST_MOVES: usize = 1024;

/// Samples of the share that are kept; then every second one goes.
const MOST_SHARES: usize = 32;

/// An app whose flows are pinned.
pub(super) struct PinnedApp {
    pub(super) name: String,
    origins: BTreeSet<String>,
    helpers: Vec<String>,
    /// All devices of the app.
    devices: BTreeSet<String>,
    /// The app's flows, if they move.
    pub(super) moving: Option<Moving>,
    /// The switch and the app's packets there, if other apps share it.
    passed: Option<(usize, Passed)>,
}

/// Packets of an app up to a time.
#[derive(Clone, Copy, Default)]
struct Counted {
    packets: u64,
    at_switch: u64,
}

impl PinnedApp {
    /// The pinned apps of a rack. `domain` is the place of an app's controller.
    pub(super) fn of(
        racked: &Racked,
        domain: &dyn Fn(usize) -> usize,
    ) -> Result<Vec<PinnedApp>, Vec<Diagnostic>> {
        let apps = racked.apps.iter().enumerate();
        let pinned = apps.flat_map(|(at, app)| app.pinned.iter().zip(0..).map(move |of| (at, app, of)));
        let one = pinned.map(|(at, app, (of_one, number))| {
            let placement = &app.placement;
            let helpers = of_one.helpers(placement);
            let parts = placement.devices.iter().zip(&app.parts).filter(|(_, part)| part.is_some());
            Ok(PinnedApp {
                name: of_one.model.name.value.clone(),
                origins: placement.origins().map(|device| placement.name(device).to_string()).collect(),
                helpers: helpers.iter().map(|device| placement.name(*device).to_string()).collect(),
                devices: parts.map(|(name, _)| name.to_string()).collect(),
                moving: Moving::of(racked, app, (of_one, number), domain(at))?,
                passed: passed(app, of_one),
            })
        });
        one.collect()
    }

    pub(super) fn report(&self, now: Time, links: &[LinkReport]) -> PinnedReport {
        let Counted { packets, at_switch } = self.counted(links);
        let passed = self.passed.as_ref().map(|(_, passed)| passed.counts());
        let helper = |(at, name): (usize, &String)| {
            let sent = match &passed {
                Some(passed) => passed.helpers.get(&at).copied().unwrap_or(0),
                None => self.sent(links, &|from, to| self.origins.contains(from) && to == name),
            };
            (name.clone(), sent)
        };
        let moving = self.moving.as_ref();
        PinnedReport {
            app: self.name.clone(),
            packets,
            at_switch,
            helpers: self.helpers.iter().enumerate().map(helper).collect(),
            shares: moving.map_or(vec![], |moving| moving.shares.report(now, Counted { packets, at_switch })),
            totals: moving.map(Moving::totals),
            moves: moving.map_or(vec![], Moving::report),
            more_moves: moving.map_or(0, |moving| moving.more),
        }
    }

    /// Takes the samples of the share that are due.
    pub(super) fn sample(&mut self, now: Time, links: &dyn Fn() -> Vec<LinkReport>) {
        if self.moving.as_ref().is_none_or(|moving| moving.shares.next() > now) {
            return;
        }
        let counted = self.counted(&links());
        if let Some(moving) = &mut self.moving {
            moving.shares.take(now, counted);
        }
    }

    /// The app's packets at this device, if it is a switch that several apps share.
    pub(super) fn passed_at(&self, device: usize) -> Option<&Passed> {
        self.passed.as_ref().filter(|(switch, _)| *switch == device).map(|(_, passed)| passed)
    }

    fn counted(&self, links: &[LinkReport]) -> Counted {
        if let Some((_, passed)) = &self.passed {
            let counts = passed.counts();
            return Counted { packets: counts.packets, at_switch: counts.packets - counts.handed };
        }
        let packets = self.sent(links, &|from, to| self.origins.contains(to) && !self.devices.contains(from));
        let handed = self.sent(links, &|from, to| self.origins.contains(from) && self.devices.contains(to));
        Counted { packets, at_switch: packets.saturating_sub(handed) }
    }

    /// Frames on the links between such nodes.
    fn sent(&self, links: &[LinkReport], is_it: &dyn Fn(&str, &str) -> bool) -> u64 {
        links.iter().filter(|link| is_it(node(&link.from), node(&link.to))).map(|link| link.frames).sum()
    }
}

/// Counts of an app that shares its switch with others.
fn passed(app: &SplitApp, of_one: &PinnedOf) -> Option<(usize, Passed)> {
    let traffic = of_one.share.as_ref()?.traffic.clone();
    let (placement, origin) = (&app.placement, app.placement.origin());
    let inside = placement.link_ports(origin).into_iter().map(|port| port as u32).collect();
    let helpers = of_one.helpers(placement).iter().enumerate();
    let ports = helpers.flat_map(|(at, helper)| {
        placement.ports_to(origin, *helper).iter().map(move |port| (*port as u32, at))
    });
    Some((origin.0 as usize, Passed::new(traffic, inside, ports.collect())))
}

/// The flows of an app that move.
pub(super) struct Moving {
    domain: usize,
    pub(super) flows: AppFlows,
    ended: Vec<MoveReport>,
    /// Moves that have ended and are not listed.
    more: u64,
    shares: Shares,
}

impl Moving {
    /// None if the app's flows stay where they are.
    fn of(
        racked: &Racked,
        app: &SplitApp,
        (of_one, number): (&PinnedOf, u16),
        domain: usize,
    ) -> Result<Option<Moving>, Vec<Diagnostic>> {
        let flows = flows::flows_of(racked, app, of_one, number)?;
        let flows = flows.filter(|flows| flows.yet().next().is_some() || flows.popular().is_some());
        Ok(flows.map(|flows| Moving { domain, flows, ended: vec![], more: 0, shares: Shares::default() }))
    }

    /// When something is to be done that nobody asks for.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.flows.next_time().into_iter().chain([self.shares.next()]).min()
    }

    /// True if a move is under way, or is yet to come.
    pub(super) fn is_busy(&self) -> bool {
        self.flows.is_busy()
    }

    /// The controller that writes, and what it is to do now.
    pub(super) fn calls(&mut self, now: Time, domains: &[Domain]) -> (usize, Vec<(Ticket, Call)>) {
        let controller = &domains[self.domain].controller;
        let calls = controller.with_store(|desired| self.flows.calls(now, desired)).unwrap_or_default();
        self.hear();
        (self.domain, calls)
    }

    /// The counts of its packets at this device, if popular flows are promoted.
    pub(super) fn popular_at(&self, device: usize) -> Option<&Popular> {
        self.flows.popular().filter(|_| self.flows.switch.0 as usize == device)
    }

    fn totals(&self) -> MoveTotals {
        let (counters, resident) = self.flows.totals();
        MoveTotals {
            promoted: counters.promoted,
            demoted: counters.evicted,
            full: counters.full,
            resident: resident as u64,
        }
    }

    /// The reply to a call; false if it is somebody else's.
    pub(super) fn replied(&mut self, now: Time, domain: usize, ticket: Ticket, reply: &Reply) -> bool {
        let is_own = domain == self.domain && self.flows.replied(now, ticket, reply);
        self.hear();
        is_own
    }

    fn hear(&mut self) {
        for moved in self.flows.take_ended() {
            if self.ended.len() == MOST_MOVES {
                self.more += 1;
                continue;
            }
            let Moved { flow, to, asked, took, end } = moved;
            let result = match end {
                End::Done => "done".to_string(),
                End::Undone(why) => format!("undone: {why}"),
                End::Refused(why) => format!("refused: {why}"),
            };
            let took = matches!(end, End::Done | End::Undone(_)).then_some(took);
            self.ended.push(self.row(&flow, to, asked, took, result));
        }
    }

    fn report(&self) -> Vec<MoveReport> {
        let open = self.flows.moves().under_way().map(|(flow, to, at)| (flow, to, at, "under way"));
        let yet = self.flows.yet().map(|(at, flow, to)| (flow, *to, *at, "not begun"));
        let open = open.chain(yet).map(|(flow, to, at, what)| self.row(flow, to, at, None, what.to_string()));
        let mut all: Vec<MoveReport> = self.ended.iter().cloned().chain(open).collect();
        all.sort_by_key(|one| one.asked_ps);
        all
    }

    fn row(&self, flow: &Flow, to: Side, asked: Time, took: Option<Duration>, result: String) -> MoveReport {
        MoveReport {
            flow: words(self.flows.parts(), flow),
            to: if to == Side::Switch { "switch" } else { "helper" }.to_string(),
            asked_ps: asked.as_ps(),
            took_ps: took.map(Duration::as_ps),
            result,
        }
    }
}

/// The share of the switch at equal steps of time, which grow as the run does.
struct Shares {
    step: Duration,
    /// The n-th, from 1 on, is after n steps.
    taken: Vec<Counted>,
}

impl Default for Shares {
    fn default() -> Shares {
        Shares { step: Duration::from_us(10), taken: vec![] }
    }
}

impl Shares {
    fn next(&self) -> Time {
        Time::ZERO + self.step * (self.taken.len() as u64 + 1)
    }

    fn take(&mut self, now: Time, counted: Counted) {
        while self.next() <= now {
            self.taken.push(counted);
            if self.taken.len() == MOST_SHARES {
                let mut number = 0;
                self.taken.retain(|_| {
                    number += 1;
                    number % 2 == 0
                });
                self.step = self.step * 2;
            }
        }
    }

    /// Packets between two samples each; `end` is what there is now.
    fn report(&self, now: Time, end: Counted) -> Vec<ShareReport> {
        let times = (1..).map(|number| Time::ZERO + self.step * number);
        let samples = times.zip(self.taken.iter().copied()).take_while(|(at, _)| *at < now);
        let mut samples: Vec<(Time, Counted)> = samples.chain([(now, end)]).collect();
        // A packet counts when it comes, and as handed over when it leaves: until then it seems to be processed at the switch.
        let mut most = u64::MAX;
        for (_, counted) in samples.iter_mut().rev() {
            most = most.min(counted.at_switch);
            counted.at_switch = most;
        }
        let mut before = Counted::default();
        let step = |(until, counted): (Time, Counted)| {
            let report = ShareReport {
                until_ps: until.as_ps(),
                packets: counted.packets - before.packets,
                at_switch: counted.at_switch - before.at_switch,
            };
            before = counted;
            report
        };
        let mut all: Vec<ShareReport> = samples.into_iter().map(step).collect();
        while all.len() > 1 && all.last().is_some_and(|last| last.packets == 0) {
            all.pop();
        }
        all
    }
}

/// The node of one end of a link: `tor` of `tor:1`.
fn node(end: &str) -> &str {
    end.split(':').next().unwrap_or(end)
}
