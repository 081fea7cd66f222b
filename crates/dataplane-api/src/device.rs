//! A device that runs one program, without time of its own.
//!
//! The path of a packet: [`Device::ingress`] gives what the traffic manager enqueues; the driver decides when each
//! replica leaves its queue and calls [`Device::egress`]; that gives at most one output, and perhaps packets that
//! start again (recirculated) or go through egress again (cloned). [`Device::drain`] does it all at once.

use crate::Leased;
use base_bits::Bits;
use base_time::{Duration, Time};
use std::collections::BTreeMap;

/// A port number of a device.
pub type Port = u32;

/// A packet in the traffic manager. Its contents are private to the device.
pub type QueuedPacket = Box<dyn std::any::Any + Send>;

/// Result of ingress: a packet for the traffic manager to queue at one port.
pub struct Queued {
    /// The egress port.
    pub replica: Replica,
    /// The packet's length in bytes, for the queue's accounting.
    pub bytes: u32,
    /// The packet.
    pub packet: QueuedPacket,
}

/// The packets that come of a frame in ingress. Most frames stay one packet, for which no memory is allocated.
pub enum Became {
    /// One packet.
    One(Queued),
    /// Any number, in order.
    Several(Vec<Queued>),
}

impl Became {
    /// The packets.
    #[inline]
    pub fn packets(&self) -> &[Queued] {
        match self {
            Became::One(packet) => std::slice::from_ref(packet),
            Became::Several(packets) => packets,
        }
    }

    /// The packets as a list.
    pub fn into_list(self) -> Vec<Queued> {
        match self {
            Became::One(packet) => vec![packet],
            Became::Several(packets) => packets,
        }
    }
}

/// Destination of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replica {
    /// The egress port.
    pub port: Port,
    /// 0 is the lowest.
    pub priority: u8,
}

/// Measurements of the traffic manager, which the program sees as its queueing metadata.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueRecord {
    /// When it was enqueued.
    pub enqueued: Time,
    /// Packets in the queue then.
    pub depth_at_enqueue: u32,
    /// Packets in the queue when it left.
    pub depth_at_dequeue: u32,
}

/// A frame leaving the device.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Output {
    /// Port of departure.
    pub port: Port,
    /// The frame.
    pub frame: Vec<u8>,
}

/// Result of egress.
#[derive(Default)]
pub struct EgressResult {
    /// A frame to send.
    pub output: Option<Output>,
    /// Packets for the traffic manager again (egress clones).
    pub requeued: Vec<Queued>,
    /// Packets that start again at the parser (recirculated): pass them to [`Device::resume`] in order.
    pub again: Vec<QueuedPacket>,
}

/// Result of egress for one packet. Most packets are sent or end there, for which no lists are made.
pub enum Departed {
    /// A frame to send, or nothing.
    Sent(Option<Output>),
    /// Any result.
    Several(Box<EgressResult>),
}

impl Departed {
    /// All that there is.
    pub fn into_result(self) -> EgressResult {
        match self {
            Departed::Sent(output) => EgressResult { output, ..EgressResult::default() },
            Departed::Several(result) => *result,
        }
    }
}

impl From<EgressResult> for Departed {
    fn from(result: EgressResult) -> Departed {
        match result {
            EgressResult { output, requeued, again } if requeued.is_empty() && again.is_empty() => {
                Departed::Sent(output)
            }
            result => Departed::Several(Box::new(result)),
        }
    }
}

/// Reason why a packet ended inside a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum DropReason {
    /// The program dropped it in ingress.
    Ingress,
    /// The program dropped it in egress.
    Egress,
    /// A multicast group without members, or unknown.
    NoReplica,
    /// A frame extern kept it.
    Absorbed,
    /// Recirculated or resubmitted too often.
    PassLimit,
    /// Too many parser states without progress.
    ParserLimit,
    /// Too many steps in one pass.
    StepLimit,
    /// `assert` or `assume` failed.
    AssertFailed,
    /// A frame extern named a region that the program does not have.
    UnknownRegion,
    /// The program breaks a rule that its verifier should have found: our mistake.
    Internal,
    /// The device runs no program.
    NoProgram,
}

