//! A packet as compiled code takes it.

use dataplane_api::{Output, Replica};

/// Bytes of a packet's buffer.
pub(crate) const BUFFER: usize = 2048;

/// Bytes of a packet. The buffer begins with a cache line: few lines are transferred between cores that exchange packets.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
pub(crate) struct Buffer(pub(crate) [u8; BUFFER]);

/// Bytes of a cache line.
const LINE: usize = 64;

/// Bytes in front of a received packet: room for headers that are added.
pub const HEADROOM: usize = 256;

/// Bytes that stay free after a packet, since loads may be wider than fields.
const TAIL: usize = 32;

/// The longest frame that a [`Packet`] holds; longer ones are for [`Switch::process`](device::Switch::process).
pub const MOST_BYTES: usize = BUFFER - HEADROOM - TAIL;

pub(crate) const DROPPED: u32 = 0;
pub(crate) const SENT: u32 = 1;
pub(crate) const ELSEWHERE: u32 = 2;
/// The packet is at the end of ingress, and in the stack frame.
pub(crate) const WAITS: u32 = 3;

/// A packet in its own buffer.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Packet {
    pub(crate) buffer: Box<Buffer>,
    pub(crate) start: u32,
    pub(crate) length: u32,
    pub(crate) in_port: u32,
    pub(crate) out_port: u32,
    pub(crate) fate: u32,
    /// Priority of a waiting packet.
    pub(crate) priority: u32,
}

/// A frame in its buffer, without the other properties of a packet: four of them are in a cache line.
#[derive(Clone, Debug)]
pub struct FrameBuffer {
    buffer: Box<Buffer>,
    start: u32,
    length: u32,
}

/// Fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet was dropped.
    Dropped,
    /// The packet is sent on this port; its bytes are [`Packet::frame`].
    Sent(u32),
    /// The packets made of it are among the outputs of the batch: it was copied, or became too long for its buffer.
    Elsewhere,
}

impl Default for Packet {
    fn default() -> Packet {
        Packet {
            buffer: Box::new(Buffer([0; BUFFER])),
            start: HEADROOM as u32,
            length: 0,
            in_port: 0,
            out_port: 0,
            fate: DROPPED,
            priority: 0,
        }
    }
}

impl Default for FrameBuffer {
    fn default() -> FrameBuffer {
        FrameBuffer { buffer: Box::new(Buffer([0; BUFFER])), start: HEADROOM as u32, length: 0 }
    }
}

impl FrameBuffer {
    /// The frame.
    pub fn frame(&self) -> &[u8] {
        frame(&self.buffer, self.start, self.length)
    }

    /// Stores a frame; false, without an effect, if the frame is longer than [`MOST_BYTES`].
    pub fn store(&mut self, frame: &[u8]) -> bool {
        if frame.len() > MOST_BYTES {
            return false;
        }
        copy(&mut self.buffer.0[HEADROOM..HEADROOM + frame.len()], frame);
        (self.start, self.length) = (HEADROOM as u32, frame.len() as u32);
        true
    }
}

impl Packet {
    /// A frame received on a port; `None` if it is longer than [`MOST_BYTES`].
    pub fn new(port: u32, frame: &[u8]) -> Option<Packet> {
        let mut packet = Packet::default();
        packet.receive(port, frame).then_some(packet)
    }

    /// Stores a frame received on a port; false, without an effect, if the frame is longer than [`MOST_BYTES`].
    pub fn receive(&mut self, port: u32, frame: &[u8]) -> bool {
        if frame.len() > MOST_BYTES {
            return false;
        }
        copy(&mut self.buffer.0[HEADROOM..HEADROOM + frame.len()], frame);
        (self.start, self.length) = (HEADROOM as u32, frame.len() as u32);
        self.in_port = port;
        self.fate = DROPPED;
        true
    }

