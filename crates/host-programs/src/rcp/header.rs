//! The bytes of a packet after UDP's header: RCP's, then those of the hosts' own protocol.
//!
//! | bytes | | read and written by |
//! |---|---|---|
//! | 1 | version (4 bits, 0), flags (4 bits) | hosts |
//! | 3 | the sender's round trip in microseconds; 0: unknown | hosts |
//! | 4 | rate in kbit/s: the sender's wish, lowered by switches | switches |
//! | 4 | rate back in kbit/s: the rate that reached the receiver | hosts |
//! | 4 | number of the transfer | hosts |
//! | 4 | number of the piece of data | hosts |
//! | 4 | number of the transmission, which the acknowledgement repeats | hosts |
//! | 4 | hash of all of these but the rate, in place of UDP's checksum | hosts |

/// Bytes of it all.
pub(super) const LENGTH: usize = 28;

/// Flag: the first packet of a transfer, which asks for a rate.
pub(super) const SYN: u8 = 1;
/// Flag: asks for the current rate and has no data.
pub(super) const REF: u8 = 2;
/// Flag: has a piece of data.
pub(super) const DATA: u8 = 4;
/// Flag: the receiver's answer.
pub(super) const ACK: u8 = 8;

/// A packet's header.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Header {
    pub flags: u8,
    pub rtt_us: u32,
    pub rate: u32,
    pub rate_back: u32,
    pub transfer: u32,
    pub piece: u32,
    pub transmission: u32,
}

impl Header {
    /// Writes it at the beginning of a payload of at least [`LENGTH`] bytes; of a shorter one nothing.
    pub fn write(self, payload: &mut [u8]) {
        let Some(head) = payload.get_mut(..LENGTH) else { return };
        let words = [
            self.first(),
            self.rate,
            self.rate_back,
            self.transfer,
            self.piece,
            self.transmission,
            self.check(),
        ];
        for (bytes, word) in head.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
    }

    fn first(self) -> u32 {
        u32::from(self.flags & 15) << 24 | self.rtt_us.min(0xff_ffff)
    }

    fn check(self) -> u32 {
        let words = [self.first(), self.rate_back, self.transfer, self.piece, self.transmission];
        let mix =
            |sum: u64, word| (sum ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        words.into_iter().fold(1, mix) as u32
    }

    /// The header of a payload, and the data after it; none of a shorter or changed one.
    pub fn read(payload: &[u8]) -> Option<(Header, &[u8])> {
        let (head, data) = payload.split_at_checked(LENGTH)?;
        let mut words =
            head.chunks_exact(4).map(|bytes| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)));
        let mut next = || words.next().unwrap_or_default();
        let first = next();
        let header = Header {
            flags: (first >> 24 & 15) as u8,
            rtt_us: first & 0xff_ffff,
            rate: next(),
            rate_back: next(),
            transfer: next(),
            piece: next(),
            transmission: next(),
        };
        let check = next();
        (first >> 28 == 0 && check == header.check()).then_some((header, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_back() {
        let header = Header {
            flags: DATA,
            rtt_us: 0x12_3456,
            rate: 5,
            rate_back: u32::MAX,
            transfer: 1,
            piece: 2,
            transmission: 3,
        };
        let mut payload = [0x55; LENGTH + 2];
        header.write(&mut payload);
        assert_eq!(payload[..8], [4, 0x12, 0x34, 0x56, 0, 0, 0, 5]);
        assert_eq!(Header::read(&payload), Some((header, [0x55, 0x55].as_slice())));
        assert_eq!(Header::read(&payload[..LENGTH - 1]), None);
        // Switches change the rate; nothing else may change.
        for bit in 0..LENGTH * 8 {
            payload[bit / 8] ^= 0x80 >> (bit % 8);
            assert_eq!(Header::read(&payload).is_some(), (32..64).contains(&bit), "bit {bit}");
            payload[bit / 8] ^= 0x80 >> (bit % 8);
        }
    }
}
