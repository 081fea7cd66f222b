//! From a frame to the end of ingress.

use super::V1Switch;
use super::packet::Packet;
use crate::environment::Source;
use crate::life::Life;
use crate::region::Path;
use crate::stage::{BlockName, Effects, End, Start, Stop};
use crate::trace::PacketId;
use base_time::Time;
use dataplane_api::{Port, Queued};
use ir_value::Value;
use p4_arch::v1model::instance_type;

impl V1Switch<'_> {
    /// A packet with all metadata zero, as it came by a port or out of a frame extern.
    pub(super) fn fresh(&mut self, port: Port, frame: Vec<u8>, life: Life, now: Time) -> Packet {
        let program = std::sync::Arc::clone(&self.core.program);
        let layout = self.layout;
        let length = frame.len() as u64;
        let mut standard = Value::zero(&program, &layout.standard);
        let timestamp = self.core.state.read_environment(&Source::IngressTimestamp, now.as_us());
        layout.set(&mut standard, "ingress_port", u128::from(port));
        layout.set(&mut standard, "packet_length", u128::from(length));
        layout.set(&mut standard, "ingress_global_timestamp", u128::from(timestamp));
        layout.set(&mut standard, "instance_type", u128::from(instance_type::NORMAL));
        Packet {
            headers: Value::zero(&program, &layout.headers),
            metadata: Value::zero(&program, &layout.metadata),
            standard,
            frame,
            payload: vec![],
            ingress_port: port,
            egress_port: 0,
            effects: Effects::of(length),
            life,
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

    /// Runs packets through ingress and traffic manager, and all that starts again on the way, one after the
    /// other: what a packet gives rise to runs before the packets behind it.
    pub(super) fn run_ingress(&mut self, packets: Vec<Work>, now: Time) -> Vec<Queued> {
        let mut waiting = packets;
        waiting.reverse();
        let mut queued = vec![];
        while let Some(work) = waiting.pop() {
            let (packet, ended) = self.run_work(work, now);
            let more = match ended {
                Ok(End::Done) => self.manage(packet, now, &mut queued),
                Ok(End::Called(call)) => self.call_frame_extern(packet, call, now),
                Err(stop) => {
                    self.core.stopped(&stop);
                    vec![]
                }
            };
            waiting.extend(more.into_iter().rev());
        }
        queued
    }

    fn run_work(&mut self, work: Work, now: Time) -> (Packet, Result<End, Stop>) {
        self.core.state.trace.turn_to(work.packet().trace);
        match work {
            Work::Start(mut packet) => {
                let ended = self.start(&mut packet, now);
                (packet, ended)
            }
            Work::Fresh(mut packet, path) => {
                let start = Start::At(path, None);
                let ended = self
                    .parse(&mut packet, now)
                    .and_then(|()| self.control(BlockName::Ingress, &mut packet, start, now));
                (packet, ended)
            }
            Work::Carried(carried) => self.carry_on(*carried, now),
        }
    }

    /// A packet goes through ingress from the parser on.
    fn start(&mut self, packet: &mut Packet, now: Time) -> Result<End, Stop> {
        self.parse(packet, now)?;
        self.control(BlockName::Verify, packet, Start::Begin, now)?;
        self.control(BlockName::Ingress, packet, Start::Begin, now)
    }
}

/// A packet that is to run in ingress.
pub(super) enum Work {
    /// From the parser on.
    Start(Packet),
    /// Out of a frame extern, with no variables.
    Fresh(Packet, Path),
    /// Out of a frame extern, as the packet that called.
    Carried(Box<Carried>),
}

impl Work {
    pub(super) fn into_packet(self) -> Packet {
        match self {
            Work::Start(packet) | Work::Fresh(packet, _) => packet,
            Work::Carried(carried) => carried.packet,
        }
    }

    fn packet(&self) -> &Packet {
        match self {
            Work::Start(packet) | Work::Fresh(packet, _) => packet,
            Work::Carried(carried) => &carried.packet,
        }
    }
}

/// A packet that called a frame extern, and what came back.
pub(super) struct Carried {
    pub(super) packet: Packet,
    pub(super) frame: Vec<u8>,
    pub(super) path: Path,
    /// The control's variables at the call.
    pub(super) vars: Vec<Value>,
}
