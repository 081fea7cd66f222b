//! The halves of TNA: parser, control and deparser, from bytes to bytes. The traffic manager is around them.

use super::layout::named;
use crate::budget::PacketBudget;
use crate::half::Half;
use crate::stage::MirrorEffect;
use ir::{Program, Type};
use ir_value::{Value, fields};

/// A packet as it comes to a half.
#[derive(Clone, Copy, Debug)]
pub struct HalfStart<'p> {
    /// The half.
    pub half: Half,
    /// Bytes that the parser sees: the switch's metadata, then the frame.
    pub input: &'p [u8],
    /// Length of the frame in bytes.
    pub length: u64,
    /// The packet's budget.
    pub budget: &'p PacketBudget,
}

/// Result of a half.
#[derive(Clone, Debug)]
pub struct HalfDone {
    /// The intrinsic metadata, each by its type.
    pub intrinsic: Vec<(Type, Value)>,
    /// The mirror that the deparser asked for.
    pub mirror: Option<MirrorEffect>,
    /// The resubmission that the deparser asked for: the data that the next pass finds before the frame.
    pub resubmission: Option<Vec<u8>>,
    /// The deparsed packet.
    pub frame: Vec<u8>,
}

impl HalfDone {
    /// A field of the intrinsic metadata with this type name.
    pub(super) fn field(&self, program: &Program, of: &str, name: &str) -> u64 {
        let Some(ty) = named(program, of) else { return 0 };
        let value = self.intrinsic.iter().find(|(known, _)| *known == ty);
        value.map_or(0, |(ty, value)| fields::get(program, ty, value, name))
    }
}
