//! Statements and blocks, one to one; statements needed by another one precede it.

use base_diag::Span;
use ir::{ExprKind, ForRange, Stmt, StmtKind, VarId};
use p4_check::typed;

use crate::annotation::annotations;
use crate::control::ActionTable;
use crate::elaborator::Elaborator;
use crate::env::{Captures, Env};
use crate::externs::direction;

/// The code of one control, parser or function instance while it is carried over.
pub(crate) struct Body<'e, 'p> {
    /// The program around it.
    pub(crate) el: &'e mut Elaborator<'p>,
    /// Bindings of names.
    pub(crate) env: Env,
    /// The actions of a control; `None` elsewhere.
    pub(crate) actions: Option<ActionTable>,
    /// The enclosing block's variables, in the implementation of a method; `None` elsewhere.
    pub(crate) captures: Option<Captures>,
    vars: Vec<ir::Var>,
    /// Declarations that the current expression needs before its statement.
    hoisted: Vec<Stmt>,
}

impl<'e, 'p> Body<'e, 'p> {
    /// A constant is evaluated where it is used; here for the static assertions in it.
    pub(crate) fn constant(&mut self, id: typed::ConstId) {
        self.el.eval(&self.env, &self.el.typed.consts[id].value);
    }

    pub(crate) fn new(el: &'e mut Elaborator<'p>, env: Env) -> Body<'e, 'p> {
        Body { el, env, actions: None, captures: None, vars: vec![], hoisted: vec![] }
    }

    /// Ends the body. Returns its bindings and variables.
    pub(crate) fn finish(self) -> (Env, Vec<ir::Var>) {
        (self.env, self.vars)
    }

    /// A variable or parameter of the source.
    pub(crate) fn declare(&mut self, id: typed::VarId) -> VarId {
        let decl = &self.el.typed.vars[id];
        let kind = match decl.kind {
            typed::VarKind::Param(d) => ir::VarKind::Param(direction(d)),
            typed::VarKind::ConstructorParam | typed::VarKind::Local | typed::VarKind::Loop => {
                ir::VarKind::Local
            }
        };
        let ty = self.env.close(&decl.ty);
        let var = ir::Var {
            name: decl.name.text.clone(),
            ty: self.el.ty(&ty),
            kind,
            annotations: annotations(&decl.annotations),
            span: decl.span,
        };
        self.vars.push(var);
        let made = VarId::from(self.vars.len() - 1);
        self.env.vars.insert(id, made);
        made
    }

    /// A parameter of our own.
    pub(crate) fn parameter(
        &mut self,
        name: &str,
        ty: ir::Type,
        direction: ir::Direction,
        span: Span,
    ) -> VarId {
        let kind = ir::VarKind::Param(direction);
        self.vars.push(ir::Var { name: name.into(), ty, kind, annotations: vec![], span });
        VarId::from(self.vars.len() - 1)
    }

    /// A variable of our own, declared before the current statement.
    pub(crate) fn temporary(
        &mut self,
        name: &str,
        ty: ir::Type,
        init: Option<ir::Expr>,
        span: Span,
    ) -> VarId {
        self.vars.push(ir::Var {
            name: name.into(),
            ty,
            kind: ir::VarKind::Local,
            annotations: vec![],
            span: Span::NONE,
        });
        let made = VarId::from(self.vars.len() - 1);
        self.hoisted.push(Stmt { kind: StmtKind::Declare(made, init), span });
        made
    }

    /// Adds a statement before the current one.
    pub(crate) fn hoist(&mut self, kind: StmtKind, span: Span) {
        self.hoisted.push(Stmt { kind, span });
    }

    /// Declarations that code outside of statements (keys of tables, say) made necessary.
    pub(crate) fn take_hoisted(&mut self) -> Vec<Stmt> {
        std::mem::take(&mut self.hoisted)
    }

    /// `{ ... }`
    pub(crate) fn block(&mut self, block: &typed::Block) -> ir::Block {
        ir::Block { annotations: annotations(&block.annotations), stmts: self.stmts(&block.stmts) }
    }

