//! Inputs of a value.

use ir::Name;
use std::collections::BTreeSet;
use std::fmt;

/// Something from outside of the program that a value depends on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Input {
    /// The port by which the packet came in.
    Port,
    /// A field of a header as it was parsed: `hdr.ipv4.src`.
    Field(Name),
    /// The entry that the packet hit in the table of this control-plane name: its action and its data.
    Entry(Name),
    /// A field of variable length, or bytes that belong to no header.
    Payload(Name),
    /// Content of the object of this control-plane name.
    State(Name),
    /// A field of the standard metadata about the switch or the moment: a time, the depth of a queue.
    Environment(Name),
    /// A random number.
    Random,
    /// A header of a packet that comes around again with other headers than before.
    AnotherPass,
    /// The program was not analyzed to its end, since it is too large.
    Unknown,
}

/// A set of inputs.
pub type Inputs = BTreeSet<Input>;

impl Input {
    /// Brought by the packet, and the same for all packets of a flow if it is in the union key.
    pub fn is_of_packet(&self) -> bool {
        matches!(self, Input::Port | Input::Field(_))
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Port => write!(f, "standard_metadata.ingress_port"),
            Input::Field(name) => write!(f, "{name}"),
            Input::Entry(table) => write!(f, "the entry of {table}"),
            Input::Payload(name) => write!(f, "{name}, which is of variable length"),
            Input::State(object) => write!(f, "the content of {object}"),
            Input::Environment(field) => write!(f, "standard_metadata.{field}"),
            Input::Random => write!(f, "a random number"),
            Input::AnotherPass => write!(f, "headers of a recirculated packet"),
            Input::Unknown => write!(f, "code that is too long to be analyzed"),
        }
    }
}

/// Inputs as a list for people.
pub fn list<'i>(inputs: impl IntoIterator<Item = &'i Input>) -> String {
    let texts: Vec<String> = inputs.into_iter().map(Input::to_string).collect();
    if texts.is_empty() { "none".to_string() } else { texts.join(", ") }
}
