//! Where packets end, and why.

use dataplane_api::DropReason;

/// A place that counts drops. The numbers are places in the emulator's lists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    Host(u32),
    Device(u32),
    /// The queue of a port, or a host's.
    Outlet(u32),
    /// A port of a device that nothing is plugged into.
    Port(u32, u32),
    Wire(u32),
}

/// Why a packet ended before a host had use for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Reason {
    /// The link lost it.
    Loss,
    /// The link was down.
    LinkDown,
    /// The device was down.
    DeviceDown,
    /// The device was given another program.
    Replaced,
    /// Longer than the link's MTU allows.
    TooLong,
    /// The queue was full.
    QueueFull,
    /// A priority without a queue.
    NoSuchPriority,
    /// Too many packets waited for the device.
    BacklogFull,
    /// Nothing is plugged into the port.
    NoLink,
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
    /// All checksums are right, and the payload is not what was sent.
    PayloadChanged,
    /// Hosts do not reassemble.
    Fragment,
    /// No workload waits for it.
    NoReceiver,
    /// By the program.
    Program(DropReason),
}

/// The workload that a packet is of, as far as that is known: its place in the emulator's list. What a device makes of a packet is of
/// the same workload; what its timers make is nobody's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Owner(pub u32);

impl Owner {
    /// Of no workload.
    pub const NOBODY: Owner = Owner(u32::MAX);
}

impl Place {
    /// Different for all places.
    pub fn number(self) -> u64 {
        match self {
            Place::Host(n) => u64::from(n),
            Place::Device(n) => 1 << 32 | u64::from(n),
            Place::Outlet(n) => 2 << 32 | u64::from(n),
            Place::Wire(n) => 3 << 32 | u64::from(n),
            Place::Port(device, port) => 1 << 63 | u64::from(device) << 32 | u64::from(port),
        }
    }
}

impl Reason {
    /// It arrived, and not as it was sent.
    pub fn is_corruption(self) -> bool {
        matches!(
            self,
            Reason::HeaderChecksum
                | Reason::IcmpChecksum
                | Reason::TcpChecksum
                | Reason::UdpChecksum
                | Reason::PortsChanged
                | Reason::PayloadChanged
        )
    }

    /// Different for all reasons, and the same in every release.
    pub fn number(self) -> u64 {
        match self {
            Reason::Loss => 1,
            Reason::TooLong => 2,
            Reason::QueueFull => 3,
            Reason::NoSuchPriority => 4,
            Reason::BacklogFull => 5,
            Reason::NoLink => 6,
            Reason::NotForHost => 7,
            Reason::NotIpv4 => 8,
            Reason::PayloadChanged => 9,
            Reason::Fragment => 10,
            Reason::NoReceiver => 11,
            Reason::LinkDown => 12,
            Reason::DeviceDown => 13,
            Reason::Replaced => 14,
            Reason::HeaderChecksum => 15,
            Reason::IcmpChecksum => 16,
            Reason::TcpChecksum => 17,
            Reason::UdpChecksum => 18,
            Reason::PortsChanged => 19,
            Reason::Program(reason) => 21 + reason as u64,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Loss => "lost on the link",
            Reason::LinkDown => "link down",
            Reason::DeviceDown => "device down",
            Reason::Replaced => "program replaced",
            Reason::TooLong => "longer than the MTU",
            Reason::QueueFull => "queue full",
            Reason::NoSuchPriority => "no such priority",
            Reason::BacklogFull => "device overloaded",
            Reason::NoLink => "no link on the port",
            Reason::NotForHost => "not for this host",
            Reason::NotIpv4 => "not IPv4",
            Reason::HeaderChecksum => "wrong IPv4 header checksum",
            Reason::IcmpChecksum => "wrong ICMP checksum",
            Reason::TcpChecksum => "wrong TCP checksum",
            Reason::UdpChecksum => "wrong UDP checksum",
            Reason::PortsChanged => "ports or identifier changed",
            Reason::PayloadChanged => "payload changed",
            Reason::Fragment => "fragment",
            Reason::NoReceiver => "no receiver",
            Reason::Program(reason) => program_words(reason),
        }
    }
}

#[allow(unreachable_patterns, reason = "a reason that is new there needs no words here to be counted")]
fn program_words(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Ingress => "dropped in ingress",
        DropReason::Egress => "dropped in egress",
        DropReason::NoReplica => "no multicast member",
        DropReason::NoProgram => "no program",
        DropReason::Absorbed => "kept by a frame extern",
        DropReason::PassLimit => "too many passes",
        DropReason::ParserLimit => "parser without progress",
        DropReason::StepLimit => "too many steps",
        DropReason::AssertFailed => "assertion failed",
        DropReason::UnknownRegion => "unknown region",
        DropReason::Internal => "broken program",
        _ => "dropped by the program",
    }
}
