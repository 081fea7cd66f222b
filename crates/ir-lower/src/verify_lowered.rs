//! The promises of the lowered form, beside those of `ir::verify`. A failure is a bug in a pass.
//!
//! docs/internals/lowered.md has the same list for readers.

use crate::expand_structs::{is_compound, is_split};
use crate::hoist_effects::is_lookahead;
use crate::places::{constant_index, is_fixed};
use crate::walk;
use ir::verify::VerifyError;
use ir::{
    Callee, Direction, Expr, ExprKind, Program, Stmt, StmtKind, SwitchOn, Transition, Var, VarId, VarKind,
    visit,
};

/// Everything in `program` that the lowered form does not have, with the findings of `ir::verify`.
pub fn verify_lowered(program: &Program) -> Result<(), Vec<VerifyError>> {
    let mut check = Check { program, vars: &[], place: String::new(), found: vec![] };
    if let Err(found) = ir::verify::verify(program) {
        check.found.extend(found);
    }
    for function in &program.functions {
        check.enter(format!("function {}", function.name), &function.vars);
        check.list(&function.body.stmts);
    }
    for parser in &program.parsers {
        check.enter(format!("parser {}", parser.name), &parser.vars);
        check.locals(&parser.locals);
        for state in &parser.states {
            check.enter(format!("parser {}, state {}", parser.name, state.name), &parser.vars);
            check.list(&state.stmts);
            if let Transition::Select(select) = &state.transition {
                select.exprs.iter().for_each(|key| check.key(key));
            }
        }
    }
    for control in &program.controls {
        check.enter(format!("control {}", control.name), &control.vars);
        check.locals(&control.locals);
        for action in &control.actions {
            check.enter(format!("control {}, action {}", control.name, action.name), &control.vars);
            check.list(&action.body.stmts);
            let is_data = |id: &VarId| {
                control.vars.get(id.index()).is_some_and(|var| var.kind == VarKind::Param(Direction::None))
            };
            let plain = action.params.iter().all(is_data);
            check.require(plain, action.span, "an action with a parameter that is no data");
        }
        for table in &control.tables {
            check.enter(format!("control {}, table {}", control.name, table.name), &control.vars);
            table.keys.iter().for_each(|key| check.key(&key.expr));
            let bare = table.actions.iter().all(|run| run.args.is_empty());
            check.require(bare, table.span, "an action has arguments");
        }
        check.enter(format!("control {}", control.name), &control.vars);
        check.list(&control.body.stmts);
    }
    if check.found.is_empty() { Ok(()) } else { Err(check.found) }
}

struct Check<'p> {
    program: &'p Program,
    vars: &'p [Var],
    place: String,
    found: Vec<VerifyError>,
}

impl<'p> Check<'p> {
    fn enter(&mut self, place: String, vars: &'p [Var]) {
        (self.place, self.vars) = (place, vars);
    }

    fn require(&mut self, holds: bool, span: base_diag::Span, message: &str) {
        if !holds {
            self.found.push(VerifyError { place: self.place.clone(), span, message: message.to_string() });
        }
    }

    fn locals(&mut self, locals: &[Stmt]) {
        for local in locals {
            let plain = match &local.kind {
                StmtKind::Declare(_, init) => {
                    init.as_ref().is_none_or(|init| matches!(init.kind, ExprKind::Const(_)))
                }
                _ => false,
            };
            self.require(plain, local.span, "a variable starts with something else than a constant");
        }
    }

    fn list(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
            visit::blocks(stmt, &mut |block| self.list(&block.stmts));
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Declare(_, None) => {
                self.require(self.place.starts_with("function"), span, "a declaration in a body");
            }
            StmtKind::Declare(_, Some(_)) => self.require(false, span, "a declaration with a value"),
            StmtKind::Assign(place, value) => self.assign(place, value),
            StmtKind::AssignOp(..) => self.require(false, span, "an assignment by an operator"),
            StmtKind::Call(call) => self.call(call, span),
            StmtKind::Apply(_) => {}
            StmtKind::SetValid(place, _) | StmtKind::PushFront(place, _) | StmtKind::PopFront(place, _) => {
                self.target(place);
            }
            StmtKind::Extract { header, varbit_bits, .. } => {
                let stack = match &header.kind {
                    ExprKind::Next(stack) => stack,
                    ExprKind::Field(base, _) => match &base.kind {
                        ExprKind::Next(stack) => stack,
                        _ => header,
                    },
                    _ => header,
                };
                self.target(stack);
                varbit_bits.iter().for_each(|bits| self.pure(bits));
            }
            StmtKind::Advance(_, bits) => self.pure(bits),
            StmtKind::Emit(_, header) => {
                self.target(header);
                self.require(self.program.is_header(&header.ty), span, "emitted is no header");
            }
            StmtKind::Verify(cond, error) => {
                self.pure(cond);
                self.pure(error);
            }
            StmtKind::If(cond, ..) => self.pure(cond),
            StmtKind::Switch(SwitchOn::ActionRun(_), _) => {}
            StmtKind::Switch(SwitchOn::Value(value), _) => self.key(value),
            StmtKind::Block(block) => {
                self.require(!block.annotations.is_empty(), span, "a block without annotations");
            }
            StmtKind::For { init, cond, update, .. } => {
                self.require(init.is_empty() && update.is_empty(), span, "a loop with a start or a step");
                self.pure(cond);
            }
            StmtKind::Return(Some(value)) => {
                self.require(self.place.starts_with("function"), span, "a return");
                self.pure(value);
            }
            StmtKind::ForIn { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Exit
            | StmtKind::Return(None) => self.require(false, span, "a jump, or a loop over values"),
        }
    }

