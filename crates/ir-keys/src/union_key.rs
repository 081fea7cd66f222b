//! The union key as a generated program and a controller use it: parts of a packet in a fixed order, with widths.
//!
//! ```text
//! parts   hdr.ipv4.dst 32, hdr.ipv4.src 32, hdr.tcp.dport 16, hdr.tcp.sport 16
//! shard   parts 0 1 2 3, of which 0 and 1, 2 and 3 are the two ends of a connection
//! ```
//!
//! A part of a header that the packet does not have counts as zero.

use ir::Name;

/// Parts of a packet that name its flow.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UnionKey {
    /// In the order of their names; each once.
    pub parts: Vec<Part>,
    /// How flows are divided among devices.
    pub shard: ShardKey,
}

/// One part of a packet, as the parser leaves it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// As ingress writes it: `hdr.ipv4.src`, `hdr.mpls[0].label`, `standard_metadata.ingress_port`.
    pub name: Name,
    /// The header field, metadata field or port.
    pub source: Source,
    /// Width in bits.
    pub width: u32,
}

/// The place of a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// The port by which the packet came in.
    Port,
    /// The field at the end of these steps from the headers.
    Field(Vec<Step>),
}

/// From a value to a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The field of this number.
    Field(u32),
    /// The element of this number of a stack.
    Element(u32),
}

/// The parts of a union key by which flows are divided among devices.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShardKey {
    /// Numbers of parts, in the order in which they are hashed. None: flows cannot be divided.
    pub parts: Vec<usize>,
    /// Places in `parts` of values that change roles in packets of the other direction. Where the first values of the
    /// pairs, in order, are larger than the second ones, each pair is exchanged before the key is hashed.
    pub pairs: Vec<(usize, usize)>,
}

impl ShardKey {
    /// Values of a union key that are hashed. Both directions of a connection have the same ones.
    pub fn values<T: Clone + Ord + Default>(&self, key: &[T]) -> Vec<T> {
        let mut values: Vec<T> =
            self.parts.iter().map(|part| key.get(*part).cloned().unwrap_or_default()).collect();
        let of = |values: &[T], at: usize| values.get(at).cloned().unwrap_or_default();
        let firsts: Vec<T> = self.pairs.iter().map(|pair| of(&values, pair.0)).collect();
        let seconds: Vec<T> = self.pairs.iter().map(|pair| of(&values, pair.1)).collect();
        if firsts > seconds {
            for &(a, b) in &self.pairs {
                if a < values.len() && b < values.len() {
                    values.swap(a, b);
                }
            }
        }
        values
    }
}
