//! Packets of one app at a switch that several apps share. Links carry the packets of all of them, so they are counted where they come in.

use dataplane_api::Port;
use ir_merge::Traffic;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The counts of one app.
#[derive(Clone)]
pub(super) struct Passed {
    traffic: Traffic,
    /// Ports to other devices: what comes from there was counted when it came first.
    inside: BTreeSet<Port>,
    /// The helper behind each port.
    helpers: BTreeMap<Port, usize>,
    counts: Arc<Mutex<Counts>>,
}

/// Packets so far.
#[derive(Clone, Default)]
pub(super) struct Counts {
    /// Packets that came from outside.
    pub(super) packets: u64,
    /// Packets that a helper got.
    pub(super) handed: u64,
    /// Hand-overs to each helper.
    pub(super) helpers: BTreeMap<usize, u64>,
}

impl Passed {
    pub(super) fn new(traffic: Traffic, inside: BTreeSet<Port>, helpers: BTreeMap<Port, usize>) -> Passed {
        Passed { traffic, inside, helpers, counts: Arc::default() }
    }

    /// True if frames that come in by this port are counted.
    pub(super) fn counts_from(&self, port: Port) -> bool {
        !self.inside.contains(&port)
    }

    /// A frame has come in, and what has become of it leaves by these ports.
    pub(super) fn count(&self, port: Port, frame: &[u8], left: impl Iterator<Item = Port>) {
        if !self.counts_from(port) || !self.traffic.has(port, frame) {
            return;
        }
        let mut counts = self.lock();
        counts.packets += 1;
        let mut is_handed = false;
        for helper in left.filter_map(|port| self.helpers.get(&port)) {
            is_handed = true;
            *counts.helpers.entry(*helper).or_default() += 1;
        }
        counts.handed += u64::from(is_handed);
    }

    /// The counts so far.
    pub(super) fn counts(&self) -> Counts {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
