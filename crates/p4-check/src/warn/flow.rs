//! `uninitialized-use`, `uninitialized-out-param` and `invalid-header`, by following control flow through each body.
//!
//! A value counts as set once it is assigned on every path. A header may be invalid here if a path leads here on which
//! it was made or found invalid: headers of `in` and `inout` parameters are taken for valid, and so are headers that
//! actions, tables and other calls may have changed.

use base_diag::{Diagnostic, Diagnostics, Span};

use super::places::{Place, Places};
use super::silenced;
use super::state::State;
use crate::codes;
use crate::late::targets;
use crate::typed::walk::{Visitor, walk_expr};
use crate::typed::{
    Annotations, Arg, ArgValue, BinaryOp, Block, Builtin, Call, Callee, Direction, Expr, ExprKind, Local,
    Parser, Program, Stmt, StmtKind, SwitchLabel, Target, Transition, Type, UnaryOp, VarId, VarKind,
};

pub(crate) fn warn_flow(program: &Program, diags: &mut Diagnostics) {
    for (_, f) in program.functions.iter() {
        if let Some(body) = &f.body {
            Flow::new(program, diags, &f.params, &[]).body(body);
        }
    }
    for (_, a) in program.actions.iter() {
        Flow::new(program, diags, &a.params, &[]).body(&a.body);
    }
    for (_, c) in program.controls.iter() {
        Flow::new(program, diags, &c.params, &c.locals).body(&c.body);
    }
    for (_, p) in program.parsers.iter() {
        Flow::new(program, diags, &p.params, &p.locals).parser(p);
    }
}

/// Whether an `out` parameter may have fields that are not set: metadata that a parser hands on usually has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Partly {
    Fine,
    Warned,
}

struct Flow<'a> {
    program: &'a Program,
    diags: &'a mut Diagnostics,
    places: Places,
    state: State,
    out_params: Vec<VarId>,
    /// Variables that actions and tables of the same control may change.
    shared: Vec<VarId>,
    warned: Vec<VarId>,
    /// Whether `uninitialized-use` and `invalid-header` are switched off here.
    muted: [bool; 2],
    /// While a loop or a parser state is looked at for the first time.
    silent: u32,
}

