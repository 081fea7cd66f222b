//! A device while packets go through it: each step is its architecture's.

use crate::architecture::Architecture;
use crate::blueprint::Blocks;
use crate::core::Core;
use crate::psa::{self, PsaSwitch};
use crate::runner::StageRunner;
use crate::stage::{BlockName, Stop};
use crate::tna::TofinoSwitch;
use crate::v1model::{self, V1Switch};
use base_time::Time;
use dataplane_api::{Became, Departed, EgressResult, Output, Port, QueueRecord, Queued, QueuedPacket};
use std::collections::VecDeque;

/// A device at work: its state, its program and its runner.
pub struct AtWork<'s> {
    /// State of the device.
    pub core: &'s mut Core,
    /// The program's blocks; of PSA it makes no difference of which half.
    pub blocks: Blocks<'s>,
    /// Runs them.
    pub runner: &'s mut (dyn StageRunner + 's),
}

impl AtWork<'_> {
    /// Runs a received frame: see [`Device::ingress`](dataplane_api::Device::ingress).
    pub(crate) fn ingress(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Queued> {
        self.admit(port, frame, now).into_list()
    }

    /// See [`Device::admit`](dataplane_api::Device::admit).
    #[inline]
    pub(crate) fn admit(&mut self, port: Port, frame: Vec<u8>, now: Time) -> Became {
        let AtWork { core, blocks, runner } = self;
        match blocks.architecture() {
            Architecture::V1Model(of) => V1Switch::of(core, *blocks, *runner, of).receive(port, frame, now),
            Architecture::Psa(of) => {
                Became::Several(PsaSwitch::of(core, *blocks, *runner, of).receive(port, frame, now))
            }
            Architecture::Tna(of) => {
                Became::Several(TofinoSwitch::of(core, *blocks, *runner, of).receive(port, frame, now))
            }
        }
    }

    /// Egress of a packet that leaves its queue at `leaves`: see [`Device::depart`](dataplane_api::Device::depart).
    pub(crate) fn depart(&mut self, packet: Queued, queue: QueueRecord, leaves: Time, now: Time) -> Departed {
        let (AtWork { core, blocks, runner }, packet) = (self, packet.packet);
        match blocks.architecture() {
            Architecture::V1Model(of) => {
                V1Switch::of(core, *blocks, *runner, of).egress(packet, queue, leaves, now)
            }
            Architecture::Psa(of) => PsaSwitch::of(core, *blocks, *runner, of).egress(packet, now).into(),
            Architecture::Tna(of) => {
                TofinoSwitch::of(core, *blocks, *runner, of).egress(packet, queue, now).into()
            }
        }
    }

    /// See [`Device::resume`](dataplane_api::Device::resume).
    pub(crate) fn resume(&mut self, packet: QueuedPacket, now: Time) -> Vec<Queued> {
        let AtWork { core, blocks, runner } = self;
        match blocks.architecture() {
            Architecture::V1Model(of) => V1Switch::of(core, *blocks, *runner, of).resume(packet, now),
            Architecture::Psa(of) => PsaSwitch::of(core, *blocks, *runner, of).resume(packet, now),
            Architecture::Tna(of) => TofinoSwitch::of(core, *blocks, *runner, of).resume(packet, now),
        }
    }

    /// See [`Device::tick`](dataplane_api::Device::tick).
    pub(crate) fn run_timers(&mut self, now: Time) -> Vec<Queued> {
        let AtWork { core, blocks, runner } = self;
        core.state.tick_values(&core.program, now);
        let mut queued = match blocks.architecture() {
            Architecture::V1Model(of) => V1Switch::of(core, *blocks, *runner, of).frame_tick(now),
            Architecture::Psa(_) | Architecture::Tna(_) => vec![],
        };
        let mut frames = self.core.ticks.take_due(now);
        frames.extend(self.core.generated(now));
        for (port, frame) in frames {
            self.core.counters.created += 1;
            queued.extend(self.ingress(port, frame, now));
        }
        queued
    }

    /// Runs a frame and all resulting packets to their ends, at one time. The caller has counted the frame.
    pub fn process(mut self, port: Port, frame: Vec<u8>, now: Time) -> Vec<Output> {
        let queued = self.ingress(port, frame, now);
        self.drain(EgressResult::default(), queued, now)
    }

    /// Runs the timers that are due and all resulting packets to their ends, at one time.
    pub fn tick(mut self, now: Time) -> Vec<Output> {
        let queued = self.run_timers(now);
        self.drain(EgressResult::default(), queued, now)
    }

    /// Runs a packet, which a runner of whole packets left at the end of v1model's ingress, to its end at one time.
    pub fn v1model_after_ingress(mut self, done: v1model::Ingress, now: Time) -> Vec<Output> {
        let Some(mut switch) = self.v1model() else { return vec![] };
        let queued = switch.after_ingress(done, now);
        self.drain(EgressResult::default(), queued, now)
    }

    /// Runs a packet, which a runner of whole packets left at the end of v1model's egress, to its end at one time.
    pub fn v1model_after_egress(mut self, packet: v1model::Packet, now: Time) -> Vec<Output> {
        let Some(mut switch) = self.v1model() else { return vec![] };
        let result = switch.end_egress(packet, now);
        self.drain(result, vec![], now)
    }

    /// Runs a block of v1model on a packet, for code that runs the rest; the deparser gives the frame.
    pub fn v1model_block(
        mut self,
        block: BlockName,
        packet: &mut v1model::Packet,
        now: Time,
    ) -> Result<Option<Vec<u8>>, Stop> {
        match self.v1model() {
            Some(mut switch) => switch.block(block, packet, now),
            None => Err(Stop::Broken("a block that the architecture does not have")),
        }
    }

    /// Runs a packet, which a runner of whole packets left at the end of a half of PSA, to its end at one time.
    pub fn psa_after_half(
        mut self,
        start: psa::HalfStart<'_>,
        done: psa::HalfDone,
        now: Time,
    ) -> Vec<Output> {
        let AtWork { core, blocks, runner } = &mut self;
        let Architecture::Psa(of) = blocks.architecture() else { return vec![] };
        let (result, queued) = PsaSwitch::of(core, *blocks, *runner, of).after_half(start, done, now);
        self.drain(result, queued, now)
    }

    fn v1model(&mut self) -> Option<V1Switch<'_>> {
        let AtWork { core, blocks, runner } = self;
        match blocks.architecture() {
            Architecture::V1Model(of) => Some(V1Switch::of(core, *blocks, *runner, of)),
            Architecture::Psa(_) | Architecture::Tna(_) => None,
        }
    }

    /// Runs an egress result and queued packets to their ends, at one time: see
    /// [`Device::drain`](dataplane_api::Device::drain).
    pub(crate) fn drain(mut self, first: EgressResult, queued: Vec<Queued>, now: Time) -> Vec<Output> {
        let (mut outputs, mut waiting, mut result) = (vec![], VecDeque::from(queued), first);
        loop {
            outputs.extend(result.output);
            waiting.extend(result.requeued);
            for packet in result.again {
                waiting.extend(self.resume(packet, now));
            }
            let Some(packet) = waiting.pop_front() else { return outputs };
            let (queue, leaves) = self.core.queue_depths.record(packet.replica.port, now);
            result = self.depart(packet, queue, leaves, now).into_result();
        }
    }
}
