//! v1model as `simple_switch` runs it: parser, checksums, ingress, traffic manager, egress, deparser.

mod calls;
mod check;
mod egress;
mod embed;
mod embed_externs;
mod embed_frames;
mod externs;
mod frames;
mod ingress;
mod layout;
mod object;
mod packet;
mod stages;
mod traffic;

pub use calls::{digest_name, log_line};
pub(crate) use check::check_call;
pub(crate) use embed::Model;
pub use embed::{BlockName, Halt, Host, Left, Packet as PacketParts, Side};
pub use embed_frames::RunsOn;
pub(crate) use object::object;
pub use packet::Stay;

use crate::check::check_frame_calls;
use crate::life::Life;
use crate::psa::Halves;
use crate::switch::{Core, Pipeline};
use crate::trace::{Cause, PacketId};
use base_diag::Diagnostic;
use base_time::Time;
use dataplane_api::{EgressResult, Port, QueueRecord, Queued, QueuedPacket};
use ingress::Work;
use ir::Program;
use layout::Layout;
use packet::{Packet, Waiting};
use stages::Stages;

/// What is worked out once for a program for v1model.
pub(crate) struct V1Model {
    layout: Layout,
    drop_port: u32,
}

impl V1Model {
    pub(crate) fn new(program: &Program, drop_port: u32) -> Result<V1Model, Vec<Diagnostic>> {
        let layout = Layout::new(program)?;
        check_frame_calls(program, layout.ingress, &layout.regions)?;
        Ok(V1Model { layout, drop_port })
    }

    fn on<'c>(&'c self, core: &'c mut Core) -> V1Switch<'c> {
        V1Switch { core, layout: &self.layout, drop_port: self.drop_port }
    }
}

impl Pipeline for V1Model {
    fn ingress(
        &self,
        core: &mut Core,
        _: Option<&mut (dyn Halves + 'static)>,
        port: Port,
        frame: Vec<u8>,
        now: Time,
    ) -> Vec<Queued> {
        let life = core.new_life();
        let mut switch = self.on(core);
        let mut packet = switch.fresh(port, frame, life, now);
        switch.begin(&mut packet, PacketId::default(), Cause::Received, Some(port));
        switch.run_ingress(vec![Work::Start(packet)], now)
    }

    fn egress(
        &self,
        core: &mut Core,
        _: Option<&mut (dyn Halves + 'static)>,
        packet: Queued,
        queue: QueueRecord,
        now: Time,
    ) -> EgressResult {
        match packet.packet.downcast::<Waiting>() {
            Ok(waiting) => self.on(core).run_egress(waiting.packet, queue, now),
            Err(_) => EgressResult::default(),
        }
    }

    fn resume(
        &self,
        core: &mut Core,
        _: Option<&mut (dyn Halves + 'static)>,
        packet: QueuedPacket,
        now: Time,
    ) -> Vec<Queued> {
        match packet.downcast::<Waiting>() {
            Ok(waiting) => self.on(core).run_ingress(vec![Work::Start(waiting.packet)], now),
            Err(_) => vec![],
        }
    }

    fn model(&self) -> Model<'_> {
        Model::V1(self)
    }

    fn deadline(&self, core: &Core) -> Option<Time> {
        frames::deadline(core)
    }

    fn tick(&self, core: &mut Core, now: Time) -> Vec<Queued> {
        self.on(core).frame_tick(now)
    }
}

/// A device at work.
struct V1Switch<'c> {
    core: &'c mut Core,
    layout: &'c Layout,
    drop_port: u32,
}

impl V1Switch<'_> {
    /// Does `work` with the stages of the device, on the budget of a packet.
    fn with_stages<T>(&mut self, life: &Life, now: Time, work: impl FnOnce(&mut Stages) -> T) -> T {
        let mut stages = Stages {
            program: &self.core.program,
            plan: &self.core.plan,
            layout: self.layout,
            state: &mut self.core.state,
            now,
            drop_port: self.drop_port,
            fuel: life.steps(),
        };
        let result = work(&mut stages);
        life.set_steps(stages.fuel);
        result
    }

    /// `packet` comes into being: see [`Core::begin`].
    fn begin(&mut self, packet: &mut Packet, from: PacketId, cause: Cause, port: Option<Port>) {
        packet.trace = self.core.begin(from, cause, port, packet.length.max(0) as u64);
    }
}
