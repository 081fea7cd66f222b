//! Frames that hosts build and take apart: Ethernet, IPv4 (RFC 791), ICMP echo (RFC 792), UDP (RFC 768).

use crate::mac::Mac;
use dataplane_tables::fast;
use std::net::Ipv4Addr;

/// IPv4's protocol numbers.
pub const ICMP: u8 = 1;
/// See [`ICMP`].
pub const TCP: u8 = 6;
/// See [`ICMP`].
pub const UDP: u8 = 17;
/// ICMP's type of a ping.
pub const ECHO_REQUEST: u8 = 8;
/// ICMP's type of its answer.
pub const ECHO_REPLY: u8 = 0;

/// The EtherType of IPv4.
pub const IPV4: u16 = 0x0800;
/// EtherTypes of VLAN tags.
pub const TAGS: [u16; 2] = [0x8100, 0x88a8];
pub(crate) const TTL: u8 = 64;
pub(crate) const DONT_FRAGMENT: u16 = 0x4000;
/// Bytes of Ethernet, IPv4 and UDP or ICMP headers as hosts send them.
const HEADERS: usize = 14 + 20 + 8;

/// Addresses of the sender and the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The sender's card.
    pub source_mac: Mac,
    /// The card of the receiver, or of the gateway.
    pub next_hop: Mac,
    /// The sender.
    pub source: Ipv4Addr,
    /// The receiver.
    pub destination: Ipv4Addr,
}

/// Protocol above IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// A ping or its answer.
    Echo {
        /// [`ECHO_REQUEST`] or [`ECHO_REPLY`].
        kind: u8,
        /// Identifier of the pinging pair.
        identifier: u16,
        /// Sequence number.
        sequence: u16,
    },
    /// A datagram.
    Udp {
        /// The sender's port.
        source: u16,
        /// The receiver's port.
        destination: u16,
    },
}

impl Transport {
    /// From the receiver to the sender.
    pub fn back(self) -> Transport {
        match self {
            Transport::Echo { .. } => self,
            Transport::Udp { source, destination } => {
                Transport::Udp { source: destination, destination: source }
            }
        }
    }
}

/// An IPv4 packet in a frame. Checksums are not looked at yet.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4<'a> {
    /// All of it, without link padding.
    pub bytes: &'a [u8],
    /// With its options.
    pub header: &'a [u8],
    /// Payload of the IPv4 packet, without link padding.
    pub body: &'a [u8],
    /// The sender.
    pub source: Ipv4Addr,
    /// The receiver.
    pub destination: Ipv4Addr,
    /// [`ICMP`], [`TCP`], [`UDP`] or another.
    pub protocol: u8,
    /// The sender's number for it.
    pub identification: u16,
    /// True if the packet is a fragment.
    pub is_fragment: bool,
}

