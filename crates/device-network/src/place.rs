//! Place and reason of a packet's end.

use dataplane_api::DropReason;

/// A place in a network. The numbers are places in its lists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// An end.
    End(u32),
    /// A device.
    Device(u32),
    /// The queue of a port, or an end's.
    Outlet(u32),
    /// A port of a device that nothing is plugged into.
    Port(u32, u32),
    /// One direction of a link.
    Wire(u32),
    /// All of it.
    Network,
}

/// Reason why a packet ended in the network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
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
    /// Dropped by the program.
    Program(DropReason),
}

/// Owner of a packet: a number that the network's owner gives to each packet it sends, and that all packets made from
/// it inherit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Owner(pub u32);

impl Owner {
    /// Nobody's.
    pub const NOBODY: Owner = Owner(u32::MAX);
}

impl Place {
    /// Different for all places.
    pub fn number(self) -> u64 {
        match self {
            Place::End(n) => u64::from(n),
            Place::Device(n) => 1 << 32 | u64::from(n),
            Place::Outlet(n) => 2 << 32 | u64::from(n),
            Place::Wire(n) => 3 << 32 | u64::from(n),
            Place::Network => 4 << 32,
            Place::Port(device, port) => 1 << 63 | u64::from(device) << 32 | u64::from(port),
        }
    }
}

impl Reason {
    /// Different for all reasons, and the same in every release. 7 to 11 and 15 to 20 are not used.
    pub fn number(self) -> u64 {
        match self {
            Reason::Loss => 1,
            Reason::TooLong => 2,
            Reason::QueueFull => 3,
            Reason::NoSuchPriority => 4,
            Reason::BacklogFull => 5,
            Reason::NoLink => 6,
            Reason::LinkDown => 12,
            Reason::DeviceDown => 13,
            Reason::Replaced => 14,
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
