//! Ethernet, IPv4 and UDP around memcached's datagrams: read, and answers written.

/// memcached's port.
pub const PORT: u16 = 11211;
/// Bytes of memcached's own header: request id, sequence number, datagrams, reserved; 16 bits each.
pub const FRAME_HEADER: usize = 8;

const ETHERNET: usize = 14;
const VLAN: usize = 4;
const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP: usize = 8;

const TCP_PROTOCOL: u8 = 6;
const UDP_PROTOCOL: u8 = 17;

/// A frame as the cache sees it.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// Nothing of memcached's, or nothing that its receiver will take.
    Other,
    /// A frame that may change or show a server's state and cannot be read: a fragment, truncated, over TCP or IPv6.
    Unreadable,
    /// A datagram.
    Datagram(Datagram<'a>),
}

/// A datagram to or from memcached's port.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Everything up to IPv4.
    link: &'a [u8],
    /// Source address and port.
    pub source: ([u8; 4], u16),
    /// Destination address and port.
    pub destination: ([u8; 4], u16),
    /// memcached's request id.
    pub id: u16,
    /// Number of datagrams of the message.
    pub datagrams: u16,
    /// memcached's text.
    pub text: &'a [u8],
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes)
}

/// Looks for memcached's port.
pub fn read(frame: &[u8]) -> Seen<'_> {
    let link = if u16_at(frame, 12) == Some(0x8100) { ETHERNET + VLAN } else { ETHERNET };
    let seen = match u16_at(frame, link - 2) {
        Some(0x0800) => read_ipv4(frame, link),
        Some(0x86dd) => read_ipv6(&frame[link..]),
        _ => None,
    };
    seen.unwrap_or(Seen::Other)
}

/// The ports of TCP and UDP, if one is memcached's.
fn ports(transport: &[u8]) -> Option<(u16, u16)> {
    let (source, destination) = (u16_at(transport, 0)?, u16_at(transport, 2)?);
    (source == PORT || destination == PORT).then_some((source, destination))
}

/// A segment of memcached's port that carries data.
fn tcp(transport: &[u8]) -> Option<Seen<'_>> {
    ports(transport)?;
    let header = transport.get(12).map(|offset| usize::from(offset >> 4) * 4);
    (header.is_none_or(|header| header < transport.len())).then_some(Seen::Unreadable)
}

/// IPv6 is not parsed, so bytes after extension headers may be memcached's.
fn read_ipv6(ip: &[u8]) -> Option<Seen<'_>> {
    let (head, behind) = ip.split_at_checked(IPV6)?;
    let length = u16_at(head, 4).map_or(0, usize::from);
    let transport = behind.get(..length).unwrap_or(behind);
    let is_multicast = head[24] == 0xff;
    match head[6] {
        _ if is_multicast => None,
        TCP_PROTOCOL => tcp(transport),
        UDP_PROTOCOL => ports(transport).map(|_| Seen::Unreadable),
        // Options, routing, fragments, destination options.
        0 | 43 | 44 | 60 => Some(Seen::Unreadable),
        _ => None,
    }
}

fn read_ipv4(frame: &[u8], link: usize) -> Option<Seen<'_>> {
    let (link, ip) = frame.split_at_checked(link)?;
    let first = ip.first_chunk::<IPV4>()?;
    let header = usize::from(first[0] & 15) * 4;
    if first[0] >> 4 != 4 || header < IPV4 {
        return None;
    }
    let half = |at: usize| u16::from_be_bytes([first[at], first[at + 1]]);
    let (fragment, total) = (half(6), usize::from(half(2)));
    // A later fragment has no UDP header.
    if fragment & 0x1fff != 0 {
        return None;
    }
    let (source, destination) = match first[9] {
        TCP_PROTOCOL => return tcp(ip.get(header..total).or(ip.get(header..))?),
        UDP_PROTOCOL => ports(ip.get(header..)?)?,
        _ => return None,
    };
    let whole = |udp: &&[u8]| u16_at(udp, 4) == Some(udp.len() as u16) && udp.len() >= UDP + FRAME_HEADER;
    let Some(udp) = ip.get(header..total).filter(whole).filter(|_| fragment & 0x2000 == 0) else {
        return Some(Seen::Unreadable);
    };
    // A UDP checksum of 0 says that there is none (RFC 768).
    if checksum(&ip[..header]) != 0xffff || u16_at(udp, 6) != Some(0) && udp_checksum(&first[12..], udp) != 0
    {
        return None;
    }
    let address = |at: usize| [first[at], first[at + 1], first[at + 2], first[at + 3]];
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

