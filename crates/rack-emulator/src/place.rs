//! Where packets end, and why.

use dataplane_api::DropReason;
use host_programs::Unused;

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
    /// The host had no use for it.
    Unused(Unused),
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
    /// Different for all reasons, and the same in every release.
    pub fn number(self) -> u64 {
        match self {
            Reason::Loss => 1,
            Reason::TooLong => 2,
            Reason::QueueFull => 3,
            Reason::NoSuchPriority => 4,
            Reason::BacklogFull => 5,
            Reason::NoLink => 6,
            Reason::Unused(Unused::NotForHost) => 7,
            Reason::Unused(Unused::NotIpv4) => 8,
            Reason::Unused(Unused::PayloadChanged) => 9,
            Reason::Unused(Unused::Fragment) => 10,
            Reason::Unused(Unused::NoReceiver) => 11,
            Reason::LinkDown => 12,
            Reason::DeviceDown => 13,
            Reason::Replaced => 14,
            Reason::Unused(Unused::HeaderChecksum) => 15,
            Reason::Unused(Unused::IcmpChecksum) => 16,
            Reason::Unused(Unused::TcpChecksum) => 17,
            Reason::Unused(Unused::UdpChecksum) => 18,
            Reason::Unused(Unused::PortsChanged) => 19,
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
            Reason::Unused(reason) => reason.words(),
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
