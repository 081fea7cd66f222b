//! Datagrams of a job in frames.

/// Address of the reducer.
pub const REDUCER: u32 = 0x0a00_00fe;

/// Address of the switch, for requests.
pub const SWITCH: u32 = 0x0a00_00ff;

/// Address of the mapper of channel 0; the others follow.
pub const MAPPERS: u32 = 0x0a00_0101;

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
    /// In an Ethernet frame.
    pub fn frame(&self) -> Vec<u8> {
        let length = 28 + self.payload.len() as u16;
        let mut ip = vec![0x45, self.ecn];
        ip.extend(length.to_be_bytes());
        ip.extend([0, 1, 0x40, 0, 64, 17, 0, 0]);
        ip.extend(self.source.to_be_bytes());
        ip.extend(self.destination.to_be_bytes());
        let sum = checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let mut frame = [mac(self.destination), mac(self.source)].concat();
        frame.extend([8, 0]);
        frame.extend(ip);
        frame.extend(self.port.to_be_bytes());
        frame.extend(self.port.to_be_bytes());
        frame.extend((length - 20).to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(&self.payload);
        frame
    }

    /// The datagram in a frame whose addresses, lengths and checksums are right; none in any other.
    pub fn parse(frame: &[u8]) -> Option<Datagram> {
        let word = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
        let address = |at: usize| Some(u32::from_be_bytes(*frame.get(at..)?.first_chunk()?));
        let (source, destination) = (address(26)?, address(30)?);
        let (length, udp) = (usize::from(word(16)?), usize::from(word(38)?));
        let is_sound = frame.len() == 14 + length
            && length == 20 + udp
            && checksum(&frame[14..34]) == 0
            && frame[..6] == mac(destination)
            && word(34) == word(36);
        is_sound.then_some(())?;
        let payload = frame.get(HEADERS..)?.to_vec();
        Some(Datagram { source, destination, port: word(36)?, ecn: frame[15] & 3, payload })
    }
}

/// The address of a host's card.
pub(crate) fn mac(address: u32) -> Vec<u8> {
    [&[2, 0], &address.to_be_bytes()[..]].concat()
}

/// The checksum of an IPv4 header; 0 over one that is right.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|word| word.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}
