//! Frame externs: a call takes the frame away, and each frame given back starts in the middle of ingress.
//!
//! Frames run on in the order they were given back, each to the end of its ingress before the next.

use super::half::{Called, Carried, Received, Work};
use super::packet::Packet;
use super::switch::V1Switch;
use crate::access::AccessKind;
use crate::budget::PacketBudget;
use crate::environment::Source;
use crate::objects::Object;
use crate::region::Path;
use crate::stage::{BlockName, End, Start, Stop};
use crate::state::State;
use crate::trace::{Cause, EventKind, PacketId};
use base_time::Time;
use dataplane_api::{AllEmitted, DropReason, Emitted, Emitter, FrameExtern, Queued, ResumeAt};
use ir::InstanceId;
use ir_value::Value;

impl V1Switch<'_> {
    /// Passes the packet to the frame extern that it called. Returns the work that follows.
    pub(super) fn call_frame_extern(&mut self, called: Called, now: Time) -> Vec<Work> {
        let Called { instance, method, args, frame, kept, budget } = called;
        let name = self.core.program.instance(instance).control_plane_name.clone();
        self.core.effect("frame extern", name);
        let emitted = self.with_frame_extern(instance, now, |object, now, out| {
            object.call(&method, &args, &frame, now, out);
        });
        if !emitted.iter().any(|e| e.carries_on) {
            self.core.dropped(DropReason::Absorbed);
        }
        let mut kept = Some(kept);
        let mut more = vec![];
        for one in emitted {
            match kept.take_if(|_| one.carries_on) {
                Some(kept) => more.extend(
                    self.place(instance, &one.resume)
                        .map(|at| Work::Carried(Box::new(Carried { kept, frame: one.frame, at }))),
                ),
                None => more.extend(self.start_fresh(instance, one, budget.clone(), now)),
            }
        }
        more
    }

    /// Ticks every frame extern that is due, the earliest first.
    pub(crate) fn frame_tick(&mut self, now: Time) -> Vec<Queued> {
        self.core.state.trace.turn_to(PacketId::default());
        let emitted = self.tick_all(now);
        let fresh = |(instance, budget, one)| self.start_fresh(instance, one, budget, now);
        let more: Vec<Work> = emitted.into_iter().filter_map(fresh).collect();
        more.into_iter().flat_map(|work| self.run_ingress(work, now).into_list()).collect()
    }

    /// Runs the timers that are due. Returns the emitted frames; all frames of one instance share a budget.
    fn tick_all(&mut self, now: Time) -> Vec<(InstanceId, PacketBudget, Emitted)> {
        let objects = self.core.state.timed_objects();
        let mut due: Vec<(Time, usize)> =
            objects.filter_map(|(at, o)| deadline_of(o).filter(|d| *d <= now).map(|d| (d, at))).collect();
        due.sort_unstable();
        let mut all = vec![];
        for (_, at) in due {
            let instance = InstanceId::from(at);
            let name = self.core.program.instance(instance).control_plane_name.clone();
            self.core.state.accesses.add(&name, AccessKind::Update);
            let emitted = self.with_frame_extern(instance, now, |object, now, out| object.tick(now, out));
            let budget = self.core.new_budget();
            all.extend(emitted.into_iter().map(|one| (instance, budget.clone(), one)));
        }
        all
    }

    fn with_frame_extern(
        &mut self,
        instance: InstanceId,
        now: Time,
        work: impl FnOnce(&mut dyn FrameExtern, Time, &mut Emitter),
    ) -> AllEmitted {
        let name = self.core.program.instance(instance).control_plane_name.to_string();
        let seen = self.core.state.read_environment(&Source::ExternNow(name), now.as_ps());
        let mut out = Emitter::default();
        if let Some(Object::Frame(object)) = self.core.state.objects.get_mut(instance.index()) {
            work(object.get_mut(), Time::from_ps(seen), &mut out);
        }
        out.take()
    }

    /// Continues the calling packet with its metadata and variables; headers, payload and the length that egress sees
    /// come from the returned frame. The parser's writes to metadata are discarded. Resubmit and ingress clones still
    /// use the frame of the start of the pass.
    pub(super) fn carry_on(
        &mut self,
        packet: &mut Packet,
        vars: Vec<Value>,
        frame: Vec<u8>,
        at: usize,
        now: Time,
    ) -> Result<End, Stop> {
        let path = self.path(at)?;
        packet.effects.length = frame.len() as i64;
        let mut parsed = Packet { frame, ..packet.clone() };
        self.parse(&mut parsed, now)?;
        (packet.headers, packet.payload) = (parsed.headers, parsed.payload);
        self.control(BlockName::Ingress, packet, Start::At(path, Some(vars)), now)
    }

    /// A new packet, parsed like one received on port 0, without checksum verification.
    fn start_fresh(
        &mut self,
        instance: InstanceId,
        one: Emitted,
        budget: PacketBudget,
        now: Time,
    ) -> Option<Work> {
        let timestamp = self.core.state.read_environment(&Source::IngressTimestamp, now.as_us());
        let mut packet = self.fresh(Received { port: 0, frame: one.frame, timestamp }, budget);
        if !self.core.created(&packet.budget) {
            return None;
        }
        let from = self.core.state.trace.packet();
        self.begin(&mut packet, from, Cause::FrameExtern, None);
        let at = self.place(instance, &one.resume)?;
        Some(Work::Fresh(Box::new(packet), at))
    }

    /// Position at which a frame continues, in [`Blocks::resumes`](crate::Blocks::resumes); the frame is dropped if the
    /// program lacks it.
    fn place(&mut self, instance: InstanceId, resume: &ResumeAt) -> Option<usize> {
        let calls = self.blocks.frame_externs();
        let at = match resume {
            ResumeAt::AfterCall => calls.iter().position(|call| *call == instance),
            ResumeAt::Region(name) => {
                let mut regions = self.layout.regions.starts.keys();
                regions.position(|known| known == name.as_str()).map(|at| calls.len() + at)
            }
        };
        self.core.state.trace.add(|| EventKind::Effect {
            effect: "resume",
            target: match resume {
                ResumeAt::AfterCall => "after the call".to_string(),
                ResumeAt::Region(name) => name.clone(),
            },
        });
        if at.is_none() {
            self.core.dropped(DropReason::UnknownRegion);
        }
        at
    }

    /// The place of this number.
    pub(super) fn path(&self, at: usize) -> Result<Path, Stop> {
        self.blocks.resumes().into_iter().nth(at).ok_or(Stop::Broken("a place that ingress does not have"))
    }
}

/// When the first timer of a frame extern runs out.
pub(crate) fn deadline(state: &State) -> Option<Time> {
    state.timed_objects().filter_map(|(_, object)| deadline_of(object)).min()
}

fn deadline_of(object: &Object) -> Option<Time> {
    match object {
        Object::Frame(object) => object.get().deadline(),
        _ => None,
    }
}
