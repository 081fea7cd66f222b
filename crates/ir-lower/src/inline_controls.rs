//! `inline-controls`: the controls that a control applies become a part of it.
//!
//! Before: `control Inner(inout bit<8> x) { table t { ... } apply { t.apply(); x = 1; } }`
//!         `control Outer(...) { Inner() inner; apply { inner.apply(hdr.h.a); } }`
//! After:  `control Outer(...) { table inner_t { ... } apply { inner_t.apply(); hdr.h.a = 1; } }`
//!
//! Requires `hoist-effects`, `eliminate-exits`, `eliminate-returns`. Ensures: no call of a control; the applied ones are
//! gone. Tables, actions and instances move to the caller and keep their control-plane names; a control that is applied
//! twice has them once. Spans and annotations of blocks stay. Parameters become their arguments where that is exact.
//! Why: a stage is one piece of code with one list of tables.

use crate::bind::{Bound, Caller, Target};
use crate::places::Place;
use crate::substitute::{Substitution, declared_in};
use crate::units::{free_name, hollow_control};
use crate::{Changed, walk, zero};
use ir::build;
use ir::{
    Action, ActionId, Callee, Control, ControlId, Expr, Owner, Program, StageKind, Stmt, StmtKind, TableId,
    Var, VarId, visit,
};
use std::collections::{BTreeMap, BTreeSet};

/// See the head of this file.
pub fn inline_controls(program: &mut Program) -> Changed {
    let applied: BTreeSet<ControlId> =
        program.controls.iter().flat_map(|control| calls(&control.body.stmts)).map(|(id, _)| id).collect();
    if applied.is_empty() {
        return Changed(false);
    }
    let heights = heights(program);
    for at in 0..program.controls.len() {
        let root = ControlId::from(at);
        if !applied.contains(&root) {
            let mut control = std::mem::replace(&mut program.controls[at], hollow_control());
            flatten(program, root, &mut control, &heights);
            program.controls[at] = control;
        }
    }
    remove(program, &applied);
    Changed(true)
}

/// The calls of controls in `stmts`, with their arguments.
fn calls(stmts: &[Stmt]) -> Vec<(ControlId, Vec<Option<Expr>>)> {
    let mut found = vec![];
    walk::all_stmts(stmts, &mut |stmt| found.extend(called(stmt).map(|(id, args)| (id, args.to_vec()))));
    found
}

fn called(stmt: &Stmt) -> Option<(ControlId, &[Option<Expr>])> {
    match &stmt.kind {
        StmtKind::Call(call) => match call.callee {
            Callee::Control(id) => Some((id, &call.args)),
            _ => None,
        },
        _ => None,
    }
}

/// For each control, the longest chain of applied controls. Callers have larger numbers than the controls they apply.
fn heights(program: &Program) -> Vec<usize> {
    let mut heights = vec![];
    for control in &program.controls {
        let below = calls(&control.body.stmts).into_iter().filter_map(|(id, _)| heights.get(id.index()));
        let height = below.max().map_or(0, |height| height + 1);
        heights.push(height);
    }
    heights
}

/// From the top down, all calls of a control exist when its turn comes: no control applies one of the same or a larger
/// height.
fn flatten(program: &mut Program, root: ControlId, control: &mut Control, heights: &[usize]) {
    loop {
        let found = calls(&control.body.stmts);
        let height = |id: ControlId| heights.get(id.index()).copied();
        let Some(highest) = found.iter().filter_map(|(id, _)| height(*id)).max() else { return };
        let mut sites: BTreeMap<ControlId, Vec<Vec<Option<Expr>>>> = BTreeMap::new();
        for (id, args) in found.into_iter().filter(|(id, _)| height(*id) == Some(highest)) {
            sites.entry(id).or_default().push(args);
        }
        let bare = |id: &ControlId| {
            let inner = program.controls.get(id.index());
            inner.is_none_or(|inner| inner.tables.is_empty() && inner.actions.is_empty())
        };
        show_to_actions(program, control, sites.iter().filter(|(id, _)| !bare(id)).flat_map(|(_, s)| s));
        let in_loops = in_loops(&control.body.stmts);
        let mut parts = BTreeMap::new();
        for (id, sites) in sites.iter().rev() {
            let Some(inner) = program.controls.get(id.index()).cloned() else { return };
            let mut part = Part::new(program, control, inner, in_loops.contains(id), sites);
            part.take_over(program, root, control);
            parts.insert(*id, part);
        }
        let stmts = std::mem::take(&mut control.body.stmts);
        control.body.stmts = inline(program, control, &mut parts, stmts);
    }
}

