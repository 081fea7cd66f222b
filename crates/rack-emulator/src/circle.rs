//! Frames that go round and round: a broadcast in a ring of switches never ends, and its copies fill every link.
//!
//! At intervals, the emulator compares the frames on links with the frames sent by hosts and with ticks. If there are many more, it
//! records for a while which frame passes which wire, by the digest of the frame's bytes. A frame that passes the same
//! wire again, and another one, and so back to the first, goes round.
//!
//! Frames that programs change on each round, as by their TTL, are recognised by the bytes after Ethernet, IPv4 and the
//! ports. Not every payload is different, so such a loop counts only where devices make copies all the while: one that
//! counts a TTL down to zero ends, but its copies fill the links before.

use crate::emulator::Emulator;
use crate::log;
use base_time::{Duration, Time};
use device_network::{Node, Wire};
use rack_model::{DeviceId, NodeId};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Events from one look at all links to the next.
const LOOK_EVERY: u64 = 1 << 15;
/// Frames on links for each frame of a host, and for each tick, above which a loop is suspected. Hosts answer copies, and a tick makes
/// a probe and a report.
const MANY: u64 = 8;
/// Offset of the payload in most frames: after Ethernet, IPv4 without options, and UDP or the header of an echo.
const HEADERS: usize = 14 + 20 + 8;
/// Frames that are written down then.
const TRAIL: usize = 1 << 15;
/// Time after the detection of a loop at which a run ends whose workloads have sent everything.
const GRACE: Duration = Duration::from_ms(10);

/// A loop in which frames go round without end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoopReport {
    /// The devices in turn, the first one again at the end: `s1 -> s2 -> s3 -> s1`.
    pub path: String,
    /// When it was found, in picoseconds.
    pub found_ps: u64,
    /// Packets in flight then.
    pub in_flight: u64,
    /// The frames differ from round to round, but for their payload.
    pub changing: bool,
}

/// A frame on a wire.
struct Passing {
    /// Digest of all bytes.
    digest: u64,
    /// Digest of the payload.
    payload: u64,
    wire: u32,
}

/// Counters at a check.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Frames on links.
    carried: u64,
    /// Frames of hosts, and those that agents hand to devices.
    made: u64,
    /// Packets that devices have made.
    copies: u64,
}

/// State of the loop detection.
#[derive(Default)]
pub(crate) struct Circles {
    /// At the last look.
    before: Seen,
    /// Frames with the wires that they were sent on, while somebody writes them down.
    trail: Option<Vec<Passing>>,
    /// The first loop.
    found: Option<LoopReport>,
}

impl Emulator {
    /// Loops in which frames go round without end; one of them is enough.
    pub fn loops(&self) -> &[LoopReport] {
        self.circles.found.as_slice()
    }

    /// A run without a limit of its own ends then, if everything was sent: nothing new comes of a loop.
    pub(crate) fn limit_of_loops(&self, inactive_since: Time) -> Option<Time> {
        let found = self.circles.found.as_ref()?;
        Some(inactive_since.max(Time::from_ps(found.found_ps)) + GRACE)
    }

    /// A frame is sent.
    #[inline(always)]
    pub(crate) fn trace(&mut self, digest: u64, frame: &[u8], wire: u32) {
        if let Some(trail) = &mut self.circles.trail {
            let payload = frame.get(HEADERS..).map_or(digest, log::digest);
            trail.push(Passing { digest, payload, wire });
        }
    }

    /// Searches for loops at a fixed interval of events.
    #[inline(always)]
    pub(crate) fn look_for_loops(&mut self) {
        if self.network.events.is_multiple_of(LOOK_EVERY) {
            self.look();
        }
    }

