//! Places where packets give a cell of a register a value that is not computed from the cell's: copies are added up by what each has added.
//!
//! ```text
//! added        seen.read(n, i); n = n + 1; seen.write(i, n);
//! overwritten  seen.read(n, i); if (n > 9) { n = 0; } seen.write(i, n);
//! ```
//!
//! A value counts as computed from the cell's only if it is on every path. For variables that tables and called actions write, it is enough that one
//! action computes the value from the register.

use crate::shown::{Taken, is_of, method};
use base_diag::Span;
use ir::{
    Block, Call, Callee, Control, Expr, ExprKind, InstanceId, Program, Stmt, StmtKind, SwitchLabel, SwitchOn,
    VarId, visit,
};
use std::collections::BTreeSet;

/// A place where packets overwrite a cell of the register.
pub fn overwritten(program: &Program, register: InstanceId) -> Option<Span> {
    program.controls.iter().find_map(|control| {
        let (taken, _) = Taken::new(program, control, register);
        let by_actions = by_actions(control, &taken);
        let mut walk = Walk { program, register, by_actions, found: None };
        walk.block(&control.body, BTreeSet::new());
        for action in &control.actions {
            walk.block(&action.body, taken.vars.clone());
        }
        walk.found
    })
}

/// Variables of the taken ones that actions set.
fn by_actions(control: &Control, taken: &Taken) -> Vars {
    let mut vars = Vars::new();
    let mut note = |place: &Expr| {
        if let ExprKind::Var(var) = place.kind {
            vars.extend(taken.vars.contains(&var).then_some(var));
        }
    };
    for action in &control.actions {
        visit::stmts(&action.body, &mut |stmt| match &stmt.kind {
            StmtKind::Assign(place, _) | StmtKind::AssignOp(_, place, _) => note(place),
            StmtKind::Call(call) => call.args.iter().flatten().for_each(&mut note),
            _ => {}
        });
    }
    vars
}

/// Variables whose value is computed from the cell's.
type Vars = BTreeSet<VarId>;

struct Walk<'p> {
    program: &'p Program,
    register: InstanceId,
    by_actions: Vars,
    found: Option<Span>,
}

impl Walk<'_> {
    /// The variables after the block; `None` if no path goes on after it.
    fn block(&mut self, block: &Block, vars: Vars) -> Option<Vars> {
        block.stmts.iter().try_fold(vars, |vars, stmt| self.stmt(stmt, vars))
    }

    fn stmt(&mut self, stmt: &Stmt, mut vars: Vars) -> Option<Vars> {
        match &stmt.kind {
            StmtKind::Declare(var, Some(value)) => set(*var, is_in(&vars, value), &mut vars),
            StmtKind::Declare(var, None) => set(*var, false, &mut vars),
            StmtKind::Assign(Expr { kind: ExprKind::Var(var), .. }, value) => {
                set(*var, is_in(&vars, value), &mut vars);
            }
            StmtKind::AssignOp(_, Expr { kind: ExprKind::Var(var), .. }, value) => {
                let is_worked_out = vars.contains(var) || is_in(&vars, value);
                set(*var, is_worked_out, &mut vars);
            }
            StmtKind::Call(call) => self.call(call, &mut vars),
            StmtKind::Apply(_) => vars.extend(&self.by_actions),
            StmtKind::If(_, yes, no) => {
                let paths = [self.block(yes, vars.clone()), self.block(no, vars)];
                return paths.into_iter().flatten().reduce(both);
            }
            StmtKind::Switch(on, cases) => {
                if matches!(on, SwitchOn::ActionRun(_)) {
                    vars.extend(&self.by_actions);
                }
                let has_default = cases.iter().any(|case| case.labels.contains(&SwitchLabel::Default));
                let beside = (!has_default).then(|| vars.clone());
                let mut paths: Vec<_> =
                    cases.iter().map(|case| self.block(&case.body, vars.clone())).collect();
                paths.push(beside);
                return paths.into_iter().flatten().reduce(both);
            }
            StmtKind::Block(block) => return self.block(block, vars),
            StmtKind::For { init, update, body, .. } => {
                let vars = init.iter().try_fold(vars, |vars, stmt| self.stmt(stmt, vars))?;
                return Some(self.rounds(vars, |walk, vars| {
                    let vars = walk.block(body, vars)?;
                    update.iter().try_fold(vars, |vars, stmt| walk.stmt(stmt, vars))
                }));
            }
            StmtKind::ForIn { body, .. } => {
                return Some(self.rounds(vars, |walk, vars| walk.block(body, vars)));
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Exit | StmtKind::Return(_) => return None,
            _ => {}
        }
        Some(vars)
    }

    /// The variables after any number of rounds of a loop.
    fn rounds(&mut self, mut vars: Vars, round: impl Fn(&mut Self, Vars) -> Option<Vars>) -> Vars {
        // A round only takes variables away: it ends.
        loop {
            let after = match round(self, vars.clone()) {
                Some(after) => both(vars.clone(), after),
                None => return vars,
            };
            if after == vars {
                return vars;
            }
            vars = after;
        }
    }

    fn call(&mut self, call: &Call, vars: &mut Vars) {
        match &call.callee {
            Callee::Method(..) if is_of(call, self.register) => match method(self.program, call) {
                // `read(result, index)`
                Some("read") => {
                    if let Some(Some(Expr { kind: ExprKind::Var(var), .. })) = call.args.first() {
                        vars.insert(*var);
                    }
                }
                // `write(index, value)`
                _ => {
                    let is_worked_out = call
                        .args
                        .get(1)
                        .is_some_and(|value| value.as_ref().is_some_and(|value| is_in(vars, value)));
                    if !is_worked_out {
                        self.found = self.found.or(Some(call.span));
                    }
                }
            },
            Callee::Action(_) | Callee::Control(_) => vars.extend(&self.by_actions),
            _ => {}
        }
    }
}

fn set(var: VarId, is_worked_out: bool, vars: &mut Vars) {
    match is_worked_out {
        true => vars.insert(var),
        false => vars.remove(&var),
    };
}

fn both(one: Vars, other: Vars) -> Vars {
    one.intersection(&other).copied().collect()
}

fn is_in(vars: &Vars, e: &Expr) -> bool {
    let mut found = false;
    visit::subexprs(e, &mut |part| found |= matches!(part.kind, ExprKind::Var(var) if vars.contains(&var)));
    found
}
