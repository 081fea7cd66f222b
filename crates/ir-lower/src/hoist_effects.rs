//! `hoist-effects`: every side effect becomes a statement of its own, in the order of evaluation.
//!
//! Before: `x = y + f(y) + (c && t.apply().hit ? 1 : 2);`
//! After:  `old = y; value = f(y); hit = c; if (hit) { hit = t.apply().hit; } x = old + value + (hit ? 1 : 2);`
//!
//! Ensures: calls, applications and lookaheads stand only as the whole value of an assignment or declaration;
//! a slice of a lookahead counts as a lookahead, since its other bits need not be kept; applications also as the whole
//! condition of an `if`, negated or not; lookaheads also in `select`. Keys of tables have no effects. Arguments and operands that a later effect might change are kept first (P4-16 §8.1, §6.8).
//! Why: only statements have an order.

use crate::Changed;
use crate::places::{Place, Signatures, Writes, is_place, read_by};
use crate::units::{Unit, before_start, each_unit, take_inits};
use crate::walk::children;
use base_diag::Span;
use ir::build;
use ir::{
    BinaryOp, Block, Call, Direction, Expr, ExprKind, ForRange, Program, Stmt, StmtKind, SwitchOn, Table,
    TableId, Transition, Type, UnaryOp, Var, visit,
};

/// See the head of this file.
pub fn hoist_effects(program: &mut Program) -> Changed {
    let mut changed = false;
    each_unit(program, &mut |program, unit| changed |= one_unit(program, unit));
    Changed(changed)
}

fn one_unit(program: &Program, unit: &mut Unit) -> bool {
    let mut changed = move_inits(unit);
    let signatures = match unit {
        Unit::Control(control) => Signatures::with_actions(program, &control.actions, &control.vars),
        _ => Signatures::new(program),
    };
    if let Unit::Parser(parser) = unit {
        for state in &mut parser.states {
            let mut hoist = Hoist { signatures: &signatures, vars: &mut parser.vars, changed: false };
            hoist.transition(&mut state.transition, &mut state.stmts);
            changed |= hoist.changed;
        }
    }
    let (vars, lists) = unit.lists_mut();
    let mut hoist = Hoist { signatures: &signatures, vars, changed: false };
    for list in lists {
        *list = hoist.list(std::mem::take(list));
    }
    changed |= hoist.changed;
    if let Unit::Control(control) = unit {
        changed |= table_keys(control, &signatures);
    }
    changed
}

/// Declarations beside a body whose values have effects get them in the body.
fn move_inits(unit: &mut Unit) -> bool {
    let has_effects = |locals: &[Stmt]| {
        locals.iter().any(|s| matches!(&s.kind, StmtKind::Declare(_, Some(init)) if acts(init)))
    };
    match unit {
        Unit::Control(control) if has_effects(&control.locals) => {
            let inits = take_inits(&control.vars, &mut control.locals);
            control.body.stmts.splice(0..0, inits);
            true
        }
        Unit::Parser(parser) if has_effects(&parser.locals) => {
            let inits = take_inits(&parser.vars, &mut parser.locals);
            before_start(parser, inits);
            true
        }
        _ => false,
    }
}

/// Keys with effects are worked out before each application of their table.
fn table_keys(control: &mut ir::Control, signatures: &Signatures) -> bool {
    let mut before: Vec<Vec<Stmt>> = vec![vec![]; control.tables.len()];
    for (table, before) in control.tables.iter_mut().zip(&mut before) {
        hoist_keys(table, signatures, &mut control.vars, &mut control.locals, before);
    }
    if before.iter().all(Vec::is_empty) {
        return false;
    }
    let mut hoist = Hoist { signatures, vars: &mut control.vars, changed: true };
    control.body.stmts = hoist.before_applications(std::mem::take(&mut control.body.stmts), &before);
    true
}