/// Puts the controls' code in the place of their applications.
fn inline(
    program: &Program,
    control: &mut Control,
    parts: &mut BTreeMap<ControlId, Part>,
    stmts: Vec<Stmt>,
) -> Vec<Stmt> {
    let mut out = vec![];
    for mut stmt in stmts {
        visit::blocks_mut(&mut stmt, &mut |block| {
            let stmts = std::mem::take(&mut block.stmts);
            block.stmts = inline(program, control, parts, stmts);
        });
        let part = called(&stmt).and_then(|(id, args)| Some((parts.get_mut(&id)?, args.to_vec())));
        match part {
            Some((part, args)) => part.one_site(program, control, &args, &stmt, &mut out),
            None => out.push(stmt),
        }
    }
    out
}

/// Variables of the body that are arguments are declared beside it: actions may come to use them.
fn show_to_actions<'s>(
    program: &Program,
    control: &mut Control,
    sites: impl Iterator<Item = &'s Vec<Option<Expr>>>,
) {
    let roots: BTreeSet<VarId> =
        sites.flatten().flatten().filter_map(Place::of).map(|place| place.var).collect();
    if roots.is_empty() {
        return;
    }
    let inside: BTreeSet<VarId> = declared_in(&control.body.stmts).into_iter().collect();
    let shown: BTreeSet<VarId> = roots.into_iter().filter(|var| inside.contains(var)).collect();
    if !shown.is_empty() {
        let (vars, locals) = (&mut control.vars, &mut control.locals);
        move_declarations(program, vars, locals, &shown, &mut control.body.stmts);
    }
}

fn move_declarations(
    program: &Program,
    vars: &mut Vec<Var>,
    locals: &mut Vec<Stmt>,
    shown: &BTreeSet<VarId>,
    stmts: &mut Vec<Stmt>,
) {
    for mut stmt in std::mem::take(stmts) {
        visit::blocks_mut(&mut stmt, &mut |block| {
            move_declarations(program, vars, locals, shown, &mut block.stmts);
        });
        if let StmtKind::For { init, .. } = &mut stmt.kind {
            let declares = |s: &Stmt| matches!(s.kind, StmtKind::Declare(var, _) if shown.contains(&var));
            if init.iter().any(declares) {
                let mut first = std::mem::take(init);
                move_declarations(program, vars, locals, shown, &mut first);
                stmts.append(&mut first);
            }
        }
        match stmt.kind {
            StmtKind::Declare(var, init) if shown.contains(&var) => {
                locals.push(build::declare(var, None).at(stmt.span));
                let place = build::var_of(vars, var).at(stmt.span);
                match init {
                    Some(init) => stmts.push(build::assign(place, init).at(stmt.span)),
                    None => zero::zero_place(program, vars, &place, stmts),
                }
            }
            StmtKind::ForIn { var, range, mut body } if shown.contains(&var) => {
                // The loop has a variable of its own and gives its value on.
                vars.push(vars[var.index()].clone());
                let own = VarId::from(vars.len() - 1);
                locals.push(build::declare(var, None).at(stmt.span));
                let (to, from) =
                    (build::var_of(vars, var).at(stmt.span), build::var_of(vars, own).at(stmt.span));
                body.stmts.insert(0, build::assign(to, from).at(stmt.span));
                stmts.push(Stmt { kind: StmtKind::ForIn { var: own, range, body }, span: stmt.span });
            }
            kind => stmts.push(Stmt { kind, span: stmt.span }),
        }
    }
}

/// An applied control during inlining.
struct Part {
    inner: Control,
    /// Substitutions that are the same in all applications.
    subst: Substitution,
    /// Applied at several places, or in a loop: state that lasts between starts must be initialised again.
    again: bool,
    /// Applied with different arguments: its parameters are variables.
    copies: bool,
    /// Statements around the code, if all applications have the same arguments.
    bound: Option<Bound>,
    locals: Vec<Stmt>,
}

