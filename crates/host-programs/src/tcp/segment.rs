//! TCP segments in IPv4 packets (RFC 9293), with the options for the segment size, the window's scale (RFC 7323) and selective
//! acknowledgements (RFC 2018).

use crate::packet::{TCP, pseudo_sum};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
};
use std::net::Ipv4Addr;

/// Bytes of an IPv4 and a TCP header without options.
pub(super) const HEADERS: u32 = 40;

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

/// The ports, the head and the payload of an IPv4 packet whose checksums are right; none if it makes no sense.
pub(super) fn read(packet: &[u8]) -> Option<((u16, u16), Head, &[u8])> {
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

/// The frame of a segment, in empty `memory`, with Ethernet's header: `append` adds its payload of `length` bytes.
pub(super) fn write(
    memory: Vec<u8>,
    ethernet: &[u8; 14],
    direction: Direction,
    head: Head,
    length: usize,
    append: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let control = match head {
        Head { syn: true, .. } => TcpControl::Syn,
        Head { fin: true, .. } => TcpControl::Fin,
        Head { reset: true, .. } => TcpControl::Rst,
        Head { push: true, .. } => TcpControl::Psh,
        _ => TcpControl::None,
    };
    let tcp = TcpRepr {
        src_port: direction.from.1,
        dst_port: direction.to.1,
        control,
        seq_number: TcpSeqNumber(head.sequence as i32),
        ack_number: head.ack.map(|ack| TcpSeqNumber(ack as i32)),
        window_len: head.window,
        window_scale: head.scale,
        max_seg_size: head.mss,
        sack_permitted: head.takes_sack,
        sack_ranges: head.sacks,
        timestamp: None,
        // It is written after the headers.
        payload: &[],
    };
    let (from, to) = (direction.from.0, direction.to.0);
    let ip = Ipv4Repr {
        src_addr: from,
        dst_addr: to,
        next_header: IpProtocol::Tcp,
        payload_len: tcp.buffer_len() + length,
        hop_limit: 64,
    };
    let headers = ethernet.len() + ip.buffer_len() + tcp.buffer_len();
    let mut frame = memory;
    frame.reserve_exact(headers + length);
    frame.extend(ethernet);
    frame.resize(headers, 0);
    let (of_ip, of_tcp) = frame[ethernet.len()..].split_at_mut(ip.buffer_len());
    // smoltcp's representations have no bits of ECN: they are set afterwards, and then the checksums are computed.
    let mut packet = Ipv4Packet::new_unchecked(of_ip);
    ip.emit(&mut packet, &ChecksumCapabilities::ignored());
    packet.set_ecn(head.ecn);
    packet.fill_checksum();
    let mut segment = TcpPacket::new_unchecked(of_tcp);
    tcp.emit(&mut segment, &IpAddress::Ipv4(from), &IpAddress::Ipv4(to), &ChecksumCapabilities::ignored());
    segment.set_ece(head.echo);
    segment.set_cwr(head.reduced);
    append(&mut frame);
    let bytes = &mut frame[ethernet.len() + ip.buffer_len()..];
    let sum = pseudo_sum(TCP, from, to, bytes);
    bytes[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    frame
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
            let mut packet =
                write(vec![], &[7; 14], direction, head, payload.len(), |bytes| bytes.extend(payload));
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
}
