//! From a frame to the end of ingress.

use super::half::{Called, Carried, Ingress, Kept, Received, Work};
use super::packet::Packet;
use super::switch::V1Switch;
use crate::budget::PacketBudget;
use crate::stage::{BlockName, Effects, End, FrameCall, Start, Stop};
use crate::trace::{Cause, PacketId};
use base_time::Time;
use dataplane_api::{Became, Queued};
use ir_value::Value;
use p4_arch::v1model::instance_type;

impl V1Switch<'_> {
    /// A packet with zero metadata, received on a port or emitted by a frame extern.
    pub(super) fn fresh(&self, received: Received, budget: PacketBudget) -> Packet {
        let Received { port, frame, timestamp } = received;
        let (program, layout) = (&self.core.program, self.layout);
        let length = frame.len() as u64;
        let mut standard = Value::zero(program, &layout.standard);
        layout.set(&mut standard, "ingress_port", u128::from(port));
        layout.set(&mut standard, "packet_length", u128::from(length));
        layout.set(&mut standard, "ingress_global_timestamp", u128::from(timestamp));
        layout.set(&mut standard, "instance_type", u128::from(instance_type::NORMAL));
        Packet {
            headers: Value::zero(program, &layout.headers),
            metadata: Value::zero(program, &layout.metadata),
            standard,
            frame,
            payload: vec![],
            ingress_port: port,
            egress_port: 0,
            effects: Effects::of(length),
            budget,
            trace: PacketId::default(),
        }
    }

    /// A packet that starts again, with `frame` for its bytes: metadata zero but for the field list.
    pub(super) fn restarted(
        &mut self,
        mut old: Packet,
        frame: Vec<u8>,
        kind: u32,
        list: Option<u32>,
    ) -> Packet {
        let (program, layout) = (&self.core.program, self.layout);
        let length = frame.len() as u64;
        let mut metadata = Value::zero(program, &layout.metadata);
        layout.keep(list, &old.metadata, &mut metadata);
        let mut standard = Value::zero(program, &layout.standard);
        layout.set(&mut standard, "packet_length", u128::from(length));
        layout.set(&mut standard, "instance_type", u128::from(kind));
        old.metadata = metadata;
        old.standard = standard;
        old.headers = Value::zero(program, &layout.headers);
        old.frame = frame;
        old.payload.clear();
        old.effects = Effects::of(length);
        old
    }

    /// Runs a packet through ingress and traffic manager, including everything that restarts on the way.
    #[inline(always)]
    pub(super) fn run_ingress(&mut self, work: Work, now: Time) -> Became {
        match self.ingress(work, now) {
            // The common case: the packet has no other results.
            Ingress::Waits(packet) => Became::One(packet),
            done => Became::Several(self.after_ingress(done, now)),
        }
    }

    /// Continues after ingress, up to the queues: all effects of a packet are complete before the next packet.
    pub(crate) fn after_ingress(&mut self, done: Ingress, now: Time) -> Vec<Queued> {
        let mut queued = vec![];
        let mut waiting = self.follow(done, &mut queued, now);
        waiting.reverse();
        while let Some(work) = waiting.pop() {
            let done = self.ingress(work, now);
            let more = self.follow(done, &mut queued, now);
            waiting.extend(more.into_iter().rev());
        }
        queued
    }

    /// Work that follows a run of ingress.
    fn follow(&mut self, done: Ingress, queued: &mut Vec<Queued>, now: Time) -> Vec<Work> {
        match done {
            Ingress::Waits(packet) => {
                queued.push(packet);
                vec![]
            }
            Ingress::Ended(packet) => self.manage(*packet, now, queued).into_iter().collect(),
            Ingress::Called(call) => self.call_frame_extern(*call, now),
            Ingress::Gone => vec![],
        }
    }

    /// A packet runs to the end of ingress: as a half if the runner takes it, else stage by stage.
    #[inline]
    fn ingress(&mut self, work: Work, now: Time) -> Ingress {
        match self.runner.v1model_ingress(self.core, self.blocks, work, now) {
            Ok(done) => done,
            Err(work) => self.ingress_by_stages(work, now),
        }
    }

    #[inline(never)]
    fn ingress_by_stages(&mut self, work: Work, now: Time) -> Ingress {
        self.by_stages(work, now).unwrap_or_else(|stop| {
            self.core.stopped(&stop);
            Ingress::Gone
        })
    }

    fn by_stages(&mut self, work: Work, now: Time) -> Result<Ingress, Stop> {
        let (mut packet, end);
        match work {
            Work::Received(received) => {
                let port = received.port;
                packet = Box::new(self.fresh(received, self.core.new_budget()));
                self.begin(&mut packet, PacketId::default(), Cause::Received, Some(port));
                end = self.start(&mut packet, now)?;
            }
            Work::Again(again) => {
                packet = again;
                end = self.start(&mut packet, now)?;
            }
            Work::Fresh(fresh, at) => {
                packet = fresh;
                self.core.state.trace.turn_to(packet.trace);
                let path = self.path(at)?;
                self.parse(&mut packet, now)?;
                end = self.control(BlockName::Ingress, &mut packet, Start::At(path, None), now)?;
            }
            Work::Carried(carried) => {
                let Carried { kept: Kept::Values(kept, vars), frame, at } = *carried else {
                    return Err(Stop::Broken("a packet of a runner that does not know it"));
                };
                packet = kept;
                self.core.state.trace.turn_to(packet.trace);
                end = self.carry_on(&mut packet, vars, frame, at, now)?;
            }
        }
        Ok(match end {
            End::Done => Ingress::Ended(packet),
            End::Called(FrameCall { instance, method, args, vars }) => {
                let (frame, budget) = (self.deparse(&mut packet, now)?, packet.budget.clone());
                let kept = Kept::Values(packet, vars);
                Ingress::Called(Box::new(Called {
                    instance,
                    method: method.into(),
                    args,
                    frame,
                    kept,
                    budget,
                }))
            }
        })
    }

    /// A packet goes through ingress from the parser on.
    fn start(&mut self, packet: &mut Packet, now: Time) -> Result<End, Stop> {
        self.core.state.trace.turn_to(packet.trace);
        self.parse(packet, now)?;
        self.control(BlockName::Verify, packet, Start::Begin, now)?;
        self.control(BlockName::Ingress, packet, Start::Begin, now)
    }
}
