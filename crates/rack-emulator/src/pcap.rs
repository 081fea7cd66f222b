//! Recordings in the pcap format, with nanoseconds.
//!
//! The format is that of `draft-ietf-opsawg-pcap`: a header of 24 bytes, then each frame after 16 bytes of
//! time and length; little-endian.

use base_time::Time;

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINK_TYPE_ETHERNET: u32 = 1;
const SNAP_LENGTH: u32 = 262_144;

/// Frames as the bytes of a pcap file.
#[derive(Clone, Debug)]
pub struct Pcap {
    bytes: Vec<u8>,
}

impl Default for Pcap {
    fn default() -> Pcap {
        Pcap::new()
    }
}

impl Pcap {
    /// No frames yet.
    pub fn new() -> Pcap {
        let mut bytes = vec![];
        bytes.extend(MAGIC_NANOSECONDS.to_le_bytes());
        bytes.extend([2, 0, 4, 0]);
        bytes.extend([0; 8]);
        bytes.extend(SNAP_LENGTH.to_le_bytes());
        bytes.extend(LINK_TYPE_ETHERNET.to_le_bytes());
        Pcap { bytes }
    }

    /// Adds a frame, truncated to 262144 bytes.
    pub fn add(&mut self, at: Time, frame: &[u8]) {
        let kept = &frame[..frame.len().min(SNAP_LENGTH as usize)];
        let seconds = (at.as_ns() / 1_000_000_000) as u32;
        let nanoseconds = (at.as_ns() % 1_000_000_000) as u32;
        for word in [seconds, nanoseconds, kept.len() as u32, frame.len() as u32] {
            self.bytes.extend(word.to_le_bytes());
        }
        self.bytes.extend(kept);
    }

    /// The file's contents since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_time::Duration;

    #[test]
    fn a_recording_has_the_format() {
        let mut pcap = Pcap::new();
        pcap.add(Time::ZERO + Duration::from_ns(3_000_000_007), &[0xaa, 0xbb]);
        let bytes = pcap.take();
        assert!(pcap.take().is_empty());
        assert_eq!(bytes[..8], [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0]);
        assert_eq!(bytes[20..24], [1, 0, 0, 0]);
        assert_eq!(bytes[24..], [3, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0xaa, 0xbb]);
    }
}