/// Counters of a device since it was made.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Frames received.
    pub received: u64,
    /// Frames given out.
    pub sent: u64,
    /// Packets that came into being inside: replicas beyond the first, clones, frames made by frame externs.
    pub created: u64,
    /// Packets that ended inside.
    pub dropped: BTreeMap<DropReason, u64>,
}

/// A write that a device refuses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryError {
    /// Description of the error, for the user.
    pub message: String,
    /// Advice, if there is any (did-you-mean).
    pub help: Option<String>,
}

/// A device that runs one program.
///
/// **Invariant**: deterministic. The same calls with the same times give the same results.
pub trait Device: std::any::Any + Send {
    /// A frame arrives on a port. Its memory is the device's, which may send another frame in it.
    fn ingress(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued>;

    /// The same, of a frame that has waited for so long before the device. Only devices in front of others drop such frames.
    fn ingress_after(&mut self, port: Port, frame: Vec<u8>, _waited: Duration, now: Time) -> Vec<Queued> {
        self.ingress(port, frame, now)
    }

    /// [`ingress_after`](Device::ingress_after), for drivers that run frames one by one.
    fn admit(&mut self, port: Port, frame: Vec<u8>, waited: Duration, now: Time) -> Became {
        Became::Several(self.ingress_after(port, frame, waited, now))
    }

    /// A packet leaves its queue.
    fn egress(&mut self, packet: Queued, queue: QueueRecord, now: Time) -> EgressResult;

    /// [`egress`](Device::egress), for drivers that run packets one by one.
    fn depart(&mut self, packet: Queued, queue: QueueRecord, now: Time) -> Departed {
        self.egress(packet, queue, now).into()
    }

    /// A recirculated packet starts again.
    fn resume(&mut self, packet: QueuedPacket, now: Time) -> Vec<Queued>;

    /// False if [`deadline`](Device::deadline) is never, whatever packets come: nobody asks then after each packet. Holds until the device is
    /// changed by other means.
    fn may_have_timers(&self) -> bool {
        true
    }

    /// When a timer of the device runs out next; never if it has none.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// Runs all timers that are due at `now`.
    fn tick(&mut self, _now: Time) -> Vec<Queued> {
        vec![]
    }

    /// Leases exactly these blocks to the externs that need some: see [`ValueExtern::lease`](crate::ValueExtern::lease).
    fn lease(&mut self, _blocks: Option<&[u8]>) -> Leased {
        Leased::default()
    }

    /// The link of a port goes up or down. A new program takes all links to be up.
    fn link(&mut self, _port: Port, _is_up: bool) {}

    /// Counters since the device was made.
    fn counters(&self) -> &Counters;

    /// Reads one cell of a register by its control-plane name. A device without state has none.
    fn register_read(&self, name: &str, _index: u64) -> Result<Bits, EntryError> {
        Err(EntryError { message: format!("the device runs no program: it has no `{name}`"), help: None })
    }

    /// All state the data plane can write, by control-plane name, in a form that can be compared.
    fn state(&self) -> BTreeMap<String, Vec<u8>> {
        BTreeMap::new()
    }

    /// Runs a packet and all that comes of it to the end at one moment, queues empty.
    fn drain(&mut self, queued: Vec<Queued>, now: Time) -> Vec<Output> {
        let mut waiting = std::collections::VecDeque::from(queued);
        let mut outputs = vec![];
        while let Some(packet) = waiting.pop_front() {
            let record = QueueRecord { enqueued: now, ..QueueRecord::default() };
            let result = self.egress(packet, record, now);
            outputs.extend(result.output);
            waiting.extend(result.requeued);
            for again in result.again {
                waiting.extend(self.resume(again, now));
            }
        }
        outputs
    }
}
