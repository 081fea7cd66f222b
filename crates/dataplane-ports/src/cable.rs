//! Cables inside the process: in each direction a ring of frames, and one of returned buffers.
//!
//! ```text
//! RingSink ── frames ───────> RingSource
//!          <── free buffers ──            many at a time
//! ```
//!
//! Sender and receiver exchange whole buffers: no frame is copied. Neither waits for the other: each owns one end of
//! both rings, and keeps some free buffers of its own. Full rings refuse frames; the sender loses them, and counts.
//!
//! The cost of a frame is the cache lines that move from one core to the other, 25 to 200 ns each. So few lines move:
//! buffers are returned many at a time, the ones used last are used first, and a frame's place in a ring is half a
//! line. And lines move together: each step requests all lines that it will touch before it touches the first.

use crate::batch::Batch;
use crate::port::{Sink, Source, Wait};
use base_time::Time;
use dataplane_api::Port;
use dataplane_tables::{prefetch, prefetch_to_write};
use rtrb::chunks::{ChunkError, ReadChunk, WriteChunkUninit};
use rtrb::{Consumer, Producer, RingBuffer};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use target_native::{MOST_BYTES, Packet};

/// Frames, or buffers, in a cache line of a ring.
const IN_A_LINE: usize = 2;

/// Buffers that go back at a time.
const RETURNED: usize = 64;

/// Places of frames that are fetched before they are needed.
const PLACES: usize = 16;

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

/// State of a cable, seen from the port at its other end.
#[derive(Clone)]
pub struct Carrier(Arc<Bell>);

/// Wakes a receiver that waits, and says that there is a carrier.
#[derive(Default)]
struct Bell {
    is_down: AtomicBool,
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
    let (back, free) = RingBuffer::new(length + 4 * RETURNED);
    let bell = Arc::<Bell>::default();
    let sink = RingSink { frames, free, spare: vec![], bell: Arc::clone(&bell) };
    (sink, RingSource { frames: came, free: back, spare: vec![], bell })
}

impl Cable {
    /// Sends a frame. Returns false if there is no room or no other end: then the frame is lost.
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

impl Carrier {
    /// Takes the port at the other end down or up. Frames still pass; the caller must drop them.
    pub fn set(&self, is_up: bool) {
        self.0.is_down.store(!is_up, Ordering::SeqCst);
        self.0.ring();
    }
}

impl RingSink {
    /// State of the port that receives the frames sent here.
    pub fn carrier(&self) -> Carrier {
        Carrier(Arc::clone(&self.bell))
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

/// Up to `most` elements; their cache lines are transferred together.
fn read<T>(ring: &mut Consumer<T>, most: usize) -> Option<ReadChunk<'_, T>> {
    let there = match ring.read_chunk(most) {
        Ok(_) => most,
        Err(ChunkError::TooFewSlots(there)) => there,
    };
    let chunk = ring.read_chunk(there).ok().filter(|chunk| !chunk.is_empty())?;
    let (first, second) = chunk.as_slices();
    first.iter().chain(second).step_by(IN_A_LINE).for_each(prefetch);
    Some(chunk)
}

/// Room for up to `most` elements; their cache lines are transferred together.
fn room<T>(ring: &mut Producer<T>, most: usize) -> Option<WriteChunkUninit<'_, T>> {
    let there = match ring.write_chunk_uninit(most) {
        Ok(_) => most,
        Err(ChunkError::TooFewSlots(there)) => there,
    };
    let mut chunk = ring.write_chunk_uninit(there).ok()?;
    let (first, second) = chunk.as_mut_slices();
    first.iter().chain(&*second).step_by(IN_A_LINE).for_each(prefetch_to_write);
    Some(chunk)
}

/// Puts returned buffers on top of the spare ones, so that few buffers are in use.
fn take_back(spare: &mut Vec<Packet>, free: &mut Consumer<Packet>) {
    spare.extend(read(free, usize::MAX).into_iter().flatten());
}

impl RingSink {
    fn put(&mut self, frame: &[u8]) -> bool {
        if self.frames.is_full() || self.frames.is_abandoned() {
            return false;
        }
        take_back(&mut self.spare, &mut self.free);
        let mut packet = self.spare.pop().unwrap_or_default();
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
        let RingSink { frames, free: back, spare, .. } = self;
        take_back(spare, back);
        let frame = |at: &usize| {
            let packet = &mut packets[*at];
            if packet.frame().len() > MOST_BYTES {
                return Frame::Long(packet.frame().to_vec());
            }
            Frame::Short(std::mem::replace(packet, spare.pop().unwrap_or_default()))
        };
        let sent = room(frames, which.len()).map_or(0, |room| room.fill_from_iter(which.iter().map(frame)));
        // The receiver has read the next places last: they come over until they are needed.
        room(frames, PLACES);
        sent
    }

