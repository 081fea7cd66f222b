//! The model of a job.

use crate::syntax::At;
use aggregate::{Layout, Op};
use base_diag::Span;

/// A checked job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// Data sets, in the order of the text.
    pub datasets: Vec<Dataset>,
    /// Mappers, in the order of the text.
    pub mappers: Vec<Mapper>,
    /// Reducers, in the order of the text.
    pub reducers: Vec<Reducer>,
}

/// Data on a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dataset {
    /// The name.
    pub name: At<String>,
    /// Name or address of the host; none: any host.
    pub host: Option<String>,
    /// A file, or a directory: all its files.
    pub path: String,
    /// The place of host and path.
    pub span: Span,
}

/// Pairs of data sets; equal keys are combined before they are sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapper {
    /// The name.
    pub name: At<String>,
    /// The function that generates pairs from data.
    pub function: Function,
    /// Indices of the data sets: on one host.
    pub datasets: Vec<usize>,
    /// Name or address of the host of a [`Function::Program`].
    pub at: Option<At<String>>,
    /// Operator of its reducers, which combines equal keys; ADD without reducers.
    pub op: Op,
}

/// The function that generates pairs from data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Function {
    /// Each word of a text, with 1: letters and digits, in lower case.
    Words,
    /// Each line of a text, with 1.
    Lines,
    /// Each value of a column of CSV, with 1.
    Count {
        /// The column.
        key: Column,
    },
    /// A column of CSV with others as values.
    Pairs {
        /// The column of keys.
        key: Column,
        /// Columns of whole numbers.
        values: Vec<Column>,
    },
    /// An array: element after element, in the order of the files. Keys are the numbers of elements, from 0.
    Array {
        /// A column of CSV; none: each line is a whole number.
        value: Option<Column>,
    },
    /// Lines `key TAB value [TAB value ...]` that a command prints; it reads the data.
    Run {
        /// For the shell.
        command: String,
    },
    /// A program that joins the group of its reducer: pairs come from its memory, call after call.
    Program,
}

/// A column of CSV.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Column {
    /// From 1; the file has no line of names.
    Number(usize),
    /// By the first line of the file.
    Name(String),
}

impl Function {
    /// Values of each key, where the function says it.
    pub fn values(&self) -> Option<usize> {
        match self {
            Function::Words | Function::Lines | Function::Count { .. } | Function::Array { .. } => Some(1),
            Function::Pairs { values, .. } => Some(values.len()),
            Function::Run { .. } => None,
            Function::Program => Some(1),
        }
    }
}

impl Job {
    /// True if the mappers of a reducer are programs: they and a program beside the reducer are a *group*.
    pub fn is_group(&self, reducer: &Reducer) -> bool {
        reducer.mappers.iter().any(|at| self.mappers[*at].function == Function::Program)
    }
}

/// The fold of mappers' pairs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reducer {
    /// The name.
    pub name: At<String>,
    /// Indices of the mappers; a mapper's channel is its place here.
    pub mappers: Vec<usize>,
    /// The operator.
    pub op: Op,
    /// Keys in packets.
    pub key: KeyKind,
    /// Values.
    pub value: ValueKind,
    /// Values of each key.
    pub values: u32,
    /// Name or address of the host that it runs on; none: where the job is started.
    pub at: Option<At<String>>,
    /// The number in packets.
    pub number: u16,
    /// Place of the number, or of the name.
    pub number_span: Span,
    /// Sizes of packets and slots.
    pub layout: Layout,
    /// Slices of the keys, one after the other.
    pub rounds: u32,
    /// Distinguishes hashes of keys.
    pub seed: u64,
    /// True if switches fold pairs; otherwise all travel to the reducer.
    pub is_switched: bool,
    /// UDP port.
    pub port: u16,
    /// Estimates for placement: keys of each mapper, and distinct keys of all. Of arrays in data, the elements.
    pub keys: Option<(u64, u64)>,
}

/// Keys in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyKind {
    /// Text of any length, by its hash; mappers know the texts.
    Hashed,
    /// Text of up to 16 bytes, whole.
    Text,
    /// A number, permuted: no two collide.
    Number,
}

impl KeyKind {
    /// With their words.
    pub const ALL: [(&'static str, KeyKind); 3] =
        [("hashed", KeyKind::Hashed), ("text", KeyKind::Text), ("number", KeyKind::Number)];
}

/// Values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    /// Up to 2^32 - 1.
    U32,
    /// Up to 2^64 - 1, in several pairs.
    U64,
}
