//! What the device itself tells the trace: packets that come into being, what is done with them, how they end.

use super::Switch;
use super::packet::Packet;
use crate::trace::{Cause, EventKind, PacketId};
use dataplane_api::Port;

impl Switch {
    /// `packet` comes into being, made of `from`; `port` is that by which it came in or,
    /// for a copy, will go out.
    pub(super) fn begin(&mut self, packet: &mut Packet, from: PacketId, cause: Cause, port: Option<Port>) {
        let trace = &mut self.state.trace;
        packet.trace = trace.new_packet();
        let before = trace.turn_to(packet.trace);
        let bytes = packet.length.max(0) as u64;
        trace.add(|| EventKind::Begin { from, cause, port, bytes });
        trace.turn_to(before);
    }

    /// The traffic manager or a frame extern does something with the packet whose steps are being told.
    pub(super) fn effect(&mut self, effect: &'static str, target: impl ToString) {
        self.state.trace.add(|| EventKind::Effect { effect, target: target.to_string() });
    }
}
