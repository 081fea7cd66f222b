//! Cables inside the process: a ring of buffers each way.
//!
//! Sender and receiver exchange whole buffers: no frame is copied. Full rings refuse frames; the sender loses them, and counts.

use crate::batch::Batch;
use crate::port::{Sink, Source, Wait};
use base_time::Time;
use dataplane_api::Port;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use target_native::{MOST_BYTES, Packet};

/// One end of a cable inside the process.
pub struct Cable {
    /// To the other end.
    pub sink: RingSink,
    /// From the other end.
    pub source: RingSource,
}

/// The end of a ring that sends.
pub struct RingSink(Arc<Ring>);

/// The end of a ring that receives.
pub struct RingSource(Arc<Ring>);

struct Ring {
    capacity: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    frames: VecDeque<Frame>,
    /// Buffers for frames that are yet to come, the one used last on top: it is the nearest to the processor.
    free: Vec<Packet>,
    /// Set while the receiver waits.
    waker: Option<Arc<mio::Waker>>,
}

enum Frame {
    Short(Packet),
    Long(Vec<u8>),
}

/// The two ends of a cable on which `length` frames wait each way.
pub fn cable(length: usize) -> (Cable, Cable) {
    let ring = || Arc::new(Ring { capacity: length, waiting: Mutex::default() });
    let (there, back) = (ring(), ring());
    let one = Cable { sink: RingSink(Arc::clone(&there)), source: RingSource(Arc::clone(&back)) };
    (one, Cable { sink: RingSink(back), source: RingSource(there) })
}

impl Cable {
    /// Sends a frame. False if there is no room, or the other end is gone: then it is lost.
    pub fn send(&self, frame: &[u8]) -> bool {
        self.sink.put(frame)
    }

    /// A frame that has come; `None` if there is none.
    pub fn receive(&self) -> Option<Vec<u8>> {
        let mut waiting = self.source.0.lock();
        Some(match waiting.frames.pop_front()? {
            Frame::Short(packet) => {
                let frame = packet.frame().to_vec();
                waiting.free.push(packet);
                frame
            }
            Frame::Long(frame) => frame,
        })
    }
}

impl Ring {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if both ends are there.
    fn is_joined(ring: &Arc<Ring>) -> bool {
        Arc::strong_count(ring) > 1
    }
}

impl Waiting {
    /// Wakes the receiver, if it waits.
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            // One that cannot be woken looks again after a while.
            let _ = waker.wake();
        }
    }
}

impl RingSink {
    fn put(&self, frame: &[u8]) -> bool {
        let mut waiting = self.0.lock();
        if waiting.frames.len() >= self.0.capacity || !Ring::is_joined(&self.0) {
            return false;
        }
        let mut packet = waiting.free.pop().unwrap_or_default();
        let frame = match packet.receive(0, frame) {
            true => Frame::Short(packet),
            false => Frame::Long(frame.to_vec()),
        };
        waiting.frames.push_back(frame);
        waiting.wake();
        true
    }
}

impl Sink for RingSink {
    fn send(&mut self, packets: &mut [Packet], which: &[usize], _: Time) -> usize {
        if !Ring::is_joined(&self.0) {
            return 0;
        }
        let mut waiting = self.0.lock();
        let room = self.0.capacity.saturating_sub(waiting.frames.len());
        for at in which.iter().take(room) {
            let packet = &mut packets[*at];
            let frame = if packet.frame().len() > MOST_BYTES {
                Frame::Long(packet.frame().to_vec())
            } else {
                let mut other = waiting.free.pop().unwrap_or_default();
                std::mem::swap(&mut other, packet);
                Frame::Short(other)
            };
            waiting.frames.push_back(frame);
        }
        waiting.wake();
        room.min(which.len())
    }

    fn send_frame(&mut self, frame: &[u8], _: Time) -> bool {
        self.put(frame)
    }
}

impl Source for RingSource {
    fn receive(&mut self, port: Port, batch: &mut Batch) -> io::Result<()> {
        let mut waiting = self.0.lock();
        while let Some(room) = batch.room().first_mut() {
            match waiting.frames.pop_front() {
                Some(Frame::Short(mut packet)) => {
                    std::mem::swap(room, &mut packet);
                    room.come_in(port);
                    // The sender's core wrote it: it comes over while the rest of the batch is taken.
                    room.prefetch();
                    batch.filled(1);
                    waiting.free.push(packet);
                }
                Some(Frame::Long(frame)) => batch.push(port, &frame),
                None => break,
            }
        }
        Ok(())
    }

    fn wait(&mut self, waker: &Arc<mio::Waker>) -> Wait {
        let mut waiting = self.0.lock();
        waiting.waker = Some(Arc::clone(waker));
        if !waiting.frames.is_empty() {
            waiting.wake();
        }
        Wait::Woken
    }

    fn keeps(&self) -> bool {
        true
    }

    fn is_up(&self) -> bool {
        Ring::is_joined(&self.0)
    }
}
