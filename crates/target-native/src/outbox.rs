//! Reports and counts of one worker for the control plane: workers and readers never wait for each other.
//!
//! ```text
//! worker ──report──>  digests, lines  ──take_reports──> Shared::take_reports
//!        ──count─>  counters        ──settle─────> Shared::write
//! ```
//!
//! State: at most as many digests and lines as [`Reports`] keeps, in the order in which the worker reported them.

use crate::turns::lock;
use dataplane_api::Counters;
use device::{Core, Reports};
use std::sync::Mutex;

/// Reports and counts of a worker.
#[derive(Default, Debug)]
pub(crate) struct Outbox(Mutex<(Reports, Counters)>);

impl Outbox {
    /// Adds reports.
    pub(crate) fn report(&self, add: impl FnOnce(&mut Reports)) {
        add(&mut lock(&self.0).0);
    }

    /// Counts.
    pub(crate) fn count(&self, add: impl FnOnce(&mut Counters)) {
        add(&mut lock(&self.0).1);
    }

    /// Takes the reports since the last call.
    pub(crate) fn take_reports(&self) -> Reports {
        std::mem::take(&mut lock(&self.0).0)
    }

    /// Adds the counts since the last call to the switch's.
    pub(crate) fn settle(&self, core: &mut Core) {
        let Counters { received, sent, dropped, .. } = std::mem::take(&mut lock(&self.0).1);
        core.count(received, sent);
        dropped.into_iter().for_each(|(reason, packets)| core.count_dropped(reason, packets));
    }
}