/// Keys with effects, and those before them that the effects may change.
fn hoist_keys(
    table: &mut Table,
    signatures: &Signatures,
    vars: &mut Vec<Var>,
    locals: &mut Vec<Stmt>,
    before: &mut Vec<Stmt>,
) {
    let mut later = Writes::default();
    let mut moves = vec![];
    for key in table.keys.iter().rev() {
        let mut changes = false;
        read_by(&key.expr, &mut |read| changes |= later.touches(&read));
        moves.push(acts(&key.expr) || changes);
        later.expr(&key.expr, signatures);
    }
    let keys = table.keys.iter_mut().zip(moves.into_iter().rev());
    for (key, _) in keys.filter(|(_, moves)| *moves) {
        let span = key.expr.span;
        let kept = build::local(vars, "key", key.expr.ty.clone(), span);
        locals.push(build::declare(kept, None).at(span));
        let place = build::var_of(vars, kept).at(span);
        let value = std::mem::replace(&mut key.expr, place.clone());
        before.push(build::assign(place, value).at(span));
    }
}

/// True if evaluating `expr` does more than read: it must have its place in the order of things.
pub(crate) fn acts(expr: &Expr) -> bool {
    let mut found = false;
    visit::subexprs(expr, &mut |e| {
        found |= is_effect(&e.kind) || matches!(e.kind, ExprKind::Next(_) | ExprKind::Last(_));
    });
    found
}

/// `packet.lookahead<T>()`, or a slice of it.
pub(crate) fn is_lookahead(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Lookahead(_) => true,
        ExprKind::Slice { base, .. } => matches!(base.kind, ExprKind::Lookahead(_)),
        _ => false,
    }
}

fn is_effect(kind: &ExprKind) -> bool {
    matches!(
        kind,
        ExprKind::Call(_) | ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_) | ExprKind::Lookahead(_)
    )
}

fn has_effect(expr: &Expr) -> bool {
    let mut found = false;
    visit::subexprs(expr, &mut |e| found |= is_effect(&e.kind));
    found
}

/// `t.apply().hit`, `!t.apply().hit`
fn is_application(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_) => true,
        ExprKind::Unary(UnaryOp::Not, operand) => is_application(operand),
        _ => false,
    }
}

struct Hoist<'a> {
    signatures: &'a Signatures<'a>,
    vars: &'a mut Vec<Var>,
    changed: bool,
}

