//! PSA by its specification (P4.org PSA 1.2): two pipelines of parser, control and deparser, around the packet
//! replication engine and before the queues.
//!
//! What BMv2's `psa_switch` does otherwise, and the specification is followed here: the ingress deparser runs for
//! every packet, dropped and resubmitted ones included (§6.2), a resubmitted packet keeps its ingress port, what
//! the deparsers give along reaches the parsers (resubmit, recirculate and clone metadata), sessions have a class
//! of service and can truncate, a direct counter counts where `count` is called, misses for the default action, meters
//! are colour-aware. What the specification leaves undefined is zero.

mod embed;
mod layout;
mod object;
mod packet;
mod pipeline;
mod stages;

pub use embed::{Half, HalfDone, HalfEnd, HalfStart};
pub(crate) use object::object;

use crate::switch::{Core, Pipeline, Runners};
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::{EgressResult, Port, QueueRecord, Queued, QueuedPacket};
use ir::Program;
use layout::Layout;
use packet::Packet;
use pipeline::{PsaSwitch, waiting_packet};

/// What is worked out once for a program for PSA.
pub(crate) struct Psa {
    layout: Layout,
}

impl Psa {
    pub(crate) fn new(program: &Program) -> Result<Psa, Vec<Diagnostic>> {
        Ok(Psa { layout: Layout::new(program)? })
    }

    fn on<'c>(&'c self, core: &'c mut Core, by: Runners<'c>, now: Time) -> PsaSwitch<'c> {
        PsaSwitch { core, psa: self, by, now }
    }
}

impl Pipeline for Psa {
    fn ingress(
        &self,
        core: &mut Core,
        by: Runners<'_>,
        port: Port,
        frame: Vec<u8>,
        now: Time,
    ) -> Vec<Queued> {
        let packet = Packet::received(core, port, frame);
        self.on(core, by, now).run_ingress(packet)
    }

    fn egress(
        &self,
        core: &mut Core,
        by: Runners<'_>,
        packet: Queued,
        _: QueueRecord,
        now: Time,
    ) -> EgressResult {
        let packet = waiting_packet(packet.packet);
        packet.map(|packet| self.on(core, by, now).run_egress(packet)).unwrap_or_default()
    }

    fn resume(&self, core: &mut Core, by: Runners<'_>, packet: QueuedPacket, now: Time) -> Vec<Queued> {
        let packet = waiting_packet(packet);
        packet.map(|packet| self.on(core, by, now).run_ingress(packet)).unwrap_or_default()
    }

    fn deadline(&self, _: &Core) -> Option<Time> {
        None
    }

    fn tick(&self, _: &mut Core, _: Runners<'_>, _: Time) -> Vec<Queued> {
        vec![]
    }
}
