//! Cuts near another one, and cuts with many tables.
//!
//! ```text
//! a.apply(); if (c) { t.apply(); u.apply(); } b.apply();
//! ```
//!
//! If `t` alone is no legal cut, `t` with `u`, the whole `if`, or the `if` with `b` may be one: [`around`] gives them
//! with the fewest tables first.

use super::{Border, Cut, bodies, walk};
use crate::arch;
use ir::{Block, Name, Program, StmtKind, SwitchOn, visit};
use ir_state::uses_of_block;
use std::collections::BTreeSet;

/// Numbers of additional statements that a cut may have before or after its own, unless it ends with the block.
const STEPS: [usize; 6] = [0, 1, 2, 3, 5, 8];

/// The control-plane name of the table that the statement after a border applies itself.
pub fn table_at(program: &Program, border: &Border) -> Option<Name> {
    let stage = border.half.duty();
    let control = program.control(arch::control(program, stage)?);
    let stmt = block_at(&control.body, &border.path)?.stmts.get(border.index)?;
    let mut found = match &stmt.kind {
        StmtKind::Apply(id) | StmtKind::Switch(SwitchOn::ActionRun(id), _) => Some(*id),
        _ => None,
    };
    visit::exprs(stmt, &mut |e| {
        visit::subexprs(e, &mut |e| {
            if let ir::ExprKind::ApplyHit(id) | ir::ExprKind::ApplyMiss(id) = &e.kind {
                found = found.or(Some(*id));
            }
        });
    });
    Some(control.tables[found?.index()].control_plane_name.clone())
}

/// Control-plane names of the tables that a cut applies, in inner blocks too.
pub fn tables_of(program: &Program, cut: &Cut) -> BTreeSet<Name> {
    let stage = cut.from.half.duty();
    let Some(id) = arch::control(program, stage) else { return BTreeSet::new() };
    let control = program.control(id);
    let Some(block) = block_at(&control.body, &cut.from.path) else { return BTreeSet::new() };
    let end = cut.len.map_or(block.stmts.len(), |len| (cut.from.index + len).min(block.stmts.len()));
    let stmts = block.stmts.get(cut.from.index..end).unwrap_or_default().to_vec();
    let used = uses_of_block(program, id, &Block { annotations: vec![], stmts });
    used.tables.iter().map(|t| control.tables[t.index()].control_plane_name.clone()).collect()
}

/// Cuts around `cut` with its name, those with the fewest tables first.
pub fn around(program: &Program, cut: &Cut) -> Vec<Cut> {
    let stage = cut.from.half.duty();
    let Some(id) = arch::control(program, stage) else { return vec![] };
    let body = &program.control(id).body;
    let (mut path, mut index, mut len) = (cut.from.path.clone(), cut.from.index, cut.len.unwrap_or(1));
    let mut found = vec![];
    while let Some(block) = block_at(body, &path) {
        let count = block.stmts.len();
        let starts: BTreeSet<usize> = STEPS.iter().map(|s| index.saturating_sub(*s)).chain([0]).collect();
        let ends: BTreeSet<usize> =
            STEPS.iter().map(|s| (index + len + s).min(count)).chain([count]).collect();
        for &start in &starts {
            for &end in &ends {
                let Some(first) = block.stmts.get(start) else { continue };
                let from = Border { path: path.clone(), index: start, span: first.span, ..cut.from.clone() };
                found.push(Cut { from, len: Some(end - start), ..cut.clone() });
            }
        }
        let Some((stmt, _)) = path.pop() else { break };
        (index, len) = (stmt, 1);
    }
    found.retain(|other| {
        (&other.from.path, other.from.index, other.len) != (&cut.from.path, cut.from.index, cut.len)
    });
    found.sort_by_cached_key(|other| (tables_of(program, other).len(), other.len, other.from.path.len()));
    found
}

/// Shortest sequences of statements that apply at least `at_least` tables, one for each first statement; those with the
/// fewest tables first.
pub fn large(program: &Program, at_least: usize, name: &str) -> Vec<Cut> {
    let mut starts = vec![];
    for (half, _, body) in bodies(program) {
        walk(half, body, &mut vec![], false, &mut |border, _| starts.push(border));
    }
    let mut found = vec![];
    for from in starts.into_iter().filter(|from| !from.in_loop) {
        let rest = Cut { name: name.into(), from, len: None };
        if tables_of(program, &rest).len() < at_least {
            continue;
        }
        let cut = |len| Cut { len: Some(len), ..rest.clone() };
        found.extend((1..).map(cut).find(|cut| tables_of(program, cut).len() >= at_least));
    }
    found.sort_by_cached_key(|cut| tables_of(program, cut).len());
    found
}

fn block_at<'b>(block: &'b Block, path: &[(usize, usize)]) -> Option<&'b Block> {
    let Some((&(stmt, nth), rest)) = path.split_first() else { return Some(block) };
    // In the order in which `visit::blocks` gives them.
    let inner = match &block.stmts.get(stmt)?.kind {
        StmtKind::If(_, yes, no) => [yes, no].get(nth).copied(),
        StmtKind::Switch(_, cases) => cases.get(nth).map(|case| &case.body),
        StmtKind::Block(inner) => Some(inner),
        StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } => Some(body),
        _ => None,
    };
    block_at(inner?, rest)
}