/// A frame whose payload `fill` writes.
pub fn build(
    route: Route,
    transport: Transport,
    identification: u16,
    payload: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let mut frame = begin(vec![], route, transport, identification, payload);
    frame.resize(HEADERS + payload, 0);
    fill(&mut frame[HEADERS..]);
    // Place of the checksum in the frame: ICMP's third byte, UDP's seventh.
    let (at, sum) = match transport {
        Transport::Echo { .. } => (36, checksum(0, &frame[34..])),
        Transport::Udp { .. } => (40, udp_checksum(route.source, route.destination, &frame[34..])),
    };
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// The headers of a frame in empty `memory`, with room for the payload: so many bytes have to be appended. The checksum of UDP or ICMP is 0, which for
/// UDP stands for none.
pub fn begin(
    memory: Vec<u8>,
    route: Route,
    transport: Transport,
    identification: u16,
    payload: usize,
) -> Vec<u8> {
    let mut head = [0; HEADERS];
    let (link, rest) = head.split_at_mut(14);
    let (ip, above) = rest.split_at_mut(20);
    link.copy_from_slice(&ethernet(route));
    // IPv4, a header of five words without options; no DSCP.
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&((20 + 8 + payload) as u16).to_be_bytes());
    ip[4..6].copy_from_slice(&identification.to_be_bytes());
    ip[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
    ip[8] = TTL;
    ip[12..16].copy_from_slice(&route.source.octets());
    ip[16..20].copy_from_slice(&route.destination.octets());
    match transport {
        Transport::Echo { kind, identifier, sequence } => {
            (ip[9], above[0]) = (ICMP, kind);
            above[4..6].copy_from_slice(&identifier.to_be_bytes());
            above[6..8].copy_from_slice(&sequence.to_be_bytes());
        }
        Transport::Udp { source, destination } => {
            ip[9] = UDP;
            above[0..2].copy_from_slice(&source.to_be_bytes());
            above[2..4].copy_from_slice(&destination.to_be_bytes());
            above[4..6].copy_from_slice(&((8 + payload) as u16).to_be_bytes());
        }
    }
    let sum = checksum(0, ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut frame = memory;
    frame.reserve_exact(HEADERS + payload);
    frame.extend_from_slice(&head);
    frame
}

/// Sets the two bits of ECN (RFC 3168) of an untagged frame with an IPv4 packet without options.
pub fn set_ecn(frame: &mut [u8], ecn: u8) {
    if let Some(header) = frame.get_mut(14..34) {
        header[1] = header[1] & !3 | ecn & 3;
        header[10..12].fill(0);
        let sum = checksum(0, header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Ethernet's header in front of an IPv4 packet.
pub fn ethernet(route: Route) -> [u8; 14] {
    let mut header = [0; 14];
    header[..6].copy_from_slice(&route.next_hop.0);
    header[6..12].copy_from_slice(&route.source_mac.0);
    header[12..].copy_from_slice(&IPV4.to_be_bytes());
    header
}

impl<'a> Ipv4<'a> {
    /// The IPv4 packet in a frame, after at most two VLAN tags; none if there is none, or its lengths make no
    /// sense.
    #[inline]
    pub fn parse(frame: &'a [u8]) -> Option<Ipv4<'a>> {
        let mut at = 12;
        let mut kind = word(frame, at)?;
        for _ in 0..2 {
            if TAGS.contains(&kind) {
                at += 4;
                kind = word(frame, at)?;
            }
        }
        let packet = frame.get(at + 2..).filter(|_| kind == IPV4)?;
        let fixed = packet.first_chunk::<20>()?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
        let header = packet.get(..usize::from(fixed[0] & 15) * 4)?;
        let bytes = packet.get(..usize::from(word(2)))?;
        if fixed[0] >> 4 != 4 || header.len() < fixed.len() {
            return None;
        }
        Some(Ipv4 {
            bytes,
            header,
            body: bytes.get(header.len()..)?,
            source: address(12),
            destination: address(16),
            protocol: fixed[9],
            identification: word(4),
            // An offset, or more fragments that follow.
            is_fragment: word(6) & 0x3fff != 0,
        })
    }

    /// True if the header's checksum is right.
    #[inline]
    pub fn header_is_sound(&self) -> bool {
        checksum(0, self.header) == 0
    }

    /// The UDP or ICMP echo packet inside, and its payload; none if it is neither or makes no sense.
    #[inline]
    pub fn transport(&self) -> Option<(Transport, &'a [u8])> {
        let body = self.body;
        if !matches!(self.protocol, ICMP | UDP) {
            return None;
        }
        let fixed = body.first_chunk::<8>()?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        match (self.protocol, fixed[0]) {
            (ICMP, kind @ (ECHO_REQUEST | ECHO_REPLY)) => {
                Some((Transport::Echo { kind, identifier: word(4), sequence: word(6) }, &body[8..]))
            }
            (UDP, _) => {
                let udp = Transport::Udp { source: word(0), destination: word(2) };
                Some((udp, body.get(8..usize::from(word(4)))?))
            }
            _ => None,
        }
    }

    /// Source and destination port of a TCP segment; none of anything else.
    #[inline]
    pub fn tcp_ports(&self) -> Option<(u16, u16)> {
        let ports = word(self.body, 0).zip(word(self.body, 2));
        ports.filter(|_| self.protocol == TCP)
    }

    /// True if the checksum of the TCP, UDP or ICMP packet is right, or UDP's is left out.
    #[inline]
    pub fn transport_is_sound(&self) -> bool {
        match (self.protocol, word(self.body, 4), word(self.body, 6)) {
            (UDP, _, Some(0)) => true,
            (UDP, Some(length), _) => {
                let covered = self.body.get(..usize::from(length));
                covered.is_some_and(|bytes| pseudo_sum(UDP, self.source, self.destination, bytes) == 0)
            }
            (TCP, ..) => pseudo_sum(TCP, self.source, self.destination, self.body) == 0,
            _ => checksum(0, self.body) == 0,
        }
    }
}

/// The destination and source addresses of a frame.
pub fn stations(frame: &[u8]) -> Option<(Mac, Mac)> {
    let (to, rest) = frame.split_first_chunk::<6>()?;
    let (from, _) = rest.split_first_chunk::<6>()?;
    Some((Mac(*to), Mac(*from)))
}

/// The 16 bits at a byte.
pub fn word(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}

fn udp_checksum(source: Ipv4Addr, destination: Ipv4Addr, bytes: &[u8]) -> u16 {
    match pseudo_sum(UDP, source, destination, bytes) {
        0 => 0xffff,
        sum => sum,
    }
}

/// The checksum of TCP's or UDP's `bytes`, over the pseudo header too.
pub(crate) fn pseudo_sum(protocol: u8, source: Ipv4Addr, destination: Ipv4Addr, bytes: &[u8]) -> u16 {
    let (source, destination) = (u64::from(source.to_bits()), u64::from(destination.to_bits()));
    checksum(source + destination + u64::from(protocol) + bytes.len() as u64, bytes)
}

/// The internet checksum (RFC 1071) of `bytes`; `start` is added to their sum.
#[inline]
pub(crate) fn checksum(start: u64, bytes: &[u8]) -> u16 {
    // An IPv4 header without options, as nearly all are: no loop is left.
    match <&[u8; 20]>::try_from(bytes) {
        Ok(header) => sum_up(start, header),
        Err(_) => fast(|| sum_up(start, bytes)),
    }
}

#[inline(always)]
fn sum_up(start: u64, bytes: &[u8]) -> u16 {
    // The order of bytes does not matter to the sum (RFC 1071 §2 B): bytes of words are swapped once, at the end.
    let (words, rest) = bytes.as_chunks::<8>();
    let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    // The sum of all words without its carries, and that of their upper halves: what is left of the first is the sum of the lower halves.
    let (mut all, mut high) = (0u64, 0);
    for word in words {
        let word = u64::from_le_bytes(*word);
        all = all.wrapping_add(word);
        high += word >> 32;
    }
    let sum = all.wrapping_sub(high << 32) + high + (last & 0xffff_ffff) + (last >> 32);
    !fold(start + u64::from(fold(sum).swap_bytes()))
}

/// The 16 bits of a sum in ones' complement.
#[inline(always)]
fn fold(sum: u64) -> u16 {
    // Each carry is added at the low end: 33 bits are left, then 18, then 17 and 16.
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTE: Route = Route {
        source_mac: Mac([2, 0, 0, 0, 0, 1]),
        next_hop: Mac([2, 0, 0, 0, 0, 2]),
        source: Ipv4Addr::new(10, 0, 1, 1),
        destination: Ipv4Addr::new(10, 0, 2, 1),
    };

    #[test]
    fn checksums_are_those_of_the_rfc() {
        // RFC 1071 §3: the sum of these is ddf2.
        assert_eq!(checksum(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(0, &[0xab]), !0xab00);
        assert_eq!(checksum(0, &[0xff; 6]), 0);
    }

    #[test]
    fn checksums_of_any_length_are_sums_of_words() {
        let mut rng = base_time::Rng::new(4);
        for round in 0..2000 {
            let length = if round < 100 { round } else { rng.index(3000) };
            let start = rng.below(1 << 36);
            let often = rng.next_u8();
            let bytes: Vec<u8> =
                (0..length).map(|_| if rng.chance(1, 3) { often } else { rng.next_u8() }).collect();
            let bytes = if round % 9 == 0 { vec![0xff; length] } else { bytes };
            let mut sum = start;
            for pair in bytes.chunks(2) {
                sum += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
            }
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            assert_eq!(checksum(start, &bytes), !(sum as u16), "{length}");
        }
    }

    #[test]
    fn a_known_header_has_its_known_checksum() {
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 192, 168, 0, 1, 192, 168, 0, 199];
        assert_eq!(checksum(0, &header), 0);
    }

    #[test]
    fn what_is_built_is_sound_and_is_read_back() {
        let echo = Transport::Echo { kind: ECHO_REQUEST, identifier: 3, sequence: 4 };
        let udp = Transport::Udp { source: 5000, destination: 9000 };
        for (transport, payload) in [(echo, 56), (udp, 1000), (udp, 21), (echo, 0)] {
            let mut frame = build(ROUTE, transport, 77, payload, |p| p.fill(0x5a));
            assert_eq!(stations(&frame), Some((ROUTE.next_hop, ROUTE.source_mac)));
            frame.resize(frame.len().max(60), 0);
            let packet = Ipv4::parse(&frame).unwrap();
            assert!(packet.header_is_sound() && packet.transport_is_sound() && !packet.is_fragment);
            assert_eq!((packet.source, packet.destination), (ROUTE.source, ROUTE.destination));
            assert_eq!(packet.transport(), Some((transport, vec![0x5a; payload].as_slice())));
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let udp = Transport::Udp { source: 5000, destination: 9000 };
        let frame = build(ROUTE, udp, 77, 24, |p| p.fill(0x5a));
        for bit in 14 * 8..frame.len() * 8 {
            let mut frame = frame.clone();
            frame[bit / 8] ^= 0x80 >> (bit % 8);
            let sound = Ipv4::parse(&frame)
                .is_some_and(|p| p.header_is_sound() && p.transport().is_some() && p.transport_is_sound());
            assert!(!sound, "bit {bit}");
        }
    }

    #[test]
    fn vlan_tags_are_passed_over() {
        let udp = Transport::Udp { source: 1, destination: 2 };
        let mut frame = build(ROUTE, udp, 0, 4, |_| {});
        for _ in 0..2 {
            frame.splice(12..12, [0x81, 0, 0, 9]);
            assert_eq!(Ipv4::parse(&frame).and_then(|p| p.transport()), Some((udp, [0; 4].as_slice())));
        }
        frame.splice(12..12, [0x81, 0, 0, 9]);
        assert!(Ipv4::parse(&frame).is_none());
    }

    #[test]
    fn cut_frames_make_no_sense_and_no_panic() {
        let frame = build(ROUTE, Transport::Udp { source: 1, destination: 2 }, 0, 4, |_| {});
        for length in 0..frame.len() {
            assert!(Ipv4::parse(&frame[..length]).is_none(), "{length} bytes");
        }
    }
}
