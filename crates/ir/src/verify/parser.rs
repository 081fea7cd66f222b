//! Parsers: states, transitions, value sets.

use super::Verifier;
use super::scope::{Code, Scope};
use crate::{Keyset, Parser, ParserId, Select, SelectCase, StateRef, Transition, Type, ValueSet, ValueSetId};

impl<'p> Verifier<'p> {
    pub(super) fn parser(&mut self, id: ParserId, parser: &'p Parser) {
        self.scope = Scope::new(Code::Parser(id), &parser.vars);
        self.scope.value_sets = &parser.value_sets;
        self.scope.states = parser.states.len();
        self.declare_params(&parser.params, parser.span);
        self.locals(&parser.locals);
        self.unique("states", parser.states.iter().map(|state| &state.name));
        let start = parser.states.first().is_some_and(|state| state.name == "start");
        self.require(start, parser.span, |_| "the first state is not `start`".to_string());
        parser.value_sets.iter().for_each(|set| self.value_set(set));
        for state in &parser.states {
            self.at(format!("state {}", state.name), |v| {
                v.scoped(|v| {
                    v.statements(&state.stmts);
                    v.transition(&state.transition);
                });
            });
        }
    }

    fn value_set(&mut self, set: &ValueSet) {
        let exists = self.exists(&set.ty);
        let positions = if exists { self.positions(&set.ty).len() } else { 0 };
        self.require(exists && positions == set.match_kinds.len(), set.span, |_| {
            format!("value set `{}` has {} match kinds", set.name, set.match_kinds.len())
        });
    }

    /// The positions of a `select` that a value of `ty` stands for.
    fn positions<'a>(&'a self, ty: &'a Type) -> Vec<&'a Type> {
        match ty {
            Type::Tuple(types) => types.iter().collect(),
            Type::Named(id) => match &self.program.type_decl(*id).kind {
                crate::TypeKind::Struct(fields) => fields.iter().map(|field| &field.ty).collect(),
                _ => vec![ty],
            },
            _ => vec![ty],
        }
    }

    fn transition(&mut self, transition: &Transition) {
        match transition {
            Transition::Goto(next) => self.state_ref(*next),
            Transition::Select(select) => self.select(select),
        }
    }

    fn state_ref(&mut self, state: StateRef) {
        let exists = match state {
            StateRef::State(id) => id.index() < self.scope.states,
            StateRef::Accept | StateRef::Reject => true,
        };
        self.require(exists, base_diag::Span::NONE, |_| "the next state does not exist".to_string());
    }

    fn select(&mut self, select: &Select) {
        select.exprs.iter().for_each(|expr| self.expr(expr));
        let types: Vec<&Type> = select.exprs.iter().map(|expr| &expr.ty).collect();
        for case in &select.cases {
            self.case(case, &types);
            self.state_ref(case.next);
        }
    }

    fn case(&mut self, case: &SelectCase, types: &[&Type]) {
        match case.keys.as_slice() {
            [Keyset::DontCare] => {}
            [Keyset::ValueSet(id)] => self.value_set_case(*id, types, case),
            keys => {
                let (found, wanted) = (keys.len(), types.len());
                self.require(found == wanted, case.span, |_| {
                    format!("a case has {found} keys for {wanted} expressions")
                });
                for (key, ty) in keys.iter().zip(types) {
                    match key {
                        Keyset::ValueSet(id) => self.value_set_case(*id, &[ty], case),
                        key => self.keyset(key, ty, case.span),
                    }
                }
            }
        }
    }

    fn value_set_case(&mut self, id: ValueSetId, types: &[&Type], case: &SelectCase) {
        let Some(set) = self.scope.value_sets.get(id.index()) else {
            return self.error(case.span, "a case names a value set that does not exist");
        };
        let fits = [&set.ty] == types || self.positions(&set.ty) == types;
        self.require(fits, case.span, |_| format!("value set `{}` does not fit the expressions", set.name));
    }

    /// A keyset for a value of type `ty`; value sets are looked at elsewhere.
    pub(super) fn keyset(&mut self, keyset: &Keyset, ty: &Type, span: base_diag::Span) {
        let exprs = match keyset {
            Keyset::DontCare => vec![],
            Keyset::Value(value) => vec![value],
            Keyset::Mask(a, b) | Keyset::Range(a, b) => vec![a, b],
            Keyset::ValueSet(_) => return self.error(span, "a value set is not allowed here"),
        };
        for expr in exprs {
            self.expr(expr);
            self.require(expr.ty == *ty, span, |v| {
                let (found, wanted) = (v.show(&expr.ty), v.show(ty));
                format!("key `{}` has type `{found}` and not `{wanted}`", v.show_expr(expr))
            });
        }
        if matches!(keyset, Keyset::Mask(..) | Keyset::Range(..)) {
            let integer = self.is_integer(ty);
            self.require(integer, span, |v| format!("`{}` has no masks and ranges", v.show(ty)));
        }
    }
}
