//! Checksums (RFC 1071) and VLAN tags (IEEE 802.1Q).

use crate::Partial;
use crate::headers::{Headers, Layer4};

/// Bytes of the two MAC addresses.
const ADDRESSES: usize = 12;

/// The sum of 16-bit words in ones' complement, in the processor's byte order: such sums may be added and folded in any order.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let mut chunks = bytes.chunks_exact(32);
    let mut lanes = [0u64; 4];
    for chunk in &mut chunks {
        for (lane, word) in lanes.iter_mut().zip(chunk.chunks_exact(8)) {
            let word = u64::from_ne_bytes(word.try_into().unwrap_or_default());
            *lane += (word & 0xffff_ffff) + (word >> 32);
        }
    }
    let mut total: u64 = lanes.iter().map(|lane| (lane & 0xffff_ffff) + (lane >> 32)).sum();
    for pair in chunks.remainder().chunks(2) {
        let word = [pair[0], pair.get(1).copied().unwrap_or(0)];
        total += u64::from(u16::from_ne_bytes(word));
    }
    total
}

/// A sum as one word.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum of what has this sum, as it is written.
pub(crate) fn written(sum: u64) -> [u8; 2] {
    (!fold(sum)).to_ne_bytes()
}

/// Writes the checksum in the place of the sum of the pseudo-header; false, and nothing happens, if it is not within the frame.
pub fn complete(frame: &mut [u8], partial: Partial) -> bool {
    let at = partial.start.saturating_add(partial.offset);
    if frame.len() < at.saturating_add(2) {
        return false;
    }
    let checksum = written(sum(&frame[partial.start..]));
    // Zero means "no checksum" in UDP, and is the same number as this in ones' complement.
    let checksum = if checksum == [0, 0] { [0xff, 0xff] } else { checksum };
    frame[at..at + 2].copy_from_slice(&checksum);
    true
}

/// Finds a partial checksum: one that is the sum of the pseudo-header. If that sum is right by chance, completing it changes nothing; one wrong checksum of 65,536
/// is taken for a partial one.
pub fn partial(frame: &[u8]) -> Option<Partial> {
    let headers = Headers::of(frame)?;
    let offset = match headers.layer4 {
        Layer4::Tcp => 16,
        Layer4::Udp => 6,
    };
    let at = headers.l4 + offset;
    let field = frame.get(at..at + 2)?;
    let pseudo = fold(headers.pseudo(frame, headers.end - headers.l4));
    (field == pseudo.to_ne_bytes() && pseudo != 0).then_some(Partial { start: headers.l4, offset })
}

/// Puts a VLAN tag into the first bytes of `room`, which hold a frame of `length` bytes, and gives the new length; `None`, and nothing happens, if there is
/// no room, or no frame.
pub fn tag(room: &mut [u8], length: usize, protocol: u16, control: u16) -> Option<usize> {
    if length < ADDRESSES || room.len() < length + 4 {
        return None;
    }
    room.copy_within(ADDRESSES..length, ADDRESSES + 4);
    room[ADDRESSES..ADDRESSES + 2].copy_from_slice(&protocol.to_be_bytes());
    room[ADDRESSES + 2..ADDRESSES + 4].copy_from_slice(&control.to_be_bytes());
    Some(length + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Word by word, as the RFC says it.
    fn slow(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn a_completed_checksum_is_never_zero() {
        let mut frame = [0xff, 0xff, 0, 0, 0, 0, 0, 0];
        assert!(complete(&mut frame, Partial { start: 0, offset: 6 }));
        assert_eq!(frame, [0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff]);
    }

    #[test]
    fn sums_of_all_lengths_are_those_of_the_rfc() {
        let bytes: Vec<u8> = (0..3000u32).map(|n| (n * n % 251) as u8 | 1).collect();
        for length in (0..100).chain([1460, 2999, 3000]) {
            assert_eq!(fold(sum(&bytes[..length])), slow(&bytes[..length]).to_be(), "{length}");
        }
        assert_eq!(fold(sum(&[0xff; 65_535])), slow(&[0xff; 65_535]).to_be());
    }

    #[test]
    fn a_tag_stands_behind_the_addresses() {
        let mut room: Vec<u8> = (0..20).collect();
        assert_eq!(tag(&mut room, 16, 0x8100, 0x2064), Some(20));
        assert_eq!(room, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0x81, 0, 0x20, 0x64, 12, 13, 14, 15]);
        assert_eq!(tag(&mut room, 17, 0x8100, 1), None);
        assert_eq!(tag(&mut room, 11, 0x8100, 1), None);
    }
}
