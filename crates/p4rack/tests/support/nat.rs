//! Packets that a NAT translates.
#![allow(dead_code)]

/// One's complement sum.
pub fn folded(words: impl Iterator<Item = u8>) -> u16 {
    let bytes: Vec<u8> = words.collect();
    let mut sum: u32 =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMP: u8 = 1;

/// A flow of packets, as one end sees it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Flow {
    pub protocol: u8,
    pub src: (u32, u16),
    pub dst: (u32, u16),
}

/// Where the checksum of a protocol is, in its header.
fn sum_at(protocol: u8) -> usize {
    match protocol {
        TCP => 16,
        UDP => 6,
        _ => 2,
    }
}

/// A packet of a flow, with or without its checksum.
pub fn packet(flow: Flow, payload: &[u8], checksummed: bool) -> Vec<u8> {
    let Flow { protocol, src, dst } = flow;
    let mut l4 = match protocol {
        TCP => [&src.1.to_be_bytes()[..], &dst.1.to_be_bytes(), &[7; 8], &[0x50, 2], &[1, 0, 0, 0, 0, 0]]
            .concat(),
        UDP => {
            let length = (8 + payload.len()) as u16;
            [src.1.to_be_bytes(), dst.1.to_be_bytes(), length.to_be_bytes(), [0, 0]].concat()
        }
        _ => [&[8, 0, 0, 0][..], &src.1.to_be_bytes(), &[0, 1]].concat(),
    };
    l4.extend(payload);
    if checksummed {
        let sum = !l4_sum(protocol, src.0, dst.0, &l4);
        let at = sum_at(protocol);
        l4[at..at + 2].copy_from_slice(&if sum == 0 { 0xffff } else { sum }.to_be_bytes());
    }
    let length = (20 + l4.len()) as u16;
    let mut ip = [&[0x45, 0][..], &length.to_be_bytes(), &[0, 1, 0x40, 0, 64, protocol, 0, 0]].concat();
    ip.extend(src.0.to_be_bytes());
    ip.extend(dst.0.to_be_bytes());
    let sum = !folded(ip.iter().copied());
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1, 8, 0][..], &ip, &l4].concat()
}

fn l4_sum(protocol: u8, src: u32, dst: u32, l4: &[u8]) -> u16 {
    let pseudo = match protocol {
        ICMP => vec![],
        _ => [&src.to_be_bytes()[..], &dst.to_be_bytes(), &[0, protocol], &(l4.len() as u16).to_be_bytes()]
            .concat(),
    };
    folded(pseudo.into_iter().chain(l4.iter().copied()))
}

/// The flow of a frame; panics if a checksum of it is wrong.
pub fn flow(frame: &[u8]) -> Flow {
    let (ip, l4) = (&frame[14..34], &frame[34..]);
    assert_eq!(folded(ip.iter().copied()), 0xffff, "IPv4's checksum");
    let number = |at: usize| u32::from_be_bytes([ip[at], ip[at + 1], ip[at + 2], ip[at + 3]]);
    let port = |at: usize| u16::from_be_bytes([l4[at], l4[at + 1]]);
    let (protocol, src, dst) = (ip[9], number(12), number(16));
    let at = sum_at(protocol);
    if !(protocol == UDP && l4[at..at + 2] == [0, 0]) {
        assert_eq!(l4_sum(protocol, src, dst, l4), 0xffff, "checksum of protocol {protocol}");
    }
    match protocol {
        ICMP => Flow { protocol, src: (src, port(4)), dst: (dst, port(4)) },
        _ => Flow { protocol, src: (src, port(0)), dst: (dst, port(2)) },
    }
}

/// Our public address.
pub const PUBLIC: u32 = 0xcb00_7101;

/// The other direction.
pub fn back(flow: Flow) -> Flow {
    Flow { src: flow.dst, dst: flow.src, ..flow }
}
