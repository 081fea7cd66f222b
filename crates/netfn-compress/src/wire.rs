//! Frames on the link after the Ethernet addresses: EtherType [`ETHER_TYPE`], these 7 bytes, the fields marked as
//! present, in this order, and the bytes after the headers.
//!
//! ```p4
//! header compressed_t {
//!     bit<16> context;
//!     bit<8>  generation;      // of the context's reference
//!     bit<16> present;         // a bit for each of these fields, the lowest first:
//!     bit<16> check;           // crc16 of all headers as they were, from the EtherType on
//! }
//! //   0  tos                 of IPv4: 8 bits
//! //   1  class               of IPv6: version, traffic class, the first four bits of the flow label: 16 bits
//! //   2  ttl                 or hop limit: 8 bits
//! //   3  identification      16 bits
//! //   4  sequence            32 bits
//! //   5  acknowledgement     32 bits
//! //   6  flags               8 bits
//! //   7  window              16 bits
//! //   8  urgent              16 bits
//! //   9  timestamps          64 bits
//! //  10  checksum            of TCP or UDP: 16 bits
//! //  11  ip_length           16 bits, if bytes follow the IP packet
//! //  12  payload_length      16 bits, in frames that a link may pad: the bytes after the headers
//! //  13  reference           8 bits: length in bytes; the headers of the reference, from the EtherType on
//! //  14  as_it_was           nothing was compressed: payload_length, and the frame from its EtherType on
//! ```
//!
//! `as_it_was` is for frames that had [`ETHER_TYPE`] before.

use crate::block::{ADDRESSES, FIELDS};

/// As in Flightplan; nobody has registered it.
pub const ETHER_TYPE: u16 = 0x1234;
/// Bytes from EtherType to check.
pub const HEAD: usize = 9;

/// The bit of `ip_length`.
pub const IP_LENGTH: u16 = 1 << FIELDS;
/// The bit of `payload_length`.
pub const PAYLOAD_LENGTH: u16 = 2 << FIELDS;
/// The bit of `reference`.
pub const REFERENCE: u16 = 4 << FIELDS;
/// The bit of `as_it_was`.
pub const AS_IT_WAS: u16 = 8 << FIELDS;
/// All bits that mean something.
pub const KNOWN: u16 = (16 << FIELDS) - 1;
/// Frames up to this length contain the length of the bytes after the headers.
pub const SHORT: usize = 64;

/// The bytes in front of the fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// The context.
    pub context: u16,
    /// Generation of the reference.
    pub generation: u8,
    /// Fields that follow, as bits.
    pub present: u16,
    /// Checksum of the original headers.
    pub check: u16,
}

impl Head {
    /// As it is on the link, from the EtherType on.
    pub fn bytes(&self) -> [u8; HEAD] {
        let [e0, e1] = ETHER_TYPE.to_be_bytes();
        let [c0, c1] = self.context.to_be_bytes();
        let [p0, p1] = self.present.to_be_bytes();
        let [k0, k1] = self.check.to_be_bytes();
        [e0, e1, c0, c1, self.generation, p0, p1, k0, k1]
    }

    /// Reads it from after the EtherType.
    pub fn read(from: &mut Reader<'_>) -> Option<Head> {
        let (context, generation) = (from.u16()?, from.u8()?);
        Some(Head { context, generation, present: from.u16()?, check: from.u16()? })
    }

    /// Something is present.
    pub fn has(&self, bit: u16) -> bool {
        self.present & bit != 0
    }
}

/// True if a frame has [`ETHER_TYPE`].
pub fn is_compressed(frame: &[u8]) -> bool {
    frame.get(ADDRESSES..ADDRESSES + 2) == Some(&ETHER_TYPE.to_be_bytes())
}

/// Takes a frame apart from the front.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// Takes `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(count)?;
        self.rest = tail;
        Some(head)
    }

    /// One byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// Remaining bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}
