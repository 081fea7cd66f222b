//! Frame externs for compiled code, which runs ingress up to a call, and from where a frame runs on.

use super::embed::Packet;
use super::ingress::{Carried, Work};
use crate::access::AccessKind;
use crate::host::Host;
use crate::life::Life;
use base_bits::Bits;
use base_time::Time;
use dataplane_api::{DropReason, Emitted, Queued, ResumeAt};
use ir::InstanceId;
use ir_value::Value;

/// A frame that a frame extern gave, as it runs on.
#[derive(Clone, Debug)]
pub enum RunsOn {
    /// As the packet that called, with its metadata and variables.
    Carried {
        /// Its bytes now.
        frame: Vec<u8>,
        /// Where, among [`Blocks::resumes`](crate::Blocks::resumes).
        at: usize,
    },
    /// As a new packet.
    Fresh {
        /// Not parsed yet.
        packet: Box<Packet>,
        /// Where, among [`Blocks::resumes`](crate::Blocks::resumes).
        at: usize,
    },
}

impl Host<'_> {
    /// Where a frame runs on, among the [`resumes`](crate::Blocks::resumes); nothing, and the frame is dropped, if the program has no such
    /// place.
    fn resume(&mut self, instance: InstanceId, resume: &ResumeAt) -> Option<usize> {
        let regions = &self.v1().layout.regions;
        let calls = self.blocks.frame_externs();
        let at = match resume {
            ResumeAt::AfterCall => calls.iter().position(|call| *call == instance),
            ResumeAt::Region(name) => {
                regions.starts.keys().position(|known| known == name.as_str()).map(|at| calls.len() + at)
            }
        };
        if at.is_none() {
            self.dropped(DropReason::UnknownRegion, 1);
        }
        at
    }

    /// Hands a deparsed packet to the frame extern that it called, and gives what runs on.
    pub fn call_frame_extern(
        &mut self,
        instance: InstanceId,
        method: &str,
        args: &[Bits],
        frame: &[u8],
        life: &Life,
        now: Time,
    ) -> Vec<RunsOn> {
        let name = self.core.program.instance(instance).control_plane_name.clone();
        self.core.state.accesses.add(&name, AccessKind::Update);
        let emitted =
            self.v1().on(self.core, self.stages).with_frame_extern(instance, now, |object, now, out| {
                object.call(method, args, frame, now, out);
            });
        if !emitted.iter().any(|e| e.carries_on) {
            self.dropped(DropReason::Absorbed, 1);
        }
        let mut carries_on = true;
        let mut more = vec![];
        for one in emitted {
            if one.carries_on && std::mem::take(&mut carries_on) {
                let at = self.resume(instance, &one.resume);
                more.extend(at.map(|at| RunsOn::Carried { frame: one.frame, at }));
            } else {
                more.extend(self.fresh(instance, one, life.clone(), now));
            }
        }
        more
    }

    /// Ticks every frame extern whose time has come, the earliest first, and gives what runs on.
    pub fn tick_frame_externs(&mut self, now: Time) -> Vec<RunsOn> {
        let emitted = self.v1().on(self.core, self.stages).tick_all(now);
        emitted.into_iter().filter_map(|(instance, life, one)| self.fresh(instance, one, life, now)).collect()
    }

    fn fresh(&mut self, instance: InstanceId, one: Emitted, life: Life, now: Time) -> Option<RunsOn> {
        let packet = self.v1().on(self.core, self.stages).fresh(0, one.frame, life, now);
        if !self.core.created(&packet.life) {
            return None;
        }
        let at = self.resume(instance, &one.resume)?;
        Some(RunsOn::Fresh { packet: Box::new(Packet::with_life(packet)), at })
    }

    /// The interpreter alone, to the queues, for a new packet.
    pub fn interpret_fresh(&mut self, packet: Packet, at: usize, now: Time) -> Vec<Queued> {
        let Some(path) = self.blocks.resumes().into_iter().nth(at) else { return vec![] };
        let packet = self.inner(packet);
        self.v1().on(self.core, self.stages).run_ingress(vec![Work::Fresh(packet, path)], now)
    }

    /// The same for the packet that called, with the control's variables.
    pub fn interpret_carried(
        &mut self,
        packet: Packet,
        frame: Vec<u8>,
        at: usize,
        vars: Vec<Value>,
        now: Time,
    ) -> Vec<Queued> {
        let Some(path) = self.blocks.resumes().into_iter().nth(at) else { return vec![] };
        let packet = self.inner(packet);
        let carried = Work::Carried(Box::new(Carried { packet, frame, path, vars }));
        self.v1().on(self.core, self.stages).run_ingress(vec![carried], now)
    }
}
