//! TCP segments in IPv4 packets (RFC 9293), with the options for the segment size, the window's scale (RFC 7323) and selective
//! acknowledgements (RFC 2018).
//!
//! Segments with options are smoltcp's. Nearly all have none, and 40 bytes of headers: they are read and written here, as smoltcp does it.

use crate::packet::{DONT_FRAGMENT, TCP, TTL, checksum, pseudo_sum};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
};
use std::net::Ipv4Addr;

/// Bytes of an IPv4 and a TCP header without options.
pub(super) const HEADERS: u32 = 40;

/// Bytes of an IPv4 header without options.
const IP: usize = 20;

/// Offset of the checksum in TCP's header.
const CHECKSUM: usize = 16;

/// Scale of windows: the number of doublings of a byte.
pub(super) const SCALE: u8 = 7;

/// One direction of a connection: addresses and ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Direction {
    pub from: (Ipv4Addr, u16),
    pub to: (Ipv4Addr, u16),
}

/// Header fields of a segment.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub syn: bool,
    pub fin: bool,
    pub reset: bool,
    pub push: bool,
    /// Echo of ECN, or in a SYN: the sender understands ECN (RFC 3168).
    pub echo: bool,
    /// The window was reduced after an echo; in a SYN as `echo`.
    pub reduced: bool,
    /// The two bits of ECN in the IPv4 header: 0 not capable, 2 capable, 3 congestion met.
    pub ecn: u8,
    pub sequence: u32,
    pub ack: Option<u32>,
    /// As it is in the header, without its scale.
    pub window: u16,
    /// The longest payload that the sender takes; with SYN only.
    pub mss: Option<u16>,
    /// The scale of the sender's windows; with SYN only.
    pub scale: Option<u8>,
    /// The sender understands selective acknowledgements; with SYN only.
    pub takes_sack: bool,
    /// Sequence numbers that came out of order: from, and after the last.
    pub sacks: [Option<(u32, u32)>; 3],
}

/// Flags of a segment, in the fourteenth byte of its header.
const FIN: u8 = 1;
const SYN: u8 = 2;
const RESET: u8 = 4;
const PUSH: u8 = 8;
const ACK: u8 = 16;
const ECHO: u8 = 64;
const REDUCED: u8 = 128;
/// Flags of which a segment has one; PUSH may come with the others and counts alone.
const CONTROL: u8 = FIN | SYN | RESET;

impl Head {
    fn is_plain(&self) -> bool {
        self.mss.is_none() && self.scale.is_none() && !self.takes_sack && self.sacks == [None; 3]
    }

    /// The flag of [`CONTROL`], or PUSH.
    fn control(&self) -> u8 {
        match self {
            Head { syn: true, .. } => SYN,
            Head { fin: true, .. } => FIN,
            Head { reset: true, .. } => RESET,
            Head { push: true, .. } => PUSH,
            _ => 0,
        }
    }
}

/// The ports, the head and the payload of an IPv4 packet whose checksums are right; none if it makes no sense.
pub(super) fn read(packet: &[u8]) -> Option<((u16, u16), Head, &[u8])> {
    read_plain(packet).or_else(|| read_any(packet))
}

/// [`read`] of a segment without options.
fn read_plain(packet: &[u8]) -> Option<((u16, u16), Head, &[u8])> {
    let (headers, _) = packet.split_first_chunk::<{ HEADERS as usize }>()?;
    let word = |at: usize| u16::from_be_bytes([headers[at], headers[at + 1]]);
    let number = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
    let payload = packet.get(HEADERS as usize..usize::from(word(2)))?;
    let (from, to, flags) = (word(20), word(22), headers[33]);
    let control = flags & CONTROL;
    let is_plain = headers[0] == 0x45 && headers[32] >> 4 == 5;
    if !is_plain || from == 0 || to == 0 || control & control.wrapping_sub(1) != 0 {
        return None;
    }
    let head = Head {
        syn: control == SYN,
        fin: control == FIN,
        reset: control == RESET,
        push: control == 0 && flags & PUSH != 0,
        echo: flags & ECHO != 0,
        reduced: flags & REDUCED != 0,
        ecn: headers[1] & 3,
        sequence: number(24),
        ack: (flags & ACK != 0).then(|| number(28)),
        window: word(34),
        ..Head::default()
    };
    Some(((from, to), head, payload))
}

