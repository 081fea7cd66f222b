//! Parsers.

use crate::annotation::{inline, named};
use crate::literal::hexadecimal;
use crate::print::Printer;
use ir::{
    Const, Expr, ExprKind, Keyset, Parser, ParserId, Select, SelectCase, StageKind, StateRef, Transition,
    Type, ValueSet,
};

impl<'p> Printer<'p> {
    pub(crate) fn parser(&mut self, id: ParserId, parser: &'p Parser) {
        let name = self.globals.parsers[id.index()].clone();
        let is_stage = self.program.stages.iter().any(|s| s.kind == StageKind::Parse(id));
        let prefix = if is_stage { name.clone() } else { parser.control_plane_name.to_string() };
        self.parser_names(parser, prefix);
        self.blank();
        self.annotations(&parser.annotations);
        self.headed(&format!("parser {name}"), &parser.params, |p| {
            p.instances_and_locals(&parser.instances, &parser.locals, Self::sub_parsers);
            for (index, set) in parser.value_sets.iter().enumerate() {
                p.value_set(index, set);
            }
            for index in 0..parser.states.len() {
                p.state(parser, index);
            }
        });
    }

    fn sub_parsers(&mut self) {
        for (id, name) in self.local.parsers.clone() {
            if let Some(parser) = self.program.parsers.get(id.index()) {
                let ty = self.globals.parsers[id.index()].clone();
                let notes = named(&vec![], &self.local.prefix, &name, &parser.control_plane_name);
                self.line(&format!("{}{ty}() {name};", inline(&notes)));
            }
        }
    }

    fn value_set(&mut self, index: usize, set: &ValueSet) {
        let name = self.local.value_sets[index].clone();
        let notes = named(&set.annotations, &self.local.prefix, &name, &set.control_plane_name);
        self.line(&format!("{}value_set<{}>({}) {name};", inline(&notes), self.ty(&set.ty), set.size));
    }

    fn state(&mut self, parser: &Parser, index: usize) {
        let state = &parser.states[index];
        self.blank();
        self.annotations(&state.annotations);
        self.braces(&format!("state {}", self.local.states[index]), "", |p| {
            p.stmts(&state.stmts);
            match &state.transition {
                Transition::Goto(next) => p.line(&format!("transition {};", p.state_ref(*next))),
                Transition::Select(select) => p.select(select),
            }
        });
    }

    fn state_ref(&self, state: StateRef) -> String {
        match state {
            StateRef::Accept => "accept".to_string(),
            StateRef::Reject => "reject".to_string(),
            StateRef::State(id) => {
                self.local.states.get(id.index()).cloned().unwrap_or_else(|| "?".to_string())
            }
        }
    }

    fn select(&mut self, select: &Select) {
        let exprs: Vec<String> = select.exprs.iter().map(|e| self.free(e)).collect();
        let types: Vec<&Type> = select.exprs.iter().map(|e| &e.ty).collect();
        self.braces(&format!("transition select({})", exprs.join(", ")), "", |p| {
            for case in &select.cases {
                p.line(&format!("{}: {};", p.case(case, &types), p.state_ref(case.next)));
            }
        });
    }

    fn case(&self, case: &SelectCase, types: &[&Type]) -> String {
        if case.keys.iter().all(|key| *key == Keyset::DontCare) {
            return "default".to_string();
        }
        self.keysets(&case.keys, types)
    }

    /// `key` or `(key, key)`
    pub(crate) fn keysets(&self, keys: &[Keyset], types: &[&Type]) -> String {
        let one = |(index, key): (usize, &Keyset)| self.keyset(key, types.get(index).copied());
        let keys: Vec<String> = keys.iter().enumerate().map(one).collect();
        match keys.as_slice() {
            [key] => key.clone(),
            keys => format!("({})", keys.join(", ")),
        }
    }

    /// Values and masks are read as bits.
    fn bits(&self, expr: &Expr, want: Option<&Type>) -> String {
        match &expr.kind {
            ExprKind::Const(Const::Bits(bits))
                if want == Some(&expr.ty) && matches!(expr.ty, Type::Bit(_)) =>
            {
                hexadecimal(bits)
            }
            _ => self.expr(expr, want, 0),
        }
    }

    fn keyset(&self, keyset: &Keyset, want: Option<&Type>) -> String {
        match keyset {
            Keyset::DontCare => "_".to_string(),
            Keyset::Value(value) => self.expr(value, want, 0),
            Keyset::Mask(value, mask) => format!("{} &&& {}", self.bits(value, want), self.bits(mask, want)),
            Keyset::Range(low, high) => {
                format!("{} .. {}", self.expr(low, want, 0), self.expr(high, want, 0))
            }
            Keyset::ValueSet(id) => {
                self.local.value_sets.get(id.index()).cloned().unwrap_or_else(|| "?".to_string())
            }
        }
    }
}
