//! What waits to leave a node by one port.

use crate::place::Owner;
use crate::queue::PortQueue;
use base_time::Time;
use dataplane_api::Queued;
use rack_model::NodeId;

/// The queue of a port, and the wire behind it.
pub(crate) struct Outlet {
    pub node: NodeId,
    /// None for ports that nothing is plugged into: what leaves there is dropped.
    pub wire: Option<u32>,
    pub queue: PortQueue<Waiting>,
    /// The calendar has a wake-up for it.
    pub is_woken: bool,
    /// What did not fit.
    pub refused: u64,
}

/// Something in a queue.
pub(crate) enum Waiting {
    /// A host's frame.
    Frame(Vec<u8>, Owner),
    /// A device's packet, before egress.
    Packet { packet: Queued, enqueued: Time, depth: u32, owner: Owner },
}

impl Outlet {
    pub fn new(node: NodeId, wire: Option<u32>, depth: u32) -> Outlet {
        Outlet { node, wire, queue: PortQueue::new(depth), is_woken: false, refused: 0 }
    }
}
