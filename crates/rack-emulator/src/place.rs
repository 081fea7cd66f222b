//! Why packets end in a rack: in its network, or at a host.

use device_network::Reason as InNetwork;
use host_programs::Unused;

/// Why a packet ended before a host had use for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Reason {
    /// In the network.
    Network(InNetwork),
    /// The host had no use for it.
    Unused(Unused),
}

impl Reason {
    /// Code of the reason in event logs: distinct for all reasons, and stable across releases.
    pub fn number(self) -> u64 {
        match self {
            Reason::Network(reason) => reason.number(),
            Reason::Unused(Unused::NotForHost) => 7,
            Reason::Unused(Unused::NotIpv4) => 8,
            Reason::Unused(Unused::PayloadChanged) => 9,
            Reason::Unused(Unused::Fragment) => 10,
            Reason::Unused(Unused::NoReceiver) => 11,
            Reason::Unused(Unused::HeaderChecksum) => 15,
            Reason::Unused(Unused::IcmpChecksum) => 16,
            Reason::Unused(Unused::TcpChecksum) => 17,
            Reason::Unused(Unused::UdpChecksum) => 18,
            Reason::Unused(Unused::PortsChanged) => 19,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Network(reason) => reason.words(),
            Reason::Unused(reason) => reason.words(),
        }
    }
}