impl Hoist<'_> {
    fn list(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = vec![];
        for stmt in stmts {
            self.stmt(stmt, &mut out);
        }
        out
    }

    fn block(&mut self, block: &mut Block) {
        block.stmts = self.list(std::mem::take(&mut block.stmts));
    }

    /// `name = value`, in a new variable.
    fn keep(&mut self, name: &str, value: Expr, out: &mut Vec<Stmt>) -> Expr {
        self.changed = true;
        let span = value.span;
        let kept = build::local(self.vars, name, value.ty.clone(), span);
        out.push(build::declare(kept, Some(value)).at(span));
        build::var_of(self.vars, kept).at(span)
    }

    fn writes<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Writes {
        let mut writes = Writes::default();
        exprs.into_iter().for_each(|expr| writes.expr(expr, self.signatures));
        writes
    }

    fn stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        let span = stmt.span;
        let mut after = vec![];
        match &mut stmt.kind {
            StmtKind::Declare(_, Some(init)) => self.root(init, out, &mut after),
            StmtKind::Assign(place, value) => {
                self.place(place, out);
                let writes = self.writes([&*value]);
                self.keep_indices(place, &writes, out);
                self.root(value, out, &mut after);
                if let (false, ExprKind::Call(_)) = (after.is_empty(), &value.kind) {
                    // Results are copied back before the value is stored.
                    let call = std::mem::replace(value, build::bool(false).at(span));
                    *value = self.keep("value", call, out);
                    out.append(&mut after);
                }
            }
            StmtKind::AssignOp(op, place, value) => {
                self.place(place, out);
                if has_effect(value) {
                    let writes = self.writes([&*value]);
                    self.keep_indices(place, &writes, out);
                    let old = self.keep("old", place.clone(), out);
                    self.expr(value, out);
                    let value = build::binary(*op, old, value.clone(), place.ty.clone());
                    stmt.kind = StmtKind::Assign(place.clone(), value);
                }
            }
            StmtKind::Call(call) => self.args(call, out, &mut after),
            StmtKind::SetValid(place, _) | StmtKind::PushFront(place, _) | StmtKind::PopFront(place, _) => {
                self.place(place, out);
            }
            StmtKind::Extract { header, varbit_bits, .. } => {
                self.place(header, out);
                if let Some(bits) = varbit_bits {
                    let writes = self.writes([&*bits]);
                    self.keep_indices(header, &writes, out);
                    self.expr(bits, out);
                }
            }
            StmtKind::Advance(_, value)
            | StmtKind::Emit(_, value)
            | StmtKind::Switch(SwitchOn::Value(value), _) => self.expr(value, out),
            StmtKind::Return(Some(value)) => self.expr(value, out),
            StmtKind::Verify(cond, error) => self.operands(vec![cond, error], out),
            StmtKind::If(cond, ..) if is_application(cond) => {}
            StmtKind::If(cond, ..) => self.expr(cond, out),
            StmtKind::ForIn { range: ForRange::Range(lo, hi), .. } => self.operands(vec![lo, hi], out),
            StmtKind::ForIn { range: ForRange::Values(values), .. } => self.expr(values, out),
            StmtKind::For { .. } => return self.for_loop(stmt, out),
            _ => {}
        }
        visit::blocks_mut(&mut stmt, &mut |inner| self.block(inner));
        out.push(stmt);
        out.append(&mut after);
    }

    /// A loop whose head has effects tests and steps in its body.
    fn for_loop(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        let span = stmt.span;
        let StmtKind::For { init, cond, update, body } = &mut stmt.kind else { return };
        if stmts_act(init) {
            self.changed = true;
            let init = std::mem::take(init);
            out.extend(self.list(init));
        }
        if acts(cond) || stmts_act(update) {
            self.changed = true;
            let mut inner = vec![];
            // The step comes before the test of every round but the first, so that `continue` does not skip it.
            if !update.is_empty() {
                let again = build::local(self.vars, "again", Type::Bool, span);
                let again = build::var_of(self.vars, again).at(span);
                if let ExprKind::Var(var) = again.kind {
                    out.push(build::declare(var, Some(build::bool(false).at(span))).at(span));
                }
                inner.push(build::if_else(again.clone(), std::mem::take(update), vec![]).at(span));
                inner.push(build::assign(again, build::bool(true).at(span)).at(span));
            }
            let cond = std::mem::replace(cond, build::bool(true).at(span));
            let leave = vec![Stmt { kind: StmtKind::Break, span }];
            inner.push(build::if_else(build::not(cond), leave, vec![]).at(span));
            let old = Block { annotations: vec![], stmts: std::mem::take(&mut body.stmts) };
            inner.push(Stmt { kind: StmtKind::Block(old), span });
            body.stmts = inner;
        }
        self.block(body);
        out.push(stmt);
    }

    /// The whole value of an assignment: a call or the like may stay.
    fn root(&mut self, value: &mut Expr, out: &mut Vec<Stmt>, after: &mut Vec<Stmt>) {
        if is_lookahead(value) {
            return;
        }
        match &mut value.kind {
            ExprKind::Call(call) => self.args(call, out, after),
            kind if is_effect(kind) => {}
            _ => self.expr(value, out),
        }
    }

    /// Takes the effects out of `expr`.
    fn expr(&mut self, expr: &mut Expr, out: &mut Vec<Stmt>) {
        if !acts(expr) {
            return;
        }
        let span = expr.span;
        if is_place(expr) {
            return self.place(expr, out);
        }
        if is_lookahead(expr) {
            *expr = self.keep("ahead", expr.clone(), out);
            return;
        }
        match &mut expr.kind {
            // `&&` and `||` evaluate the right side only if the left one does not decide: its effects go into a branch.
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) if acts(right) => {
                let is_and = *op == BinaryOp::And;
                self.expr(left, out);
                let result = self.keep("both", left.as_ref().clone(), out);
                let mut inner = vec![];
                self.expr(right, &mut inner);
                inner.push(build::assign(result.clone(), right.as_ref().clone()).at(span));
                let cond = if is_and { result.clone() } else { build::not(result.clone()) };
                out.push(build::if_else(cond, inner, vec![]).at(span));
                *expr = result;
            }
            // Only the chosen arm may have its effects.
            ExprKind::Ternary(cond, yes, no) if acts(yes) || acts(no) => {
                self.expr(cond, out);
                self.changed = true;
                let result = build::local(self.vars, "chosen", expr.ty.clone(), span);
                out.push(build::declare(result, None).at(span));
                let result = build::var_of(self.vars, result).at(span);
                let mut arms = [vec![], vec![]];
                for (arm, value) in arms.iter_mut().zip([yes, no]) {
                    self.expr(value, arm);
                    arm.push(build::assign(result.clone(), value.as_ref().clone()).at(span));
                }
                let [yes, no] = arms;
                out.push(build::if_else(cond.as_ref().clone(), yes, no).at(span));
                *expr = result;
            }
            ExprKind::Call(call) => {
                let mut after = vec![];
                self.args(call, out, &mut after);
                *expr = self.keep("value", expr.clone(), out);
                out.append(&mut after);
            }
            ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_) => *expr = self.keep("hit", expr.clone(), out),
            _ => self.operands(children(expr), out),
        }
    }

    /// Expressions that are evaluated one after the other.
    fn operands(&mut self, mut operands: Vec<&mut Expr>, out: &mut Vec<Stmt>) {
        for at in 0..operands.len() {
            let (done, later) = operands.split_at_mut(at + 1);
            let operand = &mut *done[at];
            self.expr(operand, out);
            let later_acts = later.iter().any(|expr| has_effect(expr));
            if later_acts {
                let writes = self.writes(later.iter().map(|expr| &**expr));
                if !is_stable(operand, &writes) {
                    let value = std::mem::replace(operand, build::bool(false).at(Span::NONE));
                    *operand = self.keep("old", value, out);
                }
            }
        }
    }

    /// Takes the effects out of the indices of a place.
    fn place(&mut self, place: &mut Expr, out: &mut Vec<Stmt>) {
        if !is_place(place) {
            return self.expr(place, out);
        }
        match &mut place.kind {
            ExprKind::Field(base, _)
            | ExprKind::Next(base)
            | ExprKind::Last(base)
            | ExprKind::Slice { base, .. } => self.place(base, out),
            ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
                self.place(base, out);
                if acts(index) {
                    let writes = self.writes([&**index]);
                    self.keep_indices(base, &writes, out);
                    self.expr(index, out);
                }
            }
            _ => {}
        }
    }

    /// Keeps the indices of a place that `writes` might change.
    fn keep_indices(&mut self, place: &mut Expr, writes: &Writes, out: &mut Vec<Stmt>) {
        match &mut place.kind {
            ExprKind::Field(base, _)
            | ExprKind::Next(base)
            | ExprKind::Last(base)
            | ExprKind::Slice { base, .. } => self.keep_indices(base, writes, out),
            ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
                self.keep_indices(base, writes, out);
                if !is_stable(index, writes) {
                    let value = index.as_ref().clone();
                    **index = self.keep("index", value, out);
                }
            }
            _ => {}
        }
    }

    /// The arguments of a call. Statements that must run after the call are added to `after`.
    fn args(&mut self, call: &mut Call, out: &mut Vec<Stmt>, after: &mut Vec<Stmt>) {
        let directions = self.signatures.directions(call);
        for at in 0..call.args.len() {
            let (done, later) = call.args.split_at_mut(at + 1);
            let Some(arg) = &mut done[at] else { continue };
            let direction = directions.get(at).copied().unwrap_or(Direction::InOut);
            let later_acts = later.iter().flatten().any(has_effect);
            let writes = self.writes(later.iter().flatten());
            if !matches!(direction, Direction::Out | Direction::InOut) {
                self.expr(arg, out);
                if later_acts && !is_stable(arg, &writes) {
                    *arg = self.keep("old", arg.clone(), out);
                }
                continue;
            }
            self.place(arg, out);
            self.keep_indices(arg, &writes, out);
            let changes = Place::of(arg).is_some_and(|place| writes.touches(&place));
            // A later argument writes the place, but copies in are made from left to right (P4-16 §6.8).
            if direction == Direction::InOut && changes && !matches!(arg.ty, Type::Extern(..)) {
                let kept = self.keep("passed", arg.clone(), out);
                after.push(build::assign(arg.clone(), kept.clone()).at(arg.span));
                *arg = kept;
            }
        }
    }

    /// The keys of a `select`; a lookahead may stay.
    fn transition(&mut self, transition: &mut Transition, out: &mut Vec<Stmt>) {
        let Transition::Select(select) = transition else { return };
        let plain = |ty: &Type| matches!(ty, Type::Bit(_) | Type::Int(_) | Type::Bool);
        let may_stay = |expr: &Expr| matches!(expr.kind, ExprKind::Lookahead(_)) && plain(&expr.ty);
        let calls = |expr: &Expr| has_effect(expr) && !may_stay(expr);
        if select.exprs.iter().any(calls) {
            self.operands(select.exprs.iter_mut().collect(), out);
        }
        for key in select.cases.iter_mut().flat_map(|case| &mut case.keys) {
            crate::walk::keyset_exprs_mut(key, &mut |expr| self.expr(expr, out));
        }
    }

    /// `before`, by table, in front of each application.
    fn before_applications(&mut self, stmts: Vec<Stmt>, before: &[Vec<Stmt>]) -> Vec<Stmt> {
        let mut out = vec![];
        for mut stmt in stmts {
            visit::blocks_mut(&mut stmt, &mut |inner| {
                inner.stmts = self.before_applications(std::mem::take(&mut inner.stmts), before);
            });
            for table in applied_by(&stmt) {
                for first in before.get(table.index()).into_iter().flatten() {
                    self.stmt(first.clone(), &mut out);
                }
            }
            out.push(stmt);
        }
        out
    }
}

