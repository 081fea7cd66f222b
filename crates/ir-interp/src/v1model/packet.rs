//! A packet on its way through the device.

use crate::trace::PacketId;
use crate::value::Value;
use dataplane_api::Port;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A packet between stages.
#[derive(Clone)]
pub(super) struct Packet {
    pub(super) headers: Value,
    pub(super) metadata: Value,
    pub(super) standard: Value,
    /// As it entered this pass.
    pub(super) frame: Vec<u8>,
    /// The bytes that the parser left.
    pub(super) payload: Vec<u8>,
    pub(super) ingress_port: Port,
    /// Of the pass, in bytes: what counters and meters see.
    pub(super) ingress_length: u64,
    /// What `packet_length` will be in egress: follows `setValid` and `setInvalid`.
    pub(super) length: i64,
    pub(super) egress_port: Port,
    /// Cut the output to this many bytes.
    pub(super) truncate: Option<u32>,
    pub(super) orders: Orders,
    pub(super) life: Life,
    /// Its number in the trace.
    pub(super) trace: PacketId,
}

/// What the program asked of the traffic manager by calls. The last call of a kind in a pass counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Orders {
    pub(super) clone: Option<CloneOrder>,
    /// With the index of the field list.
    pub(super) resubmit: Option<u32>,
    /// With the index of the field list.
    pub(super) recirculate: Option<u32>,
}

/// A clone that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CloneOrder {
    pub(super) session: u32,
    /// `None` keeps no metadata.
    pub(super) field_list: Option<u32>,
}

/// What a received frame and all that came of it may still take: passes, copies, steps. Shared by them all.
#[derive(Clone, Debug)]
pub(super) struct Life(Arc<Budget>);

#[derive(Debug)]
struct Budget {
    passes: AtomicU32,
    steps: AtomicU64,
}

impl Life {
    pub(super) fn new(passes: u32, steps: u64) -> Life {
        Life(Arc::new(Budget { passes: AtomicU32::new(passes), steps: AtomicU64::new(steps) }))
    }

    /// Takes a pass or copy; false if none is left.
    pub(super) fn take(&self) -> bool {
        self.0.passes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// How many steps are left.
    pub(super) fn steps(&self) -> u64 {
        self.0.steps.load(Ordering::Relaxed)
    }

    /// Says how many steps are left after some were made.
    pub(super) fn set_steps(&self, left: u64) {
        self.0.steps.store(left, Ordering::Relaxed);
    }
}

/// A packet that waits: for egress, or to start again.
pub(super) struct Waiting {
    pub(super) packet: Packet,
}
