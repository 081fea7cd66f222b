//! Where the machine tells its trace. Callers ask first whether it is on where the arguments cost anything.

use super::{EventKind, Hit, KeyRead, Shown, shown, shown_bits};
use crate::machine::{Arch, Machine};
use crate::objects::Object;
use crate::place::Place;
use crate::table::{Run, Table};
use crate::trace::show::differences;
use crate::value::Value;
use crate::wire::header_bits;
use base_bits::Bits;
use base_diag::Span;
use ir::{Action, Call, Callee, Expr, InstanceId, MatchKind, Name, Parser, StateRef, TableKey, Type, VarId};

impl<A: Arch> Machine<'_, A> {
    /// `new` is about to be written to `place`. A scalar is told in any case, of anything else what changes.
    pub(crate) fn trace_write(&mut self, place: &Place, new: &Value) {
        if place.lost {
            return;
        }
        let Ok(Some(whole)) = self.at(place) else { return };
        let old = match (place.slice, whole) {
            (Some((hi, lo)), Value::Bits(bits)) if lo <= hi && hi < bits.width() => {
                Value::Bits(bits.slice(hi, lo))
            }
            _ => whole.clone(),
        };
        let (name, ty) = self.place_name(place);
        if !matches!(old, Value::Struct(_) | Value::Header(_) | Value::Union(_) | Value::Stack(_)) {
            let old = Some(shown(self.program, &ty, &old));
            let new = shown(self.program, &ty, new);
            self.state.trace.add(|| EventKind::Write { place: name, old, new });
            return;
        }
        let program = self.program;
        let trace = &mut self.state.trace;
        differences(program, &ty, &name, &old, new, &mut |place, ty, old, new| {
            trace.add(|| EventKind::Write {
                place: place.to_string(),
                old: Some(shown(program, ty, old)),
                new: shown(program, ty, new),
            });
        });
    }

    /// A variable is declared with a value.
    pub(crate) fn trace_declare(&mut self, var: VarId, value: &Value) {
        if let Some(var) = self.frame.scope.vars().get(var.index()) {
            let new = shown(self.program, &var.ty, value);
            self.state.trace.add(|| EventKind::Write { place: var.name.to_string(), old: None, new });
        }
    }

    pub(crate) fn trace_action(&mut self, action: &Action, args: &[(VarId, Value)]) {
        let vars = self.frame.scope.vars();
        let program = self.program;
        let arg = |(var, value): &(VarId, Value)| {
            vars.get(var.index()).map(|v| (v.name.clone(), shown(program, &v.ty, value)))
        };
        let args = args.iter().filter_map(arg).collect();
        self.state.trace.add(|| EventKind::Action { action: action.control_plane_name.clone(), args });
    }

    /// An extern is called.
    pub(crate) fn trace_extern(&mut self, call: &Call) {
        let program = self.program;
        self.state.trace.add_at(call.span, || match &call.callee {
            Callee::Method(instance, method) => {
                let instance = program.instances.get(instance.index());
                let object = instance.and_then(|i| program.externs.get(i.object.index()));
                let name = object.and_then(|o| o.methods.get(*method as usize)).map(|m| m.name.clone());
                let instance = instance.map(|i| i.control_plane_name.clone());
                EventKind::Extern { instance, name: name.unwrap_or_default() }
            }
            Callee::ExternFunction(id) => {
                let function = program.extern_functions.get(id.index());
                EventKind::Extern {
                    instance: None,
                    name: function.map(|f| f.name.clone()).unwrap_or_default(),
                }
            }
            _ => EventKind::Extern { instance: None, name: Name::default() },
        });
    }

    /// `new` is about to be written to a cell of a register.
    pub(crate) fn trace_cell(&mut self, register: InstanceId, index: u64, ty: &Type, new: &Value) {
        let program = self.program;
        let Some(instance) = program.instances.get(register.index()) else { return };
        let place = format!("{}[{index}]", instance.control_plane_name);
        let old = match self.state.objects.get(register.index()) {
            Some(Object::Register(register)) => register.read(index),
            _ => None,
        };
        // Out of range nothing is written.
        if let Some(old) = old {
            let old = Some(shown(program, ty, &old));
            let new = shown(program, ty, new);
            self.state.trace.add(|| EventKind::Write { place, old, new });
        }
    }

    /// A parser or control that another applies begins or ends.
    pub(crate) fn trace_block(&mut self, block: &Name, enter: bool) {
        self.state.trace.add(|| EventKind::Block { block: block.clone(), enter });
    }

    pub(crate) fn trace_extract(&mut self, place: &Place, value: &Value, bits: u64) {
        let (header, ty) = self.place_name(place);
        let fields = match value {
            Value::Header(header) => header.fields.as_slice(),
            _ => &[],
        };
        let fields = self.shown_fields(&ty, fields);
        self.state.trace.add(|| EventKind::Extract { header, bits, fields });
    }

    fn shown_fields(&self, ty: &Type, values: &[Value]) -> Vec<(Name, Shown)> {
        let fields = self.program.fields(ty).iter().zip(values);
        fields.map(|(field, value)| (field.name.clone(), shown(self.program, &field.ty, value))).collect()
    }

    /// Each valid header in `value` is a step.
    pub(crate) fn trace_emit(&mut self, expr: &Expr, value: &Value) {
        let name = self.expr_name(expr);
        self.trace_emit_part(&name, &expr.ty, value);
    }

    fn trace_emit_part(&mut self, name: &str, ty: &Type, value: &Value) {
        match value {
            Value::Header(header) if header.valid => {
                let bits = header_bits(value);
                let fields = self.shown_fields(ty, &header.fields);
                let ty = match ty {
                    Type::Named(id) => self.program.type_decl(*id).name.clone(),
                    _ => Name::default(),
                };
                self.state.trace.add(|| EventKind::Emit { header: name.to_string(), ty, bits, fields });
            }
            Value::Struct(values) | Value::Union(values) => {
                let program = self.program;
                for (field, value) in program.fields(ty).iter().zip(values) {
                    self.trace_emit_part(&format!("{name}.{}", field.name), &field.ty, value);
                }
            }
            Value::Stack(stack) => {
                let Type::Stack(elem, _) = ty else { return };
                for (at, value) in stack.elems.iter().enumerate() {
                    self.trace_emit_part(&format!("{name}[{at}]"), elem, value);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn trace_transition(
        &mut self,
        parser: &Parser,
        state: &Name,
        next: StateRef,
        keys: Vec<(Span, Shown)>,
        case: Option<Span>,
    ) {
        let next = match next {
            StateRef::Accept => Name::from("accept"),
            StateRef::Reject => Name::from("reject"),
            StateRef::State(id) => parser.states.get(id.index()).map(|s| s.name.clone()).unwrap_or_default(),
        };
        let (parser, state) = (parser.name.clone(), state.clone());
        self.state.trace.add(|| EventKind::Transition { parser, state, next, keys, case });
    }
}

/// The step of a table's application. `key` and `chosen_by` are the values of its keys, those of a selector
/// apart.
pub(crate) fn table_event(
    table: &Table,
    declared: &[TableKey],
    key: &[Bits],
    chosen_by: &[Bits],
    found: Option<usize>,
    action: u32,
) -> EventKind {
    let (mut matched, mut selecting) = (key.iter(), chosen_by.iter());
    let keys = declared
        .iter()
        .filter_map(|element| {
            let of_selector = element.match_kind == MatchKind::Selector;
            let value = if of_selector { selecting.next() } else { matched.next() }?;
            let (name, kind) = (element.name.clone(), element.match_kind.clone());
            Some(KeyRead { name, kind, value: shown_bits(value) })
        })
        .collect();
    let hit = found.and_then(|at| table.entries.get_index(at)).map(|(key, entry)| Hit {
        handle: entry.handle,
        keys: key.matches.to_vec(),
        priority: table.has_priorities().then_some(key.priority),
        through: match &entry.run {
            Run::Action(..) => None,
            Run::Member(member) => Some(format!("member {member}")),
            Run::Group(group) => Some(format!("group {group}")),
        },
    });
    let action = table.actions.get(action as usize).map(|a| a.control_plane_name.clone());
    EventKind::Table {
        table: table.control_plane_name.clone(),
        keys,
        hit,
        action: action.unwrap_or_default(),
    }
}
