//! The load's packets, batch by batch.

use bench_load::Load;
use target_native::Packet;

/// Packets in a batch.
pub(super) const BATCH: usize = 64;

/// Batches between two looks at the clock.
pub(super) const BATCHES: usize = 32;

/// Frames one after the other, as the peers have them, and buffers for a batch.
pub(super) struct Feed {
    bytes: Vec<u8>,
    /// The port, and where the frame ends.
    ends: Vec<(u32, usize)>,
    packets: Vec<Packet>,
    next: usize,
}

impl Feed {
    /// The packets that `takes` takes; all of them if it takes none.
    pub(super) fn new(load: &Load, takes: impl Fn(&[u8]) -> bool) -> Feed {
        let any = load.packets.iter().any(|packet| takes(&packet.bytes));
        Feed::with(load, BATCH, |frame| !any || takes(frame))
    }

    /// All packets, with buffers for `most` at a time.
    pub(super) fn of(load: &Load, most: usize) -> Feed {
        Feed::with(load, most, |_| true)
    }

    fn with(load: &Load, most: usize, takes: impl Fn(&[u8]) -> bool) -> Feed {
        let packets = vec![Packet::default(); most];
        let mut feed = Feed { bytes: vec![], ends: vec![], packets, next: 0 };
        for packet in load.packets.iter().filter(|packet| takes(&packet.bytes)) {
            feed.bytes.extend(&packet.bytes);
            feed.ends.push((packet.port.into(), feed.bytes.len()));
        }
        feed
    }

    fn get(&self, at: usize) -> (u32, &[u8]) {
        let (port, end) = self.ends[at];
        let start = if at == 0 { 0 } else { self.ends[at - 1].1 };
        (port, &self.bytes[start..end])
    }

    /// Begins with the first packet again.
    pub(super) fn rewind(&mut self) {
        self.next = 0;
    }

    /// The next packets in their buffers, as many as there are buffers at most.
    pub(super) fn receive(&mut self, count: usize) -> &mut [Packet] {
        let mut packets = std::mem::take(&mut self.packets);
        for packet in &mut packets[..count] {
            let (port, frame) = self.get(self.next);
            packet.receive(port, frame);
            self.next = if self.next + 1 == self.ends.len() { 0 } else { self.next + 1 };
        }
        self.packets = packets;
        &mut self.packets[..count]
    }
}
