//! Objects that code refers to by number in calls.

use crate::exchange::{Exchange, value_of};
use crate::facts::Facts;
use crate::layout::{Kind, Layout, Node};
use base_diag::Span;
use device::ValueCallee;
use device::stage::BlockName;
use device::tna::HashUnit;
use ir::{InstanceId, Name, Stmt, VarId};
use ir_value::Value;
use std::collections::BTreeSet;

/// Constructs of a program that code generation notes for later.
#[derive(Default)]
pub(crate) struct Notes {
    /// Statements that are left to the interpreter.
    pub(crate) fallbacks: Vec<Fallback>,
    pub(crate) messages: Vec<Message>,
    /// Calls with parameters of their own.
    pub(crate) calculations: Vec<Span>,
    /// TNA's hash units.
    pub(crate) hash_units: Vec<HashUnit>,
    /// Blocks that are left to the interpreter.
    pub(crate) stages: Vec<BlockName>,
    pub(crate) frame_calls: Vec<FrameCallNote>,
    pub(crate) value_calls: Vec<ValueCall>,
    /// There are calls of frame externs that code cannot make.
    pub(crate) lacks_frame_calls: bool,
    /// Classes of packets that have code of their own.
    pub(crate) classes: usize,
    /// Ends of the parser that have code of their own.
    pub(crate) ends: usize,
    /// Tables in which keys may be looked up before their packets run.
    pub(crate) early: Vec<usize>,
    /// Bytes that the deparser may emit.
    pub(crate) emitted: usize,
}

impl Notes {
    /// True if packets may leave the code for frame externs and come back: they keep their metadata while their bytes change, and the
    /// first bytes are not needed again.
    pub(crate) fn calls_frame_externs(&self, layout: &Layout, facts: &Facts) -> bool {
        let is_parsed = !self.left().any(|(block, _)| block == BlockName::Parser);
        let [_, metadata, standard] = &layout.roles;
        !self.lacks_frame_calls && is_parsed && !facts.copies && is_kept(metadata) && is_kept(standard)
    }

    /// Work left to the interpreter: the kind of a statement, or `"block"`, with the block.
    pub(crate) fn left(&self) -> impl Iterator<Item = (BlockName, String)> {
        let stmts = self.fallbacks.iter().map(|f| (f.block, format!("{:?}", kind_of(&f.stmt))));
        stmts.chain(self.stages.iter().map(|block| (*block, "block".to_string())))
    }
}

fn kind_of(stmt: &ir::Stmt) -> &'static str {
    use ir::StmtKind;
    match &stmt.kind {
        StmtKind::Declare(..) => "declaration",
        StmtKind::Assign(_, value) => match &value.kind {
            ir::ExprKind::Call(_) => "value of a call",
            ir::ExprKind::Lookahead(_) => "lookahead",
            ir::ExprKind::ApplyHit(_) | ir::ExprKind::ApplyMiss(_) => "table",
            _ => "assignment",
        },
        StmtKind::Call(_) => "call",
        StmtKind::Apply(_) | StmtKind::Switch(..) => "table",
        StmtKind::SetValid(..) => "validity",
        StmtKind::PushFront(..) | StmtKind::PopFront(..) => "stack",
        StmtKind::Extract { .. } => "extraction",
        StmtKind::If(..) => "condition",
        StmtKind::For { .. } => "loop",
        _ => "statement",
    }
}

/// True if a packet keeps it while it is with a frame extern: nothing of it is in the packet's bytes, or in arrays.
fn is_kept(node: &Node) -> bool {
    match node {
        Node::Scalar(_) | Node::Nothing => true,
        Node::Struct(nodes) => nodes.iter().all(is_kept),
        Node::Header(_) | Node::Union(_) | Node::Stack(_) | Node::Value(_) => false,
    }
}

/// A statement that is left to the interpreter, in all copies of its code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fallback {
    pub(crate) block: BlockName,
    pub(crate) stmt: Stmt,
    /// Variables that it uses, including those of the tables that it applies.
    pub(crate) vars: BTreeSet<VarId>,
    /// Needs nothing of a stage of TNA beside its variables.
    pub(crate) is_alone: bool,
}

/// A call of a frame extern.
pub(crate) struct FrameCallNote {
    pub(crate) instance: InstanceId,
    pub(crate) method: Name,
    /// Widths of the arguments in bits.
    pub(crate) widths: Vec<u32>,
}

/// A call of a value extern. Its numbers are packed in the place of keys, those that come out after those that go in: see
/// [`ValueExtern::call_packed`](dataplane_api::ValueExtern::call_packed).
pub(crate) struct ValueCall {
    pub(crate) callee: ValueCallee,
    /// Widths of the numbers that go in, in bits.
    pub(crate) inputs: Vec<u32>,
    /// Widths of the numbers that come out.
    pub(crate) outputs: Vec<u32>,
    /// Bytes of the numbers that go in.
    pub(crate) input_bytes: usize,
    /// Bytes of all numbers.
    pub(crate) bytes: usize,
}

impl ValueCall {
    pub(crate) fn new(callee: ValueCallee, inputs: Vec<u32>, outputs: Vec<u32>) -> ValueCall {
        let input_bytes = packed_bytes(&inputs);
        let bytes = input_bytes + packed_bytes(&outputs);
        ValueCall { callee, inputs, outputs, input_bytes, bytes }
    }
}

fn packed_bytes(widths: &[u32]) -> usize {
    widths.iter().map(|width| width.div_ceil(8) as usize).sum()
}

/// Reports to the control plane, and what is asked of the traffic manager with data.
pub(crate) enum Message {
    /// A digest: name and data.
    Digest(Name, Given),
    /// A line of the log, with the data for its `{}`.
    Log(String, Option<Given>),
    /// A mirror on TNA: session and header.
    Mirror(Given, Option<Given>),
    /// A resubmission on TNA: the data for the next pass.
    Resubmission(Option<Given>),
}

/// A value that code puts together.
pub(crate) enum Given {
    /// In the place of keys: which pair of words.
    Number(usize, Kind),
    /// As it lies in the frame.
    Node(Node),
    Struct(Vec<Given>),
    /// A valid header.
    Header(Vec<Given>),
}

impl Given {
    /// The value.
    pub(crate) fn value(&self, exchange: &Exchange) -> Value {
        match self {
            Given::Number(at, kind) => value_of(*kind, exchange.pair(*at)),
            Given::Node(node) => exchange.read(node),
            Given::Struct(parts) => Value::Struct(parts.iter().map(|part| part.value(exchange)).collect()),
            Given::Header(parts) => {
                let fields = parts.iter().map(|part| part.value(exchange)).collect();
                Value::Header(ir_value::Header { valid: true, fields })
            }
        }
    }
}
