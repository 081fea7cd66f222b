//! Reasons why a host cannot use a frame.

/// Reasons, in the order in which reports list them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unused {
    /// The frame's or packet's destination is another.
    NotForHost,
    /// No IPv4 packet, or one whose lengths make no sense.
    NotIpv4,
    /// The IPv4 header's checksum is wrong.
    HeaderChecksum,
    /// The ICMP message's checksum is wrong.
    IcmpChecksum,
    /// The TCP segment's checksum is wrong.
    TcpChecksum,
    /// The UDP datagram's checksum is wrong.
    UdpChecksum,
    /// All checksums are right, and ports or an echo's identifier are not those that were sent.
    PortsChanged,
    /// All checksums are right, but the payload was changed.
    PayloadChanged,
    /// Hosts do not reassemble.
    Fragment,
    /// No workload waits for it.
    NoReceiver,
}

impl Unused {
    /// True if the frame arrived changed.
    pub fn is_corruption(self) -> bool {
        use Unused::*;
        matches!(
            self,
            HeaderChecksum | IcmpChecksum | TcpChecksum | UdpChecksum | PortsChanged | PayloadChanged
        )
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Unused::NotForHost => "not for this host",
            Unused::NotIpv4 => "not IPv4",
            Unused::HeaderChecksum => "wrong IPv4 header checksum",
            Unused::IcmpChecksum => "wrong ICMP checksum",
            Unused::TcpChecksum => "wrong TCP checksum",
            Unused::UdpChecksum => "wrong UDP checksum",
            Unused::PortsChanged => "ports or identifier changed",
            Unused::PayloadChanged => "payload changed",
            Unused::Fragment => "fragment",
            Unused::NoReceiver => "no receiver",
        }
    }
}
