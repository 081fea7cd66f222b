//! Queues behind the ports of a device whose driver sends frames on at once.

use base_time::Time;
use dataplane_api::{Port, QueueRecord};
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of frames that wait behind each port, as whoever empties the queues last reported it. Shared by the device,
/// its workers and the owners of the queues.
///
/// A device in virtual time queues packets between ingress and egress, and its [`QueueRecord`]s say how deep the queue
/// was. Where frames run to completion and wait behind the port, these numbers stand for it.
#[derive(Debug)]
pub struct QueueDepths {
    /// By port number; the last one is 0 and stands for all other ports.
    depths: Box<[AtomicU32]>,
}

impl Default for QueueDepths {
    /// No port has a queue.
    fn default() -> QueueDepths {
        QueueDepths::new(0)
    }
}

impl QueueDepths {
    /// Empty queues behind the ports below `ports`. Other ports have none.
    pub fn new(ports: Port) -> QueueDepths {
        QueueDepths { depths: (0..=ports).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Reports that `frames` wait behind a port. A port without a queue is passed over.
    pub fn set(&self, port: Port, frames: u32) {
        if port < self.last() {
            self.depths[port as usize].store(frames, Ordering::Relaxed);
        }
    }

    /// Number of frames that wait behind a port.
    pub fn get(&self, port: Port) -> u32 {
        self.depths[port.min(self.last()) as usize].load(Ordering::Relaxed)
    }

    /// Queueing of a packet that leaves by a port at once, for frames in front of it.
    pub(crate) fn record(&self, port: Port, now: Time) -> QueueRecord {
        let depth = self.get(port);
        QueueRecord { enqueued: now, depth_at_enqueue: depth, depth_at_dequeue: depth }
    }

    /// For compiled code: the depths by port, and the position of the one for all other ports.
    pub fn parts(&self) -> (*const AtomicU32, u32) {
        (self.depths.as_ptr(), self.last())
    }

    fn last(&self) -> Port {
        self.depths.len() as Port - 1
    }
}
