//! Frame externs: a call takes the frame away, and each frame given back starts in the middle of ingress.
//!
//! Frames run on in the order they were given back, each to the end of its ingress before the next.

use super::V1Switch;
use super::ingress::{Carried, Work};
use super::packet::Packet;
use crate::access::AccessKind;
use crate::environment::Source;
use crate::life::Life;
use crate::objects::Object;
use crate::region::Path;
use crate::stage::{BlockName, End, FrameCall, Start, Stop};
use crate::switch::Core;
use crate::trace::{Cause, EventKind, PacketId};
use base_time::Time;
use dataplane_api::{AllEmitted, DropReason, Emitted, Emitter, FrameExtern, Queued, ResumeAt};
use ir::InstanceId;
use ir_value::Value;

impl V1Switch<'_> {
    /// Hands `packet` to the frame extern that it called, and gives what runs on.
    pub(super) fn call_frame_extern(&mut self, mut packet: Packet, call: FrameCall, now: Time) -> Vec<Work> {
        let life = packet.life.clone();
        let frame = match self.deparse(&mut packet, now) {
            Ok(frame) => frame,
            Err(stop) => {
                self.core.stopped(&stop);
                return vec![];
            }
        };
        let name = self.core.program.instance(call.instance).control_plane_name.clone();
        self.core.effect("frame extern", name);
        let emitted = self.with_frame_extern(call.instance, now, |object, now, out| {
            object.call(&call.method, &call.args, &frame, now, out);
        });
        if !emitted.iter().any(|e| e.carries_on) {
            self.core.dropped(DropReason::Absorbed);
        }
        let mut carried = Some((packet, call.vars));
        let mut more = vec![];
        for one in emitted {
            match carried.take_if(|_| one.carries_on) {
                Some((packet, vars)) => more.extend(self.carried(packet, vars, call.instance, one)),
                None => more.extend(self.start_fresh(call.instance, one, life.clone(), now)),
            }
        }
        more
    }

    /// Ticks every frame extern whose time has come, the earliest first.
    pub(super) fn frame_tick(&mut self, now: Time) -> Vec<Queued> {
        self.core.state.trace.turn_to(PacketId::default());
        let emitted = self.tick_all(now);
        let fresh = |(instance, life, one)| self.start_fresh(instance, one, life, now);
        let more = emitted.into_iter().filter_map(fresh).collect();
        self.run_ingress(more, now)
    }

    /// What they emit; what one emits shares a budget.
    pub(super) fn tick_all(&mut self, now: Time) -> Vec<(InstanceId, Life, Emitted)> {
        let objects = self.core.state.objects.iter().enumerate();
        let mut due: Vec<(Time, usize)> =
            objects.filter_map(|(at, o)| deadline_of(o).filter(|d| *d <= now).map(|d| (d, at))).collect();
        due.sort_unstable();
        let mut all = vec![];
        for (_, at) in due {
            let instance = InstanceId::from(at);
            let name = self.core.program.instance(instance).control_plane_name.clone();
            self.core.state.accesses.add(&name, AccessKind::Update);
            let emitted = self.with_frame_extern(instance, now, |object, now, out| object.tick(now, out));
            let life = self.core.new_life();
            all.extend(emitted.into_iter().map(|one| (instance, life.clone(), one)));
        }
        all
    }

    pub(super) fn with_frame_extern(
        &mut self,
        instance: InstanceId,
        now: Time,
        work: impl FnOnce(&mut dyn FrameExtern, Time, &mut Emitter),
    ) -> AllEmitted {
        let name = self.core.program.instance(instance).control_plane_name.to_string();
        let seen = self.core.state.read_environment(&Source::ExternNow(name), now.as_ps());
        let mut out = Emitter::default();
        if let Some(Object::Frame(object)) = self.core.state.objects.get_mut(instance.index()) {
            work(object.as_mut(), Time::from_ps(seen), &mut out);
        }
        out.take()
    }

    fn carried(
        &mut self,
        packet: Packet,
        vars: Vec<Value>,
        instance: InstanceId,
        one: Emitted,
    ) -> Option<Work> {
        let path = self.resume_path(instance, &one.resume)?;
        Some(Work::Carried(Box::new(Carried { packet, frame: one.frame, path, vars })))
    }

    /// The packet that called goes on with its metadata and variables; headers, payload and the length that
    /// egress sees come from the frame given back. What the parser writes into metadata is forgotten. Resubmit
    /// and ingress clones still give the frame as it entered the pass.
    pub(super) fn carry_on(&mut self, carried: Carried, now: Time) -> (Packet, Result<End, Stop>) {
        let Carried { mut packet, frame, path, vars } = carried;
        packet.effects.length = frame.len() as i64;
        let mut parsed = Packet { frame, ..packet.clone() };
        let ended = self.parse(&mut parsed, now).and_then(|()| {
            packet.headers = parsed.headers;
            packet.payload = parsed.payload;
            self.control(BlockName::Ingress, &mut packet, Start::At(path, Some(vars)), now)
        });
        (packet, ended)
    }

    /// A new packet: parsed like one that came in by port 0, without checksum verification.
    fn start_fresh(&mut self, instance: InstanceId, one: Emitted, life: Life, now: Time) -> Option<Work> {
        let mut packet = self.fresh(0, one.frame, life, now);
        if !self.core.created(&packet.life) {
            return None;
        }
        let from = self.core.state.trace.packet();
        self.begin(&mut packet, from, Cause::FrameExtern, None);
        let path = self.resume_path(instance, &one.resume)?;
        Some(Work::Fresh(packet, path))
    }

    /// Where a frame goes on; it is dropped if the program has no such place.
    fn resume_path(&mut self, instance: InstanceId, resume: &ResumeAt) -> Option<Path> {
        let layout = self.layout;
        let path = match resume {
            ResumeAt::AfterCall => layout.regions.after.get(&instance),
            ResumeAt::Region(name) => layout.regions.starts.get(name.as_str()),
        };
        self.core.state.trace.add(|| EventKind::Effect {
            effect: "resume",
            target: match resume {
                ResumeAt::AfterCall => "behind the call".to_string(),
                ResumeAt::Region(name) => name.clone(),
            },
        });
        if path.is_none() {
            self.core.dropped(DropReason::UnknownRegion);
        }
        path.cloned()
    }
}

/// When the first timer of a frame extern runs out.
pub(super) fn deadline(core: &Core) -> Option<Time> {
    core.state.objects.iter().filter_map(deadline_of).min()
}

fn deadline_of(object: &Object) -> Option<Time> {
    match object {
        Object::Frame(object) => object.deadline(),
        _ => None,
    }
}
