//! Runners of programs.
//!
//! ```text
//! architecture (v1model, psa)          state of a packet between stages, the traffic manager, the queues
//!    │  a half: up to the queues, from the queues on     machine code; packets it returns continue stage by stage
//!    │  Stage, [Visit]: the block and its inputs         the interpreter
//!    v
//! StageRunner                          the language: parsers, controls, deparsers
//!    │  State                          tables, objects, digests, the trace: see `data_plane`
//!    v
//! ```
//!
//! An architecture names no runner, and a runner knows only the externs of an architecture.

use crate::blueprint::Blocks;
use crate::core::Core;
use crate::stage::{Amid, Block, Stage, Stop, Visit};
use crate::{psa, tna, v1model};
use base_time::Time;
use dataplane_api::{Output, Port, QueuedPacket};
use ir::Stmt;

/// Runs a program, in pieces of several sizes.
///
/// A packet is offered in the largest piece first: the whole path, then a half. A runner takes the pieces that it
/// supports and returns the others unchanged; these then run in smaller pieces. Stages and statements are always run.
/// The result is the same for all pieces: a large piece is not taken if [its steps are observed](Core::is_untold).
pub trait StageRunner: Send {
    /// Processes a frame to its end, at one time, and counts it.
    fn whole(
        &mut self,
        _core: &mut Core,
        _blocks: Blocks<'_>,
        _port: Port,
        _frame: &[u8],
        _now: Time,
    ) -> Option<Vec<Output>> {
        None
    }

    /// The first half of v1model: a packet from its start to the end of ingress.
    fn v1model_ingress(
        &mut self,
        _core: &mut Core,
        _blocks: Blocks<'_>,
        work: v1model::Work,
        _now: Time,
    ) -> Result<v1model::Ingress, v1model::Work> {
        Err(work)
    }

    /// The second half of v1model: a packet that leaves its queue. One that waited in a form of the runner's own is given back as a
    /// [`v1model::Packet`].
    fn v1model_egress(
        &mut self,
        _core: &mut Core,
        _blocks: Blocks<'_>,
        packet: QueuedPacket,
        _stay: v1model::QueueMetadata,
        _now: Time,
    ) -> Result<v1model::Egress, QueuedPacket> {
        Err(packet)
    }

    /// Runs checksums and deparser after v1model's egress. Returns the frame, or `None` if the packet was dropped,
    /// which is counted then; updates the packet's user metadata.
    fn v1model_out(
        &mut self,
        _core: &mut Core,
        _blocks: Blocks<'_>,
        _packet: &mut v1model::Packet,
        _now: Time,
    ) -> Result<Option<Vec<u8>>, NotTaken> {
        Err(NotTaken)
    }

    /// Half of PSA: parser, control and deparser.
    fn psa_half(
        &mut self,
        _core: &mut Core,
        _blocks: Blocks<'_>,
        _start: psa::HalfStart<'_>,
        _now: Time,
    ) -> Result<Option<psa::HalfDone>, NotTaken> {
        Err(NotTaken)
    }

    /// Half of TNA: parser, control and deparser. `None` if the packet was dropped, which is counted then.
    fn tna_half(
        &mut self,
        _core: &mut Core,
        _blocks: Blocks<'_>,
        _start: tna::HalfStart<'_>,
        _now: Time,
    ) -> Result<Option<tna::HalfDone>, NotTaken> {
        Err(NotTaken)
    }

    /// Runs a stage on packets, one after the other.
    fn stage(&mut self, core: &mut Core, stage: &Stage, visits: &mut [Visit], now: Time);

    /// Runs one statement of a block, for code that runs the rest of it.
    fn statement(
        &mut self,
        core: &mut Core,
        block: Block,
        stmt: &Stmt,
        at: &mut Amid,
        now: Time,
    ) -> Result<(), Stop>;
}

/// The runner leaves it to smaller pieces; nothing has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotTaken;
