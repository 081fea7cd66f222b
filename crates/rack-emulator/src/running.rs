//! The host programs of a rack while they run.

use host_programs::tally::Tally;
use host_programs::{HostProgram, Side};
use rack_model::HostId;

/// A workload's program. Numbers of pairs are over all workloads, in their order.
pub(crate) struct Running {
    pub program: Box<dyn HostProgram>,
    /// The number of its first pair.
    pub first: u32,
    pub tally: Tally,
    /// As it was when it was called last.
    pub is_active: bool,
}

/// Sender and receiver, as host indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub from: u32,
    pub to: u32,
}

impl Ends {
    /// The host at an end.
    pub fn at(self, side: Side) -> u32 {
        match side {
            Side::Sender => self.from,
            Side::Receiver => self.to,
        }
    }

    /// The end that a host is.
    pub fn side_of(self, host: u32) -> Option<Side> {
        let is_there = |side: &Side| self.at(*side) == host;
        [Side::Receiver, Side::Sender].into_iter().find(is_there)
    }

    pub fn hosts(self) -> (HostId, HostId) {
        (HostId(self.from), HostId(self.to))
    }
}

/// The workload that a pair is of.
#[inline]
pub(crate) fn workload_of(programs: &[Running], pair: u32) -> usize {
    programs.partition_point(|running| running.first <= pair).saturating_sub(1)
}
