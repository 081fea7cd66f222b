//! What a value may depend on.

use ir::Name;
use std::collections::BTreeSet;
use std::fmt;

/// Something from outside of the program that a value depends on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Input {
    /// The port that the packet came in by.
    Port,
    /// A field of a header as it was parsed: `hdr.ipv4.src`.
    Field(Name),
    /// Data of the entry that the packet hit in the table of this control-plane name.
    Data(Name),
    /// A field that is as long as the packet says, or bytes that no header has.
    Payload(Name),
    /// What the object of this control-plane name holds.
    State(Name),
    /// A field of the standard metadata that says something else about the packet or the switch: a time, a queue's depth.
    Environment(Name),
    /// A random number.
    Random,
}

/// A set of inputs.
pub type Inputs = BTreeSet<Input>;

impl Input {
    /// A packet brings it: packets that are equal in it are equal for the program.
    pub fn is_of_packet(&self) -> bool {
        matches!(self, Input::Port | Input::Field(_))
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Port => write!(f, "ingress_port"),
            Input::Field(name) => write!(f, "{name}"),
            Input::Data(table) => write!(f, "data of {table}"),
            Input::Payload(name) => write!(f, "{name}, of variable length"),
            Input::State(object) => write!(f, "content of {object}"),
            Input::Environment(field) => write!(f, "standard_metadata.{field}"),
            Input::Random => write!(f, "a random number"),
        }
    }
}
