//! Traffic over many flows: popularity by Zipf's law, sizes of packets from three mixes.

use crate::frames::{Flow, L4, TCP, UDP, packet};
use base_time::{Rng, Zipf};

/// The exponents of the paper's traces, in thousandths.
pub const SKEWS: [u32; 3] = [900, 950, 990];

/// Lengths of frames without their check sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// One length.
    Fixed(u16),
    /// Stand-in for a backbone link: most frames are as short or as long as can be.
    Backbone,
    /// Stand-in for a data centre: short frames, and frames of about 1,400 bytes.
    DataCentre,
}

/// Lengths with their weights: the two modes of published measurements (backbone links: below 100 and above 1,400 bytes; IMC 2010, data centres: around 200 and 1,400).
const BACKBONE: [(u16, u64); 4] = [(60, 40), (200, 10), (576, 10), (1514, 40)];
const DATA_CENTRE: [(u16, u64); 4] = [(60, 15), (200, 35), (800, 10), (1400, 40)];

impl Sizes {
    /// The length of the next frame.
    pub fn draw(self, rng: &mut Rng) -> u16 {
        let mix = match self {
            Sizes::Fixed(bytes) => return bytes,
            Sizes::Backbone => BACKBONE,
            Sizes::DataCentre => DATA_CENTRE,
        };
        let mut at = rng.below(mix.iter().map(|(_, weight)| weight).sum());
        for (bytes, weight) in mix {
            match at.checked_sub(weight) {
                Some(rest) => at = rest,
                None => return bytes,
            }
        }
        60
    }
}

/// A stand-in for a trace of ExoPlane's: 80 % of its packets are of as large a part of its flows as the paper states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trace {
    /// Number of flows.
    pub flows: u32,
    /// Exponent of Zipf's law, in thousandths.
    pub skew: u32,
    /// Lengths of frames.
    pub sizes: Sizes,
}

/// An Internet backbone: 6 % of more than six million 5-tuples.
pub const BACKBONE_TRACE: Trace = Trace { flows: 6_000_000, skew: 978, sizes: Sizes::Backbone };
/// The university data centre of IMC 2010: 10 % of the 5-tuples, which are 516 (section 4.1).
pub const DATA_CENTRE_TRACE: Trace = Trace { flows: 5160, skew: 1064, sizes: Sizes::DataCentre };

/// Random flows, the most popular one first.
pub struct Traffic {
    flows: Vec<Flow>,
    zipf: Zipf,
    sizes: Sizes,
    rng: Rng,
}

impl Traffic {
    /// Random 5-tuples, all different. `skew` is the exponent in thousandths.
    pub fn new(flows: u32, skew: u32, sizes: Sizes, seed: u64) -> Traffic {
        let rng = Rng::new(seed).split("traffic");
        // A permutation of numbers is different for different ranks.
        let drawn = (0..flows).map(|rank| {
            let mut of = rng.split_index(rank.into());
            let src = (0x0b00_0000 + rank, of.next_u64() as u16);
            let dst = (0xc000_0000 | of.next_u64() as u32 & 0x0fff_ffff, of.next_u64() as u16);
            Flow { protocol: [TCP, UDP][of.index(2)], src, dst }
        });
        Traffic { flows: drawn.collect(), zipf: Zipf::new(flows, skew), sizes, rng }
    }

    /// The flows, the most popular one first.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The next packet: the rank of its flow, and the frame.
    pub fn draw(&mut self) -> (usize, Vec<u8>) {
        let rank = self.zipf.draw(&mut self.rng);
        let flow = self.flows[rank];
        let header = L4 + if flow.protocol == TCP { 20 } else { 8 };
        let payload = usize::from(self.sizes.draw(&mut self.rng)).saturating_sub(header);
        (rank, packet(flow, &vec![0; payload]))
    }
}
