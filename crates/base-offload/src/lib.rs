//! Work of network cards on frames, in software.
//!
//! A local sender leaves work to the card: it writes the sum of the pseudo-header instead of a checksum, hands over
//! segments larger than the MTU, and keeps the VLAN tag beside the frame. A program must see the frames as they would
//! be on the wire.
//!
//! | | |
//! |---|---|
//! | [`complete`] | a partial checksum becomes a checksum |
//! | [`Segments`] | a large segment becomes frames of at most the MTU (TSO, USO) |
//! | [`Joined`] | frames of one stream become a large segment again (GRO): fewer calls and fewer packets for the receiver |
//! | [`tag`] | a VLAN tag is put back |
//! | [`partial`] | finds a partial checksum in a frame without metadata |

mod checksum;
mod headers;
mod join;
mod segment;

pub use checksum::{complete, partial, tag};
pub use join::Joined;
pub use segment::Segments;

/// Work that is left to the card. Offsets count from the first byte of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Offload {
    /// The checksum is partial.
    pub checksum: Option<Partial>,
    /// The frame has to be cut.
    pub large: Option<Large>,
}

/// A checksum that is still the sum of the pseudo-header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partial {
    /// First byte that it covers; it covers all to the end of the frame.
    pub start: usize,
    /// Offset of the checksum, counted from `start`.
    pub offset: usize,
}

/// A frame for several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Large {
    /// The protocol of the segments.
    pub protocol: Protocol,
    /// Payload bytes of each segment but the last.
    pub size: usize,
}

/// Protocols whose segments are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Protocol {
    Tcp,
    Udp,
}