impl<'a> Flow<'a> {
    fn new(program: &'a Program, diags: &'a mut Diagnostics, params: &[VarId], locals: &[Local]) -> Flow<'a> {
        let state = State { dead: false, unset: vec![], valid: vec![], invalid: vec![] };
        let mut flow = Flow {
            program,
            diags,
            places: Places::default(),
            state,
            out_params: vec![],
            shared: vec![],
            warned: vec![],
            muted: [false; 2],
            silent: 0,
        };
        for &p in params {
            flow.places.add(program, p);
            flow.grow();
            let out = program.vars[p].kind == VarKind::Param(Direction::Out);
            // The values of other parameters come from the caller.
            if out {
                flow.out_params.push(p);
            }
            flow.declare(p, out);
            flow.shared.push(p);
        }
        for local in locals {
            if let Local::Var(stmt) = local {
                flow.stmt(stmt);
                if let StmtKind::Var { var, .. } = stmt.kind {
                    flow.shared.push(var);
                }
            }
        }
        flow
    }

    /// Makes room for the places added.
    fn grow(&mut self) {
        self.state.unset.resize(self.places.values.len(), false);
        self.state.valid.resize(self.places.headers.len(), true);
        self.state.invalid.resize(self.places.headers.len(), false);
    }

    fn declare(&mut self, var: VarId, fresh: bool) {
        self.places.add(self.program, var);
        self.grow();
        let Some(place) = self.places.of_var(var).cloned() else { return };
        let state = &mut self.state;
        place.each(&mut |v| state.unset[v] = fresh, &mut |h| {
            state.valid[h] = !fresh;
            state.invalid[h] = fresh;
        });
    }

    fn body(&mut self, body: &Block) {
        self.block(body);
        if !self.state.dead {
            self.check_out_params(Partly::Warned);
        }
    }

    fn parser(&mut self, parser: &Parser) {
        let Some(start) = parser.states.iter().position(|s| s.name.text == "start") else { return };
        let mut entry: Vec<Option<State>> = vec![None; parser.states.len()];
        entry[start] = Some(self.state.clone());
        let mut work = vec![start];
        // First a fixed point without warnings, then each state once with what holds on all paths to it.
        self.silent += 1;
        let mut budget = 16 * parser.states.len() + 64;
        while let Some(i) = work.pop() {
            budget = budget.saturating_sub(1);
            if budget == 0 {
                return;
            }
            let Some(state) = entry[i].clone() else { continue };
            self.run_state(parser, i, state);
            for target in targets(&parser.states[i].transition) {
                let Target::State(next) = target else { continue };
                let next = next as usize;
                let Some(slot) = entry.get_mut(next) else { continue };
                let mut joined = slot.clone().unwrap_or_else(|| State { dead: true, ..self.state.clone() });
                joined.pad(&self.state);
                joined.join(&self.state);
                if slot.as_ref() != Some(&joined) {
                    *slot = Some(joined);
                    work.push(next);
                }
            }
        }
        self.silent -= 1;
        for (i, state) in entry.into_iter().enumerate() {
            if let Some(state) = state {
                self.run_state(parser, i, state);
            }
        }
    }

    fn run_state(&mut self, parser: &Parser, i: usize, state: State) {
        self.state = state;
        self.grow();
        let decl = &parser.states[i];
        let outer = self.mute(&decl.annotations);
        self.stmts(&decl.stmts);
        if let Transition::Select { keys, .. } = &decl.transition {
            keys.iter().for_each(|k| self.read(k));
        }
        if self.silent == 0 && targets(&decl.transition).contains(&Target::Accept) {
            self.check_out_params(Partly::Fine);
        }
        self.muted = outer;
    }

    fn check_out_params(&mut self, partly: Partly) {
        for p in self.out_params.clone() {
            let Some(place) = self.places.of_var(p).cloned() else { continue };
            let (mut unset, mut set) = (false, false);
            place.each(&mut |v| if self.state.unset[v] { unset = true } else { set = true }, &mut |_| {});
            let var = &self.program.vars[p];
            let unset = unset && (partly == Partly::Warned || !set);
            if unset && !silenced(&var.annotations, "uninitialized-out-param") {
                let name = &var.name.text;
                let title = format!("`out` parameter `{name}` may stay unset");
                let label =
                    if set { "not all of its fields are set on every path" } else { "not set on every path" };
                self.diags.push(
                    Diagnostic::warning(codes::UNSET_OUT, "uninitialized-out-param", title)
                        .at(var.name.span, label),
                );
            }
        }
    }

    fn block(&mut self, block: &Block) {
        let outer = self.mute(&block.annotations);
        self.stmts(&block.stmts);
        self.muted = outer;
    }

    /// Applies `@noWarn` of a block or state; returns the former settings.
    fn mute(&mut self, annotations: &Annotations) -> [bool; 2] {
        let muted = ["uninitialized-use", "invalid-header"].map(|name| silenced(annotations, name));
        let outer = self.muted;
        self.muted = [outer[0] || muted[0], outer[1] || muted[1]];
        outer
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Empty | StmtKind::Const(_) => {}
            StmtKind::Block(block) => self.block(block),
            StmtKind::Var { var, init } => {
                init.iter().for_each(|e| self.read(e));
                self.declare(*var, init.is_none());
                if let (Some(init), Some(place)) = (init, self.places.of_var(*var).cloned()) {
                    self.copy(&place, init);
                }
            }
            StmtKind::Assign { target, op, value } => {
                if op.is_some() {
                    self.read(target);
                }
                self.read(value);
                self.write(target, Some(value));
            }
            StmtKind::Call(call) => self.call(call),
            StmtKind::If { condition, then, otherwise } => {
                self.read(condition);
                let mut other = self.state.clone();
                self.assume(condition, true);
                self.block(then);
                std::mem::swap(&mut self.state, &mut other);
                self.assume(condition, false);
                otherwise.iter().for_each(|b| self.block(b));
                self.merge(other);
            }
            StmtKind::Switch(switch) => {
                self.read(&switch.subject);
                let entry = self.state.clone();
                let labels = switch.cases.iter().flat_map(|c| &c.labels);
                let whole = labels.into_iter().any(|l| matches!(l, SwitchLabel::Default));
                // Without `default` no case may match: the state before is then one of those that meet.
                let mut end = State { dead: whole, ..entry.clone() };
                for case in &switch.cases {
                    self.state = entry.clone();
                    self.grow();
                    self.block(&case.body);
                    end.pad(&self.state);
                    end.join(&self.state);
                }
                self.state = end;
                self.grow();
            }
            StmtKind::Return(value) => {
                value.iter().for_each(|e| self.read(e));
                if !self.state.dead {
                    self.check_out_params(Partly::Warned);
                }
                self.state.dead = true;
            }
            StmtKind::Exit | StmtKind::Break | StmtKind::Continue => self.state.dead = true,
            StmtKind::For { init, condition, update, body, .. } => {
                self.stmts(init);
                self.read(condition);
                self.turns(|flow| {
                    flow.block(body);
                    // `continue` leads to the update, too.
                    flow.state.dead = false;
                    flow.stmts(update);
                    flow.read(condition);
                });
            }
            StmtKind::ForIn { var, over, body, .. } => {
                self.read(over);
                self.declare(*var, false);
                self.turns(|flow| flow.block(body));
            }
        }
    }

    /// A loop: its body starts with the facts before it or after an earlier turn. In a silent turn of a loop around it,
    /// that turn stands for the earlier one: else the time would double with each loop.
    fn turns(&mut self, turn: impl Fn(&mut Flow<'a>)) {
        if self.silent == 0 {
            let entry = self.state.clone();
            self.silent += 1;
            turn(self);
            self.silent -= 1;
            self.merge(entry);
        }
        let entry = self.state.clone();
        turn(self);
        self.state.dead &= entry.dead;
        self.merge(entry);
    }

    fn merge(&mut self, mut other: State) {
        other.pad(&self.state);
        self.grow();
        self.state.join(&other);
    }

    /// Facts about headers that follow from a condition.
    fn assume(&mut self, condition: &Expr, holds: bool) {
        match &condition.kind {
            ExprKind::Unary(UnaryOp::Not, inner) => self.assume(inner, !holds),
            ExprKind::Binary(BinaryOp::And, a, b) if holds => {
                self.assume(a, true);
                self.assume(b, true);
            }
            ExprKind::Binary(BinaryOp::Or, a, b) if !holds => {
                self.assume(a, false);
                self.assume(b, false);
            }
            ExprKind::Call(call) => {
                if let Callee::Builtin { object, method: Builtin::IsValid } = &call.callee
                    && let Some(&Place::Header(h)) = self.places.of(object)
                {
                    self.set_valid(h, holds);
                }
            }
            _ => {}
        }
    }

    /// Every variable that an action or table of the control can reach may have changed.
    fn clobber(&mut self) {
        for var in self.shared.clone() {
            if self.program.vars[var].kind != VarKind::Param(Direction::In) {
                self.unknown(var);
            }
        }
    }

    fn unknown(&mut self, var: VarId) {
        if let Some(place) = self.places.of_var(var).cloned() {
            self.forget(&place);
        }
    }

    fn forget(&mut self, place: &Place) {
        let state = &mut self.state;
        place.each(&mut |v| state.unset[v] = false, &mut |h| {
            state.valid[h] = true;
            state.invalid[h] = false;
        });
    }

    fn write(&mut self, target: &Expr, value: Option<&Expr>) {
        self.check_header(target);
        if let ExprKind::Index { index, .. } = &target.kind {
            self.read(index);
        }
        match (self.places.of(target).cloned(), value) {
            (Some(place), Some(value)) => self.copy(&place, value),
            (Some(place), None) => self.forget(&place),
            // An element of a stack, it is not known which.
            (None, _) if matches!(target.ty, Type::Struct(..) | Type::Array(..)) => {
                if let Some(place) = self.places.around(target).cloned() {
                    self.forget(&place);
                }
            }
            (None, _) => {}
        }
    }

    /// The header is valid or not on every path to here; in a union only one is valid.
    fn set_valid(&mut self, header: usize, valid: bool) {
        self.state.valid[header] = valid;
        self.state.invalid[header] = !valid;
        if valid {
            for rival in self.places.rivals(header) {
                self.state.valid[rival] = false;
                self.state.invalid[rival] = true;
            }
        }
    }

    /// The place gets the value: a header is as valid as the one it comes from.
    fn copy(&mut self, place: &Place, value: &Expr) {
        let from = self.places.of(value).cloned();
        self.copy_place(place, from.as_ref(), value);
    }

    fn copy_place(&mut self, to: &Place, from: Option<&Place>, value: &Expr) {
        match (to, from) {
            (Place::Header(h), Some(Place::Header(g))) => {
                self.state.valid[*h] = self.state.valid[*g];
                self.state.invalid[*h] = self.state.invalid[*g];
            }
            (Place::Header(h), None) => {
                // A header of unknown validity, as a function's result, counts as valid: no warning without proof.
                self.set_valid(*h, !matches!(value.kind, ExprKind::Invalid));
            }
            (Place::Fields(to), Some(Place::Fields(from))) => {
                for (to, from) in to.iter().zip(from) {
                    self.copy_place(to, Some(from), value);
                }
            }
            (Place::Fields(to), None) => {
                for (i, to) in to.iter().enumerate() {
                    let part = match &value.kind {
                        ExprKind::Struct(fields) => {
                            fields.iter().find(|f| f.index as usize == i).map(|f| &f.value)
                        }
                        _ => None,
                    };
                    match part {
                        Some(part) => self.copy(to, part),
                        None => self.forget(to),
                    }
                }
            }
            _ => self.forget(to),
        }
    }

    /// Reads an expression: the places that it names must be set.
    fn read(&mut self, expr: &Expr) {
        self.check_header(expr);
        if let Some(place) = self.places.of(expr).cloned() {
            let mut unset = None;
            place.each(
                &mut |v| {
                    if self.state.unset[v] {
                        unset = Some(v)
                    }
                },
                &mut |_| {},
            );
            if let Some(v) = unset {
                self.warn_unset(self.places.values[v], expr.span);
            }
            if let ExprKind::Index { index, .. } = &expr.kind {
                self.read(index);
            }
            return;
        }
        match &expr.kind {
            ExprKind::Call(call) => self.call(call),
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
                self.read(a);
                let before = self.state.clone();
                // The second operand is read only if the first leaves the result open.
                let holds = matches!(expr.kind, ExprKind::Binary(BinaryOp::And, ..));
                self.assume(a, holds);
                self.read(b);
                self.merge(before);
            }
            ExprKind::Ternary(condition, a, b) => {
                self.read(condition);
                let mut other = self.state.clone();
                self.assume(condition, true);
                self.read(a);
                std::mem::swap(&mut self.state, &mut other);
                self.assume(condition, false);
                self.read(b);
                self.merge(other);
            }
            ExprKind::Hit(_) | ExprKind::Miss(_) | ExprKind::ActionRun(_) => self.clobber(),
            _ => walk_expr(self, expr),
        }
    }

    fn call(&mut self, call: &Call) {
        if let Callee::Builtin { object, method } = &call.callee
            && *method != Builtin::IsValid
        {
            match self.places.around(object).cloned() {
                Some(Place::Header(h)) => self.set_valid(h, *method == Builtin::SetValid),
                Some(place) => self.forget(&place),
                None => {}
            }
        }
        for arg in &call.args {
            match arg.direction {
                Direction::Out => {}
                _ => arg.expr().into_iter().for_each(|e| self.read(e)),
            }
        }
        if matches!(call.callee, Callee::Action(_) | Callee::TableApply(_)) {
            self.clobber();
        }
        let written = call.args.iter().filter(|a| matches!(a.direction, Direction::Out | Direction::InOut));
        for arg in written {
            if let Arg { value: ArgValue::Given(e), .. } = arg {
                self.write(e, None);
            }
        }
    }

    fn check_header(&mut self, expr: &Expr) {
        let Some(h) = self.places.header_of_field(expr) else { return };
        if self.muted[1] || self.silent > 0 || self.state.dead || !self.state.invalid[h] {
            return;
        }
        let var = self.places.headers[h];
        if !silenced(&self.program.vars[var].annotations, "invalid-header") {
            let (title, label) = match self.state.valid[h] {
                true => {
                    ("field of a header that may be invalid", "on some path the header is not valid here")
                }
                false => ("field of an invalid header", "the header is not valid here on any path"),
            };
            let help = match self.state.valid[h] {
                true => "test `isValid()`, or call `setValid()` on it before",
                false => "call `setValid()` on it before",
            };
            self.diags.push(
                Diagnostic::warning(codes::INVALID_HEADER, "invalid-header", title)
                    .at(expr.span, label)
                    .help(help),
            );
            // Once is enough.
            self.state.valid[h] = true;
            self.state.invalid[h] = false;
        }
    }

    fn warn_unset(&mut self, var: VarId, span: Span) {
        if self.muted[0] || self.silent > 0 || self.state.dead || self.warned.contains(&var) {
            return;
        }
        self.warned.push(var);
        let decl = &self.program.vars[var];
        if !silenced(&decl.annotations, "uninitialized-use") {
            let title = format!("`{}` may be read before it is set", decl.name.text);
            self.diags.push(
                Diagnostic::warning(codes::UNSET_USE, "uninitialized-use", title)
                    .at(span, "read here")
                    .at(decl.name.span, "declared without a value"),
            );
        }
    }
}

/// The parts of an expression are read one after the other.
impl Visitor for Flow<'_> {
    fn expr(&mut self, expr: &Expr) {
        self.read(expr);
    }

    fn call(&mut self, call: &Call) {
        Flow::call(self, call);
    }
}
