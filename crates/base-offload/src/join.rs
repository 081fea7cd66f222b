//! Frames of one stream become a large segment: fewer calls for who sends, and fewer packets for a receiver on this machine.
//!
//! Only what [`Segments`](crate::Segments) would cut into the same frames is joined: TCP without other flags than ACK and PSH, the same headers and options, in
//! sequence, with right checksums. A wrong checksum stays wrong: its frame is left alone.

use crate::checksum::{fold, sum, written};
use crate::headers::{Headers, Layer4};
use crate::{Large, Offload, Partial, Protocol};

/// The most frames that are joined.
const MOST: usize = 64;

/// The longest headers: Ethernet with two tags, IPv4 and TCP with all options.
const LONGEST: usize = 22 + 60 + 60;

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;

/// A large segment of two frames or more.
#[derive(Debug)]
pub struct Joined {
    headers: Headers,
    header: [u8; LONGEST],
    size: usize,
    count: usize,
    /// Payload bytes of all.
    total: usize,
}

impl Joined {
    /// Joins the first frames of several; `None` if not even two belong together.
    pub fn of<'f>(mut frames: impl Iterator<Item = &'f [u8]>) -> Option<Joined> {
        let first = frames.next()?;
        let headers = Headers::of(first).filter(|headers| headers.layer4 == Layer4::Tcp)?;
        let flags = first[headers.l4 + 13];
        if headers.end != first.len() || headers.payload == headers.end || flags != ACK {
            return None;
        }
        let size = headers.end - headers.payload;
        let mut header = [0; LONGEST];
        header.get_mut(..headers.payload)?.copy_from_slice(&first[..headers.payload]);
        let mut joined = Joined { headers, header, size, count: 1, total: size };
        for frame in frames {
            if !joined.continues(frame)
                || joined.count == 1 && !joined.is_right(first)
                || !joined.is_right(frame)
            {
                break;
            }
            let (size, is_pushed) = (frame.len() - headers.payload, frame[headers.l4 + 13] & PSH != 0);
            joined.total += size;
            joined.count += 1;
            joined.header[headers.l4 + 13] |= frame[headers.l4 + 13] & PSH;
            if size < joined.size || is_pushed || joined.count == MOST {
                break;
            }
        }
        (joined.count > 1).then(|| joined.finished())
    }

    /// Number of joined frames.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The headers; the payloads follow, each that of a frame after the first [`header`](Joined::header)`.len()` bytes.
    pub fn header(&self) -> &[u8] {
        &self.header[..self.headers.payload]
    }

    /// Work left to the card.
    pub fn offload(&self) -> Offload {
        let checksum = Some(Partial { start: self.headers.l4, offset: 16 });
        Offload { checksum, large: Some(Large { protocol: Protocol::Tcp, size: self.size }) }
    }

    /// True if it is IPv6.
    pub fn is_v6(&self) -> bool {
        self.headers.is_v6
    }

    /// True if a frame is the next segment of the stream.
    fn continues(&self, frame: &[u8]) -> bool {
        let Headers { l3, is_v6, l4, payload, .. } = self.headers;
        let Some(header) = frame.get(..payload) else { return false };
        let (size, same) =
            (frame.len() - payload, |from: usize, to: usize| header[from..to] == self.header[from..to]);
        let next = u32::from_be_bytes(self.header[l4 + 4..l4 + 8].try_into().unwrap_or_default())
            .wrapping_add(self.total as u32);
        let ip = if is_v6 {
            same(l3, l3 + 4) && same(l3 + 6, l4) && word(header, l3 + 4) == l3_length(frame, l3 + 40)
        } else {
            let follows = word(header, l3 + 4) == word(&self.header, l3 + 4).wrapping_add(self.count as u16);
            let may_differ = header[l3 + 6] & 0x40 != 0;
            same(l3, l3 + 2)
                && same(l3 + 6, l3 + 10)
                && same(l3 + 12, l4)
                && (follows || may_differ)
                && word(header, l3 + 2) == l3_length(frame, l3)
        };
        ip && size > 0
            && size <= self.size
            && payload - l3 + self.total + size <= usize::from(u16::MAX)
            && same(0, l3)
            && same(l4, l4 + 4)
            && header[l4 + 4..l4 + 8] == next.to_be_bytes()
            && same(l4 + 8, l4 + 13)
            && header[l4 + 13] & !PSH == ACK
            && same(l4 + 14, l4 + 16)
            && same(l4 + 18, payload)
    }

    /// True if the checksums of a frame with these headers are right.
    fn is_right(&self, frame: &[u8]) -> bool {
        let Headers { l3, is_v6, l4, .. } = self.headers;
        (is_v6 || fold(sum(&frame[l3..l4])) == 0xffff)
            && fold(self.headers.pseudo(frame, frame.len() - l4) + sum(&frame[l4..])) == 0xffff
    }

    fn finished(mut self) -> Joined {
        let Headers { l3, is_v6, l4, payload, .. } = self.headers;
        let length = payload + self.total;
        if is_v6 {
            self.header[l3 + 4..l3 + 6].copy_from_slice(&((length - l3 - 40) as u16).to_be_bytes());
        } else {
            self.header[l3 + 2..l3 + 4].copy_from_slice(&((length - l3) as u16).to_be_bytes());
            self.header[l3 + 10..l3 + 12].fill(0);
            let checksum = written(sum(&self.header[l3..l4]));
            self.header[l3 + 10..l3 + 12].copy_from_slice(&checksum);
        }
        let pseudo = fold(self.headers.pseudo(&self.header, length - l4));
        self.header[l4 + 16..l4 + 18].copy_from_slice(&pseudo.to_ne_bytes());
        self
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Bytes of a frame from here to its end, as IP's lengths say it.
fn l3_length(frame: &[u8], from: usize) -> u16 {
    u16::try_from(frame.len().saturating_sub(from)).unwrap_or(0)
}