    #[cold]
    fn look(&mut self) {
        if self.circles.found.is_some() {
            return;
        }
        let now = Seen {
            carried: self.network.wires.iter().map(|wire| wire.medium.counts.frames).sum(),
            made: self.network.ends.iter().map(|host| host.counts.created).sum::<u64>()
                + self.network.injected(),
            copies: self.network.devices.iter().map(|device| device.created_and_dropped().0).sum(),
        };
        let before = std::mem::replace(&mut self.circles.before, now);
        let carried = now.carried - before.carried;
        if self.circles.trail.as_ref().is_some_and(|trail| trail.len() >= TRAIL) {
            let trail = self.circles.trail.take().unwrap_or_default();
            let multiply = now.copies - before.copies > carried / MANY;
            let same = circle(trail.iter().map(|p| (p.digest, p.wire)), &self.network.wires);
            let changing = same.is_none();
            // Frames that change on each round are recognised by their payload, but only while copies multiply: a single one
            // ends when its TTL runs out.
            let path = same.or_else(|| {
                let payloads = trail.iter().map(|p| (p.payload, p.wire));
                if multiply { circle(payloads, &self.network.wires) } else { None }
            });
            if let Some(path) = path {
                let names: Vec<&str> =
                    path.iter().map(|id| self.rack.node_name(NodeId::Device(*id))).collect();
                let in_flight = self.balance().in_flight;
                let (path, found_ps) = (names.join(" -> "), self.network.now.as_ps());
                self.circles.found = Some(LoopReport { path, found_ps, in_flight, changing });
                return;
            }
        }
        // Far more frames on the wires than were sent: some go round, and the next ones are recorded.
        if carried > MANY * (now.made - before.made) {
            self.circles.trail.get_or_insert_default();
        } else {
            self.circles.trail = None;
        }
    }
}

/// The shortest loop of devices in which the frame that was sent most often goes round, its first device again at the end; none if it
/// does not.
fn circle(trail: impl Iterator<Item = (u64, u32)>, wires: &[Wire]) -> Option<Vec<DeviceId>> {
    let mut frames: BTreeMap<u64, BTreeMap<u32, u64>> = BTreeMap::new();
    for (digest, wire) in trail {
        *frames.entry(digest).or_default().entry(wire).or_default() += 1;
    }
    let often = frames.values().max_by_key(|wires| wires.values().sum::<u64>())?;
    let again: Vec<u32> = often.iter().filter(|(_, times)| **times > 1).map(|(wire, _)| *wire).collect();
    // Both directions round a ring are not a loop of two switches, unless there is no other.
    shortest(&again, wires, false).or_else(|| shortest(&again, wires, true))
}

/// The shortest loop over these wires; back over the link by which a frame has come only if it `turns`.
fn shortest(again: &[u32], wires: &[Wire], turns: bool) -> Option<Vec<DeviceId>> {
    let ends = |wire: u32| {
        let wire = wires.get(wire as usize)?;
        match (wire.from.node, wire.to.node) {
            (Node::Device(from), Node::Device(to)) => Some((DeviceId(from), DeviceId(to), wire.link)),
            _ => None,
        }
    };
    let known: Vec<(u32, _)> = again.iter().filter_map(|wire| Some((*wire, ends(*wire)?))).collect();
    let mut best: Option<Vec<DeviceId>> = None;
    for (first, (start, ..)) in &known {
        // By breadth, from wire to wire, until one leads back.
        let mut open = VecDeque::from([vec![*first]]);
        let mut seen = BTreeSet::from([*first]);
        while let Some(path) = open.pop_front() {
            if best.as_ref().is_some_and(|best| best.len() <= path.len() + 1) {
                break;
            }
            let Some((_, to, link)) = path.last().and_then(|last| ends(*last)) else { continue };
            let leads_back = to == *start && (turns || ends(*first).is_some_and(|(.., one)| one != link));
            if leads_back {
                let devices = path.iter().filter_map(|wire| Some(ends(*wire)?.0));
                best = Some(devices.chain([*start]).collect());
                break;
            }
            for (next, (from, _, over)) in &known {
                if *from == to && (turns || *over != link) && seen.insert(*next) {
                    open.push_back(path.iter().copied().chain([*next]).collect());
                }
            }
        }
    }
    best
}
