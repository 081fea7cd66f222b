//! Flows of a rack that one process runs: they move beside the rack's controller, which makes the writes.
//!
//! ```text
//! no program ──> clearing: what an earlier program has left at the switch is removed ──> running
//!     ^                                                                                     │
//!     └───────────── a call that may bring another program, or a saved program ─────────────┘
//! ```
//!
//! When another plan gives apps other numbers of flows ([`Resizing`]), flows stay at the switch: *running* goes on.

use super::beside::Beside;
use super::flow_writes::{Asked, FlowWrites};
use super::new_flows::Comes;
use super::pinned_tables::{Found, found};
use super::{AppFlows, End, FlowMoves, Held, Metric, Moved, Replanned, Resizing, Side};
use base_time::{Duration, Time};
use controller::{Ask, Call, Controller, DeviceId, Reply, Rollout, Steer, Ticket};
use dataplane_api::Output;
use flow_control::flows::Place;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::forwarding_pipeline_config::Cookie;
use p4runtime_proto::p4::v1::{Uint128, Update, WriteRequest};
use p4runtime_proto::p4rack::v1::steer_request::MoveFlow;
use p4runtime_proto::p4rack::v1::{
    FlowShard, PinnedApp, PinnedFlow, Sample, SampleResponse, pinned_flow::Part,
};
use p4runtime_server::{Ahead, Status};
use pinned_flows::{Flow, shown};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Weak};

/// Tickets of calls that are neither clients' nor moves'.
const FIRST_TICKET: u64 = 1 << 62;

/// A call that could not be done is made again after so long.
const AGAIN: Duration = Duration::from_ms(10);

/// Writes are refused after this time if a device must be repaired before flows move.
const LONG: Duration = Duration::from_s(1);

/// Times between two reports of an agent.
const SHORTEST: Duration = Duration::from_ms(10);
const LONGEST: Duration = Duration::from_s(1);

/// Frames of a report, about.
const SAMPLES: u64 = 512;

/// Flows that are shown.
const MOST_SHOWN: usize = 1000;

/// The flows of a rack's apps.
pub(super) struct RackFlows {
    apps: Vec<AppFlows>,
    /// The program whose flows they are.
    program: Cookie,
    phase: Phase,
    /// The plan that was looked at last.
    plan: Option<Weak<Rollout>>,
    /// Calls under way that may bring another program.
    changing: BTreeSet<Ticket>,
    /// Operators that wait for a move of an app's flow.
    asked: Vec<(Ticket, usize, Flow, Side)>,
    writes: FlowWrites,
    replies: Vec<(Ticket, Reply)>,
    tickets: u64,
    /// The plan of flows; none if it is not made again.
    resizing: Option<Resizing>,
    /// The call that brings another plan of flows, while a thread compiles its programs.
    prepared: Option<(Beside<()>, Ticket, Call)>,
    /// Work for a thread.
    work: Option<Ahead>,
    /// The next plan has the flows that are at the switch: nothing but the call for it is under way.
    keeps_flows: bool,
    /// Plans of flows by their end.
    replans: Replans,
    /// Outcomes of these for people, since the last call.
    reported: Vec<String>,
    /// Reports of the switches' agents, if the devices are other processes.
    sampling: Option<BTreeMap<DeviceId, Sampling>>,
}

/// Request to the agent of a switch for frames.
struct Sampling {
    /// When it is asked next.
    due: Time,
    /// Between two requests.
    interval: Duration,
    /// One frame of so many.
    every: u64,
    /// Ports that lead to other devices.
    uncounted: Vec<u32>,
    /// The next report begins where another one ended. Otherwise its frames may be of a time when nobody asked, of which only the oldest are kept.
    continues: bool,
}

/// Plans of flows by their end.
#[derive(Default)]
struct Replans {
    done: u64,
    same: u64,
    refused: u64,
}

enum Phase {
    NoProgram,
    /// Steps that are left, the call that is under way, when the next one is made, and when this began.
    Clearing {
        left: VecDeque<Vec<Update>>,
        call: Option<Ticket>,
        at: Time,
        since: Time,
    },
    Running,
    /// Why no flow moves.
    Off(String),
}

impl RackFlows {
    /// The flows of a rack's apps; none if no app has flows that may move.
    pub fn of(apps: Vec<AppFlows>) -> Option<RackFlows> {
        let program = super::plan::cookie_of(apps.first()?.whole());
        Some(RackFlows::new(apps, program))
    }

