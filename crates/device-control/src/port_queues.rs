//! Queues with priorities behind the ports of a single device, as `simple_switch` has them.
//!
//! ```text
//!               ┌─ priority 7 ─┐
//! ingress ────> │     ...      │ ──> egress ──> port
//!               └─ priority 0 ─┘
//! ```
//!
//! A queue with a rate releases one packet per interval, the first one an interval after the queue began. Of the packets whose time has come,
//! those of the highest priority leave first. A packet is lost if its queue is full.
//!
//! **Invariant**: lanes run frames only while no queue can delay or drop a packet ([`PortQueues::is_needed`]).

use base_time::{Duration, Time};
use controller::{QueueChange, QueueLimit};
use dataplane_api::{Device, EgressResult, Output, Port, QueueRecord, Queued, Replica};
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Status;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Priorities of v1model: its `priority` has 3 bits.
const PRIORITIES: u8 = 8;

/// Packets that a queue holds unless it is set, as in BMv2.
const DEPTH: u32 = 64;

/// Maximum number of ports with queues: programs may send to any number.
const MOST_PORTS: usize = 1024;

/// Maximum number of packets that wait in all queues together.
const MOST_WAITING: usize = 1 << 14;

/// Picoseconds per second.
const SECOND: u64 = 1_000_000_000_000;

/// Limits of a queue.
#[derive(Clone, Copy)]
struct Limits {
    /// In packets.
    depth: u32,
    /// Packets per second; 0: no limit.
    rate: u64,
}

impl Limits {
    fn set(&mut self, to: QueueLimit) {
        match to {
            QueueLimit::Depth(depth) => self.depth = depth,
            QueueLimit::Rate(rate) => self.rate = rate,
        }
    }

    fn interval(&self) -> Duration {
        Duration::from_ps(SECOND.checked_div(self.rate).unwrap_or(0))
    }
}

struct Queue {
    limits: Limits,
    /// True if the limits were set for its port.
    is_set: bool,
    waiting: u32,
    /// When the last packet that came leaves, at the earliest.
    last: Time,
}

struct Waiting {
    packet: Queued,
    enqueued: Time,
    /// Packets in the queue before it.
    depth: u32,
}

/// The queues of a device.
pub(super) struct PortQueues {
    /// Priorities below this number have queues.
    priorities: u8,
    /// Limits of queues that have none of their own.
    limits: Limits,
    /// By port and priority.
    queues: BTreeMap<(Port, u8), Queue>,
    /// By priority; then by the time at which a packet may leave, and by arrival.
    waiting: [BTreeMap<(Time, u64), Waiting>; PRIORITIES as usize],
    held: usize,
    arrived: u64,
    /// A queue has a rate.
    has_rates: bool,
    /// Stands for the program whose packets wait.
    program: Option<Arc<()>>,
    lost: Lost,
}

/// Packets lost at the queues of a device.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Lost {
    /// The queue was full.
    pub full: u64,
    /// There is no queue of their priority.
    pub priority: u64,
    /// Another program began to run while they waited.
    pub program: u64,
}

impl Default for PortQueues {
    fn default() -> PortQueues {
        PortQueues::new(PRIORITIES)
    }
}

impl PortQueues {
    /// Queues of priorities below `priorities`; more than 8 are never used.
    pub fn new(priorities: u8) -> PortQueues {
        PortQueues {
            priorities: priorities.clamp(1, PRIORITIES),
            limits: Limits { depth: DEPTH, rate: 0 },
            queues: BTreeMap::new(),
            waiting: Default::default(),
            held: 0,
            arrived: 0,
            has_rates: false,
            program: None,
            lost: Lost::default(),
        }
    }

    /// True if packets must pass the queues: one may wait, or have a priority without a queue.
    pub fn is_needed(&self) -> bool {
        self.has_rates || self.held > 0 || self.priorities < PRIORITIES
    }

    /// Packets that wait, and those that were lost.
    pub fn counts(&self) -> (usize, Lost) {
        (self.held, self.lost)
    }

