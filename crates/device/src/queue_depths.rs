//! Queues behind the ports of a device whose driver sends frames on at once.

use base_time::{Duration, Time};
use dataplane_api::{Port, QueueRecord};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Frames that wait behind each port, as whoever empties the queues last reported it. Shared by the device, its workers and the
/// owners of the queues.
///
/// A device in virtual time queues packets between ingress and egress, and its [`QueueRecord`]s say how deep the queue
/// was. Where frames run to completion and wait behind the port, these numbers stand for it.
#[derive(Debug)]
pub struct QueueDepths {
    /// By port number; the last one is empty and stands for all other ports.
    queues: Box<[PortQueue]>,
}

/// Queue behind a port.
#[derive(Default, Debug)]
#[repr(C)]
pub struct PortQueue {
    /// Microseconds since the device started at which a frame that is sent now leaves the queue.
    pub free_at: AtomicU64,
    /// Number of frames.
    pub depth: AtomicU32,
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
        QueueDepths { queues: (0..=ports).map(|_| PortQueue::default()).collect() }
    }

    /// Reports that `frames` wait behind a port, and when the next one would leave the queue. A port without a queue is passed over.
    pub fn set(&self, port: Port, frames: u32, free_at: Time) {
        if port < self.last() {
            let queue = &self.queues[port as usize];
            queue.depth.store(frames, Ordering::Relaxed);
            queue.free_at.store(free_at.as_us(), Ordering::Relaxed);
        }
    }

    /// Number of frames that wait behind a port.
    pub fn get(&self, port: Port) -> u32 {
        self.queue(port).depth.load(Ordering::Relaxed)
    }

    fn queue(&self, port: Port) -> &PortQueue {
        &self.queues[port.min(self.last()) as usize]
    }

    /// Queueing of a packet that is sent to a port at once, for frames in front of it; and the time at which it leaves the queue.
    pub(crate) fn record(&self, port: Port, now: Time) -> (QueueRecord, Time) {
        let queue = self.queue(port);
        let depth = queue.depth.load(Ordering::Relaxed);
        let waits = queue.free_at.load(Ordering::Relaxed).saturating_sub(now.as_us());
        let record = QueueRecord { enqueued: now, depth_at_enqueue: depth, depth_at_dequeue: depth };
        (record, now + Duration::from_us(waits))
    }

    /// For compiled code: the queues by port, and the position of the one for all other ports.
    pub fn parts(&self) -> (*const PortQueue, u32) {
        (self.queues.as_ptr(), self.last())
    }

    fn last(&self) -> Port {
        self.queues.len() as Port - 1
    }
}
