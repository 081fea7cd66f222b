//! Frames without most of their payload, for packets that met a full queue.
//!
//! Before: Ethernet, IPv4, UDP, 1,472 bytes of payload.
//! After:  Ethernet, IPv4, UDP, 24 bytes of payload; lengths and the header's checksum fit, and UDP has no checksum.

/// Bytes of a trimmed frame: Ethernet, IPv4 and UDP, and 24 bytes of payload, the header of AGG.
pub const TRIMMED: usize = 14 + 20 + 8 + 24;

/// The frame as it leaves: a short one is not changed. None of a long one that is no whole datagram of UDP over IPv4 without options and tags, since
/// its receiver would take the rest for all of it.
pub(crate) fn trim(mut frame: Vec<u8>) -> Option<Vec<u8>> {
    if frame.len() <= TRIMMED {
        return Some(frame);
    }
    let is_datagram = frame[12..15] == [8, 0, 0x45] && frame[23] == 17;
    // More fragments, or an offset.
    let is_fragment = frame[20] & 0x3f != 0 || frame[21] != 0;
    if !is_datagram || is_fragment {
        return None;
    }
    frame.truncate(TRIMMED);
    let length = (TRIMMED - 14) as u16;
    frame[16..18].copy_from_slice(&length.to_be_bytes());
    frame[24..26].fill(0);
    let checksum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    frame[38..40].copy_from_slice(&(length - 20).to_be_bytes());
    frame[40..42].fill(0);
    Some(frame)
}

/// The checksum of an IPv4 header.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram with so many bytes of payload, whose header has no checksum yet.
    fn datagram(payload: usize) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 2]);
        frame.extend((28 + payload as u16).to_be_bytes());
        frame.extend([0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 1, 1, 1]);
        frame.extend((8 + payload as u16).to_be_bytes());
        frame.extend([7, 7]);
        frame.extend((0..payload).map(|at| at as u8));
        frame
    }

    #[test]
    fn a_datagram_keeps_its_headers_and_the_first_bytes_of_its_payload() {
        let frame = trim(datagram(1472)).unwrap();
        assert_eq!(frame.len(), TRIMMED);
        assert_eq!((&frame[..14], &frame[42..]), (&datagram(0)[..14], &datagram(24)[42..]));
        assert_eq!((&frame[16..18], &frame[38..42]), (&[0, 52][..], &[0, 32, 0, 0][..]));
        // ECN stays as it was.
        assert_eq!(frame[15], 2);
        assert_eq!(checksum(&frame[14..34]), 0, "the checksum over a right one");
    }

    #[test]
    fn short_frames_pass_and_other_packets_are_lost() {
        for payload in [0, 24] {
            assert_eq!(trim(datagram(payload)), Some(datagram(payload)));
        }
        let changed = |at: usize, byte: u8| {
            let mut frame = datagram(100);
            frame[at] = byte;
            frame
        };
        // TCP, IPv6, a VLAN tag, options, a first and a last fragment.
        for (at, byte) in [(23, 6), (12, 0x86), (12, 0x81), (14, 0x46), (20, 0x20), (21, 1), (20, 1)] {
            assert_eq!(trim(changed(at, byte)), None, "byte {at}");
        }
        assert!(trim(changed(20, 0)).is_some(), "it may be fragmented, and is not");
    }
}