    fn new(apps: Vec<AppFlows>, program: Cookie) -> RackFlows {
        RackFlows {
            apps,
            program,
            phase: Phase::NoProgram,
            plan: None,
            changing: BTreeSet::new(),
            asked: vec![],
            writes: FlowWrites::default(),
            replies: vec![],
            tickets: FIRST_TICKET,
            resizing: None,
            prepared: None,
            work: None,
            keeps_flows: false,
            replans: Replans::default(),
            reported: vec![],
            sampling: None,
        }
    }

    /// The same where agents of other processes report frames, by which flows are counted.
    pub fn by_samples(mut self) -> RackFlows {
        let mut all: BTreeMap<DeviceId, Sampling> = BTreeMap::new();
        for app in &mut self.apps {
            let Some((window, inside)) = app.count_by_reports() else { continue };
            let interval = window.clamp(SHORTEST, LONGEST);
            let new = Sampling { due: Time::ZERO, interval, every: 1, uncounted: inside, continues: false };
            let switch = DeviceId(app.switch.0 as usize);
            let of = all.entry(switch).or_insert(new);
            of.interval = of.interval.min(interval);
        }
        self.sampling = Some(all);
        self
    }

    /// Requests to agents that are due.
    pub fn asks(&mut self, now: Time) -> Vec<(DeviceId, Ask)> {
        let is_running = matches!(self.phase, Phase::Running);
        let mut asks = vec![];
        for (device, of) in self.sampling.iter_mut().flatten() {
            of.continues &= is_running;
            if is_running && of.due <= now {
                of.due = now + of.interval;
                asks.push((*device, Ask::Sample { every: of.every, uncounted: of.uncounted.clone() }));
            }
        }
        asks
    }

    /// An agent cannot be reached.
    pub fn lost(&mut self, device: DeviceId) {
        if let Some(of) = self.sampling.as_mut().and_then(|all| all.get_mut(&device)) {
            of.continues = false;
        }
    }

    /// An agent has reported frames. The first report after a time without any is not counted.
    pub fn sampled(&mut self, now: Time, device: DeviceId, report: SampleResponse) {
        let Some(of) = self.sampling.as_mut().and_then(|all| all.get_mut(&device)) else { return };
        if !std::mem::replace(&mut of.continues, true) {
            return;
        }
        let SampleResponse { frames, samples } = report;
        of.every = frames.div_ceil(SAMPLES).max(1);
        // Each sample stands for those between it and the next one.
        let count = samples.len() as u64;
        let packets = (frames + count / 2).checked_div(count).unwrap_or(0).max(1);
        for app in self.apps.iter_mut().filter(|app| app.switch.0 as usize == device.0) {
            let Some(popular) = app.popular() else { continue };
            for Sample { port, frame, left } in &samples {
                if popular.counts_from(*port) {
                    popular.count_all((*port, frame), left.iter().copied(), packets, now);
                }
            }
            app.has_counted();
        }
    }

    /// Another plan gives apps other numbers of flows when their shares of the traffic change: those with [`AppFlows::popular`], in order.
    pub fn plan_by(&mut self, resizing: Resizing) {
        self.resizing = Some(resizing.beside());
    }

    /// Work for a thread. When it is over, or was dropped, [`calls`](RackFlows::calls) goes on.
    pub fn take_work(&mut self) -> Option<Ahead> {
        self.work.take()
    }

    /// Outcomes of plans of flows since the last call, for people.
    pub fn take_reported(&mut self) -> Vec<String> {
        std::mem::take(&mut self.reported)
    }

    /// Takes a client's call if it is about flows; another one goes to the controller.
    pub fn take(&mut self, now: Time, ticket: Ticket, call: Call, controller: &Controller) -> Option<Call> {
        let asked = |request, is_operator| Asked { ticket, request, is_operator };
        let write = match call {
            Call::Write(request) => asked(request, false),
            Call::Operate(request) => asked(request, true),
            Call::Steer(election, Steer::MoveFlow(flow)) => {
                self.ask(now, ticket, election.as_ref(), &flow, controller);
                return None;
            }
            Call::Resume(mut state, mut held) => {
                self.change(ticket, controller);
                // Which flows are at the switch is no state: those that are leave it when all helpers are as they should be, and come again.
                let moves = || self.apps.iter().map(AppFlows::moves);
                state.entities.retain(|entity| !moves().any(|moves| moves.is_of_moves(entity)));
                held.extend(moves().flat_map(FlowMoves::own_tables));
                return Some(Call::Resume(state, held));
            }
            Call::Start(..)
            | Call::Adopt(..)
            | Call::SetConfig(_)
            | Call::Steer(_, Steer::Reset | Steer::Replace(_) | Steer::Resize(_) | Steer::ForgetSaved) => {
                self.change(ticket, controller);
                return Some(call);
            }
            other => return Some(other),
        };
        if !self.writes.push(write) {
            let why = Status::new(Code::ResourceExhausted, "too many writes wait: try again");
            self.replies.push((ticket, Reply::Done(Err(why))));
        }
        None
    }

