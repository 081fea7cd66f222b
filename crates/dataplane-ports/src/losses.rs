//! Frames that a port has lost, by reason.

use std::sync::atomic::{AtomicU64, Ordering};

/// Reason why a port loses frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Frames arrived faster than they were taken.
    ReceiveRing,
    /// Work was left to a card that is not done in software: segments in a tunnel, fragments of UDP.
    Offload,
    /// Received frames did not fit into any buffer.
    TooLong,
    /// The interface is down or does not exist.
    Down,
    /// The interface's queue is full.
    Queue,
    /// Frames to be sent are longer than the interface's MTU.
    Mtu,
    /// The system refused them for another reason.
    Refused,
}

/// Name of [`Reason::Queue`].
pub const QUEUE_FULL: &str = "send queue full";

/// All reasons, in the order of their declaration, as metrics call them.
const REASONS: [(Reason, &str); 7] = [
    (Reason::ReceiveRing, "receive ring full"),
    (Reason::Offload, "offload not supported"),
    (Reason::TooLong, "too long"),
    (Reason::Down, "interface down"),
    (Reason::Queue, QUEUE_FULL),
    (Reason::Mtu, "longer than the MTU"),
    (Reason::Refused, "refused by the system"),
];

/// Number of frames that a port has lost, by reason.
#[derive(Default, Debug)]
pub struct Losses([AtomicU64; REASONS.len()]);

impl Losses {
    /// Adds lost frames.
    pub fn add(&self, why: Reason, count: u64) {
        self.0[why as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// Sets the total number of lost frames.
    pub fn set(&self, why: Reason, count: u64) {
        self.0[why as usize].store(count, Ordering::Relaxed);
    }

    /// Counts that are not zero, by the name of the reason.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let count =
            |(why, name): &(Reason, &'static str)| (*name, self.0[*why as usize].load(Ordering::Relaxed));
        REASONS.iter().map(count).filter(|(_, count)| *count > 0)
    }
}
