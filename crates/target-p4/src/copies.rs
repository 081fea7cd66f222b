//! Whether two controls' copies of a top-level action are the same.
//!
//! The copies differ in the ids of their variables and of the actions they call; everything else must agree.

use base_diag::Span;
use ir::{Action, ActionId, Block, Call, Callee, Control, Expr, ExprKind, Name, Stmt, StmtKind, Type, VarId};

/// True if both do the same.
pub(crate) fn same_action(a: (&Control, &Action), b: (&Control, &Action)) -> bool {
    std::ptr::eq(a.1, b.1) || Canonical::of(a.0, a.1) == Canonical::of(b.0, b.1)
}

/// True if a copy of a top-level action can be printed there: it names no variables of its control, and calls no action
/// that does. Passes may have made it, as those that turn `exit` into a flag.
pub(crate) fn stands_alone(control: &Control, action: &Action) -> bool {
    let mut seen = vec![];
    !reaches_control(control, action, &mut seen)
}

fn reaches_control(control: &Control, action: &Action, seen: &mut Vec<ActionId>) -> bool {
    let mut own = action.params.clone();
    let mut found = false;
    ir::visit::stmts(&action.body, &mut |stmt| match &stmt.kind {
        StmtKind::Declare(var, _) | StmtKind::ForIn { var, .. } => own.push(*var),
        StmtKind::For { init, .. } => own.extend(init.iter().filter_map(declared)),
        _ => {}
    });
    crate::calls::note_exprs(&action.body.stmts, &mut |e| {
        found |= matches!(e.kind, ExprKind::Var(var) if !own.contains(&var));
    });
    let mut called = vec![];
    crate::calls::note_calls(&action.body.stmts, &mut |callee| {
        if let Callee::Action(id) = callee {
            called.push(*id);
        }
    });
    found
        || called.into_iter().any(|id| {
            let is_new = !seen.contains(&id);
            seen.push(id);
            is_new && control.actions.get(id.index()).is_some_and(|a| reaches_control(control, a, seen))
        })
}

fn declared(stmt: &Stmt) -> Option<VarId> {
    if let StmtKind::Declare(var, _) = stmt.kind { Some(var) } else { None }
}

/// An action with ids in the order in which they occur.
#[derive(PartialEq, Eq)]
struct Canonical {
    params: usize,
    vars: Vec<Type>,
    called: Vec<Name>,
    body: Block,
}

impl Canonical {
    fn of(control: &Control, action: &Action) -> Canonical {
        let mut renumber = Renumber { control, vars: vec![], called: vec![] };
        for id in &action.params {
            renumber.var(*id);
        }
        let mut body = action.body.clone();
        renumber.block(&mut body);
        let ty = |id: &VarId| control.vars.get(id.index()).map_or(Type::Void, |var| var.ty.clone());
        Canonical {
            params: action.params.len(),
            vars: renumber.vars.iter().map(ty).collect(),
            called: renumber.called,
            body,
        }
    }
}

struct Renumber<'p> {
    control: &'p Control,
    vars: Vec<VarId>,
    called: Vec<Name>,
}

impl Renumber<'_> {
    fn var(&mut self, id: VarId) -> VarId {
        let known = self.vars.iter().position(|var| *var == id);
        VarId::from(known.unwrap_or_else(|| {
            self.vars.push(id);
            self.vars.len() - 1
        }))
    }

    fn block(&mut self, block: &mut Block) {
        block.stmts.iter_mut().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        self.head(stmt);
        ir::visit::exprs_mut(stmt, &mut |expr| ir::visit::subexprs_mut(expr, &mut |e| self.expr(e)));
        ir::visit::blocks_mut(stmt, &mut |block| self.block(block));
    }

    /// All of a statement but its expressions, those in the head of a loop included, and its blocks.
    fn head(&mut self, stmt: &mut Stmt) {
        stmt.span = Span::NONE;
        match &mut stmt.kind {
            StmtKind::Declare(var, _) | StmtKind::ForIn { var, .. } => *var = self.var(*var),
            StmtKind::Call(call) => self.call(call),
            StmtKind::Switch(_, cases) => cases.iter_mut().for_each(|case| case.span = Span::NONE),
            StmtKind::For { init, update, .. } => init.iter_mut().chain(update).for_each(|s| self.head(s)),
            _ => {}
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        expr.span = Span::NONE;
        match &mut expr.kind {
            ExprKind::Var(var) => *var = self.var(*var),
            ExprKind::Call(call) => self.call(call),
            _ => {}
        }
    }

    /// The call itself; its arguments are visited as expressions.
    fn call(&mut self, call: &mut Call) {
        call.span = Span::NONE;
        if let Callee::Action(id) = &mut call.callee {
            let name = self.control.actions.get(id.index()).map(|a| a.control_plane_name.clone());
            self.called.push(name.unwrap_or_default());
            *id = ActionId::from(self.called.len() - 1);
        }
    }
}
