//! A workload while it runs: what its sender sends and what its receiver has seen.

use crate::latency::Latencies;
use crate::packet::{ECHO_REQUEST, Route, Transport, build};
use crate::stamp::Stamp;
use base_time::Time;
use rack_model::{Workload, WorkloadKind};

/// The source port of UDP workloads is this plus their place in the file, as far as ports go.
const FIRST_SOURCE_PORT: u16 = 49_152;

/// The state of a workload.
pub(crate) struct Flow {
    index: u32,
    pub workload: Workload,
    route: Route,
    /// Packets sent so far.
    pub sent: u64,
    /// Different packets that came back or through.
    pub received: u64,
    /// Packets that had come already.
    pub duplicated: u64,
    /// Packets that came after one sent later.
    pub reordered: u64,
    /// Packets with a wrong checksum or a changed payload.
    pub corrupted: u64,
    pub latencies: Latencies,
    /// When the first and the last packet came.
    pub arrivals: Option<(Time, Time)>,
    /// One bit for each sequence number.
    seen: Vec<u64>,
    highest: Option<u32>,
}

impl Flow {
    pub fn new(index: u32, workload: &Workload, route: Route) -> Flow {
        Flow {
            index,
            workload: workload.clone(),
            route,
            sent: 0,
            received: 0,
            duplicated: 0,
            reordered: 0,
            corrupted: 0,
            latencies: Latencies::default(),
            arrivals: None,
            seen: vec![],
            highest: None,
        }
    }

    /// When the next packet is sent; none if all are.
    pub fn next_time(&self) -> Option<Time> {
        (self.sent < self.workload.count).then(|| self.workload.time_of(self.sent))
    }

    /// The host that counts what arrives: the sender of a ping, the receiver of anything else.
    pub fn receiver(&self) -> u32 {
        match self.workload.kind {
            WorkloadKind::Ping { .. } => self.workload.from.value.0,
            WorkloadKind::Udp { .. } => self.workload.to.value.0,
        }
    }

    /// The next packet.
    pub fn packet(&mut self, now: Time) -> Vec<u8> {
        let sequence = self.sent as u32;
        self.sent += 1;
        let transport = match self.workload.kind {
            WorkloadKind::Ping { .. } => Transport::Echo {
                kind: ECHO_REQUEST,
                identifier: self.index as u16,
                sequence: sequence as u16,
            },
            WorkloadKind::Udp { port, .. } => Transport::Udp {
                source: FIRST_SOURCE_PORT.saturating_add(self.index as u16),
                destination: port,
            },
        };
        let stamp = Stamp { workload: self.index, sequence, sent: now };
        build(self.route, transport, sequence as u16, self.workload.size as usize, |p| stamp.write(p))
    }

    /// A packet has arrived whose checksums are right. False if it is none of this flow's, or changed.
    pub fn receive(&mut self, stamp: Stamp, transport: Transport, payload: &[u8], now: Time) -> bool {
        let sequence = u64::from(stamp.sequence);
        let known = sequence < self.sent && stamp.sent == self.workload.time_of(sequence);
        let mine = match (self.workload.kind, transport) {
            (WorkloadKind::Ping { .. }, Transport::Echo { identifier, sequence, .. }) => {
                (identifier, sequence) == (self.index as u16, stamp.sequence as u16)
            }
            (WorkloadKind::Udp { port, .. }, Transport::Udp { destination, .. }) => destination == port,
            _ => false,
        };
        if !known || !mine || payload.len() != self.workload.size as usize || !stamp.rest_is_sound(payload) {
            self.corrupted += 1;
            return false;
        }
        self.count(stamp, now);
        true
    }

    fn count(&mut self, stamp: Stamp, now: Time) {
        let (word, bit) = (stamp.sequence as usize / 64, 1 << (stamp.sequence % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit != 0 {
            self.duplicated += 1;
            return;
        }
        self.seen[word] |= bit;
        self.received += 1;
        self.reordered += u64::from(self.highest.is_some_and(|highest| highest > stamp.sequence));
        self.highest = self.highest.max(Some(stamp.sequence));
        self.latencies.add(now.since(stamp.sent));
        self.arrivals = Some((self.arrivals.map_or(now, |(first, _)| first), now));
    }
}
