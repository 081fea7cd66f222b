//! Ethernet, IPv4 and UDP around memcached's datagrams: read, and answers written.

/// memcached's port.
pub const PORT: u16 = 11211;
/// Bytes of memcached's own header: request id, sequence number, datagrams, reserved; 16 bits each.
pub const FRAME_HEADER: usize = 8;

const ETHERNET: usize = 14;
const VLAN: usize = 4;
const IPV4: usize = 20;
const UDP: usize = 8;

/// What a frame is to the cache.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// Nothing of memcached's, or nothing that its receiver will take.
    Other,
    /// It may be of memcached's, and cannot be read: a fragment, or cut short.
    Unreadable,
    /// A datagram.
    Datagram(Datagram<'a>),
}

/// A datagram to or from memcached's port.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Everything up to IPv4.
    link: &'a [u8],
    /// Where it comes from.
    pub source: ([u8; 4], u16),
    /// Where it goes.
    pub destination: ([u8; 4], u16),
    /// memcached's request id.
    pub id: u16,
    /// How many datagrams the message has.
    pub datagrams: u16,
    /// memcached's text.
    pub text: &'a [u8],
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes)
}

/// Looks for memcached's port.
pub fn read(frame: &[u8]) -> Seen<'_> {
    let link = match u16_at(frame, 12) {
        Some(0x0800) => ETHERNET,
        Some(0x8100) if u16_at(frame, 16) == Some(0x0800) => ETHERNET + VLAN,
        _ => return Seen::Other,
    };
    read_ip(frame, link).unwrap_or(Seen::Other)
}

fn read_ip(frame: &[u8], link: usize) -> Option<Seen<'_>> {
    let (link, ip) = frame.split_at_checked(link)?;
    let header = usize::from(ip.first()? & 15) * 4;
    if ip[0] >> 4 != 4 || header < IPV4 || *ip.get(9)? != 17 {
        return None;
    }
    let (fragment, total) = (u16_at(ip, 6)?, usize::from(u16_at(ip, 2)?));
    if fragment & 0x1fff != 0 {
        return None;
    }
    let (source, destination) = (u16_at(ip, header)?, u16_at(ip, header + 2)?);
    if source != PORT && destination != PORT {
        return None;
    }
    let whole = |udp: &&[u8]| u16_at(udp, 4) == Some(udp.len() as u16) && udp.len() >= UDP + FRAME_HEADER;
    let Some(udp) = ip.get(header..total).filter(whole).filter(|_| fragment & 0x2000 == 0) else {
        return Some(Seen::Unreadable);
    };
    let address = |at: usize| [ip[at], ip[at + 1], ip[at + 2], ip[at + 3]];
    if folded(sum(&ip[..header])) != 0xffff
        || u16_at(udp, 6) != Some(0) && udp_checksum(&ip[12..20], udp) != 0
    {
        return None;
    }
    let (head, text) = udp[UDP..].split_at(FRAME_HEADER);
    Some(Seen::Datagram(Datagram {
        link,
        source: (address(12), source),
        destination: (address(16), destination),
        id: u16::from_be_bytes([head[0], head[1]]),
        datagrams: u16::from_be_bytes([head[4], head[5]]),
        text,
    }))
}

/// An answer to `request`: `write` puts memcached's text behind the headers.
pub fn answer(request: &Datagram<'_>, length: usize, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let link = request.link.len();
    let mut head = [0; IPV4 + UDP + FRAME_HEADER];
    head[..12].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    head[12..16].copy_from_slice(&request.destination.0);
    head[16..20].copy_from_slice(&request.source.0);
    head[20..22].copy_from_slice(&request.destination.1.to_be_bytes());
    head[22..24].copy_from_slice(&request.source.1.to_be_bytes());
    head[28..30].copy_from_slice(&request.id.to_be_bytes());
    head[33] = 1;
    let mut frame = Vec::with_capacity(link + head.len() + length);
    frame.extend_from_slice(&request.link[6..12]);
    frame.extend_from_slice(&request.link[..6]);
    frame.extend_from_slice(&request.link[12..]);
    frame.extend_from_slice(&head);
    write(&mut frame);
    let ip = &mut frame[link..];
    let total = ip.len() as u16;
    ip[2..4].copy_from_slice(&total.to_be_bytes());
    let sum = !folded(sum(&ip[..IPV4]));
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip[IPV4 + 4..IPV4 + 6].copy_from_slice(&(total - IPV4 as u16).to_be_bytes());
    let sum = udp_checksum(&ip[12..20], &ip[IPV4..]);
    let sum = if sum == 0 { 0xffff } else { sum };
    ip[IPV4 + 6..IPV4 + 8].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// What the checksum has to be, where its field is zero; zero where its field is right.
fn udp_checksum(addresses: &[u8], udp: &[u8]) -> u16 {
    !folded(sum(addresses) + 17 + udp.len() as u64 + sum(udp))
}

/// The sum of 16-bit words, RFC 1071, not folded: its halves may be added in any order, and in the order of bytes that the
/// processor has.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let halves = |word: u64| (word & 0xffff_ffff) + (word >> 32);
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let sum: u64 = words.iter().map(|word| halves(u64::from_ne_bytes(*word))).sum();
    u64::from(u16::from_be(folded(sum + halves(u64::from_ne_bytes(last)))))
}

fn folded(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