    /// Sets a limit of one queue, of those of a port, or of all.
    pub fn change(&mut self, change: QueueChange, now: Time) -> Result<(), Status> {
        let refused = |code, why| Err(Status::new(code, why));
        if let Some(priority) = change.priority.filter(|priority| *priority >= self.priorities.into()) {
            let why = format!(
                "there is no queue of priority {priority}: ports have {} queues, and 0 is the lowest priority",
                self.priorities
            );
            return refused(Code::OutOfRange, why);
        }
        match change.port {
            Some(port) => {
                let is_new = self.queues.range((port, 0)..=(port, u8::MAX)).next().is_none();
                if is_new && !self.has_room() {
                    let why = format!("at most {MOST_PORTS} ports have queues");
                    return refused(Code::ResourceExhausted, why);
                }
                for priority in 0..self.priorities {
                    if change.priority.is_none_or(|only| only == u32::from(priority)) {
                        let queue = self.queue(port, priority, now);
                        queue.limits.set(change.limit);
                        queue.is_set = true;
                    }
                }
            }
            None => {
                self.limits.set(change.limit);
                self.queues.values_mut().for_each(|queue| queue.limits.set(change.limit));
            }
        }
        self.has_rates = self.limits.rate > 0 || self.queues.values().any(|queue| queue.limits.rate > 0);
        Ok(())
    }

    /// Follows a change of the program: packets of another one cannot go on.
    pub fn follow(&mut self, program: &Arc<()>) {
        if self.program.as_ref().is_some_and(|of| Arc::ptr_eq(of, program)) {
            return;
        }
        self.program = Some(Arc::clone(program));
        self.lost.program += std::mem::take(&mut self.held) as u64;
        self.waiting.iter_mut().for_each(BTreeMap::clear);
        self.queues.values_mut().for_each(|queue| queue.waiting = 0);
    }

    /// Queues packets after ingress, and runs those whose time has come to their ends; gives the frames that leave.
    pub fn run(&mut self, device: &mut impl Device, queued: Vec<Queued>, now: Time) -> Vec<Output> {
        self.add(queued, now);
        let mut left = vec![];
        while let Some((packet, record)) = self.pop(now) {
            let EgressResult { output, requeued, again } = device.egress(packet, record, now);
            left.extend(output);
            self.add(requeued, now);
            for packet in again {
                let queued = device.resume(packet, now);
                self.add(queued, now);
            }
        }
        left
    }

    /// When the next packet leaves.
    pub fn deadline(&self) -> Option<Time> {
        self.waiting.iter().filter_map(|queue| Some(queue.first_key_value()?.0.0)).min()
    }

    fn add(&mut self, queued: Vec<Queued>, now: Time) {
        for packet in queued {
            let Replica { port, priority } = packet.replica;
            if priority >= self.priorities {
                self.lost.priority += 1;
                continue;
            }
            let has_room = self.held < MOST_WAITING && (self.knows(port, priority) || self.has_room());
            let queue = has_room.then(|| self.queue(port, priority, now));
            let Some(queue) = queue.filter(|queue| queue.waiting < queue.limits.depth) else {
                self.lost.full += 1;
                continue;
            };
            let depth = queue.waiting;
            queue.last = now.max(queue.last + queue.limits.interval());
            queue.waiting += 1;
            let key = (queue.last, self.arrived);
            self.arrived += 1;
            self.held += 1;
            self.waiting[usize::from(priority)].insert(key, Waiting { packet, enqueued: now, depth });
        }
    }

    /// The packet that leaves next, if its time has come.
    fn pop(&mut self, now: Time) -> Option<(Queued, QueueRecord)> {
        let due = |queue: &&mut BTreeMap<(Time, u64), Waiting>| {
            queue.first_key_value().is_some_and(|((at, _), _)| *at <= now)
        };
        let (_, Waiting { packet, enqueued, depth }) =
            self.waiting.iter_mut().rev().find(due)?.pop_first()?;
        self.held -= 1;
        let Replica { port, priority } = packet.replica;
        let queue = self.queue(port, priority, now);
        queue.waiting = queue.waiting.saturating_sub(1);
        let depth_at_dequeue = queue.waiting;
        Some((packet, QueueRecord { enqueued, depth_at_enqueue: depth, depth_at_dequeue }))
    }

    fn knows(&self, port: Port, priority: u8) -> bool {
        self.queues.contains_key(&(port, priority))
    }

    /// True if one more port can have queues. Empty queues that nobody has set make room.
    fn has_room(&mut self) -> bool {
        let most = MOST_PORTS * usize::from(PRIORITIES);
        if self.queues.len() + usize::from(PRIORITIES) > most {
            self.queues.retain(|_, queue| queue.is_set || queue.waiting > 0);
        }
        self.queues.len() + usize::from(PRIORITIES) <= most
    }

    fn queue(&mut self, port: Port, priority: u8, now: Time) -> &mut Queue {
        let limits = self.limits;
        let begin = || Queue { limits, is_set: false, waiting: 0, last: now };
        self.queues.entry((port, priority)).or_insert_with(begin)
    }
}

#[cfg(test)]
mod tests;