    /// A client's call that may bring another program.
    fn change(&mut self, ticket: Ticket, controller: &Controller) {
        self.changing.insert(ticket);
        self.keeps_flows = false;
        // A write in progress is of the program that may go.
        controller.end_storing(&[]);
    }

    /// The reply to a call; false if it is a client's.
    pub fn replied(&mut self, now: Time, ticket: Ticket, reply: &Reply) -> bool {
        self.changing.remove(&ticket);
        if ticket.0 < FIRST_TICKET {
            return false;
        }
        if let Some(resizing) = &mut self.resizing
            && resizing.replied(ticket, reply, &mut popular(&mut self.apps))
        {
            self.keeps_flows &= !matches!(reply, Reply::Done(Err(_)));
            return true;
        }
        if let Phase::Clearing { left, call, at, .. } = &mut self.phase
            && call.take_if(|call| *call == ticket).is_some()
        {
            match reply {
                Reply::Done(Err(_)) => *at = now + AGAIN,
                _ => drop(left.pop_front()),
            }
        } else if !self.writes.replied(ticket, reply) {
            let _ = self.apps.iter_mut().any(|app| app.replied(now, ticket, reply));
        }
        true
    }

    /// Calls that are due.
    pub fn calls(&mut self, now: Time, controller: &Controller) -> Vec<(Ticket, Call)> {
        if !self.changing.is_empty() {
            return vec![];
        }
        // Writes are to the saved program, which no device has yet.
        if controller.is_saved() {
            return self.writes.take_waiting().collect();
        }
        self.follow_plan(now, controller);
        let tickets = &mut self.tickets;
        let mut next = || {
            *tickets += 1;
            Ticket(*tickets)
        };
        let in_doubt = controller.in_doubt();
        match &mut self.phase {
            Phase::NoProgram | Phase::Off(_) => self.writes.take_waiting().collect(),
            Phase::Clearing { call: Some(_), .. } => vec![],
            Phase::Clearing { at, .. } if *at > now => vec![],
            // Flows that leave the switch must not find a helper that lacks what the switch has.
            Phase::Clearing { at, since, .. } if in_doubt.is_some() => {
                *at = now + AGAIN;
                if now.since(*since) >= LONG {
                    let device = in_doubt.unwrap_or_default();
                    let why = format!(
                        "device `{device}` is being repaired, and flows that may be at the switch wait for it"
                    );
                    let refused = Reply::Done(Err(Status::new(Code::Unavailable, why)));
                    self.replies
                        .extend(self.writes.take_waiting().map(|(ticket, _)| (ticket, refused.clone())));
                }
                vec![]
            }
            Phase::Clearing { left, call, .. } => match left.front() {
                Some(updates) => {
                    let ticket = next();
                    *call = Some(ticket);
                    let device = self.apps.first().map_or(0, |app| app.moves().device());
                    vec![(ticket, enforce(device, updates.clone()))]
                }
                None => {
                    self.phase = Phase::Running;
                    self.calls(now, controller)
                }
            },
            Phase::Running => {
                let apps = &mut self.apps;
                let mut calls = self.writes.go_on(now, apps, controller, &mut next, &mut self.replies);
                for app in apps.iter_mut() {
                    calls
                        .extend(controller.with_store(|desired| app.calls(now, desired)).unwrap_or_default());
                }
                calls.extend(self.writes.call_at_once(apps, &mut next));
                self.hear();
                calls.extend(self.plan_again(now, controller));
                self.hear_plans();
                calls
            }
        }
    }

