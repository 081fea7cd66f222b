//! Packets of an app's flows while a rack runs, by which flows are promoted: a sketch for each helper counts the flows whose packets it
//! gets, and packets of flows at the switch are counted exactly. This happens in software beside the switch, where a frame comes in and its
//! hand-over is known.

use super::Promotion;
use base_diag::Diagnostic;
use base_time::Time;
use control_writes::Match;
use dataplane_api::Port;
use device::Options;
use flow_control::sketch::Sketch;
use ir::{Name, Program};
use ir_keys::Keys;
use ir_merge::Traffic;
use pinned_flows::{Classifier, Flow, flow_bytes};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Flows that are counted at the switch in a window, at most: packets that are dropped before they are handed over look like those of a resident flow.
const MOST_COUNTED: usize = 1 << 16;

/// The counts of one app at its switch.
#[derive(Clone)]
pub struct Popular(Arc<Mutex<Counts>>);

struct Counts {
    classifier: Classifier,
    /// The app's packets; none if it has all.
    traffic: Option<Traffic>,
    /// Ports from which frames are not counted.
    inside: BTreeSet<Port>,
    /// A sketch for each helper, by the switch's ports to it.
    helpers: BTreeMap<Port, usize>,
    sketches: Vec<Sketch<Flow>>,
    residents: BTreeMap<Flow, Resident>,
    /// The app's packets so far.
    packets: u64,
}

/// Packets of a flow at the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resident {
    /// In this window, and a share of those before, as a sketch counts.
    pub packets: u64,
    /// Time of the last one.
    pub last: Time,
}

/// Counts of a window.
pub struct Window {
    /// Flows that helpers have noted, with their estimates.
    pub reports: Vec<(Flow, u64)>,
    /// Flows at the switch.
    pub residents: BTreeMap<Flow, Resident>,
}

impl Popular {
    /// `traffic` are the app's packets; none if it has all.
    pub fn new(
        program: &Program,
        keys: &Keys,
        options: Options,
        Promotion { helpers, inside, sketch, .. }: &Promotion,
        traffic: Option<Traffic>,
    ) -> Result<Popular, Vec<Diagnostic>> {
        let ports = helpers.iter().enumerate();
        let counts = Counts {
            classifier: Classifier::new(program, keys, options)?,
            traffic,
            inside: inside.iter().copied().collect(),
            helpers: ports.flat_map(|(at, ports)| ports.iter().map(move |port| (*port, at))).collect(),
            sketches: helpers.iter().map(|_| Sketch::new(*sketch, 1)).collect(),
            residents: BTreeMap::new(),
            packets: 0,
        };
        Ok(Popular(Arc::new(Mutex::new(counts))))
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program's value sets have these members from now on.
    pub(crate) fn follow(&self, sets: &BTreeMap<Name, Vec<Vec<Match>>>) {
        self.counts().classifier.follow(sets);
    }

    /// True of a frame from outside, which is to be counted.
    pub fn counts_from(&self, port: Port) -> bool {
        !self.counts().inside.contains(&port)
    }

    /// A frame has come in, and what has become of it leaves by these ports.
    pub fn count(&self, port: Port, frame: &[u8], left: impl Iterator<Item = Port>, now: Time) {
        self.count_all((port, frame), left, 1, now);
    }

    /// The same of so many `packets`, of which this is one.
    pub(crate) fn count_all(
        &self,
        (port, frame): (Port, &[u8]),
        mut left: impl Iterator<Item = Port>,
        packets: u64,
        now: Time,
    ) {
        let counts = &mut *self.counts();
        if counts.traffic.as_ref().is_some_and(|traffic| !traffic.has(port, frame)) {
            return;
        }
        counts.packets += packets;
        let flow = counts.classifier.flow(port, frame);
        let name = flow_bytes(&flow);
        let helper = left.find_map(|port| counts.helpers.get(&port));
        if let Some(sketch) = helper.and_then(|at| counts.sketches.get_mut(*at)) {
            return sketch.add(&flow, &name, packets);
        }
        // The count of its helper is continued here: estimates of both kinds are compared.
        let before = || counts.sketches.iter().map(|sketch| sketch.estimate(&name)).max().unwrap_or(0);
        let has_room = counts.residents.len() < MOST_COUNTED;
        let resident = match counts.residents.entry(flow) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) if has_room => new.insert(Resident { packets: before(), last: now }),
            Entry::Vacant(_) => return,
        };
        resident.packets += packets;
        resident.last = now;
    }

    /// The app's packets so far.
    pub fn packets(&self) -> u64 {
        self.counts().packets
    }

    /// The window ends; helpers note flows with so many packets in the next one. `at_switch` are the flows there.
    pub fn end_window<'f>(
        &self,
        now: Time,
        threshold: u64,
        at_switch: impl Iterator<Item = &'f Flow>,
    ) -> Window {
        let counts = &mut *self.counts();
        let reports = counts.sketches.iter_mut().flat_map(|sketch| sketch.end_window(threshold)).collect();
        let mut residents = BTreeMap::new();
        for flow in at_switch {
            // A flow that is new at the switch is idle from now on.
            let counted = counts.residents.remove(flow).unwrap_or(Resident { packets: 0, last: now });
            residents.insert(flow.clone(), counted);
        }
        let halved = |(flow, counted): (&Flow, &Resident)| {
            (flow.clone(), Resident { packets: counted.packets / 2, ..*counted })
        };
        counts.residents = residents.iter().map(halved).collect();
        Window { reports, residents }
    }
}
