//! Parameters of a load.

use base_time::Rng;

/// Lengths of packets on the wire, with the four bytes of the check sequence. A packet is never
/// shorter than its headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// All alike, from 64 to 1518.
    Fixed(u16),
    /// The simple Internet mix: 64, 594 and 1518 bytes at 7 : 4 : 1.
    Imix,
}

impl Size {
    /// Bytes in memory of the next packet.
    pub(crate) fn draw(self, rng: &mut Rng) -> usize {
        let wire = match self {
            Size::Fixed(bytes) => bytes.clamp(64, 1518),
            Size::Imix => match rng.below(12) {
                0..7 => 64,
                7..11 => 594,
                _ => 1518,
            },
        };
        usize::from(wire) - 4
    }
}

/// Parameters of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Decides everything that is drawn.
    pub seed: u64,
    /// Number of packets.
    pub packets: usize,
    /// Number of flows.
    pub flows: u32,
    /// The exponent of the flows' popularity in thousandths: 0 all alike, 990 steep.
    pub skew: u32,
    /// Lengths of packets.
    pub size: Size,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { seed: 1, packets: 65_536, flows: 65_536, skew: 0, size: Size::Fixed(64) }
    }
}