    fn wake(&mut self) {
        self.bell.ring();
    }

    fn send_frame(&mut self, frame: &[u8], _: Time) -> bool {
        self.put(frame)
    }
}

impl RingSource {
    /// Returns buffers to the other end, if there are many.
    fn give_back(&mut self) {
        if self.spare.len() >= RETURNED
            && let Some(room) = room(&mut self.free, self.spare.len())
        {
            room.fill_from_iter(self.spare.drain(..));
        }
    }
}

impl Source for RingSource {
    fn receive(&mut self, port: Port, batch: &mut Batch) -> io::Result<()> {
        let (first, room) = (batch.came(), batch.room());
        let Some(frames) = read(&mut self.frames, room.len()) else { return Ok(()) };
        let (mut places, mut long) = (room.iter_mut(), None);
        for frame in frames {
            match frame {
                Frame::Short(packet) => {
                    let Some(place) = places.next() else { break };
                    self.spare.push(std::mem::replace(place, packet));
                }
                Frame::Long(frame) => {
                    long = Some(frame);
                    break;
                }
            }
        }
        let left = places.len();
        let came = batch.room().len() - left;
        batch.filled(came);
        // The sender's core wrote the frames: they come over together, and while the rest of the batch is taken.
        let packets = &mut batch.packets()[first..first + came];
        packets.iter().for_each(Packet::prefetch);
        packets.iter_mut().for_each(|packet| packet.come_in(port));
        if let Some(frame) = long {
            batch.push(port, &frame);
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
        !self.frames.is_abandoned() && !self.bell.is_down.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_by_the_port_that_is_asked_in_order() {
        let (mut one, mut other) = cable(100);
        let mut packets: Vec<Packet> = (0..100).map(|at| Packet::new(9, &[at; 60]).unwrap()).collect();
        let which: Vec<usize> = (0..100).collect();
        // Some frames arrive when the batch has no room for all, and the ring wraps around among the others.
        let mut batch = Batch::of(80);
        for (sent, took) in [(&which[..30], 30), (&which[..], 80), (&[], 20)] {
            assert_eq!(one.sink.send(&mut packets, sent, Time::ZERO), sent.len());
            batch.clear();
            other.source.receive(3, &mut batch).unwrap();
            assert_eq!(batch.came(), took);
            if sent.len() == 30 {
                packets.iter_mut().zip(0..).for_each(|(packet, at)| assert!(packet.receive(9, &[at; 60])));
            }
            let first = if took == 20 { 80 } else { 0 };
            for (packet, at) in batch.packets()[..took].iter().zip(first..) {
                assert_eq!((packet.in_port(), packet.frame()), (3, &[at; 60][..]));
            }
        }
        assert_eq!(one.sink.send(&mut packets, &which, Time::ZERO), 100);
        assert_eq!(one.sink.send(&mut packets, &which[..1], Time::ZERO), 0);
    }

    #[test]
    fn a_port_is_up_while_the_other_end_is_there_and_has_a_carrier() {
        let (one, other) = cable(1);
        assert!(other.source.is_up());
        one.sink.carrier().set(false);
        assert!(!other.source.is_up() && one.source.is_up());
        one.sink.carrier().set(true);
        assert!(other.source.is_up());
        drop(one);
        assert!(!other.source.is_up());
    }
}
