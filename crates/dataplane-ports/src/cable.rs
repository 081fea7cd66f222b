//! Cables inside the process: in each direction a ring of trays with frames, and one of trays that return empty.
//!
//! ```text
//! RingSink ── trays with frames ──> RingSource
//!          <── the same trays, ────
//!              with free buffers
//! ```
//!
//! Sender and receiver exchange whole buffers: no frame is copied. The sender exchanges its frames for the free buffers of a tray, and
//! the receiver exchanges its free buffers for the frames. Neither waits for the other: each owns one end of both rings. A full ring
//! refuses frames; the sender loses them, and counts.
//!
//! The cost of a frame is the cache lines that move from one core to the other, 25 to 200 ns each. So few lines move: in
//! each direction one for the frame and a quarter of a line for its place in the tray. A tray moves when it is full, or
//! when the sender has no more frames for now. The trays that returned last are used first. And lines are requested
//! before they are used: those of a tray's places when the tray before it leaves, or before frames of another port are received.

use crate::batch::Batch;
use crate::port::{Sink, Source, Wait};
use crate::tray::{TRAY, Tray};
use base_time::Time;
use dataplane_api::Port;
use rtrb::{Consumer, Producer, RingBuffer};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use target_native::{FrameBuffer, Packet, REQUESTED};

/// One end of a cable inside the process.
pub struct Cable {
    /// To the other end.
    pub sink: RingSink,
    /// From the other end.
    pub source: RingSource,
}

/// The end of a ring that sends.
pub struct RingSink {
    full: Producer<Tray>,
    back: Consumer<Tray>,
    /// Empty trays, the one used last on top: it is the nearest to the processor.
    spare: Vec<Tray>,
    /// The tray that is being filled. It is not full.
    open: Tray,
    /// Frames in trays that have not returned, and in the open one.
    waiting: usize,
    /// Maximum of `waiting`.
    length: usize,
    /// Buffers of all trays.
    buffers: usize,
    bell: Arc<Bell>,
}

/// The end of a ring that receives.
pub struct RingSource {
    full: Consumer<Tray>,
    back: Producer<Tray>,
    /// The tray whose frames are being taken, and how many have been.
    tray: Option<(Tray, usize)>,
    bell: Arc<Bell>,
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
    // Each waiting tray has a frame.
    let ((full, came), (empty, back)) = (RingBuffer::new(length), RingBuffer::new(length));
    let bell = Arc::<Bell>::default();
    let (spare, bell_of_sink) = (vec![], Arc::clone(&bell));
    let sink = RingSink {
        full,
        back,
        spare,
        open: Tray::default(),
        waiting: 0,
        length,
        buffers: 0,
        bell: bell_of_sink,
    };
    (sink, RingSource { full: came, back: empty, tray: None, bell })
}

impl Cable {
    /// Sends a frame. Returns false if there is no room or no other end: then the frame is lost.
    pub fn send(&mut self, frame: &[u8]) -> bool {
        self.sink.put(frame)
    }

