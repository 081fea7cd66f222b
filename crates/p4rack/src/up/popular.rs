//! Counts of the packets of an app's flows while a rack runs, by which flows are promoted: each helper keeps a sketch of the flows whose packets it
//! gets, and packets of flows that the switch processes are counted exactly. Counted in software beside the switch, where a frame comes in and its
//! hand-over is known.

use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::{Port, Queued};
use device::Options;
use flow_control::sketch::Sketch;
use ir::Program;
use ir_keys::Keys;
use pinned_flows::{Classifier, Flow, flow_bytes};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The counts of one app at its switch.
#[derive(Clone)]
pub(super) struct Popular(Arc<Mutex<Counts>>);

struct Counts {
    classifier: Classifier,
    /// A sketch for each helper, by the switch's ports to it.
    helpers: BTreeMap<Port, usize>,
    sketches: Vec<Sketch<Flow>>,
    residents: BTreeMap<Flow, Resident>,
}

/// Packets of a flow at the switch.
#[derive(Clone, Copy)]
pub(super) struct Resident {
    /// In this window, and a share of those before, as a sketch counts.
    pub(super) packets: u64,
    pub(super) last: Time,
}

/// Counts of a window.
pub(super) struct Window {
    /// Flows that helpers have noted, with their estimates.
    pub(super) reports: Vec<(Flow, u64)>,
    pub(super) residents: BTreeMap<Flow, Resident>,
}

impl Popular {
    /// `helpers` are the ports of the switch to each helper.
    pub(super) fn new(
        program: &Program,
        keys: &Keys,
        options: Options,
        helpers: &[Vec<Port>],
    ) -> Result<Popular, Vec<Diagnostic>> {
        let ports = helpers.iter().enumerate();
        let counts = Counts {
            classifier: Classifier::new(program, keys, options)?,
            helpers: ports.flat_map(|(at, ports)| ports.iter().map(move |port| (*port, at))).collect(),
            sketches: helpers.iter().map(|_| Sketch::new(1)).collect(),
            residents: BTreeMap::new(),
        };
        Ok(Popular(Arc::new(Mutex::new(counts))))
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True of a frame from outside, which is to be counted.
    pub(super) fn counts_from(&self, port: Port) -> bool {
        !self.counts().helpers.contains_key(&port)
    }

    /// A frame has come in, and these packets have become of it.
    pub(super) fn count(&self, port: Port, frame: &[u8], became: &[Queued], now: Time) {
        let counts = &mut *self.counts();
        let flow = counts.classifier.flow(port, frame);
        let name = flow_bytes(&flow);
        let helper = became.iter().find_map(|queued| counts.helpers.get(&queued.replica.port));
        if let Some(sketch) = helper.and_then(|at| counts.sketches.get_mut(*at)) {
            return sketch.count(&flow, &name);
        }
        // What its helper has counted of it goes on here: estimates of both kinds are compared.
        let before = || counts.sketches.iter().map(|sketch| sketch.estimate(&name)).max().unwrap_or(0);
        let resident =
            counts.residents.entry(flow).or_insert_with(|| Resident { packets: before(), last: now });
        resident.packets += 1;
        resident.last = now;
    }

    /// The window ends; helpers note flows with so many packets in the next one. `at_switch` are the flows there.
    pub(super) fn end_window<'f>(
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