impl Part {
    fn new(
        program: &Program,
        control: &mut Control,
        inner: Control,
        in_loop: bool,
        sites: &[Vec<Option<Expr>>],
    ) -> Part {
        let mut distinct: Vec<_> = sites.iter().map(|site| unspanned(site)).collect();
        distinct.dedup();
        let copies = distinct.len() > 1;
        let again = sites.len() > 1 || in_loop;
        let mut part =
            Part { inner, subst: Substitution::default(), again, copies, bound: None, locals: vec![] };
        if let (false, Some(site)) = (copies, sites.first()) {
            part.bound = Some(part.bind(program, control, site));
        }
        part
    }

    fn bind(&mut self, program: &Program, control: &mut Control, args: &[Option<Expr>]) -> Bound {
        let inner = &self.inner;
        let code: Vec<&[Stmt]> = inner
            .actions
            .iter()
            .map(|action| action.body.stmts.as_slice())
            .chain([inner.body.stmts.as_slice(), inner.locals.as_slice()])
            .collect();
        let target = Target::apart(&inner.params, &inner.vars, &code);
        let locals = Some(&mut self.locals);
        let mut caller =
            Caller { program, vars: &mut control.vars, locals, copy_all: self.copies, settled: false };
        caller.bind(&target, args, &mut self.subst)
    }

    /// Moves everything that is declared in the control to its caller.
    fn take_over(&mut self, program: &mut Program, root: ControlId, control: &mut Control) {
        let inner = std::mem::replace(&mut self.inner, hollow_control());
        self.take(program, root, control, &inner);
        self.inner = inner;
    }

    fn take(&mut self, program: &mut Program, root: ControlId, control: &mut Control, inner: &Control) {
        // If arguments are copied, parameters become local variables of the caller; packets and other externs cannot be copied.
        for param in inner.params.iter().filter(|_| self.copies) {
            if !matches!(inner.vars.get(param.index()).map(|v| &v.ty), Some(ir::Type::Extern(..)) | None) {
                self.subst.renew(*param, &inner.vars, &mut control.vars);
                let stands_for = self.subst.get(*param).cloned();
                self.locals.extend(declaration(stands_for));
            }
        }
        for local in &inner.locals {
            if let StmtKind::Declare(var, _) = local.kind {
                self.subst.renew(var, &inner.vars, &mut control.vars);
                let stands_for = self.subst.get(var).cloned();
                self.locals.extend(declaration(stands_for));
            }
        }
        control.locals.append(&mut self.locals);
        let prefix = relative(&control.control_plane_name, &inner.control_plane_name);
        let first = control.actions.len();
        for (at, action) in inner.actions.iter().enumerate() {
            let moved = self.move_action(control, inner, action, &prefix);
            self.subst.actions.insert(ActionId::from(at), moved);
        }
        for moved in &mut control.actions[first..] {
            self.subst.stmts(&mut moved.body.stmts);
        }
        for (at, table) in inner.tables.iter().enumerate() {
            let mut table = table.clone();
            self.subst.table(&mut table);
            let taken = |name: &str| control.tables.iter().any(|other| other.name == name);
            table.name = free_name(&format!("{prefix}_{}", table.name), &taken);
            self.subst.tables.insert(TableId::from(at), TableId::from(control.tables.len()));
            control.tables.push(table);
        }
        for id in &inner.instances {
            if let Some(instance) = program.instances.get_mut(id.index()) {
                instance.owner = Owner::Control(root);
                control.instances.push(*id);
            }
        }
    }

    /// The action's new number; its body still has the old names. An action of the program that the caller has too is
    /// the same action.
    fn move_action(
        &mut self,
        control: &mut Control,
        inner: &Control,
        action: &Action,
        prefix: &str,
    ) -> ActionId {
        let same = |other: &Action| {
            other.top_level
                && action.top_level
                && other.control_plane_name == action.control_plane_name
                && other.span == action.span
        };
        if let Some(at) = control.actions.iter().position(same) {
            return ActionId::from(at);
        }
        for var in action.params.iter().copied().chain(declared_in(&action.body.stmts)) {
            self.renew_as_is(var, inner, control);
        }
        let param = |var: &ir::VarId| match self.subst.get(*var).map(|e| &e.kind) {
            Some(ir::ExprKind::Var(new)) => *new,
            _ => *var,
        };
        let params = action.params.iter().map(param).collect();
        let taken = |name: &str| control.actions.iter().any(|other| other.name == name);
        let name = match action.top_level {
            true => free_name(&action.name, &taken),
            false => free_name(&format!("{prefix}_{}", action.name), &taken),
        };
        control.actions.push(Action { name, params, ..action.clone() });
        ActionId::from(control.actions.len() - 1)
    }

