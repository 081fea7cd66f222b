//! Packets with the checksums that the program computes.

use super::{PacketMaker, Pool};
use base_time::{Rng, Time};
use dataplane_api::{Device, Registry};
use device::{Options, Switch};
use ir::{Block, Program};
use std::sync::Arc;

/// Makes packets for a program; most have the right checksums.
pub struct MendedPackets<'p> {
    maker: PacketMaker<'p>,
    mender: Option<Switch>,
}

impl<'p> MendedPackets<'p> {
    /// For this program, whose externs are in `registry`.
    pub fn new(program: &'p Arc<Program>, registry: &Registry) -> MendedPackets<'p> {
        MendedPackets { maker: PacketMaker::new(program), mender: mender(program, registry) }
    }

    /// The next one.
    pub fn next(&mut self, pool: &mut Pool, rng: &mut Rng) -> Vec<u8> {
        let frame = self.maker.packet(pool, rng);
        match &mut self.mender {
            Some(mender) if !rng.chance(1, 6) => mended(mender, frame),
            _ => frame,
        }
    }
}

/// The program without its ingress and egress: its output has the checksums that the program computes.
fn mender(program: &Arc<Program>, registry: &Registry) -> Option<Switch> {
    let mut program = Program::clone(program);
    for stage in ["ingress", "egress", "verify_checksum"] {
        let id = program.stage_control(stage)?;
        let control = &mut program.controls[id.index()];
        control.body = Block::default();
        control.locals.clear();
        control.tables.clear();
        control.actions.clear();
    }
    program.instances.clear();
    program.controls.iter_mut().for_each(|c| c.instances.clear());
    ir_interp::switch(Arc::new(program), Options { registry: registry.clone(), ..Options::default() }).ok()
}

fn mended(mender: &mut Switch, frame: Vec<u8>) -> Vec<u8> {
    let queued = mender.ingress(0, frame.clone(), Time::ZERO);
    mender.drain(queued, Time::ZERO).pop().map_or(frame, |output| output.frame)
}
