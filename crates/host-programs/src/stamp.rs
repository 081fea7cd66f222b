//! The payload of workloads' packets: a stamp, then bytes that the receiver can check.
//!
//! | bytes | |
//! |---|---|
//! | 2 | `p4` |
//! | 2 | a hash of all that follows in the stamp |
//! | 4 | the number of the pair of hosts, counted over all workloads |
//! | 4 | sequence number, from 0 |
//! | 8 | when it was sent, in picoseconds |
//! | all others | byte `i` is the low byte of `i + sequence` |

use crate::pattern;
use base_time::Time;

/// Bytes of the stamp at the start of each payload, and so the least payload.
pub const STAMP: u32 = 20;

const MAGIC: [u8; 2] = *b"p4";

/// Identity of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// The number of its pair, over all workloads.
    pub flow: u32,
    /// Sequence number in the pair, from 0.
    pub sequence: u32,
    /// When it was sent.
    pub sent: Time,
}

impl Stamp {
    /// Fills a payload of at least [`STAMP`] bytes; of a shorter one nothing.
    pub fn write(self, payload: &mut [u8]) {
        let Some((head, rest)) = payload.split_at_mut_checked(STAMP as usize) else {
            return;
        };
        head[..2].copy_from_slice(&MAGIC);
        head[2..4].copy_from_slice(&self.check().to_be_bytes());
        head[4..8].copy_from_slice(&self.flow.to_be_bytes());
        head[8..12].copy_from_slice(&self.sequence.to_be_bytes());
        head[12..].copy_from_slice(&self.sent.as_ps().to_be_bytes());
        pattern::fill(rest, 0, self.first(), |_| 0);
    }

    /// The stamp of a payload, if it has one; [`rest_is_sound`](Stamp::rest_is_sound) says whether it was changed.
    pub fn read(payload: &[u8]) -> Option<Stamp> {
        let (magic, rest) = payload.split_first_chunk::<2>()?;
        let (_, rest) = rest.split_first_chunk::<2>()?;
        let (flow, rest) = rest.split_first_chunk::<4>()?;
        let (sequence, rest) = rest.split_first_chunk::<4>()?;
        let (sent, _) = rest.split_first_chunk::<8>()?;
        (*magic == MAGIC).then(|| Stamp {
            flow: u32::from_be_bytes(*flow),
            sequence: u32::from_be_bytes(*sequence),
            sent: Time::from_ps(u64::from_be_bytes(*sent)),
        })
    }

    fn check(self) -> u16 {
        let words = u64::from(self.flow) << 32 | u64::from(self.sequence);
        let mixed = (words ^ self.sent.as_ps().rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 48) as u16
    }

    /// True if the stamp and the rest of the payload are unchanged.
    pub fn rest_is_sound(self, payload: &[u8]) -> bool {
        if payload.get(2..4) != Some(&self.check().to_be_bytes()) {
            return false;
        }
        let rest = payload.get(STAMP as usize..).unwrap_or(&[]);
        pattern::is_filled(rest, 0, self.first(), |_| 0)
    }

    /// The byte after the stamp.
    fn first(self) -> u8 {
        (STAMP as u8).wrapping_add(self.sequence as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_back_and_the_rest_checked() {
        let stamp = Stamp { flow: 3, sequence: 300, sent: Time::from_ps(1 << 40) };
        let mut payload = vec![0; 600];
        stamp.write(&mut payload);
        assert_eq!(Stamp::read(&payload), Some(stamp));
        assert!(stamp.rest_is_sound(&payload));
        assert_eq!(payload[599], (599 + 300) as u8);
        payload[599] ^= 1;
        assert!(!stamp.rest_is_sound(&payload));
        payload[599] ^= 1;
        for byte in 2..20 {
            payload[byte] ^= 0x10;
            let read = Stamp::read(&payload).unwrap();
            assert!(!read.rest_is_sound(&payload), "byte {byte}");
            payload[byte] ^= 0x10;
        }
        assert_eq!(Stamp::read(&payload[..19]), None);
        payload[0] = 0;
        assert_eq!(Stamp::read(&payload), None);
    }
}
