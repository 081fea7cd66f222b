//! `missing-case`: a `switch` or `select` on an enum or `bool` that has neither `default` nor a case for every value.

use base_diag::{Diagnostic, Diagnostics, Span};
use smol_str::SmolStr;

use crate::codes;
use crate::late::all_bodies;
use crate::typed::walk::{Visitor, walk_stmt};
use crate::typed::{Expr, ExprKind, KeySet, Program, Stmt, StmtKind, SwitchLabel, Transition, Type};

pub(crate) fn warn_missing_case(program: &Program, diags: &mut Diagnostics) {
    for state in program.parsers.iter().flat_map(|(_, p)| &p.states) {
        let Transition::Select { keys, cases, .. } = &state.transition else { continue };
        let [key] = &keys[..] else { continue };
        let sets: Vec<&KeySet> = cases.iter().flat_map(|c| &c.sets).collect();
        let values: Option<Vec<&Expr>> = sets
            .iter()
            .map(|s| match s {
                KeySet::Value(e) => Some(e),
                _ => None,
            })
            .collect();
        if let Some(values) = values {
            report(program, diags, "select", &key.ty, &values, key.span);
        }
    }
    all_bodies(program, &mut Switches { program, diags });
}

struct Switches<'a> {
    program: &'a Program,
    diags: &'a mut Diagnostics,
}

impl Visitor for Switches<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        if let StmtKind::Switch(switch) = &stmt.kind {
            let labels = switch.cases.iter().flat_map(|c| &c.labels);
            let values: Option<Vec<&Expr>> = labels
                .map(|l| match l {
                    SwitchLabel::Value(e) => Some(e),
                    _ => None,
                })
                .collect();
            if let Some(values) = values {
                report(self.program, self.diags, "switch", &switch.subject.ty, &values, switch.subject.span);
            }
        }
        walk_stmt(self, stmt);
    }
}

fn report(p: &Program, diags: &mut Diagnostics, what: &str, ty: &Type, values: &[&Expr], span: Span) {
    let missing: Vec<SmolStr> = match ty {
        Type::Enum(id) => {
            let has = |i: usize| {
                values
                    .iter()
                    .any(|v| matches!(v.kind, ExprKind::EnumMember(e, m) if e == *id && m as usize == i))
            };
            let members = p.enums[*id].members.iter().enumerate();
            members.filter(|(i, _)| !has(*i)).map(|(_, m)| m.name.text.clone()).collect()
        }
        Type::Bool => {
            let has = |b: bool| values.iter().any(|v| matches!(v.kind, ExprKind::Bool(x) if x == b));
            [true, false].into_iter().filter(|b| !has(*b)).map(|b| smol_str::format_smolstr!("{b}")).collect()
        }
        _ => return,
    };
    if !missing.is_empty() {
        diags.push(
            Diagnostic::warning(
                codes::MISSING_CASE,
                "missing-case",
                format!("`{what}` has no case for some values"),
            )
            .at(span, format!("no case for {}", missing.join(", ")))
            .help("add them, or `default`"),
        );
    }
}