/// The tables that a statement itself applies.
pub(crate) fn applied_by(stmt: &Stmt) -> Vec<TableId> {
    let mut found = vec![];
    match &stmt.kind {
        StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => found.push(*table),
        _ => {}
    }
    crate::walk::own_exprs(stmt, &mut |expr| {
        visit::subexprs(expr, &mut |e| {
            if let ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) = &e.kind {
                found.push(*table);
            }
        });
    });
    found
}

fn stmts_act(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| {
        let mut found = matches!(stmt.kind, StmtKind::Call(_));
        visit::exprs(stmt, &mut |expr| found |= acts(expr));
        found
    })
}

/// True if the value of `expr` is the same before and after something that writes `writes`.
fn is_stable(expr: &Expr, writes: &Writes) -> bool {
    let mut stable = true;
    visit::subexprs(expr, &mut |e| stable &= !matches!(e.kind, ExprKind::Next(_) | ExprKind::Last(_)));
    read_by(expr, &mut |place| stable &= !writes.touches(&place));
    stable
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    const TABLE: &str = "action a() \"C.a\" { } table t \"C.t\" { actions { a(); } default a(); }";

    #[test]
    fn operands_keep_their_values() {
        let before = control(
            "local bit<8> y; local bit<8> z;",
            "locals { var y; var z; }",
            "x = y + extern get(y) + z;",
        );
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> y;
                local bit<8> z;
                local bit<8> old;
                local bit<8> value;
              }
              locals {
                var y;
                var z;
              }
              apply {
                var old = y;
                var value = extern get(y);
                x = old + value + z;
              }
            }
        "#]]
        .assert_eq(&after(&before, hoist_effects));
    }

    #[test]
    fn only_what_is_evaluated_happens() {
        let before =
            control("", TABLE, "if (x == 8w1 && $hit(t)) { x = 8w2; } x = $miss(t) ? extern get(x) : 8w0;");
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bool both;
                local bool hit;
                local bool hit;
                local bit<8> chosen;
                local bit<8> value;
              }
              action a() "C.a" { }
              table t "C.t" {
                actions {
                  a();
                }
                default a();
              }
              apply {
                var both = x == 8w0x1;
                if (both) {
                  var hit#3 = $hit(t);
                  both = hit#3;
                }
                if (both) {
                  x = 8w0x2;
                }
                var hit#4 = $miss(t);
                var chosen;
                if (hit#4) {
                  var value = extern get(x);
                  chosen = value;
                } else {
                  chosen = 8w0x0;
                }
                x = chosen;
              }
            }
        "#]]
        .assert_eq(&after(&before, hoist_effects));
    }

    #[test]
    fn a_loop_with_effects_in_its_head() {
        let before = control(
            "",
            TABLE,
            "for { } while ($hit(t)) step { x = x + 8w1; } do { if (x == 8w3) { continue; } }",
        );
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bool again;
              }
              action a() "C.a" { }
              table t "C.t" {
                actions {
                  a();
                }
                default a();
              }
              apply {
                var again = false;
                for {
                } while (true) step {
                } do {
                  if (again) {
                    x = x + 8w0x1;
                  }
                  again = true;
                  if (!$hit(t)) {
                    break;
                  }
                  {
                    if (x == 8w0x3) {
                      continue;
                    }
                  }
                }
              }
            }
        "#]]
        .assert_eq(&after(&before, hoist_effects));
    }

    #[test]
    fn arguments_are_evaluated_in_order() {
        let before = control("", "", "hdr.s[x].a = extern get(hdr.s[extern get(x)].b);");
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> index;
                local bit<8> value;
              }
              apply {
                var index = x;
                var value = extern get(x);
                hdr.s[index].a = extern get(hdr.s[value].b);
              }
            }
        "#]]
        .assert_eq(&after(&before, hoist_effects));
    }

    #[test]
    fn only_the_slice_of_a_lookahead_is_kept() {
        let before = "parser P(p, x) \"P\" { vars { param extern packet_in p; inout bit<8> x; local bit<8> a; } locals { var a; }
            state start { a = $lookahead<bit<272>>(p)[31:24]; goto next; }
            state next { select ($lookahead<bit<272>>(p)[7:0] + a) { (8w1): reject; (_): accept; } } }";
        expect![[r#"
            parser P(p, x) "P" {
              vars {
                param extern packet_in p;
                inout bit<8> x;
                local bit<8> a;
                local bit<8> ahead;
              }
              locals {
                var a;
              }
              state start {
                a = $lookahead<bit<272>>(p)[31:24];
                goto next;
              }
              state next {
                var ahead = $lookahead<bit<272>>(p)[7:0];
                select (ahead + a) {
                  (8w0x1): reject;
                  (_): accept;
                }
              }
            }
        "#]]
        .assert_eq(&after(before, hoist_effects));
    }

    /// Keys are evaluated from left to right (P4-16 §14.2.1).
    #[test]
    fn keys_before_one_with_effects() {
        let fold = "function fold(a) -> bit<8> { vars { inout bit<8> a; } body { a = a + 8w1; return a; } } ";
        let beside = "action a() \"C.a\" { } table t \"C.t\" { key { x: exact \"first\"; function fold(x): exact \"second\"; x: exact \"third\"; hdr.h.a: exact \"other\"; }
            actions { a(); } default a(); }";
        expect![[r#"
            function fold(a) -> bit<8> {
              vars {
                inout bit<8> a;
              }
              body {
                a = a + 8w0x1;
                return a;
              }
            }

            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> key;
                local bit<8> key;
              }
              locals {
                var key#2;
                var key#3;
              }
              action a() "C.a" { }
              table t "C.t" {
                key {
                  key#2: exact "first";
                  key#3: exact "second";
                  x: exact "third";
                  hdr.h.a: exact "other";
                }
                actions {
                  a();
                }
                default a();
              }
              apply {
                key#2 = x;
                key#3 = function fold(x);
                apply t;
              }
            }
        "#]]
        .assert_eq(&after(&(fold.to_string() + &control("", beside, "apply t;")), hoist_effects));
    }
}
