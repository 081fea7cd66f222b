//! What happened to a packet, step by step, as data.

use crate::machine::{Arch, Machine};
use crate::value::Value;
use base_bits::Bits;
use ir::{Action, Expr, ExprKind, Name, Stmt, VarId};

/// One step of a packet's way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A stage begins.
    Stage {
        /// `ingress`, ...
        stage: Name,
    },
    /// A parser state is entered.
    State {
        /// The parser.
        parser: Name,
        /// The state.
        state: Name,
    },
    /// A header is taken off the packet.
    Extract {
        /// `hdr.ipv4`
        header: String,
        /// How many bits.
        bits: u64,
    },
    /// The parser stops.
    ParserError {
        /// `PacketTooShort`, ...
        error: Name,
    },
    /// A table is applied.
    Table {
        /// Its control-plane name.
        table: Name,
        /// One number for each key that is matched.
        key: Vec<Bits>,
        /// The handle of the entry that is hit; `None` on a miss.
        entry: Option<u64>,
        /// What runs.
        action: Name,
    },
    /// An action of a table runs.
    Action {
        /// Its control-plane name.
        action: Name,
        /// Parameters and what they start with.
        args: Vec<(Name, String)>,
    },
    /// An assignment.
    Assign {
        /// `hdr.ipv4.ttl`
        place: String,
        /// What is written.
        value: String,
    },
    /// The traffic manager or a frame extern does something with the packet.
    Effect {
        /// `drop`, `unicast`, `clone`, ...
        effect: &'static str,
        /// The port, group, session or object concerned.
        target: String,
    },
}

/// Events that are kept until they are taken; then the newest are lost.
const KEPT: usize = 1 << 20;

/// The events since they were last taken; empty while switched off.
#[derive(Clone, Default, Debug)]
pub(crate) struct Trace {
    on: bool,
    events: Vec<Event>,
}

impl Trace {
    /// Switches it on or off.
    pub(crate) fn switch(&mut self, on: bool) {
        self.on = on;
    }

    /// True if events are kept.
    pub(crate) fn on(&self) -> bool {
        self.on
    }

    /// Adds the event that `make` gives, if events are kept.
    pub(crate) fn add(&mut self, make: impl FnOnce() -> Event) {
        if self.on && self.events.len() < KEPT {
            self.events.push(make());
        }
    }

    /// See [`add`](Trace::add).
    pub(crate) fn push(&mut self, event: Event) {
        self.add(|| event);
    }

    /// Takes all.
    pub(crate) fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}

impl<A: Arch> Machine<'_, A> {
    pub(crate) fn trace_assign(&mut self, _stmt: &Stmt, place: &Expr, value: &Value) {
        if self.state.trace.on() {
            let event = Event::Assign { place: self.place_text(place), value: value_text(value) };
            self.state.trace.push(event);
        }
    }

    pub(crate) fn trace_action(&mut self, action: &Action, args: &[(VarId, Value)]) {
        if self.state.trace.on() {
            let vars = self.frame.scope.vars();
            let name = |v: &VarId| vars.get(v.index()).map(|v| v.name.clone()).unwrap_or_default();
            let args = args.iter().map(|(var, value)| (name(var), value_text(value))).collect();
            self.state.trace.push(Event::Action { action: action.control_plane_name.clone(), args });
        }
    }

    /// A place as the source writes it.
    pub(crate) fn place_text(&self, place: &Expr) -> String {
        match &place.kind {
            ExprKind::Var(var) => {
                self.frame.scope.vars().get(var.index()).map(|v| v.name.to_string()).unwrap_or_default()
            }
            ExprKind::Field(base, index) => {
                let field = self.program.fields(&base.ty).get(*index as usize);
                let name = field.map_or_else(|| index.to_string(), |f| f.name.to_string());
                format!("{}.{name}", self.place_text(base))
            }
            ExprKind::Index(base, index) => match &index.kind {
                ExprKind::Const(ir::Const::Bits(bits)) => {
                    format!("{}[{}]", self.place_text(base), bits.to_decimal())
                }
                _ => format!("{}[..]", self.place_text(base)),
            },
            ExprKind::Next(base) => format!("{}.next", self.place_text(base)),
            ExprKind::Last(base) => format!("{}.last", self.place_text(base)),
            ExprKind::Slice { base, hi, lo } => format!("{}[{hi}:{lo}]", self.place_text(base)),
            ExprKind::SlicePlus { base, width, .. } => format!("{}[..+:{width}]", self.place_text(base)),
            _ => "...".to_string(),
        }
    }
}

/// A value for a person.
pub(crate) fn value_text(value: &Value) -> String {
    let list = |values: &[Value]| values.iter().map(value_text).collect::<Vec<_>>().join(", ");
    match value {
        Value::Void => "void".to_string(),
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