    /// The call that brings another plan of flows, if it is due. A thread has planned, and another has compiled the programs.
    fn plan_again(&mut self, now: Time, controller: &Controller) -> Option<(Ticket, Call)> {
        let resizing = self.resizing.as_mut()?;
        let apps = &mut popular(&mut self.apps);
        let (ticket, call) = match self.prepared.take() {
            None => {
                let call = resizing.call(now, &controller.out_of_use(), apps);
                self.work = self.work.take().or_else(|| resizing.take_work());
                let (ticket, call) = call?;
                match controller.ahead(&call) {
                    Some(ahead) => {
                        let (compiled, work) = Beside::new(ahead);
                        self.work = Some(work);
                        self.prepared = Some((compiled, ticket, call));
                        return None;
                    }
                    None => (ticket, call),
                }
            }
            Some((mut compiled, ticket, call)) => match compiled.over() {
                None => {
                    self.prepared = Some((compiled, ticket, call));
                    return None;
                }
                Some(Ok(())) => (ticket, call),
                Some(Err(why)) => {
                    let status = Status::new(Code::Internal, format!("its programs are not compiled: {why}"));
                    resizing.replied(ticket, &Reply::Done(Err(status)), apps);
                    return None;
                }
            },
        };
        self.changing.insert(ticket);
        self.keeps_flows = true;
        Some((ticket, call))
    }

    /// Notes how plans of flows have ended.
    fn hear_plans(&mut self) {
        let Some(resizing) = &mut self.resizing else { return };
        let reported = resizing.take_reported();
        if reported.is_empty() {
            return;
        }
        let names: Vec<String> = popular(&mut self.apps).iter().map(|app| app.name.clone()).collect();
        for one in reported {
            match one {
                Replanned::Begun(..) => {}
                Replanned::Done => self.replans.done += 1,
                Replanned::Same(_) => self.replans.same += 1,
                Replanned::Stays(_) => self.replans.refused += 1,
            }
            self.reported.push(one.words(&names));
        }
    }

    /// Replies to clients since the last call.
    pub fn take_replies(&mut self) -> Vec<(Ticket, Reply)> {
        self.hear();
        std::mem::take(&mut self.replies)
    }

    /// A frame has come in from outside. Classes of apps exclude each other, so at most one app keeps it.
    pub fn comes(&mut self, now: Time, frame: (u32, &[u8])) -> Comes {
        if !matches!(self.phase, Phase::Running) {
            return Comes::In;
        }
        let all = self.apps.iter_mut().map(|app| app.comes(now, frame));
        all.into_iter().find(|comes| *comes != Comes::In).unwrap_or(Comes::In)
    }

    /// Nothing of the first frame of a new flow has left the rack.
    pub fn vanished(&mut self, frame: (u32, &[u8])) {
        self.apps.iter_mut().for_each(|app| app.vanished(frame));
    }

    /// Frames that have waited and come in now.
    pub fn take_released(&mut self) -> Vec<Held> {
        self.apps.iter_mut().flat_map(AppFlows::take_released).collect()
    }

    /// True if frames that come to a device by this port are counted.
    pub fn counts(&self, device: usize, port: u32) -> bool {
        let counts = |app: &AppFlows| {
            let is_there = app.switch.0 as usize == device;
            is_there && app.popular().is_some_and(|popular| popular.counts_from(port))
        };
        matches!(self.phase, Phase::Running) && self.apps.iter().any(counts)
    }

    /// Such a frame has come, and what has become of it leaves.
    pub fn count(&self, port: u32, frame: &[u8], left: &[Output], now: Time) {
        for popular in self.apps.iter().filter_map(AppFlows::popular) {
            popular.count(port, frame, left.iter().map(|output| output.port), now);
        }
    }

    /// When [`calls`](RackFlows::calls) has something to do.
    pub fn deadline(&self) -> Option<Time> {
        match &self.phase {
            _ if !self.changing.is_empty() => None,
            Phase::Clearing { call: None, at, .. } => Some(*at),
            Phase::Running => {
                let plan =
                    self.resizing.as_ref().filter(|_| self.prepared.is_none()).and_then(Resizing::next_time);
                let samples = self.sampling.iter().flatten().map(|(_, of)| of.due);
                self.apps.iter().filter_map(AppFlows::next_time).chain(plan).chain(samples).min()
            }
            Phase::NoProgram | Phase::Off(_) | Phase::Clearing { .. } => None,
        }
    }

