//! Walks over bodies: every statement, expression and call in them, in source order.

use super::decl::Local;
use super::expr::{Arg, Call, Callee, Construct, Expr, ExprKind, KeySet};
use super::stmt::{Block, State, Stmt, StmtKind, SwitchLabel, Transition};
use super::table::Table;

/// The action at each node. A method that is not given goes on to the node's parts; one that is given does so by
/// calling the function of the same name in this module.
pub trait Visitor {
    /// A block.
    fn block(&mut self, block: &Block) {
        walk_block(self, block);
    }
    /// A statement.
    fn stmt(&mut self, stmt: &Stmt) {
        walk_stmt(self, stmt);
    }
    /// An expression, those on the left of an assignment too.
    fn expr(&mut self, expr: &Expr) {
        walk_expr(self, expr);
    }
    /// A call, as an expression or a statement.
    fn call(&mut self, call: &Call) {
        walk_call(self, call);
    }
    /// A constructor call.
    fn construct(&mut self, construct: &Construct) {
        construct.args.iter().for_each(|a| walk_arg(self, a));
    }
}

/// Visits the statements of a block.
pub fn walk_block<V: Visitor + ?Sized>(v: &mut V, block: &Block) {
    block.stmts.iter().for_each(|s| v.stmt(s));
}

/// Visits the parts of a statement.
pub fn walk_stmt<V: Visitor + ?Sized>(v: &mut V, stmt: &Stmt) {
    match &stmt.kind {
        StmtKind::Empty | StmtKind::Const(_) | StmtKind::Exit | StmtKind::Break | StmtKind::Continue => {}
        StmtKind::Block(block) => v.block(block),
        StmtKind::Var { init, .. } => init.iter().for_each(|e| v.expr(e)),
        StmtKind::Assign { target, value, .. } => {
            v.expr(target);
            v.expr(value);
        }
        StmtKind::Call(call) => v.call(call),
        StmtKind::If { condition, then, otherwise } => {
            v.expr(condition);
            v.block(then);
            otherwise.iter().for_each(|b| v.block(b));
        }
        StmtKind::Switch(switch) => {
            v.expr(&switch.subject);
            for case in &switch.cases {
                for label in &case.labels {
                    if let SwitchLabel::Value(e) = label {
                        v.expr(e);
                    }
                }
                v.block(&case.body);
            }
        }
        StmtKind::Return(value) => value.iter().for_each(|e| v.expr(e)),
        StmtKind::For { init, condition, update, body, .. } => {
            init.iter().for_each(|s| v.stmt(s));
            v.expr(condition);
            v.block(body);
            update.iter().for_each(|s| v.stmt(s));
        }
        StmtKind::ForIn { over, body, .. } => {
            v.expr(over);
            v.block(body);
        }
    }
}

/// Visits the parts of an expression.
pub fn walk_expr<V: Visitor + ?Sized>(v: &mut V, expr: &Expr) {
    match &expr.kind {
        ExprKind::Field { base, .. }
        | ExprKind::TupleIndex { base, .. }
        | ExprKind::Slice { base, .. }
        | ExprKind::StackNext(base)
        | ExprKind::StackLast(base)
        | ExprKind::StackLastIndex(base)
        | ExprKind::Unary(_, base)
        | ExprKind::Cast { operand: base, .. } => v.expr(base),
        ExprKind::Index { base, index } | ExprKind::SliceAt { base, lo: index } => {
            v.expr(base);
            v.expr(index);
        }
        ExprKind::Binary(_, a, b) | ExprKind::Mask(a, b) | ExprKind::Range(a, b) => {
            v.expr(a);
            v.expr(b);
        }
        ExprKind::Ternary(a, b, c) => {
            v.expr(a);
            v.expr(b);
            v.expr(c);
        }
        ExprKind::Call(call) => v.call(call),
        ExprKind::New(construct) => v.construct(construct),
        ExprKind::Struct(fields) => fields.iter().for_each(|f| v.expr(&f.value)),
        ExprKind::Tuple(items) | ExprKind::Array(items) | ExprKind::List(items) => {
            items.iter().for_each(|e| v.expr(e));
        }
        ExprKind::Error
        | ExprKind::Int(_)
        | ExprKind::Bool(_)
        | ExprKind::String(_)
        | ExprKind::EnumMember(..)
        | ExprKind::ErrorMember(_)
        | ExprKind::MatchKind(_)
        | ExprKind::Var(_)
        | ExprKind::Const(_)
        | ExprKind::Instance(_)
        | ExprKind::Table(_)
        | ExprKind::ValueSet(_)
        | ExprKind::This
        | ExprKind::Hit(_)
        | ExprKind::Miss(_)
        | ExprKind::ActionRun(_)
        | ExprKind::Invalid
        | ExprKind::Default
        | ExprKind::SizeOf(..) => {}
    }
}

/// Visits the receiver and the arguments of a call.
pub fn walk_call<V: Visitor + ?Sized>(v: &mut V, call: &Call) {
    match &call.callee {
        Callee::Method { object, .. } | Callee::Apply { object } | Callee::Builtin { object, .. } => {
            v.expr(object);
        }
        Callee::Function(_) | Callee::Action(_) | Callee::TableApply(_) => {}
    }
    call.args.iter().for_each(|a| walk_arg(v, a));
}

/// Visits an argument.
pub fn walk_arg<V: Visitor + ?Sized>(v: &mut V, arg: &Arg) {
    arg.expr().into_iter().for_each(|e| v.expr(e));
}

/// Visits the expressions of a set.
pub fn walk_keyset<V: Visitor + ?Sized>(v: &mut V, set: &KeySet) {
    match set {
        KeySet::Value(e) => v.expr(e),
        KeySet::Mask(a, b) | KeySet::Range(a, b) => {
            v.expr(a);
            v.expr(b);
        }
        KeySet::Tuple(sets, _) => sets.iter().for_each(|s| walk_keyset(v, s)),
        KeySet::Any(..) | KeySet::ValueSet(..) => {}
    }
}

/// Visits the statements and the transition of a state.
pub fn walk_state<V: Visitor + ?Sized>(v: &mut V, state: &State) {
    state.stmts.iter().for_each(|s| v.stmt(s));
    if let Transition::Select { keys, cases, .. } = &state.transition {
        keys.iter().for_each(|k| v.expr(k));
        cases.iter().flat_map(|c| &c.sets).for_each(|s| walk_keyset(v, s));
    }
}

/// Visits the keys, bound arguments, entries and properties of a table.
pub fn walk_table<V: Visitor + ?Sized>(v: &mut V, table: &Table) {
    table.keys.iter().for_each(|k| v.expr(&k.expr));
    table.actions.iter().flat_map(|a| &a.args).for_each(|a| walk_arg(v, a));
    table.default_action.call.args.iter().for_each(|a| walk_arg(v, a));
    for entry in table.entries.iter().flat_map(|e| &e.entries) {
        entry.sets.iter().for_each(|s| walk_keyset(v, s));
        entry.call.args.iter().for_each(|a| walk_arg(v, a));
    }
    table.size.iter().for_each(|e| v.expr(e));
    for property in &table.properties {
        property.value.iter().for_each(|e| v.expr(e));
        property.action.iter().flat_map(|call| &call.args).for_each(|a| walk_arg(v, a));
    }
}

/// Visits the initial values of local variables.
pub fn walk_locals<V: Visitor + ?Sized>(v: &mut V, locals: &[Local]) {
    for local in locals {
        if let Local::Var(stmt) = local {
            v.stmt(stmt);
        }
    }
}
