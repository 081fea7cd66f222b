//! PSA for compiled code: see [`crate::embed`]. What it runs in the interpreter's place is half of the device: parser,
//! control and deparser on bytes. The packet replication engine and the queues stay here.

use super::Psa;
use super::layout;
use super::packet::Packet;
use super::pipeline::PsaSwitch;
use crate::embed::Accelerator;
use crate::host::Host;
use crate::life::Life;
use crate::stage::{BlockName, Stage};
use crate::switch::Runners;
use base_time::Time;
use dataplane_api::{EgressResult, Output, Port};
use ir::{Carried, Role, Type};
use ir_value::Value;

/// Ingress or egress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Half {
    Ingress,
    Egress,
}

/// A packet as it comes to a half.
#[derive(Clone, Copy, Debug)]
pub struct HalfStart<'p> {
    /// Which half.
    pub half: Half,
    /// Its bytes.
    pub frame: &'p [u8],
    /// A member of `PSA_PacketPath_t`.
    pub path: u32,
    /// By which port it came in.
    pub ingress_port: Port,
    /// By which port it goes out; egress only.
    pub egress_port: Port,
    /// Of its queue; egress only.
    pub class_of_service: u64,
    /// Which copy it is; egress only.
    pub instance: u16,
    /// What the program sees as the time.
    pub timestamp: u64,
    /// What a deparser gave it along, and for which way.
    pub carried: Option<&'p (Carried, Value)>,
    /// What it may still take.
    pub life: &'p Life,
}

/// What a half made of a packet.
#[derive(Clone, Debug)]
pub struct HalfDone {
    /// What the program asks for: of the type of [`Role::Output`].
    pub output: Value,
    /// What the deparser gave along, for each way.
    pub carried: Vec<(Carried, Value)>,
    /// The deparsed packet.
    pub frame: Vec<u8>,
}

impl HalfDone {
    /// What the deparser gave along for this way.
    pub(super) fn carried(&self, by: Carried) -> Option<(Carried, Value)> {
        self.carried.iter().find(|(way, _)| *way == by).cloned()
    }
}

/// How a packet got through a half.
#[derive(Clone, Debug)]
pub enum HalfEnd {
    /// To its end.
    Done(HalfDone),
    /// It was dropped on the way, and is counted.
    Gone,
    /// Nothing happened: the interpreter is to run it.
    NotMine,
}

impl Host<'_> {
    /// Runs a frame and all that comes of it through PSA, at one moment. Whoever calls has counted it.
    pub fn run_halves(
        &mut self,
        halves: &mut (dyn Accelerator + 'static),
        port: Port,
        frame: &[u8],
        now: Time,
    ) -> Vec<Output> {
        let packet = Packet::received(self.core, port, frame.to_vec());
        let Some(mut switch) = self.psa_switch(halves, now) else { return vec![] };
        let queued = switch.run_ingress(packet);
        switch.drain(EgressResult::default(), queued)
    }

    /// Code has run a half: what comes of that, at one moment.
    pub fn behind_half(
        &mut self,
        halves: &mut (dyn Accelerator + 'static),
        start: HalfStart<'_>,
        done: HalfDone,
        now: Time,
    ) -> Vec<Output> {
        let (half, packet) = (start.half, Packet::at(start));
        let Some(mut switch) = self.psa_switch(halves, now) else { return vec![] };
        let (mut result, mut queued) = (EgressResult::default(), vec![]);
        match half {
            Half::Ingress => {
                let again = switch.behind_ingress(packet, done, &mut queued);
                switch.passes_of_ingress(again, &mut queued);
            }
            Half::Egress => result = switch.behind_egress(packet, done),
        }
        switch.drain(result, queued)
    }

    fn psa_switch<'h>(
        &'h mut self,
        halves: &'h mut (dyn Accelerator + 'static),
        now: Time,
    ) -> Option<PsaSwitch<'h>> {
        let psa = self.psa()?;
        Some(psa.on(self.core, Runners { stages: self.stages, halves: Some((halves, self.blocks)) }, now))
    }
}

impl Half {
    /// Its control.
    pub fn control(self) -> BlockName {
        match self {
            Half::Ingress => BlockName::Ingress,
            Half::Egress => BlockName::Egress,
        }
    }
}

impl Psa {
    pub(super) fn half(&self, half: Half) -> &layout::Half {
        match half {
            Half::Ingress => &self.layout.ingress,
            Half::Egress => &self.layout.egress,
        }
    }

    /// The stage of a half; `None` if it has no such block.
    pub(crate) fn stage(&self, half: Half, block: BlockName) -> Option<&Stage> {
        let layout::Half { parser, control, deparser } = self.half(half);
        match block {
            BlockName::Parser => Some(parser),
            BlockName::Deparser => Some(deparser),
            block => (block == half.control()).then_some(control),
        }
    }

    /// Of headers, metadata and what is asked for.
    pub(crate) fn types(&self, half: Half) -> [Type; 3] {
        let control = &self.half(half).control;
        [Role::Headers, Role::Metadata, Role::Output].map(|role| control.ty(role))
    }
}
