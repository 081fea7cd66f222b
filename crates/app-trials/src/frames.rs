//! Frames of Ethernet, IPv4, TCP and UDP as bytes.

/// Protocol number of TCP.
pub const TCP: u8 = 6;
/// Protocol number of UDP.
pub const UDP: u8 = 17;

/// Length of Ethernet's header.
pub const ETHERNET: usize = 14;
/// Where the header after that of IPv4 begins.
pub const L4: usize = 34;

/// A frame and its port.
pub type AtPort = (u32, Vec<u8>);

/// MAC addresses that a packet comes with: destination and source.
pub const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1];

/// IPv4 addresses, protocol and ports of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Flow {
    /// Protocol.
    pub protocol: u8,
    /// Address and port of the sender.
    pub src: (u32, u16),
    /// Address and port of the receiver.
    pub dst: (u32, u16),
}

impl Flow {
    /// The other direction.
    pub fn back(self) -> Flow {
        Flow { src: self.dst, dst: self.src, ..self }
    }
}

/// The sum of 16-bit words in one's complement; an odd last byte is a high one.
pub fn folded(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The sum of TCP or UDP with its pseudo header.
pub fn l4_sum(ip: &[u8], l4: &[u8]) -> u16 {
    let pseudo = [&ip[12..20], &[0, ip[9]], &(l4.len() as u16).to_be_bytes(), l4].concat();
    folded(&pseudo)
}

/// Ethernet and IPv4 before `body`.
pub fn ipv4(protocol: u8, src: u32, dst: u32, ttl: u8, body: &[u8]) -> Vec<u8> {
    let length = (20 + body.len()) as u16;
    let mut ip = [&[0x45, 0][..], &length.to_be_bytes(), &[0, 1, 0x40, 0, ttl, protocol, 0, 0]].concat();
    ip.extend(src.to_be_bytes());
    ip.extend(dst.to_be_bytes());
    let sum = !folded(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&MACS[..], &[8, 0], &ip, body].concat()
}

/// A packet of TCP or UDP, with checksums.
pub fn packet(flow: Flow, payload: &[u8]) -> Vec<u8> {
    match flow.protocol {
        TCP => segment(flow, &Segment { seq: 7, ack: 9, flags: 0x10, window: 1000, mss: None }, payload),
        _ => {
            let length = (8 + payload.len()) as u16;
            let words = [flow.src.1.to_be_bytes(), flow.dst.1.to_be_bytes(), length.to_be_bytes(), [0, 0]];
            summed(flow, [&words.concat()[..], payload].concat(), 6)
        }
    }
}

/// TCP's header, as far as the apps look at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Number of the first byte.
    pub seq: u32,
    /// Number of the next byte from the other side.
    pub ack: u32,
    /// The bits from FIN on.
    pub flags: u8,
    /// Bytes that the sender can take.
    pub window: u16,
    /// The option for the maximum segment size.
    pub mss: Option<u16>,
}

/// A segment of TCP, with checksums.
pub fn segment(flow: Flow, segment: &Segment, payload: &[u8]) -> Vec<u8> {
    let mut tcp = [flow.src.1.to_be_bytes(), flow.dst.1.to_be_bytes()].concat();
    tcp.extend(segment.seq.to_be_bytes());
    tcp.extend(segment.ack.to_be_bytes());
    tcp.extend([if segment.mss.is_some() { 0x60 } else { 0x50 }, segment.flags]);
    tcp.extend(segment.window.to_be_bytes());
    tcp.extend([0; 4]);
    if let Some(mss) = segment.mss {
        tcp.extend([2, 4]);
        tcp.extend(mss.to_be_bytes());
    }
    tcp.extend(payload);
    summed(flow, tcp, 16)
}

/// A frame of this header and payload, whose checksum is at `at`.
fn summed(flow: Flow, mut l4: Vec<u8>, at: usize) -> Vec<u8> {
    let mut frame = ipv4(flow.protocol, flow.src.0, flow.dst.0, 64, &l4);
    let sum = match !l4_sum(&frame[ETHERNET..L4], &l4) {
        0 if flow.protocol == UDP => 0xffff,
        sum => sum,
    };
    l4[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    frame.truncate(L4);
    frame.extend(l4);
    frame
}

/// The flow of a frame. An error if the frame is cut or a checksum of it is wrong.
pub fn flow(frame: &[u8]) -> Result<Flow, String> {
    let least = if frame.get(23) == Some(&TCP) { 20 } else { 8 };
    if frame.len() < L4 + least {
        return Err(format!("a frame of {} bytes", frame.len()));
    }
    let (ip, l4) = (&frame[ETHERNET..L4], &frame[L4..]);
    if folded(ip) != 0xffff {
        return Err("IPv4's checksum is wrong".into());
    }
    if usize::from(u16::from_be_bytes([ip[2], ip[3]])) != frame.len() - ETHERNET {
        return Err("IPv4's length is wrong".into());
    }
    let without = ip[9] == UDP && l4[6..8] == [0, 0];
    if !without && l4_sum(ip, l4) != 0xffff {
        return Err(format!("the checksum of protocol {} is wrong", ip[9]));
    }
    let address = |at: usize| u32::from_be_bytes([ip[at], ip[at + 1], ip[at + 2], ip[at + 3]]);
    let port = |at: usize| u16::from_be_bytes([l4[at], l4[at + 1]]);
    Ok(Flow { protocol: ip[9], src: (address(12), port(0)), dst: (address(16), port(2)) })
}

/// Header and payload of a segment whose flow has been read.
pub fn read_segment(frame: &[u8]) -> Option<(Segment, &[u8])> {
    let tcp = frame.get(L4..)?;
    let number = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
    let (seq, ack) = (number(4)?, number(8)?);
    let bytes = usize::from(*tcp.get(12)? >> 4) * 4;
    let options = tcp.get(20..bytes)?;
    let mss = match options {
        [2, 4, high, low, ..] => Some(u16::from_be_bytes([*high, *low])),
        _ => None,
    };
    let window = u16::from_be_bytes([*tcp.get(14)?, *tcp.get(15)?]);
    Some((Segment { seq, ack, flags: *tcp.get(13)?, window, mss }, tcp.get(bytes..)?))
}
