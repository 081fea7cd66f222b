//! What code speaks of by number when it calls.

use crate::exchange::{Exchange, value_of};
use crate::layout::{Kind, Node};
use ir::{Name, Stmt, VarId};
use ir_interp::Value;
use ir_interp::embed::BlockName;
use std::collections::BTreeSet;

/// See the module.
#[derive(Default)]
pub(crate) struct Notes {
    /// Statements that are left to the interpreter.
    pub(crate) fallbacks: Vec<Fallback>,
    pub(crate) messages: Vec<Message>,
    /// Blocks that are left to the interpreter.
    pub(crate) stages: Vec<BlockName>,
    /// Bytes that the deparser may emit.
    pub(crate) emitted: usize,
}

impl Notes {
    /// What is left to the interpreter: the kind of a statement, or `"block"`, with the block.
    pub(crate) fn left(&self) -> impl Iterator<Item = (BlockName, String)> {
        let stmts =
            self.fallbacks.iter().map(|f| (f.block, format!("{:?}", crate::engine::kind_of(&f.stmt))));
        stmts.chain(self.stages.iter().map(|block| (*block, "block".to_string())))
    }
}

/// A statement that is left to the interpreter.
#[derive(Clone, Debug)]
pub(crate) struct Fallback {
    pub(crate) block: BlockName,
    pub(crate) stmt: Stmt,
    /// What it mentions, with the tables that it applies.
    pub(crate) vars: BTreeSet<VarId>,
}

/// What is told to somebody outside.
pub(crate) enum Message {
    /// Its name, and the data.
    Digest(Name, Given),
    /// A line of the log, with the data for its `{}`.
    Log(String, Option<Given>),
}

/// A value that code puts together.
pub(crate) enum Given {
    /// In the place of keys: which pair of words.
    Number(usize, Kind),
    /// As it lies in the frame.
    Node(Node),
    Struct(Vec<Given>),
}

impl Given {
    /// The value.
    pub(crate) fn value(&self, exchange: &Exchange) -> Value {
        match self {
            Given::Number(at, kind) => value_of(*kind, exchange.pair(*at)),
            Given::Node(node) => exchange.read(node),
            Given::Struct(parts) => Value::Struct(parts.iter().map(|part| part.value(exchange)).collect()),
        }
    }
}
