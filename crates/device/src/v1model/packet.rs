//! A packet inside the device.

use crate::budget::PacketBudget;
use crate::environment::Source;
use crate::stage::Effects;
use crate::state::State;
use crate::trace::PacketId;
use base_time::Time;
use dataplane_api::{Port, QueueRecord};
use ir_value::Value;

/// A packet between stages, as values.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Value of the headers' type.
    pub headers: Value,
    /// Value of the user metadata's type.
    pub metadata: Value,
    /// Value of the type `standard_metadata_t`.
    pub standard: Value,
    /// As it entered this pass.
    pub frame: Vec<u8>,
    /// The bytes that the parser left.
    pub payload: Vec<u8>,
    /// Ingress port.
    pub ingress_port: Port,
    /// Egress port; egress only.
    pub egress_port: Port,
    /// Lengths and requested effects. `length` becomes `packet_length` in egress. Copies and restarted packets do not
    /// inherit `truncate`.
    pub effects: Effects,
    /// Remaining budget of the packet's frame.
    pub budget: PacketBudget,
    /// Number in the trace.
    pub trace: PacketId,
}

impl Packet {
    /// Truncates the payload so that the packet has `most` bytes with its headers, as far as `packet_length` gives
    /// them. If the headers alone are longer, the frame is truncated on transmission.
    pub(super) fn cut(&mut self, most: u32) {
        let payload = self.payload.len();
        let headers = usize::try_from(self.effects.length).unwrap_or(0).saturating_sub(payload);
        let most_bytes = most as usize;
        let kept = payload.min(most_bytes.saturating_sub(headers));
        self.payload.truncate(kept);
        // The start of the pass remains at the end of the payload, and is what counters see.
        self.frame.truncate(self.frame.len().saturating_sub(payload - kept));
        self.effects.counted = self.frame.len() as u64;
        self.effects.length = self.effects.length.min(most.into());
        if headers > most_bytes {
            self.effects.truncate = Some(most);
        }
    }
}

/// Queueing metadata of v1model: times in microseconds, depths in packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueMetadata {
    /// When it was enqueued.
    pub entered: u64,
    /// Packets in the queue then.
    pub depth_entered: u64,
    /// When it leaves: now.
    pub left: u64,
    /// Time in the queue.
    pub waited: u64,
    /// Packets in the queue when it leaves.
    pub depth_left: u64,
}

impl QueueMetadata {
    /// As the environment shows it.
    pub(super) fn read(state: &mut State, queue: QueueRecord, now: Time) -> QueueMetadata {
        let (left, entered) = (now.as_us(), queue.enqueued.as_us());
        let waited = left.saturating_sub(entered);
        let depths = (u64::from(queue.depth_at_enqueue), u64::from(queue.depth_at_dequeue));
        // Nearly always; without names of what is read.
        if state.is_transparent {
            return QueueMetadata { entered, depth_entered: depths.0, left, waited, depth_left: depths.1 };
        }
        let mut read = |source: Source, value: u64| state.read_environment(&source, value);
        // In this order: environments that are replayed go by it.
        let left = read(Source::EgressTimestamp, left);
        let entered = read(Source::EnqueueTimestamp, entered);
        let depth_entered = read(Source::EnqueueDepth, depths.0);
        let waited = read(Source::DequeueTimedelta, waited);
        let depth_left = read(Source::DequeueDepth, depths.1);
        QueueMetadata { entered, depth_entered, left, waited, depth_left }
    }
}
