//! No two tables of a program have the same control-plane name, nor two actions of one table (P4-16 §18.3).
//!
//! Actions of different tables with one name get a warning. The specification forbids them, and p4c refuses them since 2024;
//! before, it described them as one. The name still determines the action that an entry of a table runs, so p4rack runs such programs,
//! and `p4info` describes actions of one name as one where they take the same data.
//!
//! Names are those of the instances that `main` leads to: `@name("x") table t` of instance `c` in `MyIngress` is
//! `MyIngress.c.x`; a name that starts with a dot stands for itself. Tables that nothing applies have no name, and those
//! of a control with constructor parameters are left to elaboration, which knows which of them are applied.

use base_diag::{Diagnostic, Diagnostics, Span};
use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};
use std::collections::{BTreeMap, BTreeSet};

use super::reach::all_bodies;
use crate::codes;
use crate::typed::walk::{Visitor, walk_call, walk_expr};
use crate::typed::{
    Action, ActionId, Annotations, Arg, Call, Callee, Construct, Constructed, ControlId, Expr, ExprKind,
    Local, Name, Program, Table,
};
use crate::warn::silenced;

pub(crate) fn check_control_names(program: &Program, diags: &mut Diagnostics) {
    let Some(main) = program.main else { return };
    let mut applied = Applied(vec![false; program.tables.len()]);
    all_bodies(program, &mut applied);
    let mut names = Names {
        program,
        diags,
        applied: applied.0,
        seen: FxHashMap::default(),
        shared: BTreeMap::new(),
        depth: 0,
        instances: 0,
    };
    names.package(&program.instances[main].construct);
    names.warn();
}

/// A named thing: its kind, and the position of its declaration.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Table,
    Action,
}

/// Instances looked at; elaboration refuses programs that have more.
const MAX_INSTANCES: u32 = 10_000;

struct Names<'a> {
    program: &'a Program,
    diags: &'a mut Diagnostics,
    /// Tables that some statement applies.
    applied: Vec<bool>,
    /// The declaration behind a name and the prefix of the instance it belongs to.
    seen: FxHashMap<(Kind, SmolStr), (Span, SmolStr)>,
    /// Names of several actions, with the places of all.
    shared: BTreeMap<SmolStr, BTreeSet<Span>>,
    depth: u32,
    instances: u32,
}

