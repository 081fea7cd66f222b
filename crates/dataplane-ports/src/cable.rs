//! Cables inside the process: in each direction a ring of frames, and one of returned buffers.
//!
//! ```text
//! RingSink ── frames ──> RingSource
//!          <── free ────            many at a time
//! ```
//!
//! Sender and receiver exchange whole buffers: no frame is copied. Neither waits for the other: each owns one end of
//! both rings, and keeps some free buffers of its own. The cost between two cores is the number of cache lines that
//! move, so buffers are returned many at a time, and a frame's place in a ring is half a line. Full rings refuse
//! frames; the sender loses them, and counts.

use crate::batch::{BATCH, Batch};
use crate::port::{Sink, Source, Wait};
use base_time::Time;
use dataplane_api::Port;
use rtrb::chunks::{ChunkError, ReadChunk, WriteChunkUninit};
use rtrb::{Consumer, Producer, RingBuffer};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use target_native::{MOST_BYTES, Packet};

/// One end of a cable inside the process.
pub struct Cable {
    /// To the other end.
    pub sink: RingSink,
    /// From the other end.
    pub source: RingSource,
}

/// The end of a ring that sends.
pub struct RingSink {
    frames: Producer<Frame>,
    free: Consumer<Packet>,
    /// Buffers for frames that are yet to come, the one used last on top: it is the nearest to the processor.
    spare: Vec<Packet>,
    bell: Arc<Bell>,
}

/// The end of a ring that receives.
pub struct RingSource {
    frames: Consumer<Frame>,
    free: Producer<Packet>,
    /// Buffers that are to go back.
    spare: Vec<Packet>,
    bell: Arc<Bell>,
}

enum Frame {
    Short(Packet),
    Long(Vec<u8>),
}

/// Wakes a receiver that waits.
#[derive(Default)]
struct Bell {
    waits: AtomicBool,
    waker: Mutex<Option<Arc<mio::Waker>>>,
}

/// The two ends of a cable with room for `length` waiting frames in each direction.
pub fn cable(length: usize) -> (Cable, Cable) {
    let ((sink, far), (back, source)) = (ring(length), ring(length));
    (Cable { sink, source }, Cable { sink: back, source: far })
}

fn ring(length: usize) -> (RingSink, RingSource) {
    let (frames, came) = RingBuffer::new(length);
    // All buffers that there can be: in the ring, and in the hands of both ends.
    let (back, free) = RingBuffer::new(length + 4 * BATCH);
    let bell = Arc::<Bell>::default();
    let sink = RingSink { frames, free, spare: vec![], bell: Arc::clone(&bell) };
    (sink, RingSource { frames: came, free: back, spare: vec![], bell })
}

impl Cable {
    /// Sends a frame. False if there is no room, or the other end is gone: then it is lost.
    pub fn send(&mut self, frame: &[u8]) -> bool {
        self.sink.put(frame)
    }

    /// A frame that has come; `None` if there is none.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        Some(match self.source.frames.pop().ok()? {
            Frame::Short(packet) => {
                let frame = packet.frame().to_vec();
                self.source.spare.push(packet);
                self.source.give_back();
                frame
            }
            Frame::Long(frame) => frame,
        })
    }
}

impl Bell {
    /// To be called after each change of the ring.
    fn ring(&self) {
        // Either the receiver sees the change, or this sees that it waits.
        fence(Ordering::SeqCst);
        if self.waits.load(Ordering::Relaxed) && self.waits.swap(false, Ordering::Relaxed) {
            let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
            // One that cannot be woken looks again after a while.
            let _ = waker.take().map(|waker| waker.wake());
        }
    }

    /// To be called before the receiver looks for the last time.
    fn wait(&self, waker: &Arc<mio::Waker>) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(waker));
        self.waits.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
}

/// Up to `most` elements.
fn read<T>(ring: &mut Consumer<T>, most: usize) -> Option<ReadChunk<'_, T>> {
    let there = match ring.read_chunk(most) {
        Ok(_) => most,
        Err(ChunkError::TooFewSlots(there)) => there,
    };
    ring.read_chunk(there).ok().filter(|chunk| !chunk.is_empty())
}

/// Room for up to `most` elements.
fn room<T>(ring: &mut Producer<T>, most: usize) -> Option<WriteChunkUninit<'_, T>> {
    let there = match ring.write_chunk_uninit(most) {
        Ok(_) => most,
        Err(ChunkError::TooFewSlots(there)) => there,
    };
    ring.write_chunk_uninit(there).ok()
}

/// A buffer that is free.
fn free(spare: &mut Vec<Packet>, back: &mut Consumer<Packet>) -> Packet {
    if spare.is_empty() {
        spare.extend(read(back, BATCH).into_iter().flatten());
    }
    spare.pop().unwrap_or_default()
}

impl RingSink {
    fn put(&mut self, frame: &[u8]) -> bool {
        if self.frames.is_full() || self.frames.is_abandoned() {
            return false;
        }
        let mut packet = free(&mut self.spare, &mut self.free);
        let sent = self.frames.push(match packet.receive(0, frame) {
            true => Frame::Short(packet),
            false => Frame::Long(frame.to_vec()),
        });
        self.bell.ring();
        sent.is_ok()
    }
}

impl Sink for RingSink {
    fn send(&mut self, packets: &mut [Packet], which: &[usize], _: Time) -> usize {
        if self.frames.is_abandoned() {
            return 0;
        }
        let RingSink { frames, free: back, spare, bell } = self;
        let frame = |at: &usize| {
            let packet = &mut packets[*at];
            if packet.frame().len() > MOST_BYTES {
                return Frame::Long(packet.frame().to_vec());
            }
            Frame::Short(std::mem::replace(packet, free(spare, back)))
        };
        let sent = room(frames, which.len()).map_or(0, |room| room.fill_from_iter(which.iter().map(frame)));
        bell.ring();
        sent
    }

    fn send_frame(&mut self, frame: &[u8], _: Time) -> bool {
        self.put(frame)
    }
}

impl RingSource {
    /// Gives buffers back, if they are many.
    fn give_back(&mut self) {
        if self.spare.len() >= BATCH
            && let Some(room) = room(&mut self.free, self.spare.len())
        {
            room.fill_from_iter(self.spare.drain(..));
        }
    }
}

impl Source for RingSource {
    fn receive(&mut self, port: Port, batch: &mut Batch) -> io::Result<()> {
        let room = batch.room().len();
        for frame in read(&mut self.frames, room).into_iter().flatten() {
            match frame {
                Frame::Short(mut packet) => {
                    let Some(room) = batch.room().first_mut() else { break };
                    std::mem::swap(room, &mut packet);
                    room.come_in(port);
                    // The sender's core wrote it: it comes over while the rest of the batch is taken.
                    room.prefetch();
                    batch.filled(1);
                    self.spare.push(packet);
                }
                Frame::Long(frame) => {
                    batch.push(port, &frame);
                    break;
                }
            }
        }
        self.give_back();
        Ok(())
    }

    fn wait(&mut self, waker: &Arc<mio::Waker>) -> Wait {
        self.bell.wait(waker);
        if !self.frames.is_empty() {
            self.bell.ring();
        }
        Wait::Woken
    }

    fn keeps(&self) -> bool {
        true
    }

    fn is_up(&self) -> bool {
        !self.frames.is_abandoned()
    }
}
