//! The seam through which an architecture extends the interpreter of a stage.

use crate::machine::Arch;
use base_time::Time;
use device::stage::{Block, Effects, FrameCall};
use ir::VarId;

/// State of the externs in a stage.
pub(crate) trait StageArch: Arch {
    /// For one packet in one block.
    fn begin(at: Begin) -> Self;

    /// Requested effects, the payload, and the call of a frame extern.
    fn end(self) -> (Effects, Vec<u8>, Option<FrameCall>);
}

/// See [`StageArch::begin`].
pub(crate) struct Begin {
    pub(crate) effects: Effects,
    pub(crate) payload: Vec<u8>,
    pub(crate) now: Time,
    pub(crate) drop_port: u32,
    /// See [`Stage::counted_length`](device::stage::Stage::counted_length); with the block.
    pub(crate) counted_length: Option<(Block, VarId, u32)>,
}
