//! A batch of frames in reused buffers.

use dataplane_api::Port;
use target_native::{MOST_BYTES, Packet};

/// Default number of packets in a batch.
pub const BATCH: usize = 64;

/// Received frames, in order. A frame that is too long for a [`Packet`] ends the batch.
pub struct Batch {
    /// Buffers for received frames, then copies.
    packets: Vec<Packet>,
    most: usize,
    came: usize,
    extra: usize,
    long: Option<Vec<u8>>,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch::of(BATCH)
    }
}

impl Batch {
    /// A batch of at most `most` frames.
    pub fn of(most: usize) -> Batch {
        Batch { packets: vec![Packet::default(); most], most, came: 0, extra: 0, long: None }
    }

    /// An empty batch takes at most `most` frames from now on; never more than it was made for.
    pub(crate) fn limit(&mut self, most: usize) {
        self.most = most.min(self.packets.len());
    }

    /// Forgets all frames.
    pub fn clear(&mut self) {
        (self.came, self.extra, self.long) = (0, 0, None);
    }

    /// The buffers that are free; none after a long frame.
    pub fn room(&mut self) -> &mut [Packet] {
        let first = if self.long.is_some() { self.most } else { self.came };
        &mut self.packets[first..self.most]
    }

    /// The first `count` buffers of the [`room`](Batch::room) have been filled.
    pub fn filled(&mut self, count: usize) {
        self.came = (self.came + count).min(self.most);
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

    /// The packets: received ones, then copies.
    pub fn packets(&mut self) -> &mut [Packet] {
        &mut self.packets
    }

    /// Most frames that it takes.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Number of received packets, without a long frame.
    pub fn came(&self) -> usize {
        self.came
    }

    /// Takes the long frame at the end of the batch, if there is one.
    pub fn take_long(&mut self) -> Option<Vec<u8>> {
        self.long.take()
    }

    /// The long frame at the end of the batch, if there is one. It stays in the batch.
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

    /// Adds a frame that was made from others. Returns its position; `None` if it is too long.
    pub(crate) fn add(&mut self, frame: &[u8]) -> Option<usize> {
        let at = self.most + self.extra;
        if self.packets.len() == at {
            self.packets.push(Packet::default());
        }
        let fits = self.packets[at].receive(0, frame);
        self.extra += usize::from(fits);
        fits.then_some(at)
    }
}
