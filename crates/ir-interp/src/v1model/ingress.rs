//! From a frame to the end of ingress.

use super::layout::StageName;
use super::packet::{Life, Orders, Packet};
use super::stages::{Ended, Start};
use super::{Switch, frames};
use crate::environment::Source;
use crate::machine::Stop;
use crate::value::Value;
use base_time::Time;
use dataplane_api::{DropReason, Port, Queued};
use p4_arch::v1model::instance_type;

impl Switch {
    /// A packet with all metadata zero, as it came by a port or out of a frame extern.
    pub(super) fn fresh(&mut self, port: Port, frame: Vec<u8>, life: Life, now: Time) -> Packet {
        let program = std::sync::Arc::clone(&self.program);
        let layout = std::sync::Arc::clone(&self.layout);
        let length = frame.len() as u64;
        let mut standard = Value::zero(&program, &layout.standard);
        let timestamp = self.state.read_environment(&Source::IngressTimestamp, now.as_us());
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
            ingress_length: length,
            length: length as i64,
            egress_port: 0,
            truncate: None,
            orders: Orders::default(),
            life,
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
        let (program, layout) = (&self.program, &self.layout);
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
        old.ingress_length = length;
        old.length = length as i64;
        old.truncate = None;
        old.orders = Orders::default();
        old
    }

    /// Parser, checksum verification, ingress, traffic manager.
    pub(super) fn run_ingress(&mut self, mut packet: Packet, now: Time) -> Vec<Queued> {
        let ended = self.with_stages(now, |stages| {
            stages.parse(&mut packet)?;
            stages.control(StageName::Verify, &mut packet, Start::Begin)?;
            stages.control(StageName::Ingress, &mut packet, Start::Begin)
        });
        self.after_ingress(packet, ended, now)
    }

    /// What follows the end of the ingress control.
    pub(super) fn after_ingress(
        &mut self,
        packet: Packet,
        ended: Result<Ended, Stop>,
        now: Time,
    ) -> Vec<Queued> {
        match ended {
            Ok(Ended::Done) => self.manage(packet, now),
            Ok(Ended::Called(call)) => frames::call(self, packet, call, now),
            Err(stop) => {
                self.dropped(drop_reason(&stop));
                vec![]
            }
        }
    }
}

/// Why a packet that stopped this way is dropped.
pub(super) fn drop_reason(stop: &Stop) -> DropReason {
    match stop {
        Stop::ParserLoop => DropReason::ParserLimit,
        Stop::OutOfFuel => DropReason::StepLimit,
        Stop::AssertFailed => DropReason::AssertFailed,
        Stop::Exit | Stop::Reject(_) | Stop::FrameCall(_) | Stop::Broken(_) => DropReason::Internal,
    }
}
