//! The bytes of a packet after UDP's header: those of RCP, XCP, pFabric or D3, then those of the hosts' own protocol.
//!
//! | bytes | | read and written by |
//! |---|---|---|
//! | 1 | version (4 bits, 0), flags (4 bits) | hosts |
//! | 3 | the sender's round trip in microseconds; 0: unknown | hosts |
//! | 4 | RCP: rate in kbit/s: the sender's wish, lowered by switches | switches |
//! | 4 | RCP: rate back in kbit/s: the rate that reached the receiver | hosts |
//! | 4 | XCP: rtt s / cwnd in microseconds, 8 bits after the point; 0: unknown | hosts |
//! | 4 | XCP: xi_p, 24 bits after the point, lowered by switches | switches |
//! | 4 | XCP: xi_n, 24 bits after the point, raised by switches | switches |
//! | 4 | pFabric: packets of the transfer that are not acknowledged; 0 in answers | hosts |
//! | 4 | D3: granted rate in kbit/s: the sender's wish, lowered by switches | switches |
//! | 4 | D3: desired rate in kbit/s; in an answer the rate that reached the receiver | hosts |
//! | 4, 4 | D3: desired and granted rate of the request before; 0 in answers | hosts |
//! | 4 | number of the transfer | hosts |
//! | 4 | number of the piece of data | hosts |
//! | 4 | number of the transmission, which the acknowledgement repeats | hosts |
//! | 4 | hash of all of these but those that switches write, in place of UDP's checksum | hosts |

use super::control::{Protocol, Words};

/// Bytes of the header without the protocol's own words.
const COMMON: usize = 20;

/// Flag: the first packet of a transfer, which asks for a rate.
pub(super) const SYN: u8 = 1;
/// Flag: asks for the current rate and has no data.
pub(super) const REF: u8 = 2;
/// Both flags: everything is sent, and the transfer returns what it had. Only D3 sends it.
pub(super) const END: u8 = SYN | REF;
/// Flag: has a piece of data.
pub(super) const DATA: u8 = 4;
/// Flag: the receiver's answer.
pub(super) const ACK: u8 = 8;

/// A packet's header.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Header {
    pub flags: u8,
    pub rtt_us: u32,
    /// The protocol's own words; those that it does not have are 0.
    pub words: Words,
    pub transfer: u32,
    pub piece: u32,
    pub transmission: u32,
}

/// Bytes of a header.
pub(super) fn length(protocol: Protocol) -> usize {
    COMMON + 4 * protocol.words()
}

/// Runs code that is made for each protocol, with loops over its words of known length: it runs for each packet.
#[inline(always)]
fn by_protocol<R>(protocol: Protocol, run: impl FnOnce(Protocol) -> R) -> R {
    match protocol {
        Protocol::Rcp => run(Protocol::Rcp),
        Protocol::Xcp => run(Protocol::Xcp),
        Protocol::Pfabric => run(Protocol::Pfabric),
        Protocol::D3 => run(Protocol::D3),
    }
}

impl Header {
    /// Writes it at the beginning of a payload that is long enough; of a shorter one nothing.
    pub fn write(self, protocol: Protocol, payload: &mut [u8]) {
        by_protocol(
            protocol,
            #[inline(always)]
            |protocol| self.write_by(protocol, payload),
        );
    }

    #[inline(always)]
    fn write_by(self, protocol: Protocol, payload: &mut [u8]) {
        let Some(head) = payload.get_mut(..length(protocol)) else { return };
        let [first, words @ ..] = head.as_chunks_mut::<4>().0 else { return };
        let (own, rest) = words.split_at_mut(protocol.words());
        *first = self.first().to_be_bytes();
        own.iter_mut().zip(self.words).for_each(|(bytes, word)| *bytes = word.to_be_bytes());
        if let [transfer, piece, transmission, check] = rest {
            *transfer = self.transfer.to_be_bytes();
            *piece = self.piece.to_be_bytes();
            *transmission = self.transmission.to_be_bytes();
            *check = self.check(protocol).to_be_bytes();
        }
    }

    #[inline(always)]
    fn first(self) -> u32 {
        u32::from(self.flags & 15) << 24 | self.rtt_us.min(0xff_ffff)
    }

    #[inline(always)]
    fn check(self, protocol: Protocol) -> u32 {
        let mix =
            |sum: u64, word| (sum ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let own = self.words[protocol.fixed()].iter().fold(mix(1, self.first()), |sum, word| mix(sum, *word));
        [self.transfer, self.piece, self.transmission].into_iter().fold(own, mix) as u32
    }

    /// The header of a payload, and the data after it; none of a shorter or changed one.
    #[inline(always)]
    pub fn read(protocol: Protocol, payload: &[u8]) -> Option<(Header, &[u8])> {
        by_protocol(
            protocol,
            #[inline(always)]
            |protocol| Header::read_by(protocol, payload),
        )
    }

    #[inline(always)]
    fn read_by(protocol: Protocol, payload: &[u8]) -> Option<(Header, &[u8])> {
        let (head, data) = payload.split_at_checked(length(protocol))?;
        let [first, words @ ..] = head.as_chunks::<4>().0 else { return None };
        let (own, rest) = words.split_at_checked(protocol.words())?;
        let [transfer, piece, transmission, check] = rest else { return None };
        let first = u32::from_be_bytes(*first);
        let mut words = Words::default();
        words.iter_mut().zip(own).for_each(|(word, bytes)| *word = u32::from_be_bytes(*bytes));
        let header = Header {
            flags: (first >> 24 & 15) as u8,
            rtt_us: first & 0xff_ffff,
            words,
            transfer: u32::from_be_bytes(*transfer),
            piece: u32::from_be_bytes(*piece),
            transmission: u32::from_be_bytes(*transmission),
        };
        let check = u32::from_be_bytes(*check);
        (first >> 28 == 0 && check == header.check(protocol)).then_some((header, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_back() {
        // Switches change these bits; nothing else may change.
        for (protocol, words, changing) in [
            (Protocol::Rcp, [5, u32::MAX, 0, 0], 32..64),
            (Protocol::Xcp, [5, u32::MAX, 7, 0], 64..128),
            (Protocol::Pfabric, [5, 0, 0, 0], 0..0),
            (Protocol::D3, [5, 6, u32::MAX, 7], 32..64),
        ] {
            let header =
                Header { flags: DATA, rtt_us: 0x12_3456, words, transfer: 1, piece: 2, transmission: 3 };
            let length = length(protocol);
            let mut payload = vec![0x55; length + 2];
            header.write(protocol, &mut payload);
            assert_eq!(payload[..8], [4, 0x12, 0x34, 0x56, 0, 0, 0, 5]);
            assert_eq!(Header::read(protocol, &payload), Some((header, [0x55, 0x55].as_slice())));
            assert_eq!(Header::read(protocol, &payload[..length - 1]), None);
            for bit in 0..length * 8 {
                payload[bit / 8] ^= 0x80 >> (bit % 8);
                assert_eq!(Header::read(protocol, &payload).is_some(), changing.contains(&bit), "bit {bit}");
                payload[bit / 8] ^= 0x80 >> (bit % 8);
            }
        }
    }
}
