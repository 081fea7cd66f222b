//! Trace of a packet, step by step, as data.
//!
//! Switched off, a step costs one test of a flag: nothing is computed for the trace.

mod event;
mod show;

pub use event::{Cause, Event, EventKind, Hit, KeyRead, PacketId, Shown};
pub use show::{differences, hex_text, shown};

use base_diag::Span;
use ir_value::Value;

/// Events that are kept until they are taken; then the newest are lost.
const KEPT: usize = 1 << 20;

/// The events since they were last taken; empty while switched off.
#[derive(Clone, Default, Debug)]
pub struct Trace {
    on: bool,
    events: Vec<Event>,
    /// Packet of the following steps.
    packet: PacketId,
    /// The last number given to a packet.
    last: u32,
    /// Place of the running code.
    at: Span,
}

impl Trace {
    /// Switches it on or off.
    pub(crate) fn switch(&mut self, on: bool) {
        self.on = on;
    }

    /// True if events are kept.
    pub fn on(&self) -> bool {
        self.on
    }

    /// A number for a new packet; 0 while switched off.
    pub(crate) fn new_packet(&mut self) -> PacketId {
        if self.on {
            self.last = self.last.wrapping_add(1).max(1);
            return PacketId(self.last);
        }
        PacketId(0)
    }

    /// Attributes the following steps to `packet`. Returns the former packet.
    pub(crate) fn turn_to(&mut self, packet: PacketId) -> PacketId {
        self.at = Span::NONE;
        std::mem::replace(&mut self.packet, packet)
    }

    /// Packet of the present steps.
    pub(crate) fn packet(&self) -> PacketId {
        self.packet
    }

    /// Sets the place of the following steps to `span`.
    pub fn stand_at(&mut self, span: Span) {
        if self.on {
            self.at = span;
        }
    }

    /// Adds the step that `make` gives, if steps are kept.
    pub fn add(&mut self, make: impl FnOnce() -> EventKind) {
        if self.on && self.events.len() < KEPT {
            let event = Event { packet: self.packet, span: self.at, kind: make() };
            self.events.push(event);
        }
    }

    /// See [`add`](Trace::add); the step stands at `span`.
    pub fn add_at(&mut self, span: Span, make: impl FnOnce() -> EventKind) {
        if self.on {
            let before = std::mem::replace(&mut self.at, span);
            self.add(make);
            self.at = before;
        }
    }

    /// Takes all.
    pub(crate) fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}

/// Text of a value, for readers who know its type.
pub fn value_text(value: &Value) -> String {
    let list = |values: &[Value]| values.iter().map(value_text).collect::<Vec<_>>().join(", ");
    match value {
        Value::Void => "void".to_string(),
        Value::Instance(id) => format!("instance {}", id.0),
        Value::Bits(bits) | Value::Varbit(bits) => bits.to_literal(),
        Value::Bool(b) => b.to_string(),
        Value::Error(id) => format!("error {}", id.0),
        Value::Enum(member) => format!("member {member}"),
        Value::Str(text) => format!("{text:?}"),
        Value::Int(n) => n.to_string(),
        Value::Struct(values) | Value::Union(values) => format!("{{{}}}", list(values)),
        Value::Header(header) if header.valid => format!("{{{}}}", list(&header.fields)),
        Value::Header(_) => "invalid".to_string(),
        Value::Stack(stack) => format!("[{}]", list(&stack.elems)),
    }
}
