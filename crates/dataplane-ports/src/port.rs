//! Ports: sources and sinks of frames.

use crate::batch::Batch;
use base_time::Time;
use dataplane_api::Port;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use target_native::Packet;

/// Source of frames.
pub trait Source: Send {
    /// Requests the memory that the next [`receive`](Source::receive) reads, so that it arrives meanwhile.
    fn request(&mut self) {}

    /// Adds frames received on `port` to the batch, as many as are available and fit, without waiting. An error ends the source.
    fn receive(&mut self, port: Port, batch: &mut Batch) -> io::Result<()>;

    /// How to wait for more, after there was nothing.
    fn wait(&mut self, waker: &Arc<mio::Waker>) -> Wait;

    /// True if frames that are not taken stay in the source. Other sources lose them.
    fn keeps(&self) -> bool;

    /// True if the port is up.
    fn is_up(&self) -> bool {
        true
    }
}

/// How to wait for a source.
pub enum Wait {
    /// Until this can be read.
    Readable(RawFd),
    /// Until one of these can be read. They have not been waited for before.
    Anew(Vec<RawFd>),
    /// The source wakes the waker.
    Woken,
}

/// Destination of frames.
pub trait Sink: Send {
    /// Sends the packets at these positions, in order, and gives how many were taken: the rest is lost. Buffers may be exchanged. Packets
    /// may wait in the sink until [`wake`](Sink::wake) is called.
    fn send(&mut self, packets: &mut [Packet], which: &[usize], now: Time) -> usize;

    /// Passes all sent packets on. Their receiver is woken by [`ring`](Sink::ring), after a fence.
    fn pass(&mut self) {}

    /// Wakes a receiver that waits for packets passed before the last fence.
    fn ring(&mut self) {}

    /// Passes all sent packets on, and wakes a receiver that waits for them.
    fn wake(&mut self) {
        self.pass();
        // Either the receiver sees the packets, or `ring` sees that it waits.
        fence(Ordering::SeqCst);
        self.ring();
    }

    /// Sends one frame of any length and wakes the receiver; false if the frame is lost.
    fn send_frame(&mut self, frame: &[u8], now: Time) -> bool;

    /// Writes buffered frames.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