    /// Another plan has other devices' tables: what is at the switch is removed, and flows that were there come again. A plan with other numbers of
    /// flows has the entries of those that are at the switch.
    fn follow_plan(&mut self, now: Time, controller: &Controller) {
        let Some(rollout) = controller.rollout() else {
            self.phase = Phase::NoProgram;
            return;
        };
        if self.plan.as_ref().is_some_and(|plan| plan.as_ptr() == Arc::as_ptr(&rollout)) {
            return;
        }
        self.plan = Some(Arc::downgrade(&rollout));
        if std::mem::take(&mut self.keeps_flows) && matches!(self.phase, Phase::Running) {
            return;
        }
        self.replies.extend(self.writes.end());
        controller.end_storing(&[]);
        let program = rollout.parts().find_map(|(_, part)| part.config.cookie);
        if program != Some(self.program) {
            return self.end(now, "the running program is not that of the rack's file");
        }
        let mut all = VecDeque::new();
        for at in 0..self.apps.len() {
            let app = &mut self.apps[at];
            let found = controller.with_store(|store| found(store, &rollout, app.moves())).flatten();
            let Some(Found { entries, left }) = found else {
                return self.end(now, "the program has entries that cannot be followed");
            };
            if let Err(found) = app.restart(now, &entries) {
                let titles: Vec<&str> = found.iter().map(|found| found.title.as_str()).collect();
                return self.end(now, &titles.join("; "));
            }
            all.extend(left);
        }
        self.phase = Phase::Clearing { left: all, call: None, at: now, since: now };
    }

    /// Another controller has the devices: nothing is done until the next call that adopts what they hold.
    pub fn stop(&mut self, now: Time) {
        let why = "another controller controls the rack's devices";
        self.plan = None;
        self.replies.extend(self.writes.end());
        for (ticket, _) in self.writes.take_waiting() {
            self.replies.push((ticket, Reply::Done(Err(Status::new(Code::Unavailable, why)))));
        }
        self.end(now, why);
    }

    fn end(&mut self, now: Time, why: &str) {
        self.phase = Phase::Off(why.to_string());
        // Everything that waits for a move is notified.
        for app in &mut self.apps {
            let _ = app.restart(now, &[]);
        }
    }

    /// An operator moves a flow.
    fn ask(
        &mut self,
        now: Time,
        ticket: Ticket,
        election: Option<&Uint128>,
        MoveFlow { app, key, to_switch }: &MoveFlow,
        controller: &Controller,
    ) {
        let checked = controller.may_steer(election).and_then(|()| {
            let Some(at) = self.apps.iter().position(|known| known.name == *app) else {
                let names: Vec<String> = self.apps.iter().map(|app| format!("`{}`", app.name)).collect();
                let (app, names) = (app.escape_debug(), names.join(", "));
                let why = format!("there is no app `{app}` with pinned flows; there is {names}");
                return Err(Status::new(Code::NotFound, why));
            };
            match &self.phase {
                Phase::Off(why) => {
                    return Err(Status::new(Code::FailedPrecondition, format!("no flow moves: {why}")));
                }
                Phase::NoProgram => {
                    return Err(Status::new(Code::FailedPrecondition, "there is no program yet"));
                }
                Phase::Clearing { .. } | Phase::Running => {}
            }
            let key = key.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let flow = pinned_flows::flow(self.apps[at].parts(), key);
            let flow = flow.map_err(|wrong| Status::new(Code::InvalidArgument, wrong.join("; ")))?;
            Ok((at, flow))
        });
        match checked {
            Ok((at, flow)) => {
                let side = if *to_switch { Side::Switch } else { Side::Helper };
                self.apps[at].moves_mut().ask(now, &flow, side);
                self.asked.push((ticket, at, flow, side));
            }
            Err(status) => self.replies.push((ticket, Reply::Done(Err(status)))),
        }
    }

    /// Tells operators how their moves have ended.
    fn hear(&mut self) {
        let ended = |(at, app): (usize, &mut AppFlows)| {
            app.take_ended().into_iter().map(move |moved| (at, moved)).collect::<Vec<_>>()
        };
        let all: Vec<(usize, Moved)> = self.apps.iter_mut().enumerate().flat_map(ended).collect();
        for (at, Moved { flow, to, end, .. }) in all {
            let how = match end {
                End::Done => Ok(()),
                End::Undone(why) => {
                    Err(Status::new(Code::Aborted, format!("the flow is at its helper: {why}")))
                }
                End::Refused(why) => {
                    Err(Status::new(Code::FailedPrecondition, format!("the flow cannot move: {why}")))
                }
            };
            let is_it = |(_, of, known, side): &mut (Ticket, usize, Flow, Side)| {
                *of == at && *known == flow && *side == to
            };
            // Several operators may have requested the same move: each gets a reply.
            let ended = self.asked.extract_if(.., is_it);
            self.replies.extend(ended.map(|(ticket, ..)| (ticket, Reply::Done(how.clone()))));
        }
    }