fn read_any(packet: &[u8]) -> Option<((u16, u16), Head, &[u8])> {
    let packet = Ipv4Packet::new_checked(packet).ok()?;
    let (from, to) = (IpAddress::Ipv4(packet.src_addr()), IpAddress::Ipv4(packet.dst_addr()));
    let tcp = TcpPacket::new_checked(packet.payload()).ok()?;
    let repr = TcpRepr::parse(&tcp, &from, &to, &ChecksumCapabilities::ignored()).ok()?;
    let head = Head {
        syn: repr.control == TcpControl::Syn,
        fin: repr.control == TcpControl::Fin,
        reset: repr.control == TcpControl::Rst,
        push: repr.control == TcpControl::Psh,
        echo: tcp.ece(),
        reduced: tcp.cwr(),
        ecn: packet.ecn(),
        sequence: repr.seq_number.0 as u32,
        ack: repr.ack_number.map(|ack| ack.0 as u32),
        window: repr.window_len,
        mss: repr.max_seg_size,
        scale: repr.window_scale,
        takes_sack: repr.sack_permitted,
        sacks: repr.sack_ranges,
    };
    Some(((repr.src_port, repr.dst_port), head, repr.payload))
}

/// The frame of a segment, in empty `memory`, with Ethernet's header: `fill` writes its payload of `length` bytes.
pub(super) fn write(
    memory: Vec<u8>,
    ethernet: &[u8; 14],
    direction: Direction,
    head: Head,
    length: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let mut frame = memory;
    let headers = if head.is_plain() { HEADERS as usize } else { headers_of_any(direction, head) };
    let begin = ethernet.len() + headers;
    frame.reserve_exact(begin + length);
    frame.extend(ethernet);
    frame.resize(begin + length, 0);
    let (packet, payload) = frame[ethernet.len()..].split_at_mut(headers);
    fill(payload);
    match packet.first_chunk_mut() {
        Some(packet) if head.is_plain() => write_plain(packet, direction, head, length),
        _ => write_any(packet, direction, head, length),
    }
    let segment = &mut frame[ethernet.len() + IP..];
    let sum = pseudo_sum(TCP, direction.from.0, direction.to.0, segment);
    segment[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// Writes the headers of a segment without options, except for TCP's checksum, over zeros.
fn write_plain(packet: &mut [u8; HEADERS as usize], direction: Direction, head: Head, length: usize) {
    let (ip, tcp) = packet.split_at_mut(IP);
    ip[0] = 0x45;
    ip[1] = head.ecn & 3;
    ip[2..4].copy_from_slice(&((HEADERS as usize + length) as u16).to_be_bytes());
    ip[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
    (ip[8], ip[9]) = (TTL, TCP);
    ip[12..16].copy_from_slice(&direction.from.0.octets());
    ip[16..20].copy_from_slice(&direction.to.0.octets());
    let sum = checksum(0, ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    tcp[0..2].copy_from_slice(&direction.from.1.to_be_bytes());
    tcp[2..4].copy_from_slice(&direction.to.1.to_be_bytes());
    tcp[4..8].copy_from_slice(&head.sequence.to_be_bytes());
    tcp[8..12].copy_from_slice(&head.ack.unwrap_or(0).to_be_bytes());
    tcp[12] = 5 << 4;
    tcp[13] =
        head.control() | flag(head.ack.is_some(), ACK) | flag(head.echo, ECHO) | flag(head.reduced, REDUCED);
    tcp[14..16].copy_from_slice(&head.window.to_be_bytes());
}

/// smoltcp's form of a head.
fn repr_of(direction: Direction, head: Head) -> TcpRepr<'static> {
    TcpRepr {
        src_port: direction.from.1,
        dst_port: direction.to.1,
        control: match head.control() {
            SYN => TcpControl::Syn,
            FIN => TcpControl::Fin,
            RESET => TcpControl::Rst,
            PUSH => TcpControl::Psh,
            _ => TcpControl::None,
        },
        seq_number: TcpSeqNumber(head.sequence as i32),
        ack_number: head.ack.map(|ack| TcpSeqNumber(ack as i32)),
        window_len: head.window,
        window_scale: head.scale,
        max_seg_size: head.mss,
        sack_permitted: head.takes_sack,
        sack_ranges: head.sacks,
        timestamp: None,
        // It has been written after the headers.
        payload: &[],
    }
}

/// Bytes of the headers of a segment.
fn headers_of_any(direction: Direction, head: Head) -> usize {
    IP + repr_of(direction, head).buffer_len()
}

/// Writes the headers of a segment, except for TCP's checksum.
fn write_any(packet: &mut [u8], direction: Direction, head: Head, length: usize) {
    let (from, to) = (direction.from.0, direction.to.0);
    let tcp = repr_of(direction, head);
    let ip = Ipv4Repr {
        src_addr: from,
        dst_addr: to,
        next_header: IpProtocol::Tcp,
        payload_len: tcp.buffer_len() + length,
        hop_limit: TTL,
    };
    let (of_ip, of_tcp) = packet.split_at_mut(IP);
    // smoltcp's representations have no bits of ECN: they are set afterwards, and then the checksums are computed.
    let mut packet = Ipv4Packet::new_unchecked(of_ip);
    ip.emit(&mut packet, &ChecksumCapabilities::ignored());
    packet.set_ecn(head.ecn);
    packet.fill_checksum();
    let mut segment = TcpPacket::new_unchecked(of_tcp);
    tcp.emit(&mut segment, &IpAddress::Ipv4(from), &IpAddress::Ipv4(to), &ChecksumCapabilities::ignored());
    segment.set_ece(head.echo);
    segment.set_cwr(head.reduced);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_read_back() {
        let direction =
            Direction { from: (Ipv4Addr::new(10, 0, 0, 1), 10_000), to: (Ipv4Addr::new(10, 0, 0, 2), 5001) };
        let syn = Head {
            syn: true,
            sequence: u32::MAX,
            window: 7,
            mss: Some(1460),
            scale: Some(SCALE),
            takes_sack: true,
            echo: true,
            reduced: true,
            ..Head::default()
        };
        let sacks = [Some((5, 9)), Some((u32::MAX, 2)), None];
        let ack = Head { ack: Some(3), sacks, echo: true, window: 65_535, ..Head::default() };
        let fin = Head { fin: true, ack: Some(3), sequence: 17, ecn: 3, reduced: true, ..Head::default() };
        for (head, payload) in [(syn, &[][..]), (ack, &[]), (fin, &[1, 2, 3])] {
            let mut packet = write(vec![], &[7; 14], direction, head, payload.len(), |bytes| {
                bytes.copy_from_slice(payload)
            });
            assert!(packet.drain(..14).all(|byte| byte == 7));
            assert_eq!(read(&packet), Some(((10_000, 5001), head, payload)));
            let ip = Ipv4Packet::new_checked(&packet).unwrap();
            let (from, to) = (IpAddress::Ipv4(ip.src_addr()), IpAddress::Ipv4(ip.dst_addr()));
            assert!(
                ip.verify_checksum()
                    && TcpPacket::new_checked(ip.payload()).unwrap().verify_checksum(&from, &to)
            );
            // Cut anywhere it makes no sense, and no panic.
            assert!((0..packet.len()).all(|length| read(&packet[..length]).is_none()));
        }
    }
    #[test]
    fn plain_segments_are_smoltcps() {
        let mut rng = base_time::Rng::new(2);
        let mut refused = 0;
        for round in 0..4000 {
            let mut end = || (Ipv4Addr::from(rng.next_u64() as u32), rng.next_u64() as u16 | 1);
            let direction = Direction { from: end(), to: end() };
            let head = Head {
                syn: rng.chance(1, 8),
                fin: rng.chance(1, 4),
                reset: rng.chance(1, 8),
                push: rng.next_bool(),
                echo: rng.next_bool(),
                reduced: rng.next_bool(),
                ecn: rng.below(4) as u8,
                sequence: rng.next_u64() as u32,
                ack: rng.next_bool().then(|| rng.next_u64() as u32),
                window: rng.next_u64() as u16,
                ..Head::default()
            };
            assert!(head.is_plain());
            let length = rng.index(1460);
            let mut packet = [[0; HEADERS as usize]; 2];
            write_plain(&mut packet[0], direction, head, length);
            write_any(&mut packet[1], direction, head, length);
            assert_eq!(
                (headers_of_any(direction, head), packet[0]),
                (HEADERS as usize, packet[1]),
                "{head:?}"
            );
            // Changed bits, too: what is read here is what smoltcp reads, and what it refuses is refused.
            let mut packet = [&packet[0], vec![5; length].as_slice()].concat();
            for _ in 0..round % 4 {
                let at = [0, 1, 2, 3, 20, 21, 22, 23, 32, 33][rng.index(10)];
                packet[at] ^= 1 << rng.below(8);
            }
            if round % 7 == 0 {
                packet[20 + 2 * rng.index(2)..][..2].fill(0);
            }
            if round % 5 == 0 {
                packet.truncate(rng.index(60));
            }
            let (plain, any) = (read_plain(&packet), read_any(&packet));
            assert!(plain.is_none() || plain == any, "{plain:?} {any:?}");
            let is_plain = packet.first() == Some(&0x45) && packet.get(32).is_some_and(|at| at >> 4 == 5);
            assert!(!is_plain || plain.is_some() == any.is_some(), "{plain:?} {any:?}");
            refused += u32::from(any.is_none());
        }
        assert!((1000..3000).contains(&refused), "{refused}");
    }
}
