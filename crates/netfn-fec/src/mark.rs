//! The mark, which reports the quality of a link to its other end: an LLDP frame (IEEE 802.1AB) with an organisation's
//! TLV of our own, always of the same length, so that a P4 parser extracts it as one header.
//!
//! ```p4
//! header link_mark_t {         // after the Ethernet header of EtherType 0x88cc
//!     bit<16> chassis;         // TLV 1 of 7 bytes
//!     bit<8>  chassis_kind;    // 4: a MAC address
//!     bit<48> chassis_id;
//!     bit<16> port;            // TLV 2 of 3 bytes
//!     bit<8>  port_kind;       // 7: locally assigned
//!     bit<16> port_id;         // the port by which the frames came: where the mark has to leave
//!     bit<16> ttl;             // TLV 3 of 2 bytes
//!     bit<16> seconds;
//!     bit<16> organisation;    // TLV 127 of 9 bytes
//!     bit<24> oui;             // 52:41:43
//!     bit<8>  subtype;         // 1
//!     bit<8>  faulty;          // 1, or 0 where the link is well again
//!     bit<32> lost_ppm;
//!     bit<16> end;
//! }
//! ```

/// The EtherType of LLDP.
pub const ETHER_TYPE: u16 = 0x88cc;
/// The address of the nearest bridge, which no switch forwards.
const NEAREST_BRIDGE: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e];
/// Locally administered.
const FROM: [u8; 6] = [0x02, 0x52, 0x41, 0x43, 0x4b, 0x01];
const OUI: [u8; 3] = [0x52, 0x41, 0x43];
/// Time for which a mark holds if no other comes.
pub const SECONDS: u16 = 120;

/// Content of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The port by which the frames came.
    pub port: u16,
    /// More was lost than is allowed.
    pub faulty: bool,
    /// Millionths of the frames that were sent.
    pub lost_ppm: u32,
}

impl Mark {
    /// The LLDP frame.
    pub fn frame(&self) -> Vec<u8> {
        let tlv = |kind: u16, length: u16| (kind << 9 | length).to_be_bytes();
        [
            &NEAREST_BRIDGE[..],
            &FROM,
            &ETHER_TYPE.to_be_bytes(),
            &tlv(1, 7),
            &[4],
            &FROM,
            &tlv(2, 3),
            &[7],
            &self.port.to_be_bytes(),
            &tlv(3, 2),
            &SECONDS.to_be_bytes(),
            &tlv(127, 9),
            &OUI,
            &[1, u8::from(self.faulty)],
            &self.lost_ppm.to_be_bytes(),
            &tlv(0, 0),
        ]
        .concat()
    }
}

/// Counts the losses of one port.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Watch {
    pub(crate) sent: u32,
    pub(crate) lost: u32,
    pub(crate) faulty: bool,
}

impl Watch {
    /// Counts `sent` more frames to `port`, of which `lost` were lost. Returns a mark after every `over` frames.
    pub fn add(&mut self, port: u16, sent: u32, lost: u32, over: u32, faulty_ppm: u32) -> Option<Mark> {
        if over == 0 {
            return None;
        }
        self.sent = self.sent.saturating_add(sent);
        self.lost = self.lost.saturating_add(lost);
        if self.sent < over {
            return None;
        }
        let lost_ppm = (u64::from(self.lost) * 1_000_000 / u64::from(self.sent)) as u32;
        (self.sent, self.lost) = (0, 0);
        let was = self.faulty;
        self.faulty = lost_ppm >= if was { faulty_ppm.div_ceil(2) } else { faulty_ppm };
        (was || self.faulty).then_some(Mark { port, faulty: self.faulty, lost_ppm })
    }
}
