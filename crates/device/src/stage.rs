//! Stages: the blocks of a program in the order in which its architecture runs them, and a packet in one.

use crate::region::Path;
use base_bits::Bits;
use ir::{Control, ControlId, ErrorId, InstanceId, Name, Parser, ParserId, Program, Role, Type, VarId};
use ir_value::Value;

/// A block of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Block {
    Parser(ParserId),
    /// A deparser is one, too.
    Control(ControlId),
}

/// A stage of a program, analysed once.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The name that the architecture gives it.
    pub name: Name,
    /// Block of the stage.
    pub block: Block,
    /// In order.
    pub params: Vec<Param>,
    /// Parameter and field with the number of bytes that counters and meters see; without one, it is
    /// [`Effects::counted`].
    pub counted_length: Option<(VarId, u32)>,
}

/// A parameter of a block.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Param {
    pub var: VarId,
    pub role: Role,
    pub ty: Type,
}

impl Stage {
    /// The stage of that name; `None` if the program has none.
    pub(crate) fn of(program: &Program, name: &str) -> Option<Stage> {
        let stage = program.stage(name)?;
        let (block, params, vars) = match stage.kind {
            ir::StageKind::Parse(id) => {
                let Parser { params, vars, .. } = program.parsers.get(id.index())?;
                (Block::Parser(id), params, vars)
            }
            ir::StageKind::Control(id) | ir::StageKind::Deparse(id) => {
                let Control { params, vars, .. } = program.controls.get(id.index())?;
                (Block::Control(id), params, vars)
            }
            _ => return None,
        };
        let param = |(var, role): (&VarId, &Role)| {
            let declared = vars.get(var.index())?;
            Some(Param { var: *var, role: *role, ty: declared.ty.clone() })
        };
        let params = params.iter().zip(&stage.roles).filter_map(param).collect();
        Some(Stage { name: stage.name.clone(), block, params, counted_length: None })
    }

    /// The type of the parameter with this role; `void` without one.
    pub(crate) fn ty(&self, role: Role) -> Type {
        self.params.iter().find(|p| p.role == role).map_or(Type::Void, |p| p.ty.clone())
    }

    /// Control of the stage; `None` for a parser.
    pub(crate) fn control(&self) -> Option<ControlId> {
        match self.block {
            Block::Control(id) => Some(id),
            Block::Parser(_) => None,
        }
    }

    /// Role of each parameter.
    pub(crate) fn roles(&self) -> Vec<Role> {
        self.params.iter().map(|param| param.role).collect()
    }
}

/// A block of v1model, or of half of PSA or TNA: [`Parser`](BlockName::Parser), [`Ingress`](BlockName::Ingress) or
/// [`Egress`](BlockName::Egress), [`Deparser`](BlockName::Deparser).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum BlockName {
    Parser,
    Verify,
    Ingress,
    Egress,
    Compute,
    Deparser,
}

impl BlockName {
    /// All, in the order in which they run.
    pub const ALL: [BlockName; 6] = [
        BlockName::Parser,
        BlockName::Verify,
        BlockName::Ingress,
        BlockName::Egress,
        BlockName::Compute,
        BlockName::Deparser,
    ];
}

/// A packet in a stage: inputs before, outputs after.
pub struct Visit {
    /// Values of parameters, before and after the stage.
    pub values: Vec<(VarId, Value)>,
    /// Input of a parser.
    pub frame: Vec<u8>,
    /// Bytes after the parsed headers: input of other blocks, and output of a parser.
    pub payload: Vec<u8>,
    /// Output of a deparser, padded to whole bytes.
    pub emitted: Vec<u8>,
    /// Effects requested by calls.
    pub effects: Effects,
    /// Steps that may still be made.
    pub fuel: u64,
    /// Start of the run.
    pub start: Start,
    /// End of the stage, or the reason why it stopped.
    pub end: Result<End, Stop>,
}

impl Visit {
    /// A packet at the start of a stage. `counted` is its length for counters and meters, `fuel` the steps that may be made.
    pub(crate) fn begin(values: Vec<(VarId, Value)>, frame: Vec<u8>, counted: u64, fuel: u64) -> Visit {
        let effects = Effects { counted, ..Effects::default() };
        let (payload, emitted) = (vec![], vec![]);
        Visit { values, frame, payload, emitted, effects, fuel, start: Start::Begin, end: Ok(End::Done) }
    }
}

