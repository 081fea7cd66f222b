//! Reports of the machine to its trace. If the arguments are costly, callers first ask whether the trace is on.

use crate::machine::{Arch, Machine};
use crate::place::Place;
use base_diag::Span;
use device::trace::{EventKind, Shown, differences, shown};
use ir::{Action, Call, Callee, Expr, ExprKind, Name, Parser, StateRef, Type, VarId};
use ir_value::Value;
use ir_value::wire::header_bits;

impl<A: Arch> Machine<'_, A> {
    /// `new` is about to be written to `place`. A scalar is always reported; of other values, only the changes.
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

impl<A: Arch> Machine<'_, A> {
    /// A place as the source would write it, indices worked out; with its type.
    pub(crate) fn place_name(&self, place: &Place) -> (String, Type) {
        let Some(var) = self.frame.scope.vars().get(place.var.index()) else {
            return ("?".to_string(), Type::Void);
        };
        let (mut name, mut ty) = (var.name.to_string(), var.ty.clone());
        for step in &place.path {
            let next = match &ty {
                Type::Stack(elem, _) => {
                    name.push_str(&format!("[{step}]"));
                    Some(elem.as_ref().clone())
                }
                Type::Tuple(types) => {
                    name.push_str(&format!("[{step}]"));
                    types.get(*step as usize).cloned()
                }
                ty => self.program.fields(ty).get(*step as usize).map(|field| {
                    name.push_str(&format!(".{}", field.name));
                    field.ty.clone()
                }),
            };
            let Some(next) = next else { return (name, Type::Void) };
            ty = next;
        }
        if let Some((hi, lo)) = place.slice {
            name.push_str(&format!("[{hi}:{lo}]"));
            ty = Type::Bit((hi + 1).saturating_sub(lo));
        }
        (name, ty)
    }

    /// Name of an expression without effects; `...` if it is not a place.
    pub(crate) fn expr_name(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Var(var) => {
                self.frame.scope.vars().get(var.index()).map_or("?".to_string(), |v| v.name.to_string())
            }
            ExprKind::Field(base, at) => {
                let field = self.program.fields(&base.ty).get(*at as usize);
                let base = self.expr_name(base);
                field.map_or_else(|| base.clone(), |f| format!("{base}.{}", f.name))
            }
            ExprKind::Index(base, index) => match &index.kind {
                ExprKind::Const(ir::Const::Bits(bits)) => {
                    format!("{}[{}]", self.expr_name(base), bits.to_decimal())
                }
                ExprKind::Const(ir::Const::Int(n)) => format!("{}[{n}]", self.expr_name(base)),
                _ => format!("{}[..]", self.expr_name(base)),
            },
            ExprKind::Next(base) => format!("{}.next", self.expr_name(base)),
            ExprKind::Last(base) => format!("{}.last", self.expr_name(base)),
            _ => "...".to_string(),
        }
    }
}
