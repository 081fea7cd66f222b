//! The statements, as data.

use crate::Number;
use base_diag::Span;
use control_writes::Rate;

/// A test.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct File {
    /// In order.
    pub statements: Vec<Spanned>,
}

/// A statement with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spanned {
    /// The statement.
    pub kind: Statement,
    /// From its first to its last character.
    pub span: Span,
}

/// A name with its place: control-plane names, dotted, with indices in brackets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// As written, without quotes.
    pub text: String,
    /// Place in the file.
    pub span: Span,
}

/// Statement of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// `packet PORT hex...`
    Packet {
        /// Port of arrival.
        port: u32,
        /// The packet.
        data: Vec<u8>,
    },
    /// `expect PORT [hex and * ...[$]]`
    Expect {
        /// Port of departure.
        port: u32,
        /// `None`: one packet with any content.
        data: Option<Pattern>,
    },
    /// `add TABLE [PRIORITY] KEY:VALUE[/LENGTH] ... ACTION(ARG:NUMBER, ...) [= NAME]`
    Add {
        /// The table.
        table: Named,
        /// The larger wins.
        priority: Option<u32>,
        /// Keys that are not named match anything.
        keys: Vec<KeyValue>,
        /// Action of the entry.
        action: ActionCall,
        /// A name for the entry, for `check_counter`.
        entry: Option<Named>,
    },
    /// `setdefault TABLE ACTION(ARG:NUMBER, ...)`
    SetDefault {
        /// The table.
        table: Named,
        /// New default action.
        action: ActionCall,
    },
    /// `wait`: packets in flight arrive first.
    Wait,
    /// `remove all`: no table has entries that may be removed.
    RemoveAll,
    /// `no_packet`: nothing comes out.
    NoPacket,
    /// `check_counter NAME(INDEX or $ENTRY) [packets or bytes OP NUMBER]`
    CheckCounter(CounterCheck),
    /// `mirroring_add SESSION PORT`
    MirroringAdd(u32, u32),
    /// `mirroring_add_mc SESSION GROUP`
    MirroringAddMc(u32, u32),
    /// `mirroring_delete SESSION`
    MirroringDelete(u32),
    /// `mirroring_get SESSION`
    MirroringGet(u32),
    /// `mc_mgrp_create GROUP`
    GroupCreate(u32),
    /// `mc_mgrp_destroy GROUP`
    GroupDestroy(u32),
    /// `mc_node_create RID PORT... [| LAG...]`; a node gets the smallest handle that is free, from 0.
    NodeCreate(u32, NodePorts),
    /// `mc_node_update HANDLE PORT... [| LAG...]`
    NodeUpdate(u32, NodePorts),
    /// `mc_node_associate GROUP HANDLE`
    NodeAssociate(u32, u32),
    /// `mc_node_dissociate GROUP HANDLE`
    NodeDissociate(u32, u32),
    /// `mc_node_destroy HANDLE`
    NodeDestroy(u32),
    /// `mc_set_lag_membership LAG PORT...`
    LagSet(u32, Vec<u32>),
    /// `counter_read NAME INDEX`
    CounterRead(Named, u64),
    /// `counter_write NAME INDEX PACKETS BYTES`
    CounterWrite(Named, u64, u64, u64),
    /// `register_read NAME INDEX`
    RegisterRead(Named, u64),
    /// `register_write NAME INDEX VALUE`
    RegisterWrite(Named, u64, Number),
    /// `register_reset NAME`
    RegisterReset(Named),
    /// `meter_get_rates NAME INDEX`
    MeterGetRates(Named, u64),
    /// `meter_set_rates NAME INDEX RATE:BURST RATE:BURST`
    MeterSetRates(Named, u64, Vec<Rate>),
    /// `meter_array_set_rates NAME RATE:BURST RATE:BURST`
    MeterArraySetRates(Named, Vec<Rate>),
}

/// Destinations of a multicast node, without duplicates.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct NodePorts {
    /// A copy to each of these ports.
    pub ports: Vec<u32>,
    /// A copy to one port of each of these link aggregation groups.
    pub lags: Vec<u32>,
}

/// The bytes of an expected packet, nibble by nibble.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// `None` is `*`: any nibble.
    pub nibbles: Vec<Option<u8>>,
    /// `$`: nothing may follow.
    pub exact: bool,
}

impl Pattern {
    /// The first nibble in which `frame` is not what is expected; nibbles count from 0, and a frame that ends
    /// too early or too late differs where it ends or should.
    pub fn mismatch(&self, frame: &[u8]) -> Option<usize> {
        let nibbles = || frame.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let differs =
            self.nibbles.iter().zip(nibbles()).position(|(want, has)| want.is_some_and(|w| w != has));
        let length = frame.len() * 2;
        differs.or_else(|| {
            if length < self.nibbles.len() {
                Some(length)
            } else {
                (self.exact && length > self.nibbles.len()).then_some(self.nibbles.len())
            }
        })
    }
}

/// `KEY:VALUE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyValue {
    /// The key's control-plane name.
    pub key: Named,
    /// Match on the field.
    pub value: MatchValue,
}

/// Match of an entry on a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MatchValue {
    /// `0x0a**`, `7`
    Number(Number),
    /// `0x0a000000/8`
    Prefix(Number, u32),
}

/// `ACTION(ARG:NUMBER, ...)`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionCall {
    /// Control-plane name.
    pub name: Named,
    /// Parameters by name, in the order written.
    pub args: Vec<(Named, Number)>,
}

/// `check_counter`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CounterCheck {
    /// The counter.
    pub name: Named,
    /// Index of the cell.
    pub index: CounterIndex,
    /// Without, the counter must only exist.
    pub check: Option<(Unit, Comparison, u64)>,
}

/// Reference to a cell of a counter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CounterIndex {
    /// Index of the cell.
    Number(u64),
    /// The cell of the entry that `add ... = NAME` named; without the `$`.
    Entry(Named),
}

/// Unit of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// `packets`
    Packets,
    /// `bytes`
    Bytes,
}

/// A comparison with a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Comparison {
    /// `left op right`
    pub fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Comparison::Eq => left == right,
            Comparison::Ne => left != right,
            Comparison::Lt => left < right,
            Comparison::Le => left <= right,
            Comparison::Gt => left > right,
            Comparison::Ge => left >= right,
        }
    }
}
