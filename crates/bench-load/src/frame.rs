//! Frames from their headers.

/// EtherTypes and protocols.
pub const IPV4: u16 = 0x0800;
pub const IPV6: u16 = 0x86dd;
pub const VLAN: u16 = 0x8100;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;

/// Headers, written one after the other; a payload is put inside of the innermost.
pub struct Frame(Vec<u8>);

impl Frame {
    /// An Ethernet header.
    pub fn ethernet(destination: u64, source: u64, ether_type: u16) -> Frame {
        let mut bytes = vec![];
        bytes.extend_from_slice(&destination.to_be_bytes()[2..]);
        bytes.extend_from_slice(&source.to_be_bytes()[2..]);
        bytes.extend_from_slice(&ether_type.to_be_bytes());
        Frame(bytes)
    }

    /// A VLAN tag.
    pub fn vlan(mut self, vid: u16, ether_type: u16) -> Frame {
        self.0.extend_from_slice(&vid.to_be_bytes());
        self.0.extend_from_slice(&ether_type.to_be_bytes());
        self
    }

    /// More bytes.
    pub fn then(mut self, bytes: &[u8]) -> Frame {
        self.0.extend_from_slice(bytes);
        self
    }

    /// The bytes, filled up with a pattern to `length`.
    pub fn padded(mut self, length: usize) -> Vec<u8> {
        while self.0.len() < length {
            self.0.push(self.0.len() as u8);
        }
        self.0
    }
}

/// An IPv4 flow's addresses, protocol and ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    pub source: u32,
    pub destination: u32,
    pub protocol: u8,
    pub from: u16,
    pub to: u16,
}

impl Flow {
    /// The reverse flow.
    pub fn back(self) -> Flow {
        let Flow { source, destination, protocol, from, to } = self;
        Flow { source: destination, destination: source, protocol, from: to, to: from }
    }

    /// An IPv4 packet with checksums that are right, `length` bytes long or as long as its headers.
    pub fn packet(self, length: usize, ttl: u8, dscp: u8) -> Vec<u8> {
        let l4_length = length.saturating_sub(20).max(if self.protocol == TCP { 20 } else { 8 });
        let mut l4 = l4(self.protocol, self.from, self.to, l4_length);
        let mut pseudo = vec![];
        pseudo.extend_from_slice(&self.source.to_be_bytes());
        pseudo.extend_from_slice(&self.destination.to_be_bytes());
        pseudo.extend_from_slice(&[0, self.protocol]);
        pseudo.extend_from_slice(&(l4_length as u16).to_be_bytes());
        finish(&mut l4, self.protocol, &pseudo);
        let total = (20 + l4.len()) as u16;
        let mut bytes = vec![0x45, dscp << 2];
        bytes.extend_from_slice(&total.to_be_bytes());
        // Identification: anything; here the fields that distinguish flows.
        bytes.extend_from_slice(&self.from.wrapping_mul(31).to_be_bytes());
        bytes.extend_from_slice(&[0x40, 0, ttl, self.protocol, 0, 0]);
        bytes.extend_from_slice(&self.source.to_be_bytes());
        bytes.extend_from_slice(&self.destination.to_be_bytes());
        let sum = checksum(&[&bytes]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes.extend_from_slice(&l4);
        bytes
    }
}

/// An IPv6 flow's addresses, protocol and ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow6 {
    pub source: u128,
    pub destination: u128,
    pub protocol: u8,
    pub from: u16,
    pub to: u16,
}

impl Flow6 {
    /// An IPv6 packet, `length` bytes long or as long as its headers.
    pub fn packet(self, length: usize, hop_limit: u8) -> Vec<u8> {
        let l4_length = length.saturating_sub(40).max(if self.protocol == TCP { 20 } else { 8 });
        let mut l4 = l4(self.protocol, self.from, self.to, l4_length);
        let mut pseudo = vec![];
        pseudo.extend_from_slice(&self.source.to_be_bytes());
        pseudo.extend_from_slice(&self.destination.to_be_bytes());
        pseudo.extend_from_slice(&(l4_length as u32).to_be_bytes());
        pseudo.extend_from_slice(&[0, 0, 0, self.protocol]);
        finish(&mut l4, self.protocol, &pseudo);
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend_from_slice(&(l4_length as u16).to_be_bytes());
        bytes.extend_from_slice(&[self.protocol, hop_limit]);
        bytes.extend_from_slice(&self.source.to_be_bytes());
        bytes.extend_from_slice(&self.destination.to_be_bytes());
        bytes.extend_from_slice(&l4);
        bytes
    }
}

/// A TCP or UDP header and payload, without a checksum.
fn l4(protocol: u8, from: u16, to: u16, length: usize) -> Vec<u8> {
    let mut bytes = vec![];
    bytes.extend_from_slice(&from.to_be_bytes());
    bytes.extend_from_slice(&to.to_be_bytes());
    if protocol == TCP {
        // Sequence and acknowledgement; data offset 5, ACK, window 4096.
        bytes.extend_from_slice(&[0, 0, 1, 0, 0, 0, 2, 0, 0x50, 0x10, 0x10, 0, 0, 0, 0, 0]);
    } else {
        bytes.extend_from_slice(&(length as u16).to_be_bytes());
        bytes.extend_from_slice(&[0, 0]);
    }
    while bytes.len() < length {
        bytes.push(bytes.len() as u8);
    }
    bytes
}

/// Puts the checksum in.
fn finish(l4: &mut [u8], protocol: u8, pseudo: &[u8]) {
    let at = if protocol == TCP { 16 } else { 6 };
    let sum = match checksum(&[pseudo, l4]) {
        0 if protocol == UDP => 0xffff,
        sum => sum,
    };
    l4[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// The Internet checksum over pieces, each of even length but for the last.
pub fn checksum(pieces: &[&[u8]]) -> u16 {
    let mut sum = 0u64;
    for pair in pieces.iter().flat_map(|piece| piece.chunks(2)) {
        sum += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_right() {
        // RFC 1071's example.
        assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
        let flow = Flow { source: 0x0a00_0001, destination: 0x0a00_0002, protocol: UDP, from: 7, to: 9 };
        let bytes = flow.packet(61, 64, 0);
        assert_eq!((bytes.len(), checksum(&[&bytes[..20]])), (61, 0));
        let pseudo = [10, 0, 0, 1, 10, 0, 0, 2, 0, UDP, 0, 41];
        assert_eq!(checksum(&[&pseudo, &bytes[20..]]), 0);
    }
}
