//! Constructs that P4 source cannot express.

use crate::calls::{note_calls, note_exprs};
use base_bits::Bits;
use base_diag::codes::elaborate::NOT_PRINTABLE;
use base_diag::{Diagnostic, Span};
use ir::{Arch, Callee, Const, Expr, ExprKind, Program, StageKind, Type, visit};
use std::collections::BTreeMap;

/// The reasons why the source that [`print`](crate::print) makes of `program` does not mean the same; none if it
/// does.
pub fn check(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    architecture(program, &mut found);
    shared_blocks(program, &mut found);
    constant_indices(program, &mut found);
    found
}

/// Indices that a pass has made constant must be in range: at run time other rules hold.
fn constant_indices(program: &Program, found: &mut Vec<Diagnostic>) {
    let mut look = |e: &Expr| match &e.kind {
        ExprKind::SlicePlus { base, start, width } => {
            let fits =
                |n: u64| n.saturating_add(u64::from(*width)) <= program.bits(&base.ty).unwrap_or(u64::MAX);
            if constant(start).is_some_and(|n| !fits(n)) {
                found.push(refused("a slice lies outside of its value", e.span, "bits from a constant on"));
            }
        }
        ExprKind::Index(stack, index) => {
            let Type::Stack(_, size) = stack.ty else { return };
            if constant(index).is_some_and(|n| n >= u64::from(size)) {
                found.push(refused("an index lies outside of its stack", e.span, "a constant index"));
            }
        }
        _ => {}
    };
    for control in &program.controls {
        let keys = control.tables.iter().flat_map(|t| &t.keys);
        keys.for_each(|key| visit::subexprs(&key.expr, &mut look));
        let runs = control.tables.iter().flat_map(|t| &t.actions);
        runs.flat_map(|run| &run.args).for_each(|arg| visit::subexprs(arg, &mut look));
        let blocks = std::iter::once(&control.body).chain(control.actions.iter().map(|a| &a.body));
        blocks.for_each(|block| note_exprs(&block.stmts, &mut look));
    }
}

/// The value of a constant that the checker works out, as far as it fits 64 bits.
fn constant(e: &Expr) -> Option<u64> {
    known(e)?.to_u64()
}

fn known(e: &Expr) -> Option<Bits> {
    match &e.kind {
        ExprKind::Const(Const::Bits(bits)) => Some(bits.clone()),
        ExprKind::Cast(inner) => match e.ty {
            Type::Bit(width) => Some(known(inner)?.resize(width)),
            _ => None,
        },
        ExprKind::Slice { base, hi, lo } => Some(known(base)?.slice(*hi, *lo)),
        _ => None,
    }
}

/// v1model's switch takes all of its blocks.
fn architecture(program: &Program, found: &mut Vec<Diagnostic>) {
    if !matches!(program.arch, Arch::V1Model(_)) {
        return;
    }
    for facts in p4_arch::v1model::ARCHITECTURE.stages {
        let fits = program.stage(facts.name).is_some_and(|stage| {
            matches!(
                (facts.kind, stage.kind),
                (p4_arch::StageKind::Parse, StageKind::Parse(_))
                    | (p4_arch::StageKind::Control, StageKind::Control(_))
                    | (p4_arch::StageKind::Deparse, StageKind::Deparse(_))
                    | (p4_arch::StageKind::TrafficManager, StageKind::TrafficManager)
            )
        });
        if !fits {
            let label = format!("stage `{}` is missing, or of another kind", facts.name);
            found.push(refused("not all stages of v1model are there", Span::NONE, &label));
        }
    }
}

/// An instance of a block stands in the block that applies it: two cannot share one.
fn shared_blocks(program: &Program, found: &mut Vec<Diagnostic>) {
    let mut controls: BTreeMap<usize, usize> = BTreeMap::new();
    let mut parsers: BTreeMap<usize, usize> = BTreeMap::new();
    for (caller, control) in program.controls.iter().enumerate() {
        note_calls(&control.body.stmts, &mut |callee| {
            if let Callee::Control(id) = callee
                && *controls.entry(id.index()).or_insert(caller) != caller
            {
                found.push(shared(&control.name, control.span));
            }
        });
    }
    for (caller, parser) in program.parsers.iter().enumerate() {
        for state in &parser.states {
            note_calls(&state.stmts, &mut |callee| {
                if let Callee::Parser(id) = callee
                    && *parsers.entry(id.index()).or_insert(caller) != caller
                {
                    found.push(shared(&parser.name, parser.span));
                }
            });
        }
    }
}

fn shared(name: &str, span: Span) -> Diagnostic {
    refused("two blocks share an instance of a third", span, &format!("`{name}` applies it too"))
}

fn refused(title: &str, span: Span, label: &str) -> Diagnostic {
    Diagnostic::error(NOT_PRINTABLE, title).at(span, label)
}
