//! Conventions between compiled code and the rest: the context of a batch, and the numbers that they exchange.

use crate::arrivals::Arrivals;
use crate::early;
use crate::packet::Packet;
use dataplane_api::DropReason;
use dataplane_tables::{Buckets, Table};
use device::PortQueue;
use device::v1model::QueueMetadata;
use std::ffi::c_void;
use std::sync::atomic::AtomicU64;

/// Rounds of loops, in steps of the interpreter.
pub(crate) const FUEL: u64 = 4_000_000;

/// Result of an interpreter call after which the packet continues.
pub(crate) const FINE: i64 = 0;
/// The packet was dropped.
pub(crate) const GONE: i64 = 1;
/// The deparser's frame did not fit into the packet's buffer; it is among the outputs.
pub(crate) const ELSEWHERE: i64 = 2;
/// The parser failed; the error is added.
pub(crate) const REJECTED: i64 = 0x100;

/// Arguments of a half: their positions in [Context::arguments`].
pub(crate) mod arguments {
    pub(crate) const INGRESS_PORT: usize = 0;
    pub(crate) const PATH: usize = 1;
    pub(crate) const TIMESTAMP: usize = 2;
    pub(crate) const EGRESS_PORT: usize = 3;
    pub(crate) const CLASS_OF_SERVICE: usize = 4;
    pub(crate) const INSTANCE: usize = 5;
    /// Number of steps left.
    pub(crate) const STEPS: usize = 6;
    /// Bytes of the frame, on TNA.
    pub(crate) const LENGTH: usize = 7;
    pub(crate) const COUNT: usize = 8;
}

/// Point at which compiled code left a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    /// At the end of ingress.
    Ingress,
    /// At the end of egress, before the deparser.
    Egress,
}

/// Reasons that are counted, by their number.
pub(crate) const REASONS: [DropReason; 10] = [
    DropReason::Ingress,
    DropReason::Egress,
    DropReason::NoReplica,
    DropReason::Absorbed,
    DropReason::PassLimit,
    DropReason::ParserLimit,
    DropReason::StepLimit,
    DropReason::AssertFailed,
    DropReason::UnknownRegion,
    DropReason::Internal,
];

/// Argument of compiled code.
#[repr(C)]
pub(crate) struct Context {
    pub(crate) frame: *mut u8,
    pub(crate) tables: *const TableRef,
    pub(crate) cells: *const *const AtomicU64,
    /// The bits of value sets.
    pub(crate) value_sets: *const *const u64,
    /// A [`Job`](crate::runtime::Job).
    pub(crate) job: *mut c_void,
    /// In microseconds.
    pub(crate) now: u64,
    /// The same in picoseconds, for idle timers.
    pub(crate) instant: u64,
    /// Not 0 if batches are run ahead first, to prefetch memory for their lookups.
    pub(crate) ahead: u64,
    pub(crate) asked: *mut Asked,
    /// The packet before which code calls [`stop`](crate::runtime::stop); null if there is nothing to do between packets.
    pub(crate) next_stop: *const Packet,
    /// Null if frames have arrived.
    pub(crate) arrivals: *mut Arrivals,
    /// The packet before which keys are looked up again; null if none are.
    pub(crate) next_early: *const Packet,
    /// Bytes from a packet to its answer of each early lookup; 0 if there is none.
    pub(crate) early_distances: [u64; early::MOST],
    /// Behind the last packet that runs.
    pub(crate) end: *const Packet,
    /// The first packet of the batch, if its frames are still to arrive.
    pub(crate) batch: *const Packet,
    /// Arguments of half of PSA: see [`arguments`].
    pub(crate) arguments: [u64; arguments::COUNT],
    /// For egress on its own.
    pub(crate) queueing: QueueMetadata,
    /// Frames that wait behind each port, for packets that do not wait in front of egress.
    pub(crate) queue_depths: *const PortQueue,
    /// Position of the depth for all other ports.
    pub(crate) other_ports: u64,
    /// Result of a lookup by a function that keeps all registers.
    pub(crate) found: u64,
    pub(crate) sent: u64,
    /// Counts of dropped packets, by reason.
    pub(crate) dropped: [u64; REASONS.len()],
}

/// A table as compiled code reads it.
#[repr(C)]
pub(crate) struct TableRef {
    pub(crate) table: *const Table,
    /// The action of record 0.
    pub(crate) actions: *const u64,
    /// The entry numbers by key, of tables that have an array of them.
    pub(crate) direct: *const u32,
    /// The buckets of tables that have some.
    pub(crate) buckets: Buckets,
    /// The arrays for the first bits, of tables of prefixes that have them now, or null: see [`dataplane_tables::FirstBits`].
    pub(crate) top: *const u32,
    pub(crate) chunks: *const u32,
    /// This worker's counts for the entries of tables that count, two words for each slot.
    pub(crate) counts: *const AtomicU64,
    /// Not 0 if prefetching for lookups pays off.
    pub(crate) far: u64,
    /// Not 0 if lookups wait for memory, but not so long that packets run ahead.
    pub(crate) waits: u64,
    /// Not 0 there if hits are to be reported to the device; null for tables of which none ever are.
    pub(crate) notes_hits: *const AtomicU64,
}

/// Lookups whose first cache lines have been prefetched; their second lines are prefetched later, when the first have arrived. The tables are copies that
/// belong to the running batch, which empties the list at its end.
pub(crate) struct Asked {
    pub(crate) lookups: [(*const Table, [u64; MOST_ASKED]); 8],
    pub(crate) next: usize,
}

/// Bytes of a counter: packets and bytes.
pub(crate) const COUNT_BYTES: u32 = 16;

/// Number of packets between one that runs and the one whose frame is requested: a line of another core arrives meanwhile.
pub const REQUESTED: usize = 16;

/// Words of a key that is asked for.
pub(crate) const MOST_ASKED: usize = 4;

impl Default for Asked {
    fn default() -> Asked {
        Asked { lookups: [(std::ptr::null(), [0; MOST_ASKED]); 8], next: 0 }
    }
}
