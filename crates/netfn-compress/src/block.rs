//! A block of headers: EtherType, IP and TCP or UDP, taken apart into fields that may change from frame to frame, fields that
//! follow from others, and the rest, which a flow keeps.

use std::ops::Range;

/// The longest block: EtherType, IPv4 with all options, TCP with all options.
pub const LONGEST: usize = 2 + 60 + 60;
/// The two Ethernet addresses in front of it.
pub const ADDRESSES: usize = 12;

/// Headers, with the positions of their fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    bytes: [u8; LONGEST],
    length: u8,
    /// Start of TCP or UDP.
    transport: u8,
    is_ipv6: bool,
    is_tcp: bool,
}

/// Start of IP.
const IP: usize = 2;

/// Bytes of the fields that a frame carries if they differ from the reference, in the order of the wire and of the bits.
pub const WIDTHS: [usize; 11] = [1, 2, 1, 2, 4, 4, 1, 2, 2, 8, 2];
/// Number of fields.
pub const FIELDS: usize = WIDTHS.len();

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

impl Block {
    /// The headers that `bytes` begins with, from the EtherType on, and the IP packet's length. `None` for frames that
    /// are not compressed; fields that follow from others are ignored.
    fn shape(bytes: &[u8]) -> Option<(Block, usize)> {
        let ip = bytes.get(IP..)?;
        let (is_ipv6, header, protocol, length) = match u16_at(bytes, 0)? {
            0x0800 if ip.first()? >> 4 == 4 => {
                let header = usize::from(ip[0] & 15) * 4;
                (false, header, *ip.get(9)?, u16_at(ip, 2)?)
            }
            0x86dd if ip.first()? >> 4 == 6 => (true, 40, *ip.get(6)?, 40 + u16_at(ip, 4)?),
            _ => return None,
        };
        // Neither a fragment nor one with more to come.
        if header < 20 || !is_ipv6 && u16_at(ip, 6)? & 0x3fff != 0 {
            return None;
        }
        let transport = IP + header;
        let (is_tcp, header) = match protocol {
            6 => (true, usize::from(bytes.get(transport + 12)? >> 4) * 4),
            17 => (false, 8),
            _ => return None,
        };
        let end = transport + header;
        if is_tcp && header < 20 || end > bytes.len() {
            return None;
        }
        let mut block =
            Block { bytes: [0; LONGEST], length: end as u8, transport: transport as u8, is_ipv6, is_tcp };
        block.bytes[..end].copy_from_slice(&bytes[..end]);
        Some((block, length))
    }

    /// The headers of a frame, the length of its IP packet, and the bytes after them. `None` for frames that are not
    /// compressed.
    pub fn of_frame(frame: &[u8]) -> Option<(Block, usize, &[u8])> {
        let bytes = frame.get(ADDRESSES..)?;
        let (block, length) = Block::shape(bytes)?;
        let payload = &bytes[block.length.into()..];
        let fits = length + IP <= bytes.len() && length + IP >= block.length.into() && block.has_fixed_form();
        let mut derived = block;
        derived.derive(length);
        (fits && derived == block).then_some((block, length, payload))
    }

