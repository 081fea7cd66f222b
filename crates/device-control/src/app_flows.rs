//! The flows of an app while its rack runs: moves that the rack's file asks for at their times, and windows after which popular flows move.
//!
//! Runs beside the controller of the app's devices, whichever way time passes: time, replies and counts come in, calls go out.

use crate::new_flows::{Comes, Held, Hold, NewFlowCounters, NewFlows};
use crate::popular::{Popular, Window};
use crate::{FlowMoves, Moved, Side};
use base_diag::Diagnostic;
use base_time::{Duration, Time};
use control_writes::Write;
use controller::{Call, Reply, Ticket};
use dataplane_api::{Port, Registry};
use device::Options;
use flow_control::flows::{Counters, Place};
use flow_control::popularity::Costs;
use flow_control::sketch::Shape;
use ir::{Name, Program};
use ir_keys::{Keys, Part};
use ir_merge::Share;
use ir_pin::Pinned;
use ir_split::DeviceIndex;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_store::Store;
use pinned_flows::{Flow, PinnedFlows};
use std::collections::VecDeque;
use std::sync::Arc;

/// A pinned program, as its flows see it.
#[derive(Clone)]
pub struct FlowsOf {
    /// The program that was pinned, with the sizes of its tables.
    pub program: Arc<Program>,
    /// Keys of the flows.
    pub keys: Keys,
    /// The names of what it was given.
    pub pinned: Pinned,
    /// The pinned program, or the merged one that it is a part of, which the controller presents as one switch.
    pub whole: Arc<Program>,
    /// Description of `whole`.
    pub info: Arc<P4Info>,
    /// Costs of moves.
    pub costs: Costs,
    /// Externs of the program.
    pub registry: Registry,
    /// The app's part, if the pinned program was merged with others.
    pub share: Option<Share>,
    /// The number of the pinned program among those of the controller.
    pub number: u16,
    /// Packets of new flows wait for the controller's entries; none if they do not.
    pub hold: Option<Hold>,
}

impl FlowsOf {
    /// The flows at first, none of them resident. `entries` are those of the program's tables; `device` is the id that the controller presents.
    ///
    /// # Errors
    ///
    /// Reasons why flows of this program cannot move.
    pub fn moves(&self, entries: &[Write<Name>], device: u64) -> Result<FlowMoves, Vec<Diagnostic>> {
        let FlowsOf { program, keys, pinned, info, costs, share, number, .. } = self;
        let flows = PinnedFlows::new(program, keys, pinned, entries, *costs, self.options())?;
        Ok(FlowMoves::new(flows, (Arc::clone(info), share.clone()), device, *number))
    }

    fn options(&self) -> Options {
        Options { registry: self.registry.clone(), ..Options::default() }
    }
}

/// How popular flows are promoted.
#[derive(Clone, Debug)]
pub struct Promotion {
    /// Length of a window.
    pub window: Duration,
    /// Ports of the switch that lead to each helper.
    pub helpers: Vec<Vec<Port>>,
    /// Ports of the switch that lead to any device of the rack: frames from there were counted when they came first.
    pub inside: Vec<Port>,
    /// Size of each helper's sketch.
    pub sketch: Shape,
}

/// The flows of an app.
pub struct AppFlows {
    /// Name of the app.
    pub name: String,
    /// Switch of the app.
    pub switch: DeviceIndex,
    /// The helpers of each shard, the preferred one first.
    pub shards: Vec<Vec<DeviceIndex>>,
    of: FlowsOf,
    room: usize,
    moves: FlowMoves,
    /// Moves that are yet to be asked for, the first first.
    yet: VecDeque<(Time, Flow, Side)>,
    popularity: Option<Popularity>,
    new: Option<NewFlows>,
    /// Writes to the app's tables after which new flows were looked at.
    seen: u64,
    /// Writes after which packets were named by the program's value sets; none at first.
    followed: Option<u64>,
}

struct Popularity {
    counts: Popular,
    promotion: Promotion,
    /// When the window ends.
    ends: Time,
    /// Flows at helpers with many packets in the last window.
    reported: Vec<(Flow, u64)>,
    /// Whether packets have been counted since the last window, if an agent of another process reports them: without a report, nothing is known
    /// of the window. None if they are counted here.
    has_counted: Option<bool>,
}