    /// Parameters of actions stay parameters.
    fn renew_as_is(&mut self, var: ir::VarId, inner: &Control, control: &mut Control) {
        self.subst.renew(var, &inner.vars, &mut control.vars);
        if let (Some(ir::ExprKind::Var(new)), Some(old)) =
            (self.subst.get(var).map(|e| e.kind.clone()), inner.vars.get(var.index()))
        {
            control.vars[new.index()].kind = old.kind;
        }
    }

    /// Appends the code of one application, which `stmt` is.
    fn one_site(
        &mut self,
        program: &Program,
        control: &mut Control,
        args: &[Option<Expr>],
        stmt: &Stmt,
        out: &mut Vec<Stmt>,
    ) {
        let fresh;
        let bound = match &self.bound {
            Some(bound) => bound,
            None => {
                fresh = self.bind(program, control, args);
                control.locals.append(&mut self.locals);
                &fresh
            }
        };
        let (mut stmts, mut after) = renewed_declarations(bound, control);
        let inner = &self.inner;
        for local in &inner.locals {
            let StmtKind::Declare(var, init) = &local.kind else { continue };
            let Some(place) = self.subst.get(*var).cloned() else { continue };
            match init {
                Some(init) => {
                    let mut init = init.clone();
                    self.subst.expr(&mut init);
                    stmts.push(build::assign(place, init).at(local.span));
                }
                // A second application starts with new variables, not with those of the first.
                None if self.again => zero::zero_place(program, &mut control.vars, &place, &mut stmts),
                None => {}
            }
        }
        let mut body = inner.body.clone();
        let mut own = Substitution::default();
        for var in declared_in(&body.stmts) {
            own.renew(var, &inner.vars, &mut control.vars);
        }
        self.subst.with(&own).stmts(&mut body.stmts);
        if body.annotations.is_empty() {
            stmts.append(&mut body.stmts);
        } else {
            stmts.push(Stmt { kind: StmtKind::Block(body), span: stmt.span });
        }
        out.append(&mut stmts);
        out.append(&mut after);
    }
}

/// Code that is put in several places declares other variables in each.
fn renewed_declarations(bound: &Bound, control: &mut Control) -> (Vec<Stmt>, Vec<Stmt>) {
    let (mut before, mut after) = (bound.before.clone(), bound.after.clone());
    let mut own = Substitution::default();
    for var in declared_in(&before) {
        own.renew_here(var, &mut control.vars);
    }
    own.stmts(&mut before);
    own.stmts(&mut after);
    (before, after)
}

fn declaration(stands_for: Option<Expr>) -> Option<Stmt> {
    match stands_for {
        Some(Expr { kind: ir::ExprKind::Var(var), span, .. }) => Some(build::declare(var, None).at(span)),
        _ => None,
    }
}

/// Arguments without their places in the source, to be compared.
fn unspanned(args: &[Option<Expr>]) -> Vec<Option<Expr>> {
    let mut args = args.to_vec();
    for arg in args.iter_mut().flatten() {
        visit::subexprs_mut(arg, &mut |e| e.span = base_diag::Span::NONE);
    }
    args
}

/// The controls that loops in `stmts` apply.
fn in_loops(stmts: &[Stmt]) -> BTreeSet<ControlId> {
    let mut found = BTreeSet::new();
    walk::all_stmts(stmts, &mut |stmt| {
        if let StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } = &stmt.kind {
            walk::all_stmts(&body.stmts, &mut |inner| found.extend(called(inner).map(|(id, _)| id)));
        }
    });
    found
}

/// The path of an instance in the block that has it, as a part of a name.
fn relative(outer: &str, inner: &str) -> String {
    let path = inner.strip_prefix(outer).and_then(|rest| rest.strip_prefix('.')).unwrap_or(inner);
    path.replace('.', "_")
}

