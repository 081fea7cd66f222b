//! Datagrams of a job in Ethernet frames, for hosts without an IP stack of their own.

/// Bytes of a frame around the payload of a UDP datagram: Ethernet with its check sum, preamble and gap, IPv4, UDP.
pub const AROUND: u64 = 14 + 4 + 8 + 12 + 20 + 8;

/// Bytes before the payload.
const HEADERS: usize = 14 + 20 + 8;

/// A datagram between hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// IPv4 addresses.
    pub source: u32,
    /// See `source`.
    pub destination: u32,
    /// Source and destination port.
    pub port: u16,
    /// The two bits of ECN.
    pub ecn: u8,
    /// The payload.
    pub payload: Vec<u8>,
}

impl Datagram {
    /// In an Ethernet frame between two cards.
    pub fn frame(&self, source: [u8; 6], destination: [u8; 6]) -> Vec<u8> {
        let length = 28 + self.payload.len() as u16;
        let mut ip = vec![0x45, self.ecn];
        ip.extend(length.to_be_bytes());
        ip.extend([0, 1, 0x40, 0, 64, 17, 0, 0]);
        ip.extend(self.source.to_be_bytes());
        ip.extend(self.destination.to_be_bytes());
        let sum = checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let mut frame = [destination, source].concat();
        frame.extend([8, 0]);
        frame.extend(ip);
        frame.extend(self.port.to_be_bytes());
        frame.extend(self.port.to_be_bytes());
        frame.extend((length - 20).to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(&self.payload);
        frame
    }

    /// The datagram in a frame whose lengths and checksums are right and whose ports are equal; none in any other.
    pub fn parse(frame: &[u8]) -> Option<Datagram> {
        let word = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
        let address = |at: usize| Some(u32::from_be_bytes(*frame.get(at..)?.first_chunk()?));
        let (source, destination) = (address(26)?, address(30)?);
        let (length, udp) = (usize::from(word(16)?), usize::from(word(38)?));
        let is_sound = frame.len() == 14 + length
            && length == 20 + udp
            && checksum(&frame[14..34]) == 0
            && word(34) == word(36);
        is_sound.then_some(())?;
        let payload = frame.get(HEADERS..)?.to_vec();
        Some(Datagram { source, destination, port: word(36)?, ecn: frame[15] & 3, payload })
    }
}

/// The address of the card of a host that has no other one: locally administered, by its IPv4 address.
pub fn mac(address: u32) -> [u8; 6] {
    let [a, b, c, d] = address.to_be_bytes();
    [2, 0, a, b, c, d]
}

/// The checksum of an IPv4 header; 0 over one that is right.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|word| word.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_come_back_from_frames_and_damaged_ones_do_not() {
        let payload = vec![1, 2, 3];
        let datagram =
            Datagram { source: 0x0a00_0001, destination: 0x0a00_0002, port: 42_606, ecn: 2, payload };
        let frame = datagram.frame(mac(1), mac(2));
        assert_eq!(Datagram::parse(&frame), Some(datagram));
        for at in 0..frame.len() {
            assert_eq!(Datagram::parse(&frame[..at]), None);
        }
        let mut other = frame.clone();
        other[24] ^= 1;
        assert_eq!(Datagram::parse(&other), None);
    }
}
