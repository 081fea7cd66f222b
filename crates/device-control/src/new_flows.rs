//! Packets of new flows, which wait for a controller's decision (ExoPlane, section 4.2).
//!
//! A flow is new while one of its lookups finds no entry in a table that the rack's file names. Its first packet goes through the rack, so the
//! program reports the flow as on one switch: by a digest or a packet-in. Packets that follow wait before the switch until the controller has written the entry,
//! and then come in, in their order and before any later one: so the order needs no marker. The first one comes again too, if nothing of it has
//! left the rack.
//!
//! ```text
//! first packet ──> through the rack ──> digest ──> controller ──> write ──┐
//! second, third ──> wait ───────────────────────────────────────────────> through the rack
//! ```

use base_diag::Diagnostic;
use base_time::{Duration, Time};
use control_writes::Match;
use dataplane_api::Port;
use device::Options;
use flow_control::pending::{Arrival, Bounds, Order, Pending};
use ir::{Name, Program};
use ir_keys::Keys;
use ir_merge::Traffic;
use pinned_flows::{Classifier, Flow, PinnedFlows};
use std::collections::{BTreeMap, BTreeSet};

/// Flows that wait, and packets of each that wait after the first one.
const BOUNDS: Bounds = Bounds { flows: 1024, packets: 65 };

/// Bytes of all packets that wait, each counted with [`OVERHEAD`].
const MOST_BYTES: usize = 16 << 20;

/// Memory of a packet beside its bytes.
const OVERHEAD: usize = 64;

/// Flows whose entries are known to be there.
const MOST_KNOWN: usize = 1 << 16;

/// Tables by which flows are new, and the time for a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hold {
    /// Tables of the program.
    pub tables: Vec<Name>,
    /// Then the packets that wait are dropped, and the flow is new again.
    pub patience: Duration,
}

/// Fate of a packet that comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comes {
    /// The packet goes through the rack.
    In,
    /// The same, and it is the first one of a new flow: see [`NewFlows::vanished`].
    First,
    /// The packet waits or is dropped.
    Later,
}

/// Totals since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NewFlowCounters {
    /// New flows whose first packet has gone through.
    pub flows: u64,
    /// Packets that waited and came in.
    pub sent: u64,
    /// Packets that were dropped: too many waited, or no entry came.
    pub dropped: u64,
    /// Flows for which no entry came in time.
    pub expired: u64,
}

/// A packet that waits: its port and bytes.
pub type Held = (Port, Vec<u8>);

/// The new flows of an app.
pub(super) struct NewFlows {
    hold: Hold,
    classifier: Classifier,
    /// The app's packets; none if it has all.
    traffic: Option<Traffic>,
    /// The first packet of each is in `first`, if it comes again.
    pending: Pending<Flow, Option<Held>>,
    first: BTreeMap<Flow, Held>,
    deadlines: BTreeSet<(Time, Flow)>,
    known: BTreeSet<Flow>,
    /// Memory of the packets that wait.
    bytes: usize,
    counters: NewFlowCounters,
}

impl NewFlows {
    /// `traffic` are the app's packets; none if it has all.
    pub fn new(
        hold: Hold,
        program: &Program,
        keys: &Keys,
        options: Options,
        traffic: Option<Traffic>,
    ) -> Result<NewFlows, Vec<Diagnostic>> {
        Ok(NewFlows {
            hold,
            classifier: Classifier::new(program, keys, options)?,
            traffic,
            pending: Pending::new(Order::Any, BOUNDS),
            first: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            known: BTreeSet::new(),
            bytes: 0,
            counters: NewFlowCounters::default(),
        })
    }

    /// The program's value sets have these members from now on.
    pub fn follow(&mut self, sets: &BTreeMap<Name, Vec<Vec<Match>>>) {
        self.classifier.follow(sets);
    }