    /// The apps, for people.
    pub fn show(&self, name: &dyn Fn(usize) -> String) -> Vec<PinnedApp> {
        self.apps.iter().enumerate().map(|(at, app)| self.show_app(at, app, name)).collect()
    }

    fn show_app(&self, at: usize, of: &AppFlows, name: &dyn Fn(usize) -> String) -> PinnedApp {
        let AppFlows { name: app, switch, shards, .. } = of;
        let flows = of.moves().flows();
        let (counters, resident) = of.totals();
        let flow = |(flow, place, packets): (Flow, Option<Place>, u64)| PinnedFlow {
            key: of
                .parts()
                .iter()
                .zip(&flow)
                .map(|(part, value)| Part { name: part.name.to_string(), value: shown(part, value) })
                .collect(),
            place: match place {
                Some(Place::Resident) => "switch",
                Some(Place::Moving) => "moving",
                Some(Place::External | Place::Pending) | None => "helper",
            }
            .to_string(),
            packets,
        };
        let shard = |(number, helpers): (usize, &Vec<ir_split::DeviceIndex>)| {
            let mut helpers = helpers.iter().map(|helper| name(helper.0 as usize));
            let device = helpers.next().unwrap_or_default();
            FlowShard { number: number as u32, serving: device.clone(), device, backups: helpers.collect() }
        };
        PinnedApp {
            name: app.clone(),
            switch: name(switch.0 as usize),
            is_automatic: of.popular().is_some(),
            room: of.room() as u64,
            resident: resident as u64,
            moving: flows.numbers().get(&Place::Moving).copied().unwrap_or(0) as u64,
            promoted: counters.promoted,
            demoted: counters.evicted,
            full: counters.full,
            threshold: flows.threshold(),
            flows: of.top(MOST_SHOWN).into_iter().map(flow).collect(),
            shards: shards.iter().enumerate().map(shard).collect(),
            writes: self.writes.done(at),
            off: match &self.phase {
                Phase::Off(why) => why.clone(),
                _ => String::new(),
            },
        }
    }

    pub fn metrics(&self) -> Vec<Metric> {
        let of_app = |(at, app): (usize, &AppFlows)| {
            let (counters, resident) = app.totals();
            let of = |name, value| Metric::new(name, value).with("app", &app.name);
            let new = app.new_flows().map(|(new, waiting)| {
                [
                    of("new_flows_total", new.flows),
                    of("new_flows_waiting", waiting as u64),
                    of("new_flows_expired_total", new.expired),
                    of("new_flow_packets_total", new.sent).with("fate", "sent"),
                    of("new_flow_packets_total", new.dropped).with("fate", "dropped"),
                ]
            });
            let moves = [
                of("flows_at_switch", resident as u64),
                of("flow_moves_total", counters.promoted).with("to", "switch"),
                of("flow_moves_total", counters.evicted).with("to", "helper"),
                of("flow_moves_full_total", counters.full),
                of("flow_writes_total", self.writes.done(at)),
            ];
            moves.into_iter().chain(new.into_iter().flatten()).collect::<Vec<_>>()
        };
        let mut all: Vec<Metric> = self.apps.iter().enumerate().flat_map(of_app).collect();
        if self.resizing.is_some() {
            let Replans { done, same, refused } = self.replans;
            for (end, count) in [("done", done), ("same", same), ("refused", refused)] {
                all.push(Metric::new("flow_plans_total", count).with("end", end));
            }
        }
        all
    }
}

/// The apps whose flows are planned again.
fn popular(apps: &mut [AppFlows]) -> Vec<&mut AppFlows> {
    apps.iter_mut().filter(|app| app.popular().is_some()).collect()
}

/// A flow's key that has left does not come back: its copies may be older than what its helper has.
fn enforce(device_id: u64, updates: Vec<Update>) -> Call {
    Call::Enforce(Box::new(WriteRequest { device_id, updates, ..WriteRequest::default() }))
}
