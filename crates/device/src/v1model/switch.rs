//! A device for v1model at work: parts shared by its files.

use super::half::{Received, Work};
use super::layout::Layout;
use super::packet::Packet;
use crate::blueprint::Blocks;
use crate::core::Core;
use crate::environment::Source;
use crate::runner::StageRunner;
use crate::trace::{Cause, PacketId};
use base_time::Time;
use dataplane_api::{Became, Port, Queued, QueuedPacket};

/// A v1model device that processes packets.
pub(crate) struct V1Switch<'c> {
    pub(super) core: &'c mut Core,
    pub(super) blocks: Blocks<'c>,
    pub(super) runner: &'c mut (dyn StageRunner + 'c),
    pub(super) layout: &'c Layout,
}

impl<'c> V1Switch<'c> {
    /// Switch for a program with this layout.
    pub(crate) fn of(
        core: &'c mut Core,
        blocks: Blocks<'c>,
        runner: &'c mut (dyn StageRunner + 'c),
        layout: &'c Layout,
    ) -> V1Switch<'c> {
        V1Switch { core, blocks, runner, layout }
    }

    /// Runs a received frame through ingress.
    #[inline(always)]
    pub(crate) fn receive(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Became {
        let timestamp = self.core.state.read_environment(&Source::IngressTimestamp, now.as_us());
        self.run_ingress(Work::Received(Received { port, frame, timestamp }), now)
    }

    /// Restarts a recirculated packet. A packet of another device has no effect.
    pub(crate) fn resume(&mut self, packet: QueuedPacket, now: Time) -> Vec<Queued> {
        match packet.downcast::<Packet>() {
            Ok(packet) => self.run_ingress(Work::Again(packet), now).into_list(),
            Err(_) => vec![],
        }
    }

    /// `packet` comes into being: see [`Core::begin`].
    pub(super) fn begin(&mut self, packet: &mut Packet, from: PacketId, cause: Cause, port: Option<Port>) {
        packet.trace = self.core.begin(from, cause, port, packet.effects.length.max(0) as u64);
    }
}
