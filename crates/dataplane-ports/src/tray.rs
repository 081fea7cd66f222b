//! Trays: frames that pass a cable together, and the buffers that come back for them.

use dataplane_tables::prefetch_to_write;
use target_native::{MOST_BYTES, Packet};

/// Frames of a tray.
pub(crate) const TRAY: usize = 64;

/// Places of a tray in a cache line.
const IN_A_LINE: usize = 2;

/// Frames that pass together. The buffers come back with the tray.
#[derive(Default)]
pub(crate) struct Tray {
    /// Buffers; the first `short` of them have a frame until it is taken.
    pub(crate) packets: Vec<Packet>,
    pub(crate) short: usize,
    /// A frame that is too long for a buffer, after the others.
    pub(crate) long: Option<Vec<u8>>,
    /// Number of frames.
    pub(crate) sent: usize,
}

impl Tray {
    /// Puts frames into the tray, and free buffers in their places; gives how many.
    pub(crate) fn fill(&mut self, packets: &mut [Packet], which: &[usize]) -> usize {
        self.short = 0;
        for (place, at) in self.packets.iter_mut().zip(which) {
            let packet = &mut packets[*at];
            if packet.frame().len() > MOST_BYTES {
                self.long = Some(packet.frame().to_vec());
                break;
            }
            std::mem::swap(place, packet);
            self.short += 1;
        }
        self.sent = self.short + usize::from(self.long.is_some());
        self.sent
    }

    /// Requests the cache lines of the first places.
    pub(crate) fn request(&self, places: usize) {
        self.packets.iter().take(places).step_by(IN_A_LINE).for_each(prefetch_to_write);
    }
}
