//! One pair of a workload while it runs: what the sender sends and what comes back or through.

use crate::memcached::{self, Request};
use crate::packet::{ECHO_REQUEST, Route, Transport, build};
use crate::place::Reason;
use crate::source::Source;
use crate::stamp::Stamp;
use crate::tally::{Came, Tally};
use base_time::{Rng, Time, Zipf};
use rack_model::workload::{FIRST_FLOW, Verb};
use rack_model::{Flows, Workload, WorkloadKind};
use std::collections::BTreeMap;
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
    /// Packets sent so far.
    pub sent: u64,
    /// One bit for each of the first 64 sequence numbers.
    seen: u64,
    highest: Option<u32>,
    more: Option<Box<More>>,
}

// All-to-all among 1,024 hosts are a million of them.
const _: () = assert!(size_of::<Flow>() <= 112);

/// What few pairs have. A rack may have a million pairs that send a packet each: memory and its way to the processor are
/// what these cost.
#[derive(Default)]
struct More {
    /// Who the next packet is of, where there are many flows; which key a request is for.
    many: Option<(Rc<Zipf>, Rng)>,
    /// What a capture has.
    capture: Option<Rc<Capture>>,
    /// Requests to a store by their ids, and when each was sent.
    asked: BTreeMap<u16, (Request, Stamp)>,
    /// One bit for each sequence number from 64 on.
    seen: Vec<u64>,
}

/// Frames with their times since the first.
pub(crate) type Capture = Vec<(base_time::Duration, Vec<u8>)>;

/// What a packet of a workload is at a host.
pub(crate) enum Claim {
    /// It was counted.
    Counted,
    /// It is a request; the answer has this payload.
    Asked(u32),
    /// It was changed, and how.
    Corrupted(Reason),
}

/// What a datagram of memcached's is at a host.
pub(crate) enum Datagram {
    /// A request; this is the answer's payload.
    Asked(Vec<u8>),
    /// The right answer.
    Answered(Stamp),
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
            sent: 0,
            seen: 0,
            highest: None,
            more: None,
        }
    }

    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    fn capture(&self) -> Option<&Rc<Capture>> {
        self.more.as_ref()?.capture.as_ref()
    }

    /// The rank of who or what is next.
    fn draw(&mut self) -> Option<usize> {
        let (zipf, chance) = self.more.as_mut()?.many.as_mut()?;
        Some(zipf.draw(chance))
    }

    /// Its packets are of many flows, or for many keys.
    pub fn of_many(&mut self, zipf: Rc<Zipf>, chance: Rng) {
        self.more().many = Some((zipf, chance));
    }

    /// It sends the frames of a capture.
    pub fn of_capture(&mut self, capture: Rc<Capture>) {
        self.more().capture = Some(capture);
    }

    /// When the next packet is sent; none if all are.
    pub fn next_time(&self, workload: &Workload) -> Option<Time> {
        if self.sent >= workload.count {
            return None;
        }
        match (self.capture(), &workload.kind) {
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
            WorkloadKind::Ping { .. } | WorkloadKind::Request { .. } | WorkloadKind::Memcached { .. } => {
                self.from
            }
            _ => self.to,
        }
    }

    /// The next packet.
    pub fn packet(&mut self, workload: &Workload, tally: &mut Tally, now: Time) -> Vec<u8> {
        let sequence = self.sent as u32;
        self.sent += 1;
        tally.sent += 1;
        if let Some(capture) = self.capture() {
            return capture.get(sequence as usize).map(|(_, frame)| frame.clone()).unwrap_or_default();
        }
        self.source.advance(workload);
        let stamp = Stamp { flow: self.index, sequence, sent: now };
        let transport = match workload.kind {
            WorkloadKind::Memcached { verb, .. } => return self.request(verb, workload.size, stamp),
            WorkloadKind::Ping { .. } => Transport::Echo {
                kind: ECHO_REQUEST,
                identifier: self.index as u16,
                sequence: sequence as u16,
            },
            WorkloadKind::Udp { port, flows: Flows { count: 2.., .. }, .. } => {
                let rank = self.draw().unwrap_or(0);
                Transport::Udp { source: FIRST_FLOW + rank as u16, destination: port }
            }
            WorkloadKind::Udp { port, .. } | WorkloadKind::Request { port, .. } => {
                Transport::Udp { source: self.source_port(), destination: port }
            }
            WorkloadKind::Tcp { .. } | WorkloadKind::Pcap { .. } => return vec![],
        };
        build(self.route, transport, sequence as u16, workload.size as usize, |p| stamp.write(p))
    }

    /// A request to a store.
    fn request(&mut self, verb: Verb, size: u32, stamp: Stamp) -> Vec<u8> {
        let key = self.draw().unwrap_or(0) as u32;
        let request = Request { id: stamp.sequence as u16, verb, key, size };
        self.more().asked.insert(request.id, (request, stamp));
        let bytes = request.bytes();
        let transport = Transport::Udp { source: self.source_port(), destination: memcached::PORT };
        build(self.route, transport, request.id, bytes.len(), |p| p.copy_from_slice(&bytes))
    }

    /// A datagram of memcached's has arrived at one of the hosts.
    pub fn receive_datagram(
        &mut self,
        (workload, tally): (&Workload, &mut Tally),
        at_store: bool,
        payload: &[u8],
        now: Time,
    ) -> Option<Datagram> {
        let WorkloadKind::Memcached { verb, .. } = workload.kind else { return None };
        let datagram = match at_store {
            true => Request::read(payload, verb, workload.size).map(|r| Datagram::Asked(r.answer())),
            false => {
                let asked = memcached::id(payload).and_then(|id| self.more.as_ref()?.asked.get(&id));
                let answered = asked.filter(|(request, _)| request.answer() == payload);
                answered.map(|(_, stamp)| Datagram::Answered(*stamp))
            }
        };
        match datagram {
            Some(Datagram::Answered(stamp)) => self.count(tally, stamp, payload.len() as u32, now),
            Some(Datagram::Asked(_)) => {}
            None => tally.corrupt(Reason::PayloadChanged),
        }
        datagram
    }

    /// The port that its packets come from, unless they are of many flows.
    pub fn source_port(&self) -> u16 {
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
            let reason = if fits { Reason::PayloadChanged } else { Reason::PortsChanged };
            tally.corrupt(reason);
            return Some(Claim::Corrupted(reason));
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
        let seen = match word.checked_sub(1) {
            None => &mut self.seen,
            Some(other) => {
                let others = &mut self.more.get_or_insert_default().seen;
                if word > others.len() {
                    others.resize(word, 0);
                }
                others.get_mut(other).unwrap_or(&mut self.seen)
            }
        };
        if *seen & bit != 0 {
            tally.duplicated += 1;
            return;
        }
        *seen |= bit;
        tally.reordered += u64::from(self.highest.is_some_and(|highest| highest > stamp.sequence));
        self.highest = self.highest.max(Some(stamp.sequence));
        tally.done(Came { flow: self.index, sequence: stamp.sequence, sent: stamp.sent, at: now });
        tally.arrived(size.into(), now);
    }
}