    /// A reference that came: the block is all of `bytes`.
    pub fn of_reference(bytes: &[u8]) -> Option<Block> {
        let (block, _) = Block::shape(bytes)?;
        (usize::from(block.length) == bytes.len()).then_some(block)
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length.into()]
    }

    /// The length of the IP packet, if `payload` bytes follow and all of them belong to it.
    pub fn length_with(&self, payload: usize) -> usize {
        usize::from(self.length) - IP + payload
    }

    /// Range of a field, if these headers have it.
    pub fn field(&self, field: usize) -> Option<Range<usize>> {
        let transport = usize::from(self.transport);
        let (at, there) = match field {
            0 => (IP + 1, !self.is_ipv6),
            1 => (IP, self.is_ipv6),
            2 => (IP + if self.is_ipv6 { 7 } else { 8 }, true),
            3 => (IP + 4, !self.is_ipv6),
            4 => (transport + 4, self.is_tcp),
            5 => (transport + 8, self.is_tcp),
            6 => (transport + 13, self.is_tcp),
            7 => (transport + 14, self.is_tcp),
            8 => (transport + 18, self.is_tcp),
            9 => (transport + 24, self.has_timestamps()),
            _ => (transport + if self.is_tcp { 16 } else { 6 }, true),
        };
        there.then(|| at..at + WIDTHS[field])
    }

    /// True without options except TCP's timestamps: the form that a switch's parser can read without loops.
    fn has_fixed_form(&self) -> bool {
        let ip = if self.is_ipv6 { 40 } else { 20 };
        let options = usize::from(self.length - self.transport) - if self.is_tcp { 20 } else { 8 };
        usize::from(self.transport) == IP + ip && (options == 0 || options == 12 && self.has_timestamps())
    }

    /// The options begin with two fillers and the timestamps, as nearly everybody sends them (RFC 7323, appendix A).
    fn has_timestamps(&self) -> bool {
        let options = usize::from(self.transport) + 20;
        self.is_tcp && self.bytes().get(options..options + 12).is_some_and(|o| o.starts_with(&[1, 1, 8, 10]))
    }

    /// The bytes of a field.
    pub fn get(&self, at: Range<usize>) -> &[u8] {
        &self.bytes[at]
    }

    /// Sets the bytes of a field.
    pub fn set(&mut self, at: Range<usize>, bytes: &[u8]) {
        self.bytes[at].copy_from_slice(bytes);
    }

    /// Sets the lengths and IPv4's checksum, from the length of the IP packet.
    pub fn derive(&mut self, length: usize) {
        let transport = usize::from(self.transport);
        let put = |bytes: &mut [u8], at: usize, value: usize| {
            bytes[at..at + 2].copy_from_slice(&(value as u16).to_be_bytes());
        };
        if self.is_ipv6 {
            put(&mut self.bytes, IP + 4, length.wrapping_sub(40));
        } else {
            put(&mut self.bytes, IP + 2, length);
            put(&mut self.bytes, IP + 10, 0);
            let check = checksum(&self.bytes[IP..transport]);
            put(&mut self.bytes, IP + 10, check.into());
        }
        if !self.is_tcp {
            put(&mut self.bytes, transport + 4, (length + IP).wrapping_sub(transport));
        }
    }

    /// The block as its flow stores it, with zeros in fields that may differ between frames.
    pub fn kept(&self) -> Block {
        let mut kept = *self;
        for at in (0..FIELDS).filter_map(|field| self.field(field)) {
            kept.bytes[at].fill(0);
        }
        let mut zero = |at: usize| kept.bytes[at..at + 2].fill(0);
        match self.is_ipv6 {
            true => zero(IP + 4),
            false => [IP + 2, IP + 10].map(zero).iter().for_each(drop),
        }
        if !self.is_tcp {
            kept.bytes[usize::from(self.transport) + 4..][..2].fill(0);
        }
        kept
    }

    /// Identity of a flow: addresses, ports and protocol.
    pub fn flow(&self) -> [u8; 37] {
        let mut flow = [0; 37];
        let addresses = if self.is_ipv6 { IP + 8..IP + 40 } else { IP + 12..IP + 20 };
        flow[..addresses.len()].copy_from_slice(&self.bytes[addresses]);
        flow[32..36].copy_from_slice(&self.bytes[self.transport.into()..][..4]);
        flow[36] = u8::from(self.is_ipv6) << 1 | u8::from(self.is_tcp);
        flow
    }
}

/// RFC 1071, of a whole number of 16-bit words.
fn checksum(bytes: &[u8]) -> u16 {
    let (words, _) = bytes.as_chunks::<2>();
    let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    !((once & 0xffff) + (once >> 16)) as u16
}