    /// Buffer for an arriving frame, [`MOST_BYTES`] long; call [`arrive`](Packet::arrive) afterwards.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.buffer.0[HEADROOM..HEADROOM + MOST_BYTES]
    }

    /// Declares the first `length` bytes of the [`room`](Packet::room), [`MOST_BYTES`] at most, a frame received on a port.
    #[inline]
    pub fn arrive(&mut self, port: u32, length: usize) {
        (self.start, self.length) = (HEADROOM as u32, length.min(MOST_BYTES) as u32);
        (self.in_port, self.fate) = (port, DROPPED);
    }

    /// Turns a sent frame into a received one. The frame must be no longer than [`MOST_BYTES`].
    #[inline]
    pub fn come_in(&mut self, port: u32) {
        let (start, length) = (self.start as usize, (self.length as usize).min(MOST_BYTES));
        if start != HEADROOM {
            self.buffer.0.copy_within(start..start + length, HEADROOM);
        }
        self.arrive(port, length);
    }

    /// Gives the frame away with its buffer, for a buffer without a frame.
    #[inline]
    pub fn give(&mut self, other: &mut FrameBuffer) {
        std::mem::swap(&mut self.buffer, &mut other.buffer);
        (other.start, other.length) = (self.start, self.length);
        self.length = 0;
    }

    /// Takes a frame with its buffer, for this packet's buffer, whose bytes are no frame.
    #[inline]
    pub fn take(&mut self, other: &mut FrameBuffer) {
        std::mem::swap(&mut self.buffer, &mut other.buffer);
        (self.start, self.length) = (other.start, other.length);
    }

    /// Prefetches the frame's headers for writing, two cache lines at most; another core may have written them last.
    #[inline]
    pub fn prefetch(&self) {
        let lines = self.frame().chunks(LINE).take(2);
        lines.filter_map(|line| line.first()).for_each(dataplane_tables::prefetch_to_write);
    }

    /// Ingress port.
    #[inline]
    pub fn in_port(&self) -> u32 {
        self.in_port
    }

    /// Like [`receive`](Packet::receive), with `room` free bytes in front; false, and without an effect, if they do not fit.
    pub(crate) fn receive_behind(&mut self, room: usize, frame: &[u8]) -> bool {
        let first = room.max(HEADROOM);
        if first + frame.len() + TAIL > BUFFER {
            return false;
        }
        self.buffer.0[first..first + frame.len()].copy_from_slice(frame);
        (self.start, self.length, self.fate) = (first as u32, frame.len() as u32, DROPPED);
        true
    }

    /// The frame.
    #[inline]
    pub fn frame(&self) -> &[u8] {
        frame(&self.buffer, self.start, self.length)
    }

    /// Length of the frame.
    #[inline]
    pub fn length(&self) -> usize {
        self.length as usize
    }

    /// Fate in the last batch.
    #[inline]
    pub fn fate(&self) -> Fate {
        match self.fate {
            SENT => Fate::Sent(self.out_port),
            ELSEWHERE => Fate::Elsewhere,
            _ => Fate::Dropped,
        }
    }

    /// The output: the frame, in this memory, or one that was too long for the buffer.
    #[inline(always)]
    pub(crate) fn output(&self, mut memory: Vec<u8>, longer: &mut Vec<Output>) -> Option<Output> {
        let Fate::Sent(port) = self.fate() else { return longer.pop() };
        memory.clear();
        memory.extend_from_slice(self.frame());
        Some(Output { port, frame: memory })
    }

    /// Makes room for `room` free bytes in front of the packet; false, without an effect, if there is no room.
    pub(crate) fn make_room(&mut self, room: usize) -> bool {
        let (first, length) = (self.start as usize, self.length as usize);
        if first < room {
            if room + length + TAIL > BUFFER {
                return false;
            }
            self.buffer.0.copy_within(first..first + length, room);
            self.start = room as u32;
        }
        true
    }

    /// Marks the packet as sent on a port.
    pub(crate) fn send(&mut self, port: u32) {
        (self.fate, self.out_port) = (SENT, port);
    }

    /// Marks the packet as dropped.
    pub(crate) fn drop(&mut self) {
        self.fate = DROPPED;
    }

    /// Marks the packet's outputs as being elsewhere.
    pub(crate) fn leave(&mut self) {
        self.fate = ELSEWHERE;
    }

    /// Destination, if the packet waits for egress.
    pub(crate) fn waits(&self) -> Option<Replica> {
        let replica = Replica { port: self.out_port, priority: self.priority as u8 };
        (self.fate == WAITS).then_some(replica)
    }

    /// Replaces the bytes by `frame`; false if it does not fit.
    pub(crate) fn replace(&mut self, frame: &[u8]) -> bool {
        let port = self.in_port;
        self.receive(port, frame)
    }
}

/// Bytes of a frame in its buffer.
#[inline]
fn frame(buffer: &Buffer, start: u32, length: u32) -> &[u8] {
    let first = (start as usize).min(BUFFER);
    let end = (first + length as usize).min(BUFFER);
    &buffer.0[first..end]
}

/// Copies bytes to as many; few of them as two pieces of fixed size that may overlap, for a call costs more than these.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8]) {
    fn pieces<const N: usize>(to: &mut [u8], from: &[u8]) {
        if let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>())
            && let Some(start) = to.first_chunk_mut::<N>()
        {
            *start = *first;
            to.last_chunk_mut::<N>().into_iter().for_each(|end| *end = *last);
        }
    }
    match from.len() {
        32..64 => pieces::<32>(to, from),
        64..128 => pieces::<64>(to, from),
        _ => to.copy_from_slice(from),
    }
}