impl AppFlows {
    /// `moves` are those of the rack's file, in any order; `room` flows fit the switch.
    ///
    /// # Errors
    ///
    /// Reasons why flows of this program cannot move, or cannot be counted.
    pub fn new(
        name: String,
        (switch, shards): (DeviceIndex, Vec<Vec<DeviceIndex>>),
        (of, room): (FlowsOf, usize),
        entries: &[Write<Name>],
        mut moves: Vec<(Time, Flow, Side)>,
        promotion: Option<Promotion>,
    ) -> Result<AppFlows, Vec<Diagnostic>> {
        moves.sort_by_key(|(at, ..)| *at);
        let popularity = promotion.map(|promotion| {
            let traffic = of.share.as_ref().map(|share| share.traffic.clone());
            let counts = Popular::new(&of.program, &of.keys, of.options(), &promotion, traffic)?;
            let ends = Time::ZERO + promotion.window;
            Ok::<_, Vec<Diagnostic>>(Popularity {
                counts,
                promotion,
                ends,
                reported: vec![],
                has_counted: None,
            })
        });
        let popularity = popularity.transpose()?;
        let new = of.hold.clone().map(|hold| {
            let traffic = of.share.as_ref().map(|share| share.traffic.clone());
            NewFlows::new(hold, &of.program, &of.keys, of.options(), traffic)
        });
        let new = new.transpose()?;
        let (yet, moves) = (moves.into(), of.moves(entries, 1)?);
        Ok(AppFlows { name, switch, shards, of, room, moves, yet, popularity, new, seen: 0, followed: None })
    }

    /// The parts of a flow's key.
    pub fn parts(&self) -> &[Part] {
        &self.of.keys.key.parts
    }

    /// The moves.
    pub fn moves(&self) -> &FlowMoves {
        &self.moves
    }

    /// The moves, to ask for more.
    pub fn moves_mut(&mut self) -> &mut FlowMoves {
        &mut self.moves
    }

    /// Moves of the rack's file that are yet to come.
    pub fn yet(&self) -> impl Iterator<Item = &(Time, Flow, Side)> {
        self.yet.iter()
    }

    /// Packets per flow, if popular flows are promoted.
    pub fn popular(&self) -> Option<&Popular> {
        self.popularity.as_ref().map(|popularity| &popularity.counts)
    }

    /// From now on, reports of the switch's agent are counted, and windows end with them. Length of the windows, and the ports whose frames do not
    /// count; none if popular flows are not promoted.
    pub(crate) fn count_by_reports(&mut self) -> Option<(Duration, Vec<Port>)> {
        let popularity = self.popularity.as_mut()?;
        popularity.has_counted = Some(false);
        Some((popularity.promotion.window, popularity.promotion.inside.clone()))
    }

    /// A report has been counted.
    pub(crate) fn has_counted(&mut self) {
        if let Some(popularity) = &mut self.popularity {
            popularity.has_counted = Some(true);
        }
    }

    /// Flows that fit the switch.
    pub fn room(&self) -> usize {
        self.room
    }

    /// So many flows fit the switch from now on. Flows beyond that go to helpers in the next windows.
    pub(crate) fn set_room(&mut self, room: usize) {
        self.room = room;
    }

    /// Flows at the switch, and those on their way to it or from it.
    pub(crate) fn at_switch(&self) -> usize {
        self.moves.flows().at_switch().count()
    }

    /// Packets that have come from outside, if they are counted.
    pub(crate) fn packets(&self) -> u64 {
        self.popular().map_or(0, Popular::packets)
    }

    /// The whole program.
    pub fn whole(&self) -> &Program {
        &self.of.whole
    }

    /// When something is to be done that nobody asks for.
    pub fn next_time(&self) -> Option<Time> {
        let asked = self.yet.front().map(|(at, ..)| *at);
        let counts = self.popularity.as_ref().filter(|popularity| popularity.has_counted != Some(false));
        let window = counts.map(|popularity| popularity.ends);
        let new = self.new.as_ref().and_then(NewFlows::deadline);
        asked.into_iter().chain(window).chain(new).chain(self.moves.deadline()).min()
    }

    /// True if a move is under way, or is yet to come.
    pub fn is_busy(&self) -> bool {
        !self.yet.is_empty() || self.moves.is_busy()
    }

    /// Calls for the controller, whose desired state is `desired`.
    pub fn calls(&mut self, now: Time, desired: &Store) -> Vec<(Ticket, Call)> {
        while self.yet.front().is_some_and(|(at, ..)| *at <= now)
            && let Some((_, flow, to)) = self.yet.pop_front()
        {
            self.moves.ask(now, &flow, to);
        }
        self.follow_value_sets();
        self.end_window(now);
        if let Some(new) = &mut self.new {
            new.tick(now);
        }
        self.moves.calls(now, desired)
    }