    fn assign(&mut self, place: &Expr, value: &Expr) {
        self.target(place);
        let span = value.span;
        match &value.kind {
            ExprKind::Call(call) => return self.call(call, span),
            ExprKind::ApplyHit(_) => {
                let local = matches!(place.kind, ExprKind::Var(_));
                return self.require(local, span, "a hit that is not kept in a variable");
            }
            _ if is_lookahead(value) => return,
            _ => {}
        }
        if !is_compound(self.program, &place.ty) {
            return self.pure(value);
        }
        self.require(!is_split(self.program, &place.ty), span, "a struct or union is copied as a whole");
        match &value.kind {
            ExprKind::InvalidHeader => {}
            ExprKind::Aggregate(_) => self.listed(value),
            _ => self.target(value),
        }
    }

    /// A list of scalars; where a header has structs, of lists.
    fn listed(&mut self, value: &Expr) {
        match &value.kind {
            ExprKind::Aggregate(parts) => parts.iter().for_each(|part| self.listed(part)),
            _ => {
                let scalar = !is_compound(self.program, &value.ty);
                self.require(scalar, value.span, "a struct in a list");
                self.pure(value);
            }
        }
    }

    fn call(&mut self, call: &ir::Call, span: base_diag::Span) {
        let is_extern =
            matches!(call.callee, Callee::ExternFunction(_) | Callee::Method(..) | Callee::ParamMethod(..));
        self.require(is_extern, span, "a call of something of the program's own");
        let directions = crate::places::Signatures::new(self.program).directions(call);
        for (arg, direction) in call.args.iter().zip(directions) {
            match (arg, direction) {
                (Some(arg), Direction::Out | Direction::InOut) => self.target(arg),
                (Some(arg), _) => self.argument(arg),
                (None, _) => {}
            }
        }
    }

    /// A scalar, a header or stack in its place, or a list of these.
    fn argument(&mut self, arg: &Expr) {
        match &arg.kind {
            ExprKind::Aggregate(parts) => parts.iter().for_each(|part| self.argument(part)),
            _ if !is_compound(self.program, &arg.ty) || self.program.is_header_or_union(&arg.ty) => {
                self.pure(arg);
            }
            _ => {
                let is_struct = is_split(self.program, &arg.ty);
                self.require(!is_struct, arg.span, "a struct as an argument");
                self.pure(arg);
            }
        }
    }

    /// A place with constant indices, or a constant.
    fn key(&mut self, key: &Expr) {
        let good = matches!(key.kind, ExprKind::Const(_)) || is_fixed(key);
        self.require(good, key.span, "a key that is computed");
        self.pure(key);
    }

    /// A place: a variable with fields, elements and slices; an index is a constant or a variable.
    fn target(&mut self, place: &Expr) {
        match &place.kind {
            ExprKind::Var(_) => {}
            ExprKind::Field(base, _) | ExprKind::Slice { base, .. } => self.target(base),
            ExprKind::Index(base, index) | ExprKind::SlicePlus { base, start: index, .. } => {
                self.target(base);
                let good = constant_index(index).is_some() || matches!(index.kind, ExprKind::Var(_));
                self.require(good, index.span, "an index that is computed in its place");
            }
            _ => self.require(false, place.span, "no place"),
        }
    }

    /// Reads and computes, and gives a scalar or header.
    fn pure(&mut self, expr: &Expr) {
        // Slices are operators here: of a place's value, or of a computed one.
        let slice = matches!(expr.kind, ExprKind::Slice { .. } | ExprKind::SlicePlus { .. });
        if crate::places::is_place(expr) && !slice {
            return self.target(expr);
        }
        let span = expr.span;
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::PacketLength(_) => {}
            ExprKind::LastIndex(header) | ExprKind::IsValid(header) => {
                self.target(header);
                let union = self.program.is_union(&header.ty);
                self.require(!union, span, "validity of a union");
            }
            ExprKind::Binary(_, left, _) => {
                let scalar = !is_compound(self.program, &left.ty);
                self.require(scalar, span, "an operator on a value that is no scalar");
                walk::parts(expr).into_iter().for_each(|part| self.pure(part));
            }
            ExprKind::Unary(..) | ExprKind::Cast(_) | ExprKind::Slice { .. } | ExprKind::SlicePlus { .. } => {
                walk::parts(expr).into_iter().for_each(|part| self.pure(part));
            }
            ExprKind::Ternary(..) => {
                let scalar = !is_compound(self.program, &expr.ty);
                self.require(scalar, span, "a choice of a value that is no scalar");
                walk::parts(expr).into_iter().for_each(|part| self.pure(part));
            }
            _ => {
                self.require(false, span, "an expression with effects, or a part of a value that is no place")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{control, read};

    fn findings(body: &str) -> Vec<String> {
        let found = verify_lowered(&read(&control("", "", body)));
        found.err().unwrap_or_default().into_iter().map(|e| e.message).collect()
    }

    #[test]
    fn a_slice_of_a_value_may_begin_anywhere() {
        assert_eq!(findings("x = hdr.h.a[x + 8w1 +: 6][3:0] ++ hdr.h.a[x + 8w2 +: 4];"), [""; 0]);
    }

    #[test]
    fn a_slice_that_is_written_begins_at_a_variable() {
        assert_eq!(findings("hdr.h.a[x +: 4] = 4w1;"), [""; 0]);
        assert_eq!(findings("hdr.h.a[x + 8w1 +: 4] = 4w1;"), ["an index that is computed in its place"]);
    }

    #[test]
    fn an_element_of_a_stack_is_at_a_variable() {
        assert_eq!(findings("x = hdr.s[x + 8w1].a[3:0] ++ 4w0;"), ["an index that is computed in its place"]);
    }
}