/// Removes controls that are parts of others now.
fn remove(program: &mut Program, gone: &BTreeSet<ControlId>) {
    let mut left = 0;
    let numbers: Vec<ControlId> = (0..program.controls.len())
        .map(|at| {
            let number = ControlId::from(left);
            left += usize::from(!gone.contains(&ControlId::from(at)));
            number
        })
        .collect();
    let renumber = |id: ControlId| numbers.get(id.index()).copied().unwrap_or(id);
    for stage in &mut program.stages {
        stage.kind = match stage.kind {
            StageKind::Control(id) => StageKind::Control(renumber(id)),
            StageKind::Deparse(id) => StageKind::Deparse(renumber(id)),
            other => other,
        };
    }
    for instance in &mut program.instances {
        if let Owner::Control(id) = instance.owner {
            instance.owner = Owner::Control(renumber(id));
        }
    }
    let mut at = 0;
    program.controls.retain(|_| {
        at += 1;
        !gone.contains(&ControlId(at - 1))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, control};
    use expect_test::expect;

    const INNER: &str =
        "control I(v) \"C.i\" { vars { inout bit<8> v; local bit<8> n; param bit<8> d; } locals { var n; }
        action a(d) \"C.i.a\" { v = d; }
        table t \"C.i.t\" { key { v: exact \"v\"; } actions { a(); } default a(8w1); }
        apply { n = n + 8w1; apply t; v = n; } } ";

    #[test]
    fn applied_once() {
        let before = INNER.to_string() + &control("", "", "@region(\"R\") { control I(hdr.h.a); }");
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> n;
                param bit<8> d;
              }
              locals {
                var n;
              }
              action i_a(d) "C.i.a" {
                hdr.h.a = d;
              }
              table i_t "C.i.t" {
                key {
                  hdr.h.a: exact "v";
                }
                actions {
                  i_a();
                }
                default i_a(8w0x1);
              }
              apply {
                @region("R") {
                  n = n + 8w0x1;
                  apply i_t;
                  hdr.h.a = n;
                }
              }
            }
        "#]]
        .assert_eq(&after(&before, inline_controls));
    }

    #[test]
    fn applied_twice_with_other_arguments() {
        let before = INNER.to_string() + &control("", "", "control I(hdr.h.a); control I(x);");
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> v;
                local bit<8> n;
                param bit<8> d;
              }
              locals {
                var v;
                var n;
              }
              action i_a(d) "C.i.a" {
                v = d;
              }
              table i_t "C.i.t" {
                key {
                  v: exact "v";
                }
                actions {
                  i_a();
                }
                default i_a(8w0x1);
              }
              apply {
                v = hdr.h.a;
                n = 8w0x0;
                n = n + 8w0x1;
                apply i_t;
                v = n;
                hdr.h.a = v;
                v = x;
                n = 8w0x0;
                n = n + 8w0x1;
                apply i_t;
                v = n;
                x = v;
              }
            }
        "#]]
        .assert_eq(&after(&before, inline_controls));
    }

    #[test]
    fn an_argument_that_only_an_action_without_a_table_reads() {
        let inner =
            "control I(v) \"C.i\" { vars { inout bit<8> v; } action a() \"C.i.a\" { v = 8w1; } apply { } }\n";
        let body = "{ var y; control I(y); }";
        let before = inner.to_string() + &control("local bit<8> y;", "", body);
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> y;
              }
              locals {
                var y;
              }
              action i_a() "C.i.a" {
                y = 8w0x1;
              }
              apply {
                {
                  y = 8w0x0;
                }
              }
            }
        "#]]
        .assert_eq(&after(&before, inline_controls));
    }

    #[test]
    fn an_argument_that_the_body_declares() {
        let body = "{ var y; control I(y); }";
        let before = INNER.to_string() + &control("local bit<8> y;", "", body);
        expect![[r#"
            control C(hdr, x) "C" {
              vars {
                inout headers_t hdr;
                inout bit<8> x;
                local bit<8> y;
                local bit<8> n;
                param bit<8> d;
              }
              locals {
                var y;
                var n;
              }
              action i_a(d) "C.i.a" {
                y = d;
              }
              table i_t "C.i.t" {
                key {
                  y: exact "v";
                }
                actions {
                  i_a();
                }
                default i_a(8w0x1);
              }
              apply {
                {
                  y = 8w0x0;
                  n = n + 8w0x1;
                  apply i_t;
                  y = n;
                }
              }
            }
        "#]]
        .assert_eq(&after(&before, inline_controls));
    }
}
