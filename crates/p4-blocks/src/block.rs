//! The shape of a block.

use crate::{Parameter, Values};

/// A building block, as data.
pub struct Block {
    /// As `#include <p4rack/blocks/NAME.p4>` has it.
    pub name: &'static str,
    /// Default name of the control; an include may give another with `as=NAME`.
    pub control: &'static str,
    /// Summary of what it computes, in a line.
    pub about: &'static str,
    /// Bound or size of its error, with the proof or the measurement.
    pub error: &'static str,
    /// In the order in which help shows them.
    pub parameters: &'static [Parameter],
    /// Refuses parameters that are possible alone and do not fit together.
    pub check: fn(&Values) -> Result<(), String>,
    /// Parameters of the control, in order.
    pub ports: fn(&Values) -> Vec<Port>,
    /// The control.
    pub p4: fn(&Values) -> Body,
    /// The control of the exact twin; it may call value externs.
    pub exact: fn(&Values) -> Body,
    /// The block in Rust.
    pub model: fn(&Values) -> Box<dyn Model>,
    /// Needs of an instance.
    pub cost: fn(&Values) -> Cost,
    /// Why there is no form for TNA; `None` if there is one.
    pub not_for_tna: Option<&'static str>,
}

/// The architecture that a block is written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arch {
    /// v1model.
    V1Model,
    /// TNA, for Tofinos.
    Tna,
}

/// A parameter of a block's control: `bit<N>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// Direction of the parameter.
    pub direction: Direction,
    /// As the control declares it.
    pub name: &'static str,
    /// Width, at most 128.
    pub bits: u32,
}

/// How a value passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the program to the block.
    In,
    /// From the block to the program.
    Out,
}

impl Port {
    /// An `in` parameter.
    pub fn input(name: &'static str, bits: u32) -> Port {
        Port { direction: Direction::In, name, bits }
    }

    /// An `out` parameter.
    pub fn output(name: &'static str, bits: u32) -> Port {
        Port { direction: Direction::Out, name, bits }
    }
}

/// The text of a control.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Body {
    /// Declarations before the control.
    pub before: String,
    /// Variables, actions and tables.
    pub members: String,
    /// Hashes of the key.
    pub hashes: Vec<Hash>,
    /// Accesses to register arrays.
    pub accesses: Vec<Access>,
    /// Statements; a line `@NAME` stands for the hash or the access of that name.
    pub apply: String,
}

/// A hash of a key, as a variable of 32 bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hash {
    /// Name of the variable.
    pub name: String,
    /// Expression of the hashed data.
    pub data: String,
    /// Bits of the CRC-32 that are used, the lowest.
    pub bits: u32,
}

/// The access of a packet to a register array: a stage reads a cell, computes, and writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Name of the array.
    pub register: String,
    /// Number of cells.
    pub cells: u64,
    /// Width of a cell.
    pub bits: u32,
    /// The index, an expression of 32 bits.
    pub index: String,
    /// Name of the variable for the result.
    pub result: String,
    /// Width of the result.
    pub result_bits: u32,
    /// Statements over `cell`; `$` is the result. They read inputs, outputs and variables of the control.
    pub code: String,
}

/// A block in Rust: the same outputs for the same inputs, in the order of the ports.
pub trait Model {
    /// A packet.
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128>;
}

/// Needs of an instance of a block.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Cost {
    /// Bits of register arrays.
    pub state_bits: u64,
    /// Hashes computed for a packet.
    pub hashes: u32,
    /// Tables of the block.
    pub tables: Vec<Entries>,
    /// Steps that follow from one another: hash, table, addition, access to a register array.
    pub stages: u32,
}

/// A table of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entries {
    /// Name of the table.
    pub table: &'static str,
    /// Ternary or exact.
    pub ternary: bool,
    /// Number of entries.
    pub entries: u64,
}

impl Cost {
    /// Entries of all tables.
    pub fn entries(&self) -> u64 {
        self.tables.iter().map(|table| table.entries).sum()
    }
}

/// No further conditions.
pub(crate) fn any(_: &Values) -> Result<(), String> {
    Ok(())
}