/// An answer to `request`: `write` puts memcached's text after the headers, `length` bytes at most.
pub fn answer(request: &Datagram<'_>, length: usize, write: impl FnOnce(&mut Text)) -> Vec<u8> {
    const HEAD: usize = IPV4 + UDP + FRAME_HEADER;
    let link = request.link.len();
    let mut head = [0; ETHERNET + VLAN + HEAD];
    head[..6].copy_from_slice(&request.link[6..12]);
    head[6..12].copy_from_slice(&request.link[..6]);
    head[12..link].copy_from_slice(&request.link[12..]);
    // IPv4, UDP, and memcached's frame header: the request's number, datagram 0 of 1.
    let ip = &mut head[link..link + HEAD];
    ip[..12].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    ip[12..16].copy_from_slice(&request.destination.0);
    ip[16..20].copy_from_slice(&request.source.0);
    ip[20..22].copy_from_slice(&request.destination.1.to_be_bytes());
    ip[22..24].copy_from_slice(&request.source.1.to_be_bytes());
    ip[28..30].copy_from_slice(&request.id.to_be_bytes());
    ip[33] = 1;
    let mut frame = Vec::with_capacity(link + HEAD + length);
    frame.extend_from_slice(&head[..link + HEAD]);
    let mut text = Text { begins: frame.len(), frame, sum: 0 };
    write(&mut text);
    let Text { mut frame, sum: text, .. } = text;
    let total = (frame.len() - link) as u16;
    let ip = &mut frame[link..link + HEAD];
    ip[2..4].copy_from_slice(&total.to_be_bytes());
    let check = !checksum(&ip[..IPV4]);
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    let length = total - IPV4 as u16;
    ip[IPV4 + 4..IPV4 + 6].copy_from_slice(&length.to_be_bytes());
    let check = !folded(u64::from(length) + 17 + sum(&ip[12..]) + text);
    // 0 would mean that there is no checksum (RFC 768).
    let check = if check == 0 { 0xffff } else { check };
    ip[IPV4 + 6..IPV4 + 8].copy_from_slice(&check.to_be_bytes());
    frame
}

/// memcached's text in an answer, as it is written.
pub struct Text {
    frame: Vec<u8>,
    begins: usize,
    sum: u64,
}

impl Text {
    /// Some bytes more.
    pub fn put(&mut self, bytes: &[u8]) {
        self.put_known(bytes, checksum(bytes));
    }

    /// Appends bytes whose [`checksum`] is known.
    pub fn put_known(&mut self, bytes: &[u8], checksum: u16) {
        let is_odd = (self.frame.len() - self.begins) % 2 == 1;
        self.sum += u64::from(if is_odd { checksum.swap_bytes() } else { checksum });
        self.frame.extend_from_slice(bytes);
    }
}

/// The sum of bytes as 16-bit words, from the first on, in one's complement: RFC 1071.
pub fn checksum(bytes: &[u8]) -> u16 {
    folded(sum(bytes))
}

/// Correct checksum if its field is zero; zero if its field is correct.
fn udp_checksum(addresses: &[u8], udp: &[u8]) -> u16 {
    !folded(sum(addresses) + 17 + udp.len() as u64 + sum(udp))
}

/// The sum before folding: halves of words may be added in any order, and in the processor's byte order.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let (fours, rest) = rest.as_chunks::<4>();
    let (twos, rest) = rest.as_chunks::<2>();
    let halves = |word: u64| (word & 0xffff_ffff) + (word >> 32);
    let mut sum: u64 = words.iter().map(|word| halves(u64::from_ne_bytes(*word))).sum();
    sum += fours.iter().map(|four| u64::from(u32::from_ne_bytes(*four))).sum::<u64>();
    sum += twos.iter().map(|two| u64::from(u16::from_ne_bytes(*two))).sum::<u64>();
    sum += rest.iter().map(|last| u64::from(u16::from_ne_bytes([*last, 0]))).sum::<u64>();
    u64::from(u16::from_be(folded(sum)))
}

fn folded(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
