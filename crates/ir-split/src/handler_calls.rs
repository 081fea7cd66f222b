//! `handler-calls`: calls of handlers become regions.
//!
//! Before: `a; if (snat.call(q, r)) { b; } c;`
//! After:  `a; bool given; @region("snat") { given = snat.call(q, r); } if (given) { b; } c;`
//!
//! Why: a handler runs on a device of its group, wherever the program calls it. Only the call goes there: what follows runs where it
//! would run without. The second call of a handler is `snat_2`. Calls in marked regions belong to these, and calls in
//! loops cannot be cut.

use crate::arch;
use crate::auto::{declared_before, region};
use ir::{
    Block, Call, Callee, Expr, ExprKind, InstanceId, Name, Program, Stmt, StmtKind, SwitchOn, Var, VarId,
    VarKind, visit,
};
use p4_arch::Duty;
use std::collections::{BTreeMap, BTreeSet};

/// Makes each call of an instance in `names` in ingress or egress a region of that name. Gives the regions.
pub fn handler_calls(program: &mut Program, names: &BTreeMap<InstanceId, String>) -> Vec<(Name, InstanceId)> {
    let mut taken = BTreeSet::new();
    for control in &program.controls {
        visit::stmts(&control.body, &mut |stmt| {
            if let StmtKind::Block(block) = &stmt.kind {
                taken.extend(block.region().map(|name| name.to_string()));
            }
        });
    }
    let mut made = vec![];
    for stage in [Duty::Ingress, Duty::Egress] {
        let Some(id) = arch::control(program, stage) else { continue };
        let control = &mut program.controls[id.index()];
        let mut pass = Pass { names, taken: &mut taken, vars: &mut control.vars, made: &mut made };
        pass.block(&mut control.body);
    }
    made
}

struct Pass<'p> {
    names: &'p BTreeMap<InstanceId, String>,
    taken: &'p mut BTreeSet<String>,
    /// Variables of the control.
    vars: &'p mut Vec<Var>,
    made: &'p mut Vec<(Name, InstanceId)>,
}

impl Pass<'_> {
    fn block(&mut self, block: &mut Block) {
        if block.region().is_some() {
            return;
        }
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let Some(instance) = self.called(&stmt) {
                let name = self.name(instance);
                let cut = match &mut stmt.kind {
                    // The value alone is computed there.
                    StmtKind::If(value, ..) | StmtKind::Switch(SwitchOn::Value(value), _) => {
                        Some(self.computed(value, &mut block.stmts))
                    }
                    StmtKind::For { .. } | StmtKind::ForIn { .. } => None,
                    _ => {
                        let declaration = declared_before(&mut stmt);
                        block.stmts.extend(declaration);
                        block.stmts.push(region(&name, stmt.span, vec![stmt]));
                        self.made.push((name.into(), instance));
                        continue;
                    }
                };
                if let Some(cut) = cut {
                    block.stmts.push(region(&name, cut.span, vec![cut]));
                    self.made.push((name.into(), instance));
                }
            }
            if !matches!(stmt.kind, StmtKind::For { .. } | StmtKind::ForIn { .. }) {
                visit::blocks_mut(&mut stmt, &mut |inner| self.block(inner));
            }
            block.stmts.push(stmt);
        }
    }

    /// The first handler that a statement itself calls, without those nested in it.
    fn called(&self, stmt: &Stmt) -> Option<InstanceId> {
        let of = |call: &Call| match call.callee {
            Callee::Method(id, _) if self.names.contains_key(&id) => Some(id),
            _ => None,
        };
        let mut found = match &stmt.kind {
            StmtKind::Call(call) => of(call),
            _ => None,
        };
        visit::exprs(stmt, &mut |expr| {
            visit::subexprs(expr, &mut |expr| {
                if let ExprKind::Call(call) = &expr.kind {
                    found = found.or(of(call));
                }
            });
        });
        found
    }

    /// A unique name for a region.
    fn name(&mut self, instance: InstanceId) -> String {
        let base = &self.names[&instance];
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        let name = names.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(name.clone());
        name
    }

    /// Replaces a value by a variable, which `before` declares; gives the statement that sets the variable.
    fn computed(&mut self, value: &mut Expr, before: &mut Vec<Stmt>) -> Stmt {
        let (var, ty, span) = (VarId::from(self.vars.len()), value.ty.clone(), value.span);
        let (name, kind) = (Name::from("given"), VarKind::Local);
        self.vars.push(Var { name, ty: ty.clone(), kind, annotations: vec![], span });
        before.push(Stmt { kind: StmtKind::Declare(var, None), span });
        let place = Expr { kind: ExprKind::Var(var), ty, span };
        let value = std::mem::replace(value, place.clone());
        Stmt { kind: StmtKind::Assign(place, value), span }
    }
}