impl Names<'_> {
    fn package(&mut self, construct: &Construct) {
        for arg in construct.args.iter().filter_map(Arg::expr) {
            match &arg.kind {
                ExprKind::New(inner) => self.block(inner),
                ExprKind::Instance(id) => {
                    let program = self.program;
                    self.block(&program.instances[*id].construct);
                }
                _ => {}
            }
        }
    }

    fn block(&mut self, construct: &Construct) {
        match construct.of {
            Constructed::Package(_) if self.depth < 50 && self.instances <= MAX_INSTANCES => {
                self.instances += 1;
                self.depth += 1;
                self.package(construct);
                self.depth -= 1;
            }
            Constructed::Control(id) => {
                let name = self.program.controls[id].name.text.clone();
                self.control(id, &name);
            }
            _ => {}
        }
    }

    fn control(&mut self, id: ControlId, prefix: &SmolStr) {
        self.instances += 1;
        if self.depth > 100 || self.instances > MAX_INSTANCES {
            return;
        }
        let program = self.program;
        let plain = program.controls[id].constructor_params.is_empty();
        for local in &program.controls[id].locals {
            match local {
                Local::Table(t) if plain && self.applied[t.index()] => {
                    let table = &program.tables[*t];
                    self.add(Kind::Table, &table.name, &table.annotations, prefix);
                    self.actions(table, prefix);
                }
                Local::Instance(i) => {
                    let instance = &program.instances[*i];
                    if let Constructed::Control(inner) = instance.construct.of {
                        let name = full_name(&instance.name, &instance.annotations, prefix);
                        self.depth += 1;
                        self.control(inner, &name);
                        self.depth -= 1;
                    }
                }
                _ => {}
            }
        }
    }

    fn actions(&mut self, table: &Table, prefix: &SmolStr) {
        let program = self.program;
        let global = SmolStr::default();
        let mut here: FxHashMap<SmolStr, ActionId> = FxHashMap::default();
        for listed in &table.actions {
            let action = &program.actions[listed.action];
            let prefix = if action.control.is_some() { prefix } else { &global };
            let full = full_name(&action.name, &action.annotations, prefix);
            match here.insert(full.clone(), listed.action).filter(|before| *before != listed.action) {
                Some(before) => self.ambiguous(table, action, &program.actions[before], &full),
                None => self.add(Kind::Action, &action.name, &action.annotations, prefix),
            }
        }
    }

    /// An entry of `table` cannot say which of the two actions it runs.
    fn ambiguous(&mut self, table: &Table, action: &Action, before: &Action, full: &SmolStr) {
        let title = format!("two actions have the control-plane name `{full}`");
        self.diags.push(
            Diagnostic::error(codes::CONTROL_NAME, title)
                .at(action.name.span.max(before.name.span), "")
                .at(action.name.span.min(before.name.span), "and this one")
                .note(format!("table `{}` lists both, and its entries name their action", table.name.text))
                .help("give one of them another `@name`"),
        );
    }

    fn add(&mut self, kind: Kind, name: &Name, annotations: &Annotations, prefix: &SmolStr) {
        let full = full_name(name, annotations, prefix);
        let here = (name.span, prefix.clone());
        let Some(before) = self.seen.get(&(kind, full.clone())) else {
            self.seen.insert((kind, full), here);
            return;
        };
        if *before == here {
            return;
        }
        if kind == Kind::Action {
            if !silenced(annotations, "control-name") {
                self.shared.entry(full).or_default().extend([before.0, name.span]);
            }
            return;
        }
        let title = format!("two tables have the control-plane name `{full}`");
        let (first, second) = (before.0.min(name.span), before.0.max(name.span));
        let mut diagnostic = Diagnostic::error(codes::CONTROL_NAME, title).at(second, "");
        if first == second {
            diagnostic = diagnostic.note(format!("`{}` and `{prefix}` both have one", before.1));
        } else {
            diagnostic = diagnostic.at(first, "and this one");
        }
        self.diags.push(diagnostic.help("give one of them another `@name`"));
    }

    /// One warning for each name that actions of different tables share.
    fn warn(&mut self) {
        for (name, spans) in std::mem::take(&mut self.shared) {
            let mut in_order = spans.iter().copied();
            let (Some(first), second) = (in_order.next(), in_order.next()) else { continue };
            let how_many = match spans.len() {
                0..=2 => "two".to_string(),
                more => more.to_string(),
            };
            let title = format!("{how_many} actions have the control-plane name `{name}`");
            let mut warning = Diagnostic::warning(codes::CONTROL_NAME, "control-name", title);
            warning = match second {
                Some(second) => warning.at(second, "").at(first, "and this one"),
                None => warning.at(first, "in two instances of its control"),
            };
            self.diags.push(
                warning
                    .note("P4-16 allows one action per control-plane name (§18.3.2); a P4Info has one action for all that have the same parameters")
                    .help("give each of them a `@name` of its own"),
            );
        }
    }
}

/// Finds the tables that are applied.
struct Applied(Vec<bool>);

impl Visitor for Applied {
    fn expr(&mut self, e: &Expr) {
        if let ExprKind::Hit(t) | ExprKind::Miss(t) | ExprKind::ActionRun(t) = e.kind {
            self.0[t.index()] = true;
        }
        walk_expr(self, e);
    }

    fn call(&mut self, call: &Call) {
        if let Callee::TableApply(t) = call.callee {
            self.0[t.index()] = true;
        }
        walk_call(self, call);
    }
}

fn full_name(name: &Name, annotations: &Annotations, prefix: &SmolStr) -> SmolStr {
    let local = annotations.control_name().unwrap_or(&name.text);
    match local.strip_prefix('.') {
        Some(absolute) => absolute.into(),
        None if prefix.is_empty() => local.into(),
        None => format_smolstr!("{prefix}.{local}"),
    }
}