    /// The reply to a call; false if it is somebody else's.
    pub fn replied(&mut self, now: Time, ticket: Ticket, reply: &Reply) -> bool {
        self.moves.replied(now, ticket, reply)
    }

    /// Moves that have ended since the last call.
    pub fn take_ended(&mut self) -> Vec<Moved> {
        self.moves.take_ended()
    }

    /// True if packets of new flows are to wait.
    pub fn holds(&self) -> bool {
        self.new.is_some()
    }

    /// A packet from outside has come to the switch.
    pub(crate) fn comes(&mut self, now: Time, packet: (Port, &[u8])) -> Comes {
        self.new.as_mut().map_or(Comes::In, |new| new.comes(now, packet, self.moves.flows()))
    }

    /// Nothing of the first packet of a new flow has left the rack.
    pub(crate) fn vanished(&mut self, packet: (Port, &[u8])) {
        if let Some(new) = &mut self.new {
            new.vanished(packet);
        }
    }

    /// Packets that have waited and come in now.
    pub(crate) fn take_released(&mut self) -> Vec<Held> {
        let written = self.moves.flows().written();
        match &mut self.new {
            Some(new) if written != self.seen => {
                self.seen = written;
                new.written(self.moves.flows())
            }
            _ => vec![],
        }
    }

    /// Totals of new flows, and those that wait; none if the packets of new flows do not wait.
    pub(crate) fn new_flows(&self) -> Option<(NewFlowCounters, usize)> {
        self.new.as_ref().map(|new| (new.counters(), new.waiting()))
    }

    /// Totals, and the flows at the switch.
    pub fn totals(&self) -> (Counters, usize) {
        let resident = self.moves.flows().numbers().get(&Place::Resident).copied().unwrap_or(0);
        (self.moves.flows().counters(), resident)
    }

    /// Begins anew with these entries in the full tables, and nothing at the switch: moves that are under way end, and flows that were there come
    /// again.
    pub fn restart(&mut self, now: Time, entries: &[Write<Name>]) -> Result<(), Vec<Diagnostic>> {
        if let Some(new) = &mut self.new {
            new.restart();
        }
        (self.seen, self.followed) = (0, None);
        let moves = self.of.moves(entries, 1)?;
        let there: Vec<_> =
            self.moves.flows().at_switch().map(|flow| (now, flow.clone(), Side::Switch)).collect();
        there.into_iter().rev().for_each(|one| self.yet.push_front(one));
        self.moves.restart(now, moves);
        Ok(())
    }

    /// The flows with the most packets in the last window, at the switch or not; at most `count`. Flows at the switch come first if nobody counts.
    pub fn top(&self, count: usize) -> Vec<(Flow, Option<Place>, u64)> {
        let flows = self.moves.flows();
        let mut all: Vec<_> = flows
            .top(usize::MAX)
            .into_iter()
            .map(|(flow, place, packets)| (flow, Some(place), packets))
            .collect();
        let reported = self.popularity.iter().flat_map(|popularity| &popularity.reported);
        let others = reported.filter(|(flow, _)| flows.place(flow).is_none());
        all.extend(others.map(|(flow, packets)| (flow.clone(), None, *packets)));
        all.sort_by(|a, b| (b.2, &a.0).cmp(&(a.2, &b.0)));
        all.truncate(count);
        all
    }

    /// Packets are named by the value sets that all devices have.
    fn follow_value_sets(&mut self) {
        let flows = self.moves.flows();
        let written = Some(flows.written());
        if self.followed == written {
            return;
        }
        self.followed = written;
        if let Some(popularity) = &self.popularity {
            popularity.counts.follow(flows.value_sets());
        }
        if let Some(new) = &mut self.new {
            new.follow(flows.value_sets());
        }
    }

    /// Compares the packets of flows, if the window is over.
    fn end_window(&mut self, now: Time) {
        let is_over =
            |popularity: &&mut Popularity| popularity.ends <= now && popularity.has_counted != Some(false);
        let Some(popularity) = self.popularity.as_mut().filter(is_over) else { return };
        popularity.has_counted = popularity.has_counted.map(|_| false);
        let window = popularity.promotion.window;
        while popularity.ends <= now {
            popularity.ends += window;
        }
        let flows = self.moves.flows();
        let Window { reports, residents } =
            popularity.counts.end_window(now, flows.threshold(), flows.at_switch());
        popularity.reported = reports.clone();
        let counted = |flow: &Flow| {
            let counted = residents.get(flow).map(|counted| (counted.packets, now.since(counted.last)));
            counted.unwrap_or((0, Duration::ZERO))
        };
        self.moves.window(now, reports, &counted, self.room);
    }
}
