//! Frames of a batch that another core wrote, on their way to this one.
//!
//! ```text
//! packets   0 1 2 3 4 5 6 7 | 8 ...                   | 16 ... 23 |
//!           running, frames   requested before          requested before packet 0 runs
//!           looked at
//! ```
//!
//! A cache line of another core takes as long to arrive as the router needs for several packets. So the frame of a packet is requested
//! [`REQUESTED`] packets before it runs, and read for the first time when it has arrived: a program would wait for frames that
//! are read earlier.

use crate::context::REQUESTED;
use crate::packet::Packet;
use dataplane_api::Port;

/// Packets whose frames are requested at a time.
const GROUP: usize = 8;

/// Frames of a batch: which of them have arrived, and which are noted.
pub(crate) struct Arrivals {
    /// EtherType of the frames that are noted.
    noted: [u8; 2],
    /// Number of packets in the batch.
    count: usize,
    /// Packets that have been looked at.
    seen: usize,
    /// For each noted frame of the batch, the port by which it came.
    pub(crate) ports: Vec<Port>,
}

impl Arrivals {
    pub(crate) fn new(noted: [u8; 2]) -> Arrivals {
        Arrivals { noted, count: 0, seen: 0, ports: vec![] }
    }

    /// A batch of so many packets begins.
    pub(crate) fn begin(&mut self, count: usize) {
        (self.count, self.seen) = (count, 0);
        self.ports.clear();
    }

    /// Number of packets in the batch.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Position of the packet before which [`arrive`](Arrivals::arrive) is to be called; there is none at the end of the batch.
    pub(crate) fn next(&self) -> usize {
        self.seen
    }

    /// Looks at the frames of the next packets, and requests those of later ones. `packets` are all of the batch.
    pub(crate) fn arrive(&mut self, packets: &[Packet]) {
        let end = (self.seen + GROUP).min(packets.len());
        let later = packets.get(self.seen + REQUESTED..).unwrap_or_default();
        later.iter().take(GROUP).for_each(Packet::prefetch);
        for packet in &packets[self.seen.min(end)..end] {
            if packet.frame().get(12..14) == Some(&self.noted[..]) {
                self.ports.push(packet.in_port());
            }
        }
        self.seen = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_is_looked_at_once() {
        let mut arrivals = Arrivals::new([0x88, 0xb5]);
        for count in [0, 1, 7, 8, 9, 40] {
            let frame = |at: u8| [&[at; 12][..], &[0x88, 0xb5 - at % 2], &[0; 46]].concat();
            let packets: Vec<Packet> =
                (0..count).map(|at| Packet::new(at.into(), &frame(at)).expect("a short frame")).collect();
            arrivals.begin(packets.len());
            while arrivals.next() < packets.len() {
                arrivals.arrive(&packets);
            }
            arrivals.arrive(&packets);
            let even: Vec<Port> = (0..count).step_by(2).map(Port::from).collect();
            assert_eq!(arrivals.ports, even, "{count}");
        }
    }

    #[test]
    fn shorter_frames_are_not_noted() {
        let mut arrivals = Arrivals::new([0, 0]);
        let packets: Vec<Packet> =
            (0..20).filter_map(|length| Packet::new(length, &vec![0; length as usize])).collect();
        arrivals.begin(packets.len());
        (0..3).for_each(|_| arrivals.arrive(&packets));
        assert_eq!(arrivals.ports, [14, 15, 16, 17, 18, 19]);
    }
}
