//! The tag of a frame, after the Ethernet addresses: EtherType [`ETHER_TYPE`], then these 14 bytes, then the rest of the
//! frame (in parity frames: the coded bytes).
//!
//! ```p4
//! header fec_t {
//!     bit<4>  kind;           // 1 data, 2 parity, 3 delivered
//!     bit<4>  traffic_class;
//!     bit<8>  index;          // in the block: the data frame, or the parity row
//!     bit<8>  count;          // data frames of the block: k in data frames, how many there are in parity frames
//!     bit<8>  before;         // data frames of the block before this one; 0 if there was none
//!     bit<16> channel;        // the port of the call
//!     bit<16> length;         // of the frame without its tag (parity: of the coded bytes), since links pad
//!     bit<32> block;          // its number, modulo 2^32
//!     bit<16> ether_type;     // the frame's own (parity: 0)
//! }
//! ```

/// As in Flightplan; nobody has registered it.
pub const ETHER_TYPE: u16 = 0x081c;
/// Bytes of a tag.
pub const TAG: usize = 14;
/// Bytes of the two Ethernet addresses.
pub const ADDRESSES: usize = 12;
/// Bytes of an Ethernet header: the shortest frame that can be tagged.
pub const SHORTEST: usize = 14;
/// The longest frame that can be tagged: its parity's length still fits the tag.
pub const LONGEST: usize = 65_000;

/// Kinds of tagged frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A frame of the user's.
    Data,
    /// Coded bytes.
    Parity,
    /// A frame of the user's, after the decoder. It is not valid on a link.
    Delivered,
}

/// A tag but for the frame's own EtherType, which stays with the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag {
    /// Kind of the frame.
    pub kind: Kind,
    /// 0 to 15.
    pub class: u8,
    /// In the block.
    pub index: u8,
    /// Data frames of the block.
    pub count: u8,
    /// Data frames of the block before.
    pub before: u8,
    /// The port of the call.
    pub channel: u16,
    /// Length of the frame without its tag, or of the coded bytes.
    pub length: u16,
    /// The block's number.
    pub block: u32,
}

impl Tag {
    /// The bytes from EtherType to `block`.
    fn bytes(&self) -> [u8; TAG] {
        let kind = match self.kind {
            Kind::Data => 1,
            Kind::Parity => 2,
            Kind::Delivered => 3,
        };
        let mut bytes = [0; TAG];
        bytes[..2].copy_from_slice(&ETHER_TYPE.to_be_bytes());
        bytes[2..6].copy_from_slice(&[kind << 4 | self.class & 15, self.index, self.count, self.before]);
        bytes[6..8].copy_from_slice(&self.channel.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.length.to_be_bytes());
        bytes[10..].copy_from_slice(&self.block.to_be_bytes());
        bytes
    }

    /// `frame`, which is as long as an Ethernet header at least, with this tag.
    pub fn put_on(&self, frame: &[u8]) -> Vec<u8> {
        let (addresses, rest) = frame.split_at(ADDRESSES.min(frame.len()));
        let mut tagged = Vec::with_capacity(frame.len() + TAG);
        tagged.extend_from_slice(addresses);
        tagged.extend_from_slice(&self.bytes());
        tagged.extend_from_slice(rest);
        tagged
    }

    /// A parity frame of `coded` bytes.
    pub fn parity_frame(&self, addresses: [u8; ADDRESSES], coded: &[u8]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(ADDRESSES + TAG + 2 + coded.len());
        frame.extend_from_slice(&addresses);
        frame.extend_from_slice(&self.bytes());
        frame.extend_from_slice(&[0, 0]);
        frame.extend_from_slice(coded);
        frame
    }
}

/// A frame with a tag, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tagged<'a> {
    /// The tag.
    pub tag: Tag,
    addresses: &'a [u8],
    /// Bytes after the tag, without the link's padding: from the frame's own EtherType on, or the coded bytes.
    body: &'a [u8],
}

impl Tagged<'_> {
    /// The frame without its tag.
    pub fn frame(&self) -> Vec<u8> {
        [self.addresses, self.body].concat()
    }

    /// A parity frame's coded bytes.
    pub fn coded(&self) -> &[u8] {
        self.body
    }
}

/// A frame as a decoder sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parsed<'a> {
    /// The frame has another EtherType.
    Plain,
    /// The tag is truncated, or no encoder writes it.
    Malformed,
    /// The frame has a tag.
    Tagged(Tagged<'a>),
}

/// Looks for a tag.
pub fn parse(frame: &[u8]) -> Parsed<'_> {
    let Some((addresses, rest)) = frame.split_at_checked(ADDRESSES) else { return Parsed::Plain };
    if rest.get(..2) != Some(&ETHER_TYPE.to_be_bytes()) {
        return Parsed::Plain;
    }
    tagged(addresses, rest).map_or(Parsed::Malformed, Parsed::Tagged)
}

fn tagged<'a>(addresses: &'a [u8], rest: &'a [u8]) -> Option<Tagged<'a>> {
    let (head, body) = rest.split_first_chunk::<TAG>()?;
    let [_, _, kind, index, count, before, c0, c1, l0, l1, b0, b1, b2, b3] = *head;
    let tag = Tag {
        kind: match kind >> 4 {
            1 => Kind::Data,
            2 => Kind::Parity,
            3 => Kind::Delivered,
            _ => return None,
        },
        class: kind & 15,
        index,
        count,
        before,
        channel: u16::from_be_bytes([c0, c1]),
        length: u16::from_be_bytes([l0, l1]),
        block: u32::from_be_bytes([b0, b1, b2, b3]),
    };
    let length = usize::from(tag.length);
    let body = match tag.kind {
        Kind::Parity => body.get(2..)?.get(..length)?,
        _ => body.get(..length.checked_sub(ADDRESSES).filter(|l| *l >= 2)?)?,
    };
    Some(Tagged { tag, addresses, body })
}
