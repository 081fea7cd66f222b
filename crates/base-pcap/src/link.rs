//! The link-layer type of a capture, and frame check sequences after its frames.

/// Link layer in a classic file: the last word of its header.
///
/// ```text
///  31    28  27  26  25          16 15                  0
/// +--------+---+---+---------------+---------------------+
/// | FCS    | R | P | reserved      | link-layer type     |
/// +--------+---+---+---------------+---------------------+
/// ```
///
/// If P is set, the FCS field is the number of 16-bit words of frame check sequence at the end of each frame
/// (draft-ietf-opsawg-pcap, section 4).
const TYPE: u32 = 0xffff;
const HAS_FCS: u32 = 1 << 26;
const FCS_WORDS: u32 = 28;

/// The bytes of frame check sequence after each frame, if the word says Ethernet; else why it cannot be read.
pub(crate) fn fcs_of_word(word: u32) -> Result<u32, String> {
    ethernet(word & TYPE)?;
    let words = word >> FCS_WORDS;
    let known = TYPE | HAS_FCS | (0xf << FCS_WORDS);
    if word & !known != 0 || (words != 0 && word & HAS_FCS == 0) {
        return Err(format!(
            "the link-type word is {word:#010x}: Ethernet, with bits set that have no meaning known here"
        ));
    }
    Ok(2 * words)
}

/// Refuses link-layer types but Ethernet.
pub(crate) fn ethernet(kind: u32) -> Result<(), String> {
    let name = match kind {
        1 => return Ok(()),
        0 | 108 => " (BSD loopback)",
        9 | 50 | 51 => " (PPP)",
        12 | 14 | 101 => " (IP without a link layer)",
        105 => " (IEEE 802.11)",
        113 | 276 => " (Linux \"cooked\", what a capture on all interfaces has)",
        119 | 127 | 192 => " (IEEE 802.11 with radio headers)",
        228 => " (IPv4 without a link layer)",
        229 => " (IPv6 without a link layer)",
        189 | 220 | 249 => " (USB)",
        _ => "",
    };
    Err(format!("the link type is {kind}{name}: only 1 (Ethernet) is read"))
}

/// A frame without the `fcs` bytes of frame check sequence that end it on the wire, where it has `original` bytes; and its
/// length on the wire without them. A capture may have cut the frame in them or before.
pub(crate) fn without_fcs(frame: &[u8], original: u32, fcs: u32) -> (&[u8], u32) {
    let original = original.saturating_sub(fcs);
    let kept = frame.len().min(original as usize);
    (frame.get(..kept).unwrap_or(frame), original)
}

#[cfg(test)]
mod tests {
    use super::{fcs_of_word, without_fcs};

    #[test]
    fn words() {
        assert_eq!(fcs_of_word(1), Ok(0));
        assert_eq!(fcs_of_word(0x2400_0001), Ok(4));
        assert_eq!(fcs_of_word(0x0400_0001), Ok(0));
        let refused = |word| fcs_of_word(word).unwrap_err();
        assert!(refused(0x2000_0001).starts_with("the link-type word is 0x20000001: Ethernet, with bits"));
        assert!(refused(0x0001_0001).contains("0x00010001"));
        assert!(refused(0x2400_0069).starts_with("the link type is 105 (IEEE 802.11)"));
        assert!(refused(147).starts_with("the link type is 147: only"));
    }

    #[test]
    fn frames_cut_before_within_and_behind_the_sequence() {
        assert_eq!(without_fcs(&[1, 2, 3, 4, 5, 6], 6, 4), (&[1, 2][..], 2));
        assert_eq!(without_fcs(&[1, 2, 3], 6, 4), (&[1, 2][..], 2));
        assert_eq!(without_fcs(&[1], 6, 4), (&[1][..], 2));
        assert_eq!(without_fcs(&[1, 2], 2, 4), (&[][..], 0));
    }
}
