//! Queue of packets that leave a node by one port.

use crate::network::Node;
use crate::place::Owner;
use crate::queue::PortQueue;
use base_time::Time;
use dataplane_api::Queued;

/// The queue of a port, and its wire. In this order in memory: see [`PortQueue`].
#[repr(C, align(64))]
pub struct Outlet {
    /// Node with the port.
    pub node: Node,
    /// `None` for ports without a link: frames sent there are dropped.
    pub wire: Option<u32>,
    /// The calendar has a wake-up for it.
    pub(crate) is_woken: bool,
    /// Packets that wait.
    pub queue: PortQueue<Waiting>,
    /// Count of packets dropped because the queue was full.
    pub refused: u64,
    /// Count of packets that found the queue full and left without most of their payload: see [`DeviceSettings::trims`](crate::DeviceSettings::trims).
    pub trimmed: u64,
}

/// Something in a queue.
pub enum Waiting {
    /// An end's frame.
    Frame(Vec<u8>, Owner),
    /// A device's packet, before egress.
    Packet {
        /// The packet.
        packet: Queued,
        /// Since when it has waited.
        enqueued: Time,
        /// Number of packets queued at that time.
        depth: u32,
        /// Owner of the packet.
        owner: Owner,
        /// The packet leaves without its payload.
        is_trimmed: bool,
    },
}

impl Outlet {
    pub(crate) fn new(node: Node, wire: Option<u32>, depth: u32) -> Outlet {
        Outlet { node, wire, is_woken: false, queue: PortQueue::new(depth), refused: 0, trimmed: 0 }
    }
}
