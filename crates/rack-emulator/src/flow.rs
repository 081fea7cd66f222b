//! One pair of a workload while it runs: what the sender sends and what comes back or through.

use crate::packet::{ECHO_REQUEST, Route, Transport, build};
use crate::source::Source;
use crate::stamp::Stamp;
use crate::tally::Tally;
use base_time::{Rng, Time, Zipf};
use rack_model::workload::FIRST_FLOW;
use rack_model::{Flows, Workload, WorkloadKind};
use std::rc::Rc;

/// The source port of UDP workloads of one flow is this plus the pair's number, as far as ports go.
const FIRST_SOURCE_PORT: u16 = 49_152;

/// The state of a pair.
pub(crate) struct Flow {
    index: u32,
    /// Its place in the rack's list.
    pub workload: u32,
    pub from: u32,
    pub to: u32,
    route: Route,
    source: Source,
    /// Who the next packet is of, where there are many flows.
    many: Option<(Rc<Zipf>, Rng)>,
    /// What a capture has.
    capture: Option<Rc<Capture>>,
    /// Packets sent so far.
    pub sent: u64,
    /// One bit for each sequence number.
    seen: Vec<u64>,
    highest: Option<u32>,
}

/// Frames with their times since the first.
pub(crate) type Capture = Vec<(base_time::Duration, Vec<u8>)>;

/// What a packet of a workload is at a host.
pub(crate) enum Claim {
    /// It was counted.
    Counted,
    /// It is a request; the answer has this payload.
    Asked(u32),
    /// It was changed.
    Corrupted,
}

impl Flow {
    pub fn new(index: u32, workload: u32, pair: (u32, u32), route: Route, source: Source) -> Flow {
        Flow {
            index,
            workload,
            from: pair.0,
            to: pair.1,
            route,
            source,
            many: None,
            capture: None,
            sent: 0,
            seen: vec![],
            highest: None,
        }
    }

    /// Its packets are of many flows.
    pub fn of_many(&mut self, zipf: Rc<Zipf>, chance: Rng) {
        self.many = Some((zipf, chance));
    }

    /// It sends the frames of a capture.
    pub fn of_capture(&mut self, capture: Rc<Capture>) {
        self.capture = Some(capture);
    }

    /// When the next packet is sent; none if all are.
    pub fn next_time(&self, workload: &Workload) -> Option<Time> {
        if self.sent >= workload.count {
            return None;
        }
        match (&self.capture, &workload.kind) {
            (Some(frames), WorkloadKind::Pcap { speed, .. }) => {
                let (since_first, _) = frames.get(self.sent as usize)?;
                Some(self.source.next() + since_first.scaled(1, u64::from(*speed)))
            }
            (None, WorkloadKind::Pcap { .. }) => None,
            _ => Some(self.source.next()),
        }
    }

    /// The host that counts what arrives: the sender of a ping or a request, the receiver of anything else.
    fn counts_at(&self, workload: &Workload) -> u32 {
        match workload.kind {
            WorkloadKind::Ping { .. } | WorkloadKind::Request { .. } => self.from,
            _ => self.to,
        }
    }

    /// The next packet.
    pub fn packet(&mut self, workload: &Workload, tally: &mut Tally, now: Time) -> Vec<u8> {
        let sequence = self.sent as u32;
        self.sent += 1;
        tally.sent += 1;
        if let Some(capture) = &self.capture {
            return capture.get(sequence as usize).map(|(_, frame)| frame.clone()).unwrap_or_default();
        }
        self.source.advance(workload);
        let transport = match workload.kind {
            WorkloadKind::Ping { .. } => Transport::Echo {
                kind: ECHO_REQUEST,
                identifier: self.index as u16,
                sequence: sequence as u16,
            },
            WorkloadKind::Udp { port, flows: Flows { count: 2.., .. }, .. } => {
                let rank = self.many.as_mut().map_or(0, |(zipf, chance)| zipf.draw(chance));
                Transport::Udp { source: FIRST_FLOW + rank as u16, destination: port }
            }
            WorkloadKind::Udp { port, .. } | WorkloadKind::Request { port, .. } => {
                Transport::Udp { source: self.source_port(), destination: port }
            }
            WorkloadKind::Tcp { .. } | WorkloadKind::Pcap { .. } => return vec![],
        };
        let stamp = Stamp { flow: self.index, sequence, sent: now };
        build(self.route, transport, sequence as u16, workload.size as usize, |p| stamp.write(p))
    }

    fn source_port(&self) -> u16 {
        FIRST_SOURCE_PORT.saturating_add(self.index as u16)
    }

    /// A packet of this flow has arrived at `host`; its checksums are right. None if it is nothing to that host.
    pub fn receive(
        &mut self,
        (workload, tally): (&Workload, &mut Tally),
        host: u32,
        (stamp, transport, payload): (Stamp, Transport, &[u8]),
        now: Time,
    ) -> Option<Claim> {
        let (fits, asked) = match (&workload.kind, transport) {
            (WorkloadKind::Ping { .. }, Transport::Echo { identifier, sequence, .. }) => {
                ((identifier, sequence) == (self.index as u16, stamp.sequence as u16), None)
            }
            (WorkloadKind::Udp { port, .. }, Transport::Udp { destination, .. }) => {
                (destination == *port, None)
            }
            (WorkloadKind::Request { port, answer, .. }, Transport::Udp { source, destination }) => {
                let ports = (self.source_port(), *port);
                match host == self.to {
                    true => ((source, destination) == ports, Some(*answer)),
                    false => ((destination, source) == ports, None),
                }
            }
            _ => (false, None),
        };
        if asked.is_none() && host != self.counts_at(workload) {
            return None;
        }
        let size = match workload.kind {
            WorkloadKind::Request { answer, .. } if asked.is_none() => answer,
            _ => workload.size,
        };
        let is_known = u64::from(stamp.sequence) < self.sent && stamp.sent <= now;
        if !fits || !is_known || payload.len() != size as usize || !stamp.rest_is_sound(payload) {
            tally.corrupted += 1;
            return Some(Claim::Corrupted);
        }
        Some(match asked {
            Some(answer) => Claim::Asked(answer),
            None => {
                self.count(tally, stamp, size, now);
                Claim::Counted
            }
        })
    }

    /// A frame that a capture may have sent has arrived.
    pub fn receive_captured(&self, tally: &mut Tally, bytes: u64, now: Time) {
        tally.received += 1;
        tally.arrived(bytes, now);
    }

    fn count(&mut self, tally: &mut Tally, stamp: Stamp, size: u32, now: Time) {
        let (word, bit) = (stamp.sequence as usize / 64, 1 << (stamp.sequence % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit != 0 {
            tally.duplicated += 1;
            return;
        }
        self.seen[word] |= bit;
        tally.reordered += u64::from(self.highest.is_some_and(|highest| highest > stamp.sequence));
        self.highest = self.highest.max(Some(stamp.sequence));
        tally.done(stamp.sent, now);
        tally.arrived(size.into(), now);
    }
}
