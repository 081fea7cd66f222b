//! v1model as `simple_switch` runs it: parser, checksums, ingress, traffic manager, egress, deparser.

mod egress;
mod embed;
mod embed_frames;
mod frames;
mod ingress;
mod layout;
mod object;
mod packet;
mod stages;
mod traffic;

pub use embed::{Halt, Left, Packet as PacketParts};
pub use embed_frames::RunsOn;
pub(crate) use object::object;
pub use packet::Stay;

use crate::region::Regions;
use crate::stage::{BlockName, Stage, StageRunner};
use crate::switch::{Core, Pipeline, Runners};
use crate::trace::{Cause, PacketId};
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::{EgressResult, Port, QueueRecord, Queued, QueuedPacket};
use ingress::Work;
use ir::{Program, Type};
use layout::Layout;
use packet::{Packet, Waiting};

/// What is worked out once for a program for v1model.
pub(crate) struct V1Model {
    layout: Layout,
    drop_port: u32,
}

impl V1Model {
    pub(crate) fn new(program: &Program, drop_port: u32) -> Result<V1Model, Vec<Diagnostic>> {
        Ok(V1Model { layout: Layout::new(program)?, drop_port })
    }

    /// What runs in a stage.
    pub(crate) fn stage(&self, block: BlockName) -> &Stage {
        self.layout.stage(block)
    }

    /// The types of the headers, of the user's metadata and of the standard metadata.
    pub(crate) fn types(&self) -> [Type; 3] {
        let layout = &self.layout;
        [&layout.headers, &layout.metadata, &layout.standard].map(Clone::clone)
    }

    /// Where frames may run on in ingress.
    pub(crate) fn regions(&self) -> &Regions {
        &self.layout.regions
    }

    /// The port that means "drop".
    pub(crate) fn drop_port(&self) -> u32 {
        self.drop_port
    }

    /// The field of the user's metadata with `@counted_length`.
    pub(crate) fn counted_length(&self) -> Option<usize> {
        self.layout.counted_length.map(|field| field as usize)
    }

    fn on<'c>(&'c self, core: &'c mut Core, runner: &'c mut (dyn StageRunner + 'static)) -> V1Switch<'c> {
        V1Switch { core, runner, layout: &self.layout, drop_port: self.drop_port }
    }
}

impl Pipeline for V1Model {
    fn ingress(
        &self,
        core: &mut Core,
        by: Runners<'_>,
        port: Port,
        frame: Vec<u8>,
        now: Time,
    ) -> Vec<Queued> {
        let life = core.new_life();
        let mut switch = self.on(core, by.stages);
        let mut packet = switch.fresh(port, frame, life, now);
        switch.begin(&mut packet, PacketId::default(), Cause::Received, Some(port));
        switch.run_ingress(vec![Work::Start(packet)], now)
    }

    fn egress(
        &self,
        core: &mut Core,
        by: Runners<'_>,
        packet: Queued,
        queue: QueueRecord,
        now: Time,
    ) -> EgressResult {
        match packet.packet.downcast::<Waiting>() {
            Ok(waiting) => self.on(core, by.stages).run_egress(waiting.packet, queue, now),
            Err(_) => EgressResult::default(),
        }
    }

    fn resume(&self, core: &mut Core, by: Runners<'_>, packet: QueuedPacket, now: Time) -> Vec<Queued> {
        match packet.downcast::<Waiting>() {
            Ok(waiting) => self.on(core, by.stages).run_ingress(vec![Work::Start(waiting.packet)], now),
            Err(_) => vec![],
        }
    }

    fn deadline(&self, core: &Core) -> Option<Time> {
        frames::deadline(core)
    }

    fn tick(&self, core: &mut Core, by: Runners<'_>, now: Time) -> Vec<Queued> {
        self.on(core, by.stages).frame_tick(now)
    }
}

/// A device at work.
struct V1Switch<'c> {
    core: &'c mut Core,
    runner: &'c mut (dyn StageRunner + 'static),
    layout: &'c Layout,
    drop_port: u32,
}

impl V1Switch<'_> {
    /// `packet` comes into being: see [`Core::begin`].
    fn begin(&mut self, packet: &mut Packet, from: PacketId, cause: Cause, port: Option<Port>) {
        packet.trace = self.core.begin(from, cause, port, packet.effects.length.max(0) as u64);
    }
}
