//! A batch of frames in buffers that are used again.

use dataplane_api::Port;
use target_native::{MOST_BYTES, Packet};

/// Packets of a batch.
pub const BATCH: usize = 64;

/// Frames that have come, in order. A frame that is too long for a [`Packet`] ends the batch.
pub struct Batch {
    /// As many as [`BATCH`], then those of copies.
    packets: Vec<Packet>,
    came: usize,
    extra: usize,
    long: Option<Vec<u8>>,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch { packets: vec![Packet::default(); BATCH], came: 0, extra: 0, long: None }
    }
}

impl Batch {
    /// Forgets all frames.
    pub fn clear(&mut self) {
        (self.came, self.extra, self.long) = (0, 0, None);
    }

    /// The buffers that are free; none after a long frame.
    pub fn room(&mut self) -> &mut [Packet] {
        let first = if self.long.is_some() { BATCH } else { self.came };
        &mut self.packets[first..BATCH]
    }

    /// The first `count` buffers of the [`room`](Batch::room) have been filled.
    pub fn filled(&mut self, count: usize) {
        self.came = (self.came + count).min(BATCH);
    }

    /// Adds a frame, which is copied. To be called if there is room.
    pub fn push(&mut self, port: Port, frame: &[u8]) {
        match self.room().first_mut() {
            Some(packet) if frame.len() <= MOST_BYTES => {
                packet.receive(port, frame);
                self.filled(1);
            }
            _ => self.long = Some(frame.to_vec()),
        }
    }

    /// The packets, those of copies after those that came in.
    pub fn packets(&mut self) -> &mut [Packet] {
        &mut self.packets
    }

    /// How many have come in, without a long frame.
    pub fn came(&self) -> usize {
        self.came
    }

    /// The frame that was too long.
    pub fn take_long(&mut self) -> Option<Vec<u8>> {
        self.long.take()
    }

    /// The same, which stays.
    pub(crate) fn long(&self) -> Option<&[u8]> {
        self.long.as_deref()
    }

    /// True if a frame that was too long has ended the batch.
    pub(crate) fn has_long(&self) -> bool {
        self.long.is_some()
    }

    /// True if nothing has come.
    pub fn is_empty(&self) -> bool {
        self.came == 0 && self.long.is_none()
    }

    /// Adds a frame that came of others, and gives its position; `None` if it is too long.
    pub(crate) fn add(&mut self, frame: &[u8]) -> Option<usize> {
        let at = BATCH + self.extra;
        if self.packets.len() == at {
            self.packets.push(Packet::default());
        }
        let fits = self.packets[at].receive(0, frame);
        self.extra += usize::from(fits);
        fits.then_some(at)
    }
}