    /// Statements in order.
    pub(crate) fn stmts(&mut self, from: &[typed::Stmt]) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(from.len());
        for stmt in from {
            self.stmt(stmt, &mut out);
        }
        out
    }

    fn push(&mut self, kind: StmtKind, span: Span, out: &mut Vec<Stmt>) {
        out.append(&mut self.hoisted);
        out.push(Stmt { kind, span });
    }

    /// One statement, which may become none or several.
    pub(crate) fn stmt(&mut self, stmt: &typed::Stmt, out: &mut Vec<Stmt>) {
        let span = stmt.span;
        let kind = match &stmt.kind {
            typed::StmtKind::Empty => return,
            typed::StmtKind::Const(id) => return self.constant(*id),
            typed::StmtKind::Block(block) => StmtKind::Block(self.block(block)),
            typed::StmtKind::Var { var, init } => {
                let init = init.as_ref().map(|e| self.expr(e));
                StmtKind::Declare(self.declare(*var), init)
            }
            typed::StmtKind::Assign { target, op, value } => {
                let place = self.place(target);
                let value = match op {
                    Some(typed::BinaryOp::Shl | typed::BinaryOp::Shr) => self.position(value),
                    _ => self.expr(value),
                };
                match op {
                    None => StmtKind::Assign(place, value),
                    Some(op) => StmtKind::AssignOp(crate::expr::binary_op(*op), place, value),
                }
            }
            typed::StmtKind::Call(call) => match self.call_statement(call) {
                Some(kind) => kind,
                None => {
                    out.append(&mut self.hoisted);
                    return;
                }
            },
            typed::StmtKind::If { condition, then, otherwise } => {
                let condition = self.expr(condition);
                out.append(&mut self.hoisted);
                let then = self.block(then);
                StmtKind::If(condition, then, otherwise.as_ref().map(|b| self.block(b)).unwrap_or_default())
            }
            typed::StmtKind::Switch(switch) => match self.switch(switch, span, out) {
                Some(kind) => kind,
                None => return,
            },
            typed::StmtKind::Return(value) => StmtKind::Return(value.as_ref().map(|e| self.expr(e))),
            typed::StmtKind::Exit => StmtKind::Exit,
            typed::StmtKind::For { annotations: notes, init, condition, update, body } => {
                let init = self.stmts(init);
                let cond = self.expr(condition);
                out.append(&mut self.hoisted);
                let declares = |s: &Stmt| matches!(s.kind, StmtKind::Declare(..));
                // Variables of the update stand before the loop, since updates are no block.
                let (declared, update) = self.stmts(update).into_iter().partition(declares);
                out.extend::<Vec<Stmt>>(declared);
                let mut body = self.block(body);
                body.annotations.extend(annotations(notes));
                StmtKind::For { init, cond, update, body }
            }
            typed::StmtKind::ForIn { annotations: notes, var, over, body } => {
                let range = self.for_range(over);
                out.append(&mut self.hoisted);
                let (var, first) = self.loop_variable(*var, span);
                let mut body = self.block(body);
                body.annotations.extend(annotations(notes));
                body.stmts.splice(0..0, first);
                StmtKind::ForIn { var, range, body }
            }
            typed::StmtKind::Break => StmtKind::Break,
            typed::StmtKind::Continue => StmtKind::Continue,
        };
        self.push(kind, span, out);
    }

    fn for_range(&mut self, over: &typed::Expr) -> ForRange {
        match &over.kind {
            typed::ExprKind::Range(lo, hi) => ForRange::Range(self.expr(lo), self.expr(hi)),
            _ => {
                let mut values = self.expr(over);
                // The values of a `list` are known here: a tuple of them.
                if let (ir::Type::List(_), ExprKind::Aggregate(parts)) = (&values.ty, &values.kind) {
                    values.ty = ir::Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect());
                }
                ForRange::Values(values)
            }
        }
    }

    /// The variable a loop declares. Where the source names one declared before, the loop has its own, and every
    /// round begins by assigning it to that one.
    fn loop_variable(&mut self, id: typed::VarId, span: Span) -> (VarId, Option<Stmt>) {
        let Some(outer) = self.env.vars.get(&id).copied() else {
            self.refuse_captured_var(id, span);
            return (self.declare(id), None);
        };
        let (name, ty) = match self.vars.get(outer.index()) {
            Some(var) => (var.name.clone(), var.ty.clone()),
            None => return (outer, None),
        };
        self.vars.push(ir::Var { name, ty: ty.clone(), kind: ir::VarKind::Local, annotations: vec![], span });
        let own = VarId::from(self.vars.len() - 1);
        let var = |id| ir::Expr { kind: ExprKind::Var(id), ty: ty.clone(), span };
        (own, Some(Stmt { kind: StmtKind::Assign(var(outer), var(own)), span }))
    }

    fn switch(&mut self, switch: &typed::Switch, span: Span, out: &mut Vec<Stmt>) -> Option<StmtKind> {
        let on = match &switch.subject.kind {
            typed::ExprKind::ActionRun(table) => ir::SwitchOn::ActionRun(self.table_id(*table, span)?),
            _ => ir::SwitchOn::Value(self.expr(&switch.subject)),
        };
        out.append(&mut self.hoisted);
        let cases = switch
            .cases
            .iter()
            .map(|case| ir::SwitchCase {
                labels: case.labels.iter().filter_map(|l| self.switch_label(l)).collect(),
                body: self.block(&case.body),
                span: case.span,
            })
            .collect();
        Some(StmtKind::Switch(on, cases))
    }

    fn switch_label(&mut self, label: &typed::SwitchLabel) -> Option<ir::SwitchLabel> {
        Some(match label {
            typed::SwitchLabel::Default => ir::SwitchLabel::Default,
            typed::SwitchLabel::Action(_, index) => ir::SwitchLabel::Action(*index),
            typed::SwitchLabel::Value(expr) => {
                let value = self.el.known(&self.env, expr, "a switch label")?;
                let ty = self.env.close(&expr.ty);
                match self.el.scalar(&value, &ty) {
                    Some(scalar) => ir::SwitchLabel::Value(scalar),
                    None => {
                        self.el.refuse("a switch label of this type", expr.span);
                        return None;
                    }
                }
            }
        })
    }

    /// The table in this control.
    pub(crate) fn table_id(&mut self, id: typed::TableId, span: Span) -> Option<ir::TableId> {
        let known = self.env.tables.get(&id).copied();
        if known.is_none() {
            self.el.refuse("applying a table of another block", span);
        }
        known
    }
}
