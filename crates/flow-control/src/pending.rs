//! Packets of flows that nobody has decided about yet (ExoPlane, section 4.2).
//!
//! The first packet of a new flow goes to who decides: a controller or a handler. Packets that come after it wait here, and follow in
//! order once the decision is written to the helpers. Both the packets of one flow and the flows are bounded.
//!
//! ```text
//! absent ── first packet ──> deciding ── decided ──> draining ── marker is back, nothing waits ──> done
//!                              │ packets wait          │ packets wait; sent after the marker
//! ```
//!
//! With [`Order::Any`] a flow is done when it is decided, and a packet that comes by the new entries may overtake those that waited.
//! With [`Order::Keep`] the flow is led here until a marker, sent after the packets that waited, has come back on the same path.

use std::collections::BTreeMap;

/// Whether packets that waited may be overtaken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Packets may be reordered with packets of their flow that arrive after the decision.
    Any,
    /// Packets keep their order.
    Keep,
}

/// Limits on waiting flows and packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Flows that wait for a decision.
    pub flows: usize,
    /// Packets of one flow.
    pub packets: usize,
}

/// Fate of a packet that arrives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arrival<P> {
    /// The first packet of its flow, which must be decided. It counts as the first waiting packet.
    Decide,
    /// The packet waits.
    Waits,
    /// There is no room, and it is dropped.
    Dropped(P),
}

/// Packets of a flow to send, after a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Release<P> {
    /// To be sent to the device that serves the flow, in this order.
    pub packets: Vec<P>,
    /// A marker is to be sent after them; [`Pending::marker_returned`] follows.
    pub marker: bool,
}

#[derive(Clone, Debug)]
struct Waiting<P> {
    packets: Vec<P>,
    decided: bool,
}

/// All flows that wait. `F` names a flow, `P` is a packet.
#[derive(Clone, Debug)]
pub struct Pending<F, P> {
    order: Order,
    bounds: Bounds,
    flows: BTreeMap<F, Waiting<P>>,
    /// Packets dropped for lack of room.
    dropped: u64,
}

impl<F: Ord, P> Pending<F, P> {
    /// Nothing waits.
    pub fn new(order: Order, bounds: Bounds) -> Self {
        Self { order, bounds, flows: BTreeMap::new(), dropped: 0 }
    }

    /// A packet has come of a flow that the helpers do not know, or that is led here.
    pub fn arrived(&mut self, flow: F, packet: P) -> Arrival<P> {
        let new = !self.flows.contains_key(&flow);
        if new && (self.flows.len() >= self.bounds.flows || self.bounds.packets == 0) {
            self.dropped += 1;
            return Arrival::Dropped(packet);
        }
        let waiting = self.flows.entry(flow).or_insert(Waiting { packets: vec![], decided: false });
        if waiting.packets.len() >= self.bounds.packets {
            self.dropped += 1;
            return Arrival::Dropped(packet);
        }
        waiting.packets.push(packet);
        if new { Arrival::Decide } else { Arrival::Waits }
    }

    /// Whether packets of the flow are to be given to [`Pending::arrived`].
    pub fn waits(&self, flow: &F) -> bool {
        self.flows.contains_key(flow)
    }

    /// The decision is written to all devices that serve or back up the flow.
    pub fn decided(&mut self, flow: &F) -> Option<Release<P>> {
        self.flows.get_mut(flow)?.decided = true;
        self.release(flow)
    }

    /// The flow is refused, or its decision failed: returns the waiting packets, which the caller drops and counts.
    pub fn refused(&mut self, flow: &F) -> Vec<P> {
        self.flows.remove(flow).map(|waiting| waiting.packets).unwrap_or_default()
    }

    /// The flow's marker has come back. Returns the packets that arrived meanwhile; without a further marker, the
    /// flow's packets need not come here any more.
    pub fn marker_returned(&mut self, flow: &F) -> Option<Release<P>> {
        if !self.flows.get(flow)?.decided {
            return None;
        }
        self.release(flow)
    }

    /// Packets dropped so far for lack of room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn release(&mut self, flow: &F) -> Option<Release<P>> {
        let packets = std::mem::take(&mut self.flows.get_mut(flow)?.packets);
        let marker = self.order == Order::Keep && !packets.is_empty();
        if !marker {
            self.flows.remove(flow);
        }
        Some(Release { packets, marker })
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, Bounds, Order, Pending, Release};

    const BOUNDS: Bounds = Bounds { flows: 2, packets: 3 };

    #[test]
    fn the_first_packet_is_decided_once_and_leaves_first() {
        let mut pending = Pending::new(Order::Any, BOUNDS);
        assert_eq!(pending.arrived('u', 1), Arrival::Decide);
        assert_eq!(pending.arrived('u', 2), Arrival::Waits);
        assert_eq!(pending.decided(&'u'), Some(Release { packets: vec![1, 2], marker: false }));
        assert!(!pending.waits(&'u'));
        assert_eq!(pending.decided(&'u'), None);
    }

    #[test]
    fn order_is_kept_until_a_marker_returns_and_nothing_has_come_meanwhile() {
        let mut pending = Pending::new(Order::Keep, BOUNDS);
        pending.arrived('u', 1);
        assert_eq!(pending.marker_returned(&'u'), None, "it was not sent");
        assert_eq!(pending.decided(&'u'), Some(Release { packets: vec![1], marker: true }));
        assert_eq!(pending.arrived('u', 2), Arrival::Waits);
        assert_eq!(pending.marker_returned(&'u'), Some(Release { packets: vec![2], marker: true }));
        assert_eq!(pending.marker_returned(&'u'), Some(Release { packets: vec![], marker: false }));
        assert!(!pending.waits(&'u'));
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut pending = Pending::new(Order::Any, BOUNDS);
        for packet in 0..5 {
            pending.arrived('u', packet);
        }
        pending.arrived('v', 0);
        assert_eq!(pending.arrived('w', 9), Arrival::Dropped(9));
        assert_eq!(pending.dropped(), 3);
        assert_eq!(pending.decided(&'u').unwrap().packets, [0, 1, 2]);
        assert_eq!(pending.arrived('w', 9), Arrival::Decide);
        assert_eq!(pending.refused(&'w'), [9]);
    }
}
