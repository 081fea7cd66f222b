//! Measurements of a workload at its hosts.

use crate::latency::Latencies;
use crate::unused::Unused;
use base_time::{Duration, Rate, Time};
use std::collections::BTreeMap;

/// Counts of a workload, over all its pairs.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// Packets sent, requests, transfers begun.
    pub sent: u64,
    /// Different packets that came back or through, transfers completed.
    pub received: u64,
    /// Packets that had come already.
    pub duplicated: u64,
    /// Packets that came after one sent later.
    pub reordered: u64,
    /// Packets that arrived changed, by the kind of change.
    pub corrupted: BTreeMap<Unused, u64>,
    /// Latencies from sending to arrival.
    pub latencies: Latencies,
    /// Latencies of the first packet of each pair.
    pub first: Latencies,
    /// Arrivals since the last collection; `None` if they are not collected.
    pub samples: Option<Vec<Came>>,
    /// Bytes of payload received.
    bytes: u64,
    /// The first arrival and its bytes, and the last.
    arrivals: Option<(Time, u64, Time)>,
}

/// A packet, an answer or a transfer that came.
#[derive(Clone, Copy, Debug)]
pub struct Came {
    /// The number of its pair, over all workloads.
    pub flow: u32,
    /// Sequence number in the pair, from 0.
    pub sequence: u32,
    /// When it was sent or begun.
    pub sent: Time,
    /// When it came.
    pub at: Time,
}

impl Tally {
    /// A packet has arrived, or part of a transfer.
    pub fn arrived(&mut self, bytes: u64, now: Time) {
        self.bytes += bytes;
        let (first, first_bytes, _) = self.arrivals.unwrap_or((now, bytes, now));
        self.arrivals = Some((first, first_bytes, now));
    }

    /// Something came or was done for the first time.
    pub fn done(&mut self, came: Came) {
        self.received += 1;
        let latency = came.at.since(came.sent);
        self.latencies.add(latency);
        if came.sequence == 0 {
            self.first.add(latency);
        }
        if let Some(samples) = &mut self.samples {
            samples.push(came);
        }
    }

    /// Counts a packet that arrived changed.
    pub fn corrupt(&mut self, reason: Unused) {
        *self.corrupted.entry(reason).or_default() += 1;
    }

    /// The rate at which payload came after the first arrival, until the last or `end`; none without time between.
    pub fn goodput(&self, end: Option<Time>) -> Option<Rate> {
        let (first, first_bytes, last) = self.arrivals?;
        let time: Duration = end.unwrap_or(last).since(first);
        Rate::of(self.bytes - first_bytes, time)
    }
}
