//! Trays: frames that pass a cable together, and the buffers that come back for them.

use dataplane_tables::prefetch_to_write;
use target_native::{FrameBuffer, MOST_BYTES, Packet};

/// Frames of a tray.
pub(crate) const TRAY: usize = 256;

/// Places of a tray in a cache line.
const IN_A_LINE: usize = 4;

/// Frames that pass together. The buffers come back with the tray.
#[derive(Default)]
pub(crate) struct Tray {
    /// Buffers, [`TRAY`] at most; the first `short` of them have a frame until it is taken.
    pub(crate) places: Vec<FrameBuffer>,
    pub(crate) short: usize,
    /// A frame that is too long for a buffer, after the others.
    pub(crate) long: Option<Vec<u8>>,
    /// Number of frames. It stays when they are taken.
    pub(crate) sent: usize,
}

impl Tray {
    /// The tray is empty again.
    pub(crate) fn clear(&mut self) {
        (self.short, self.sent) = (0, 0);
    }

    /// True if nothing can be added.
    pub(crate) fn is_full(&self) -> bool {
        self.long.is_some() || self.short == TRAY
    }

    /// Adds frames, as many as there are free places for, and puts free buffers into their packets. Returns their number.
    pub(crate) fn fill(&mut self, packets: &mut [Packet], which: &[usize]) -> usize {
        let before = self.sent;
        for (place, at) in self.places[self.short..].iter_mut().zip(which) {
            let packet = &mut packets[*at];
            if packet.length() > MOST_BYTES {
                self.long = Some(packet.frame().to_vec());
                break;
            }
            packet.give(place);
            self.short += 1;
        }
        self.sent = self.short + usize::from(self.long.is_some());
        self.sent - before
    }

    /// Adds a frame, which is copied. There must be a free place.
    pub(crate) fn put(&mut self, frame: &[u8]) {
        if self.places[self.short].store(frame) {
            self.short += 1;
        } else {
            self.long = Some(frame.to_vec());
        }
        self.sent += 1;
    }

    /// Requests the cache lines of the first places.
    pub(crate) fn request(&self, count: usize) {
        self.places.iter().take(count).step_by(IN_A_LINE).for_each(prefetch_to_write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_follows_a_long_frame() {
        let mut tray = Tray::default();
        tray.places.resize_with(TRAY, FrameBuffer::default);
        tray.put(&[1; 60]);
        assert!(!tray.is_full());
        tray.put(&[2; MOST_BYTES + 1]);
        assert_eq!((tray.is_full(), tray.short, tray.sent), (true, 1, 2));
        (tray.long, tray.short, tray.sent) = (None, 0, 0);
        (0..TRAY).for_each(|_| tray.put(&[3; 60]));
        assert!(tray.is_full());
    }
}
