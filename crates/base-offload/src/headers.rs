//! Positions of the headers of a TCP or UDP packet.

use crate::checksum::sum;

/// Offsets in a frame of Ethernet, up to two VLAN tags, IPv4 or IPv6, and TCP or UDP. Packets with extension headers, and fragments, are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Headers {
    /// First byte of IP.
    pub(crate) l3: usize,
    pub(crate) is_v6: bool,
    /// First byte of TCP or UDP.
    pub(crate) l4: usize,
    pub(crate) layer4: Layer4,
    /// First byte of the payload.
    pub(crate) payload: usize,
    /// After the last byte of the packet, by IP's length: padding may follow.
    pub(crate) end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layer4 {
    Tcp,
    Udp,
}

impl Headers {
    /// Headers of a whole packet; `None` if it is another protocol, or its lengths are not right.
    pub(crate) fn of(frame: &[u8]) -> Option<Headers> {
        let found = Headers::find(frame, None)?;
        (found.end <= frame.len()).then_some(found)
    }

    /// Headers of a large frame. The IP length may be zero; the packet then ends with the frame.
    pub(crate) fn of_large(frame: &[u8]) -> Option<Headers> {
        Headers::find(frame, Some(frame.len()))
    }

    fn find(frame: &[u8], end: Option<usize>) -> Option<Headers> {
        let word = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
        let mut l3 = 14;
        while l3 < 22 && matches!(word(l3 - 2)?, 0x8100 | 0x88a8) {
            l3 += 4;
        }
        let (is_v6, l4, protocol, length) = match (word(l3 - 2)?, frame.get(l3)?) {
            (0x0800, first @ 0x45..=0x4f) => {
                // More fragments, or an offset.
                if word(l3 + 6)? & 0x3fff != 0 {
                    return None;
                }
                let length = usize::from(first & 15) * 4;
                (false, l3 + length, *frame.get(l3 + 9)?, usize::from(word(l3 + 2)?))
            }
            (0x86dd, first) if first >> 4 == 6 => {
                (true, l3 + 40, *frame.get(l3 + 6)?, 40 + usize::from(word(l3 + 4)?))
            }
            _ => return None,
        };
        let (layer4, payload) = match protocol {
            6 => (Layer4::Tcp, l4 + usize::from(frame.get(l4 + 12)? >> 4).max(5) * 4),
            17 => (Layer4::Udp, l4 + 8),
            _ => return None,
        };
        let end = end.unwrap_or(l3 + length);
        (payload <= end && payload <= frame.len()).then_some(Headers { l3, is_v6, l4, layer4, payload, end })
    }

    /// The sum of the pseudo-header of a packet with so many bytes of TCP or UDP.
    pub(crate) fn pseudo(&self, frame: &[u8], length: usize) -> u64 {
        let addresses = if self.is_v6 { self.l3 + 8..self.l3 + 40 } else { self.l3 + 12..self.l3 + 20 };
        let protocol = match self.layer4 {
            Layer4::Tcp => [0, 6],
            Layer4::Udp => [0, 17],
        };
        sum(&frame[addresses]) + sum(&protocol) + sum(&(length as u32).to_be_bytes())
    }
}
