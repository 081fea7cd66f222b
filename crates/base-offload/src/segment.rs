//! A large segment becomes frames.
//!
//! As the kernel's `tcp_gso_segment` and `__udp_gso_segment` do it: IPv4's identification counts up, TCP's sequence number goes on, FIN and PSH are the last
//! segment's, CWR the first one's, and each has lengths and checksums of its own.

use crate::checksum::{sum, written};
use crate::headers::{Headers, Layer4};
use crate::{Large, Protocol};

/// FIN and PSH: what follows them is no part of them.
const AT_THE_END: u8 = 0x09;

/// Congestion window reduced: is said once.
const CWR: u8 = 0x80;

/// The segments of a frame, which [`next`](Segments::next) writes one by one.
#[derive(Debug)]
pub struct Segments {
    headers: Headers,
    size: usize,
    /// Payload bytes that are done.
    done: usize,
    /// Segments that are done.
    count: u16,
}

impl Segments {
    /// Begins to cut a frame; `None` if its headers are not those of such a segment, as in tunnels.
    pub fn of(frame: &[u8], large: Large) -> Option<Segments> {
        let headers = Headers::of_large(frame)?;
        let is_right = match large.protocol {
            Protocol::Tcp => headers.layer4 == Layer4::Tcp,
            Protocol::Udp => headers.layer4 == Layer4::Udp,
        };
        (is_right && large.size > 0).then_some(Segments { headers, size: large.size, done: 0, count: 0 })
    }

    /// Bytes of the longest segment.
    pub fn longest(&self) -> usize {
        self.headers.payload + self.size
    }

    /// Writes the next segment of the frame to the first bytes of `room`, of which there are [`longest`](Segments::longest) at least, and gives its length; `None`
    /// at the end.
    pub fn next(&mut self, frame: &[u8], room: &mut [u8]) -> Option<usize> {
        let Headers { l3, is_v6, l4, layer4, payload, .. } = self.headers;
        let first = payload + self.done;
        if first >= frame.len() && self.count > 0 {
            return None;
        }
        let size = self.size.min(frame.len() - first);
        let (length, is_last) = (payload + size, first + size == frame.len());
        let segment = room.get_mut(..length)?;
        segment[..payload].copy_from_slice(&frame[..payload]);
        segment[payload..].copy_from_slice(&frame[first..first + size]);
        if is_v6 {
            segment[l3 + 4..l3 + 6].copy_from_slice(&((length - l3 - 40) as u16).to_be_bytes());
        } else {
            segment[l3 + 2..l3 + 4].copy_from_slice(&((length - l3) as u16).to_be_bytes());
            let id = u16::from_be_bytes([frame[l3 + 4], frame[l3 + 5]]).wrapping_add(self.count);
            segment[l3 + 4..l3 + 6].copy_from_slice(&id.to_be_bytes());
            segment[l3 + 10..l3 + 12].fill(0);
            let checksum = written(sum(&segment[l3..l4]));
            segment[l3 + 10..l3 + 12].copy_from_slice(&checksum);
        }
        let at = match layer4 {
            Layer4::Tcp => {
                let number = u32::from_be_bytes(frame[l4 + 4..l4 + 8].try_into().unwrap_or_default());
                let number = number.wrapping_add(self.done as u32);
                segment[l4 + 4..l4 + 8].copy_from_slice(&number.to_be_bytes());
                if !is_last {
                    segment[l4 + 13] &= !AT_THE_END;
                }
                if self.count > 0 {
                    segment[l4 + 13] &= !CWR;
                }
                l4 + 16
            }
            Layer4::Udp => {
                segment[l4 + 4..l4 + 6].copy_from_slice(&((length - l4) as u16).to_be_bytes());
                l4 + 6
            }
        };
        segment[at..at + 2].fill(0);
        let checksum = written(self.headers.pseudo(segment, length - l4) + sum(&segment[l4..]));
        // Zero would say that there is no checksum (RFC 768).
        let is_zero = layer4 == Layer4::Udp && checksum == [0, 0];
        segment[at..at + 2].copy_from_slice(if is_zero { &[0xff, 0xff] } else { &checksum });
        self.done += size;
        self.count = self.count.wrapping_add(1);
        Some(length)
    }
}
