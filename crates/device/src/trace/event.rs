//! The steps of a packet, as data.

use super::show::hex_text;
use base_bits::Bits;
use base_diag::Span;
use control_writes::Match;
use dataplane_api::{DropReason, Port};
use ir::{MatchKind, Name};
use std::borrow::Cow;

/// Number of a packet in a trace. Every copy, resubmission and recirculation is a separate packet; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct PacketId(pub u32);

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Packet of the step.
    pub packet: PacketId,
    /// The statement, expression or state; [`Span::NONE`] for actions of the device itself.
    pub span: Span,
    /// Kind of the step.
    pub kind: EventKind,
}

/// A value for a person. The text of a number is made when it is read: most steps are never shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shown {
    /// A number in hexadecimal, with all digits that its width has: `0x0a000001`
    Number(Bits),
    /// Any other value: `true`, `error.NoMatch`, `{a = 0x1, b = 0x2}`, `invalid`
    Named {
        /// The text.
        text: String,
        /// The number, if the value is one.
        bits: Option<Bits>,
    },
}

impl Shown {
    /// The text.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Shown::Number(bits) => hex_text(bits).into(),
            Shown::Named { text, .. } => text.into(),
        }
    }

    /// The number, if the value is one.
    pub fn bits(&self) -> Option<&Bits> {
        match self {
            Shown::Number(bits) => Some(bits),
            Shown::Named { bits, .. } => bits.as_ref(),
        }
    }
}

/// One key of a lookup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRead {
    /// Control-plane name.
    pub name: Name,
    /// Match kind of the field.
    pub kind: MatchKind,
    /// Value of the key.
    pub value: Shown,
}

/// An entry that is hit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hit {
    /// Counts up from 0 in each table.
    pub handle: u64,
    /// One for each key but those of kind `selector`.
    pub keys: Vec<Match>,
    /// The greater wins; `None` in tables without priorities.
    pub priority: Option<i64>,
    /// The group or member of the table's profile that the entry names: `group 2`.
    pub through: Option<String>,
}

/// Reason why a packet was created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The packet was received on a port.
    Received,
    /// A frame extern made it.
    FrameExtern,
    /// A clone of the source packet as it entered ingress.
    IngressClone {
        /// The session.
        session: u32,
    },
    /// A clone of the source packet at the end of egress.
    EgressClone {
        /// The session.
        session: u32,
    },
    /// A copy for a member of a multicast group.
    Replica {
        /// The replica id.
        rid: u16,
    },
    /// The packet starts again as it entered ingress.
    Resubmitted,
    /// The packet starts again as it left the deparser.
    Recirculated,
}

/// Kinds of steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// The packet comes into being.
    Begin {
        /// The packet it was made of.
        from: PacketId,
        /// Reason.
        cause: Cause,
        /// Port of arrival or, for a copy, of departure.
        port: Option<Port>,
        /// Length in bytes.
        bytes: u64,
    },
    /// A stage begins or ends.
    Stage {
        /// `ingress`, ...
        stage: Name,
        /// True at the start of the stage.
        enter: bool,
    },
    /// A parser or control that another applies begins or ends, or an action ends.
    Block {
        /// Name of the block.
        block: Name,
        /// True at the start of the block.
        enter: bool,
    },
    /// A parser state is entered.
    State {
        /// The parser.
        parser: Name,
        /// The state.
        state: Name,
    },
    /// A parser state is left.
    Transition {
        /// The parser.
        parser: Name,
        /// The state that is left.
        state: Name,
        /// The next one, `accept` or `reject`.
        next: Name,
        /// Place and value of each key of the `select`; empty without `select`.
        keys: Vec<(Span, Shown)>,
        /// The case that fits; `None` without `select`, and if none fits.
        case: Option<Span>,
    },
    /// A header is taken off the packet.
    Extract {
        /// `hdr.ipv4`
        header: String,
        /// Length of the header in bits.
        bits: u64,
        /// Fields of the header.
        fields: Vec<(Name, Shown)>,
    },
    /// Bits are skipped.
    Advance {
        /// Number of skipped bits.
        bits: u64,
    },
    /// The parser stops.
    ParserError {
        /// `PacketTooShort`, ...
        error: Name,
    },
    /// A table is applied.
    Table {
        /// Control-plane name.
        table: Name,
        /// Keys of the lookup.
        keys: Vec<KeyRead>,
        /// The entry; `None` on a miss.
        hit: Option<Hit>,
        /// Action that runs.
        action: Name,
    },
    /// An action runs.
    Action {
        /// Control-plane name.
        action: Name,
        /// Parameters and their initial values.
        args: Vec<(Name, Shown)>,
    },
    /// An `if`, or the test of a loop.
    Branch {
        /// The condition holds.
        taken: bool,
    },
    /// A `switch`, of the action that ran or of a value.
    Switch {
        /// The case that runs.
        case: Option<Span>,
    },
    /// A value is written.
    Write {
        /// `hdr.ipv4.ttl`
        place: String,
        /// Old value; `None` for a new variable.
        old: Option<Shown>,
        /// New value.
        new: Shown,
    },
    /// A header becomes valid or invalid.
    Validity {
        /// `hdr.vlan`
        header: String,
        /// New validity.
        valid: bool,
    },
    /// `push_front` or `pop_front`.
    Shift {
        /// The stack.
        stack: String,
        /// Number of elements; positive towards the back.
        by: i64,
    },
    /// An extern function, or a method of an instance, is called.
    Extern {
        /// The instance's control-plane name.
        instance: Option<Name>,
        /// `hash`, `read`, ...
        name: Name,
    },
    /// A cell of a counter, or the direct counter of an entry, counts the packet.
    Count {
        /// The counter's control-plane name.
        counter: Name,
        /// Index of the cell; of a direct counter, the handle of the entry.
        index: u64,
        /// Length for the counter.
        bytes: u64,
    },
    /// A cell of a meter, or the direct meter of an entry or of the default action, gives the packet a colour.
    Meter {
        /// The meter's control-plane name.
        meter: Name,
        /// Index of the cell; of a direct meter, the handle of the entry, or `None` for the default action.
        index: Option<u64>,
        /// 0 is green, 1 yellow, 2 red.
        colour: u8,
    },
    /// `log_msg`
    Log {
        /// The line.
        line: String,
    },
    /// `assert` or `assume`
    Assert {
        /// Whether the condition holds.
        passed: bool,
    },
    /// A digest is sent.
    Digest {
        /// Name of the digest.
        name: Name,
        /// Data of the digest.
        data: Shown,
    },
    /// `exit`
    Exit,
    /// The deparser appends a header.
    Emit {
        /// `hdr.ipv4`
        header: String,
        /// `ipv4_t`
        ty: Name,
        /// Length of the header in bits.
        bits: u64,
        /// Fields of the header.
        fields: Vec<(Name, Shown)>,
    },
    /// The traffic manager or a frame extern does something with the packet.
    Effect {
        /// `unicast`, `clone`, `multicast`, ...
        effect: &'static str,
        /// The port, group, session or object concerned.
        target: String,
    },
    /// The packet is sent.
    Transmit {
        /// Port of departure.
        port: Port,
        /// The frame.
        frame: Vec<u8>,
    },
    /// The packet ends here.
    Drop {
        /// Reason of the drop.
        reason: DropReason,
    },
}