    /// A frame that has come; `None` if there is none.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        self.source.take()
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
        self.ring_after_fence();
    }

    /// To be called after a change of the ring and a fence.
    fn ring_after_fence(&self) {
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

impl RingSink {
    /// Takes returned trays back.
    fn take_back(&mut self) {
        while let Ok(mut tray) = self.back.pop() {
            self.waiting -= tray.sent;
            tray.clear();
            // Trays keep the buffers of their fullest time: not all of them at once.
            if self.buffers > 4 * (self.length + TRAY) {
                self.buffers -= tray.places.len();
                tray.places.clear();
            }
            self.spare.push(tray);
        }
    }

    /// Number of frames that the ring takes now. Trays are taken back if there is no room for `wanted` otherwise.
    fn room(&mut self, wanted: usize) -> usize {
        if self.waiting + wanted > self.length {
            self.take_back();
        }
        (self.length - self.waiting).min(wanted)
    }

    /// Adds buffers to the open tray, so that it takes `count` frames more or is full: those of the trays that have not been used for the longest time,
    /// then new ones.
    fn fit(&mut self, count: usize) {
        let places = &mut self.open.places;
        let wanted = (self.open.short + count).min(TRAY);
        for unused in &mut self.spare {
            let Some(lacks @ 1..) = wanted.checked_sub(places.len()) else { return };
            let first = unused.places.len().saturating_sub(lacks);
            places.extend(unused.places.drain(first..));
        }
        if let Some(more) = wanted.checked_sub(places.len()) {
            self.buffers += more;
            places.resize_with(wanted, FrameBuffer::default);
        }
    }

    fn put(&mut self, frame: &[u8]) -> bool {
        if self.full.is_abandoned() || self.room(1) == 0 {
            return false;
        }
        self.fit(1);
        self.open.put(frame);
        self.waiting += 1;
        self.wake();
        true
    }
}

impl Sink for RingSink {
    fn send(&mut self, packets: &mut [Packet], which: &[usize], _: Time) -> usize {
        if self.full.is_abandoned() {
            return 0;
        }
        let count = self.room(which.len());
        let mut left = &which[..count];
        while !left.is_empty() {
            self.fit(left.len());
            left = &left[self.open.fill(packets, left)..];
            if self.open.is_full() {
                self.pass();
            }
        }
        self.waiting += count;
        count
    }

    /// Passes the open tray to the other end, if it has frames.
    fn pass(&mut self) {
        if self.open.sent == 0 {
            return;
        }
        if self.spare.is_empty() {
            self.take_back();
        }
        let next = self.spare.pop().unwrap_or_default();
        // The other core has written the places: they come over before they are filled.
        next.request(TRAY);
        // There is room, because each waiting tray has a frame.
        let _ = self.full.push(std::mem::replace(&mut self.open, next));
    }

    fn ring(&mut self) {
        self.bell.ring_after_fence();
    }

    fn send_frame(&mut self, frame: &[u8], _: Time) -> bool {
        self.put(frame)
    }
}

impl RingSource {
    /// The tray whose frames are next, if there is one.
    fn next(&mut self) -> Option<&mut (Tray, usize)> {
        if self.tray.is_none() {
            let tray = self.full.pop().ok()?;
            tray.request(tray.short);
            self.tray = Some((tray, 0));
        }
        self.tray.as_mut()
    }

    /// Returns the tray to the other end.
    fn give_back(&mut self) {
        if let Some((tray, _)) = self.tray.take() {
            // There is room, because no more trays exist. An end that is gone needs none.
            let _ = self.back.push(tray);
        }
    }

    /// Takes one frame.
    fn take(&mut self) -> Option<Vec<u8>> {
        let (tray, taken) = self.next()?;
        let sent = tray.sent;
        let frame = match tray.places[..tray.short].get(*taken) {
            Some(place) => place.frame().to_vec(),
            None => tray.long.take().unwrap_or_default(),
        };
        *taken += 1;
        if *taken == sent {
            self.give_back();
        }
        Some(frame)
    }
}

impl Source for RingSource {
    fn request(&mut self) {
        self.next();
    }

    fn receive(&mut self, port: Port, batch: &mut Batch) -> io::Result<()> {
        while !batch.room().is_empty()
            && let Some((tray, taken)) = self.next()
        {
            // The sender's core wrote the frames: they come over together.
            let frames = &mut tray.places[*taken..tray.short];
            // A lane's worker requests the frames of the others.
            let requested = REQUESTED.saturating_sub(batch.came());
            let mut came = 0;
            for (packet, place) in batch.room().iter_mut().zip(frames) {
                packet.take(place);
                if came < requested {
                    packet.prefetch();
                }
                packet.come_in(port);
                came += 1;
            }
            batch.filled(came);
            *taken += came;
            if *taken < tray.short {
                break;
            }
            if let Some(frame) = tray.long.take() {
                batch.push(port, &frame);
            }
            self.give_back();
        }
        Ok(())
    }

    fn wait(&mut self, waker: &Arc<mio::Waker>) -> Wait {
        self.bell.wait(waker);
        if self.tray.is_some() || !self.full.is_empty() {
            self.bell.ring();
        }
        Wait::Woken
    }

    fn keeps(&self) -> bool {
        true
    }

    fn is_up(&self) -> bool {
        !self.full.is_abandoned() && !self.bell.is_down.load(Ordering::Relaxed)
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
            one.sink.wake();
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
    fn long_frames_keep_their_place() {
        let (mut one, mut other) = cable(4);
        for length in [60, 3000, 61, 4000] {
            assert!(one.sink.send_frame(&vec![7; length], Time::ZERO));
        }
        assert!(!one.send(&[7; 62]));
        let mut batch = Batch::default();
        for (short, long) in [(60, 3000), (61, 4000)] {
            batch.clear();
            other.source.receive(3, &mut batch).unwrap();
            let came = batch.came();
            let lengths: Vec<usize> = batch.packets()[..came].iter().map(|p| p.frame().len()).collect();
            assert_eq!((lengths, batch.take_long().map(|frame| frame.len())), (vec![short], Some(long)));
        }
        assert_eq!([(); 4].map(|()| one.send(&[8; 3000])), [true; 4]);
        assert_eq!([(); 4].map(|()| other.receive().map(|frame| frame.len())), [Some(3000); 4]);
        assert_eq!(other.receive(), None);
    }

    #[test]
    fn trays_keep_a_bounded_number_of_buffers() {
        let (mut one, mut other) = cable(4 * TRAY);
        let which: Vec<usize> = (0..TRAY).collect();
        let mut packets = vec![Packet::default(); TRAY];
        for singles in 0..190 {
            (0..singles).for_each(|_| assert!(one.send(&[1; 60])));
            assert_eq!(one.sink.send(&mut packets, &which, Time::ZERO), TRAY);
            one.sink.wake();
            assert_eq!(std::iter::from_fn(|| other.receive()).count(), singles + TRAY);
            one.sink.take_back();
            let trays = one.sink.spare.iter().chain([&one.sink.open]);
            let buffers: usize = trays.map(|tray| tray.places.len()).sum();
            assert_eq!(one.sink.buffers, buffers);
            assert!(buffers <= 4 * (4 * TRAY + TRAY) + TRAY, "{buffers}");
        }
        assert_eq!(one.sink.waiting, 0);
    }

    #[test]
    fn buffers_of_unused_trays_are_used_before_new_ones_are_made() {
        let (mut one, mut other) = cable(TRAY);
        let which: Vec<usize> = (0..TRAY).collect();
        let mut packets = vec![Packet::default(); TRAY];
        // Many trays with one frame each, then one with as many frames.
        (0..TRAY).for_each(|_| assert!(one.send(&[1; 60])));
        assert_eq!(std::iter::from_fn(|| other.receive()).count(), TRAY);
        packets.iter_mut().zip(0..=255).for_each(|(packet, at)| assert!(packet.receive(9, &[at; 60])));
        for count in [TRAY, 100, TRAY] {
            let buffers = one.sink.buffers;
            assert_eq!(one.sink.send(&mut packets, &which[..count], Time::ZERO), count);
            one.sink.wake();
            let frames: Vec<Vec<u8>> = std::iter::from_fn(|| other.receive()).collect();
            assert_eq!(frames.len(), count);
            assert!(one.sink.buffers <= buffers + 1, "{buffers}, then {}", one.sink.buffers);
            packets.iter_mut().zip(0..=255).for_each(|(packet, at)| assert!(packet.receive(9, &[at; 60])));
        }
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