/// Start of a run of a stage.
#[derive(Clone, Debug)]
pub enum Start {
    /// At its start.
    Begin,
    /// In the middle of a control's body, with these values of its variables or, without any, all zero.
    At(Path, Option<Vec<Value>>),
}

/// End of a stage.
#[derive(Debug)]
pub enum End {
    /// Normally, or by `exit`.
    Done,
    /// In the call of a frame extern.
    Called(FrameCall),
}

/// The call of a frame extern.
#[derive(Clone, Debug)]
pub struct FrameCall {
    /// Instance whose method is called.
    pub instance: InstanceId,
    /// The method's name.
    pub method: String,
    /// The arguments.
    pub args: Vec<Bits>,
    /// The control's variables at the call.
    pub vars: Vec<Value>,
}

/// Reason why a stage stopped early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// `exit`
    Exit,
    /// The parser failed.
    Reject(ErrorId),
    /// A frame extern was called; the packet is its from now on.
    FrameCall(InstanceId),
    /// `assert` or `assume` failed.
    AssertFailed,
    /// The step budget is used up.
    OutOfFuel,
    /// Too many parser states without progress.
    ParserLoop,
    /// The program breaks a rule of the IR.
    Broken(&'static str),
}

/// State of a packet beside its headers and metadata, and effects that the program requests by calls. The last call of
/// a kind in a pass counts.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Effects {
    /// Length for counters and meters, in bytes: that of the frame at the start of this pass.
    pub counted: u64,
    /// The length of the packet as `setValid` and `setInvalid` change it, in bytes.
    pub length: i64,
    /// Length to truncate the sent packet to, in bytes: the minimum of all calls.
    pub truncate: Option<u32>,
    /// A clone, with its session.
    pub clone: Option<CloneEffect>,
    /// Resubmit with this field list.
    pub resubmit: Option<u32>,
    /// Recirculate with this field list.
    pub recirculate: Option<u32>,
    /// A checksum was wrong.
    pub checksum_error: bool,
    /// A mirror, on TNA.
    pub mirror: Option<MirrorEffect>,
    /// A resubmission on TNA, with the data that the next pass finds before the frame.
    pub resubmission: Option<Vec<u8>>,
    /// Results of direct meters in this stage.
    pub colours: Vec<(InstanceId, u8)>,
}

impl Effects {
    /// Effects at the start of a pass, for a frame of this length.
    pub fn of(bytes: u64) -> Effects {
        Effects { counted: bytes, length: bytes as i64, ..Effects::default() }
    }

    /// Records the result of a direct meter, replacing an earlier one.
    pub fn coloured(&mut self, colour: Option<(InstanceId, u8)>) {
        if let Some((meter, _)) = colour {
            self.colours.retain(|(instance, _)| *instance != meter);
            self.colours.extend(colour);
        }
    }

    /// Cancels requests to the traffic manager.
    pub(crate) fn forget_orders(&mut self) {
        (self.clone, self.resubmit, self.recirculate) = (None, None, None);
    }

    /// Nothing that was asked for is any longer.
    pub(crate) fn forget(&mut self) {
        self.forget_orders();
        self.truncate = None;
    }
}

/// A clone that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CloneEffect {
    /// Number of the [`Session`](crate::Session).
    pub session: u32,
    /// The metadata that it keeps; `None` keeps nothing.
    pub field_list: Option<u32>,
}

/// A mirror that was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MirrorEffect {
    /// Number of the [`Session`](crate::Session).
    pub session: u32,
    /// Bytes before those of the packet.
    pub header: Vec<u8>,
}

/// Amid a block: see [`StageRunner::statement`](crate::StageRunner::statement).
#[derive(Default)]
pub struct Amid {
    /// All variables of the block.
    pub vars: Vec<Value>,
    /// Input of the parser.
    pub frame: Vec<u8>,
    /// Number of bits taken from the packet.
    pub position: u64,
    /// Bytes after the parsed headers.
    pub payload: Vec<u8>,
    /// Effects requested so far.
    pub effects: Effects,
}