    /// A packet from outside has come to the switch.
    pub fn comes(&mut self, now: Time, (port, frame): (Port, &[u8]), flows: &PinnedFlows) -> Comes {
        if !self.is_own(port, frame) {
            return Comes::In;
        }
        let flow = self.classifier.flow(port, frame);
        if self.pending.waits(&flow) {
            let waits = self.takes(frame)
                && matches!(self.pending.arrived(flow, Some((port, frame.to_vec()))), Arrival::Waits);
            match waits {
                true => self.bytes += frame.len() + OVERHEAD,
                false => self.counters.dropped += 1,
            }
            return Comes::Later;
        }
        if self.known.contains(&flow) {
            return Comes::In;
        }
        if !flows.misses(&flow, &self.hold.tables) {
            if self.known.len() == MOST_KNOWN {
                self.known.clear();
            }
            self.known.insert(flow);
            return Comes::In;
        }
        // If too many flows wait, the packets of more are all the controller's, as without waiting.
        if let Arrival::Dropped(_) = self.pending.arrived(flow.clone(), None) {
            return Comes::In;
        }
        self.counters.flows += 1;
        self.deadlines.insert((now + self.hold.patience, flow));
        Comes::First
    }

    /// Nothing of the first packet of a new flow has left the rack.
    pub fn vanished(&mut self, (port, frame): (Port, &[u8])) {
        if !self.is_own(port, frame) {
            return;
        }
        let flow = self.classifier.flow(port, frame);
        if !self.pending.waits(&flow) {
            return;
        }
        if !self.takes(frame) {
            self.counters.dropped += 1;
            return;
        }
        self.bytes += frame.len() + OVERHEAD;
        self.first.insert(flow, (port, frame.to_vec()));
    }

    fn is_own(&self, port: Port, frame: &[u8]) -> bool {
        self.traffic.as_ref().is_none_or(|traffic| traffic.has(port, frame))
    }

    /// True if there is memory for a packet.
    fn takes(&self, frame: &[u8]) -> bool {
        self.bytes + frame.len() + OVERHEAD <= MOST_BYTES
    }

    /// Writes are on all devices. Packets of flows that have their entries now, in the order in which they are to come in.
    pub fn written(&mut self, flows: &PinnedFlows) -> Vec<Held> {
        self.known.clear();
        let has_come = |(_, flow): &&(Time, Flow)| !flows.misses(flow, &self.hold.tables);
        let decided: Vec<(Time, Flow)> = self.deadlines.iter().filter(has_come).cloned().collect();
        let mut held: Vec<Held> = vec![];
        for one in decided {
            self.deadlines.remove(&one);
            let (_, flow) = one;
            held.extend(self.first.remove(&flow));
            let released = self.pending.decided(&flow);
            held.extend(released.into_iter().flat_map(|release| release.packets).flatten());
        }
        self.counters.sent += held.len() as u64;
        self.free(&held);
        held
    }

    /// Flows whose time is over are given up.
    pub fn tick(&mut self, now: Time) {
        while self.deadline().is_some_and(|at| at <= now)
            && let Some((_, flow)) = self.deadlines.pop_first()
        {
            self.counters.expired += 1;
            self.drop_waiting(&flow);
        }
    }

    /// Another program runs: nothing waits any more.
    pub fn restart(&mut self) {
        self.known.clear();
        for (_, flow) in std::mem::take(&mut self.deadlines) {
            self.drop_waiting(&flow);
        }
    }

    /// When [`tick`](NewFlows::tick) has something to do.
    pub fn deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Flows that wait.
    pub fn waiting(&self) -> usize {
        self.deadlines.len()
    }

    /// Totals since the start.
    pub fn counters(&self) -> NewFlowCounters {
        self.counters
    }

    fn drop_waiting(&mut self, flow: &Flow) {
        let first = self.first.remove(flow).into_iter();
        let waited: Vec<Held> = first.chain(self.pending.refused(flow).into_iter().flatten()).collect();
        self.counters.dropped += waited.len() as u64;
        self.free(&waited);
    }

    fn free(&mut self, packets: &[Held]) {
        self.bytes -= packets.iter().map(|(_, frame)| frame.len() + OVERHEAD).sum::<usize>();
    }
}
