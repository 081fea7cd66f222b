//! What the hosts have measured of a workload.

use crate::latency::Latencies;
use base_time::{Duration, Rate, Time};

/// Counts of a workload, over all its pairs.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tally {
    /// Packets sent, requests, transfers begun.
    pub sent: u64,
    /// Different packets that came back or through, transfers completed.
    pub received: u64,
    /// Packets that had come already.
    pub duplicated: u64,
    /// Packets that came after one sent later.
    pub reordered: u64,
    /// Packets with a wrong checksum or a changed payload.
    pub corrupted: u64,
    pub latencies: Latencies,
    /// Bytes of payload received.
    bytes: u64,
    /// The first arrival and its bytes, and the last.
    arrivals: Option<(Time, u64, Time)>,
}

impl Tally {
    /// A packet has arrived, or part of a transfer.
    pub fn arrived(&mut self, bytes: u64, now: Time) {
        self.bytes += bytes;
        let (first, first_bytes, _) = self.arrivals.unwrap_or((now, bytes, now));
        self.arrivals = Some((first, first_bytes, now));
    }

    /// Something came or was done that began at `sent`.
    pub fn done(&mut self, sent: Time, now: Time) {
        self.received += 1;
        self.latencies.add(now.since(sent));
    }

    /// The rate at which payload came behind the first arrival, until the last or `end`; none without time between.
    pub fn goodput(&self, end: Option<Time>) -> Option<Rate> {
        let (first, first_bytes, last) = self.arrivals?;
        let time: Duration = end.unwrap_or(last).since(first);
        Rate::of(self.bytes - first_bytes, time)
    }
}
