//! Units, the smallest pieces that are placed: a table, a step of code outside of tables, or a condition.

use crate::field::{Access, Half};
use base_diag::Span;
use std::collections::BTreeSet;

/// In the units of a pipeline.
pub type UnitId = usize;

/// A table, a step of code outside of tables, or a condition.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Control-plane name of the table; `line 27` for code, filled in by the report.
    pub name: String,
    /// Place in the source.
    pub span: Span,
    /// Half of the pipeline.
    pub half: Half,
    /// Kind, with the table's key.
    pub kind: Kind,
    /// Fields read before the action: keys, conditions, inputs of hashes.
    pub matches: Vec<Access>,
    /// Operands of its actions.
    pub reads: Vec<Access>,
    /// Results of its actions.
    pub writes: Vec<Access>,
    /// Different instructions of its actions.
    pub instructions: u32,
    /// Memory and buses that the unit uses regardless of its number of entries.
    pub fixed: Fixed,
    /// Hashes that its actions and objects take, each once.
    pub hashes: Vec<Hashed>,
    /// State objects that it uses, and memory beside its entries.
    pub side: Vec<Side>,
    /// Units that run before it on some path.
    pub before: BTreeSet<UnitId>,
    /// Conditions and tables whose outcome decides whether it runs.
    pub guards: Vec<UnitId>,
    /// The stage that `@stage(N)` asks for.
    pub stage: Option<u32>,
}

/// Kind of a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A table with entries.
    Table(Match),
    /// A table without a key, or code outside of tables.
    Action,
    /// A condition.
    Gateway,
}

/// Matching and entries of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Match {
    /// In TCAM.
    pub ternary: bool,
    /// Bits of the key that entries hold. Those of range keys count as TCAM stores them.
    pub key_bits: u32,
    /// `size`, or the number of the source's entries.
    pub entries: u64,
    /// Entries of TCAM for each of the table's, in hundredths: ranges take several.
    pub rows_per_100: u32,
    /// Actions that entries can have.
    pub actions: u32,
    /// Bits of the largest action data.
    pub data_bits: u32,
    /// Bits of pointers to objects beside the entries.
    pub pointer_bits: u32,
    /// The action data is in an action profile.
    pub indirect: bool,
}

/// Resources of a stage that a unit uses regardless of its number of entries.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Fixed {
    /// Conditions, and those that let code run without a key.
    pub gateways: u32,
    /// Hash bits of selectors.
    pub hash_bits: u32,
    /// Conditions over more bits than one gateway compares.
    pub complex: bool,
}

impl Unit {
    /// Adds a hash, if it is not there yet.
    pub(crate) fn hash(&mut self, hash: Hashed) {
        if !self.hashes.contains(&hash) {
            self.hashes.push(hash);
        }
    }
}

/// A hash that a distribution unit brings to actions or to an object. Units of one stage that need the same one share it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Hashed {
    /// Destination of the result.
    pub to: Destination,
    /// Algorithm.
    pub algorithm: String,
    /// The hashed bits.
    pub inputs: Vec<Access>,
    /// Bits of the result.
    pub bits: u32,
    /// Distribution units for the result.
    pub units: u32,
}

/// Destination of a hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Destination {
    /// Operand of actions.
    Action,
    /// Address of a counter whose words hold this number of cells.
    Counter(u32),
    /// Address of a register or meter whose words hold this number of cells.
    Stateful(u32),
}

/// Memory beside the entries of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    /// Control-plane name of the object; units that use one object share a stage.
    pub name: String,
    /// Kind of memory.
    pub kind: SideKind,
    /// Words are for each entry of the table; else this many cells.
    pub cells: Option<u64>,
    /// Cells in a word of SRAM, or of a map RAM for idle time-outs.
    pub per_word: u32,
    /// Words of one cell, where a cell is wider than a word.
    pub words_per_cell: u32,
}

/// Kind of memory beside the entries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SideKind {
    /// Data of actions.
    ActionData,
    /// Packets and bytes.
    Counter,
    /// Meters, filters.
    Meter,
    /// Registers.
    Stateful,
    /// Groups of a selector.
    Selector,
    /// Idle time-outs, in map RAMs.
    Idle,
}

impl SideKind {
    /// True if each SRAM block takes a map RAM, too, and one additional block is a spare.
    pub fn is_synthesized(self) -> bool {
        !matches!(self, SideKind::ActionData | SideKind::Idle)
    }
}

/// Memory of action data with this number of bits, rounded up to a power of two of bytes.
pub(crate) fn data_per_word(bits: u32) -> Side {
    let bytes = bits.div_ceil(8).max(1).next_power_of_two();
    Side {
        name: String::new(),
        kind: SideKind::ActionData,
        cells: None,
        per_word: (16 / bytes).max(1),
        words_per_cell: bytes.div_ceil(16),
    }
}

/// Number of bits of an index of this many cells.
pub(crate) fn bits_of(cells: u64) -> u32 {
    u64::BITS - cells.saturating_sub(1).leading_zeros()
}
