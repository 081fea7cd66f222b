//! Maximum number of bytes that the parser extracts.

use crate::arch;
use crate::expressions::constant;
use crate::parser_places::{parser_of, successors};
use ir::{Block, Callee, ExprKind, Parser, Program, Stmt, StmtKind, Type, visit};

/// The most bytes of a frame that end up in headers; `None` if there is no bound, or if frames come from elsewhere too.
pub fn parsed_bytes(program: &Program) -> Option<u64> {
    if arch::first_frame_extern(program).is_some() {
        return None;
    }
    let (parser, _) = parser_of(program)?;
    let mut taken = vec![];
    for state in &parser.states {
        taken.push(state.stmts.iter().try_fold(0u64, |sum, stmt| Some(sum + stmt_bits(program, stmt)?))?);
    }
    let bits = longest_path(parser, &taken).or_else(|| each_once(program, parser, &taken))?;
    Some(bits.div_ceil(8))
}

fn stmt_bits(program: &Program, stmt: &Stmt) -> Option<u64> {
    let mut bits = Some(0u64);
    let block = Block { annotations: vec![], stmts: vec![stmt.clone()] };
    visit::stmts(&block, &mut |stmt| {
        let here = match &stmt.kind {
            StmtKind::Extract { header, .. } => program.bits(&header.ty),
            StmtKind::Advance(_, amount) => constant(amount).map(u64::from),
            StmtKind::Call(call) if matches!(call.callee, Callee::Parser(_)) => None,
            StmtKind::For { .. } | StmtKind::ForIn { .. } => None,
            _ => Some(0),
        };
        bits = bits.zip(here).map(|(a, b)| a.saturating_add(b));
    });
    bits
}

/// Length of the longest path; `None` if there are cycles.
fn longest_path(parser: &Parser, taken: &[u64]) -> Option<u64> {
    if (0..parser.states.len()).any(|index| reaches(parser, index, index)) {
        return None;
    }
    let mut longest: Vec<u64> = taken.to_vec();
    // Without cycles nothing changes any more after as many rounds as there are states.
    loop {
        let mut changed = false;
        for (index, state) in parser.states.iter().enumerate().rev() {
            let best = successors(&state.transition).into_iter().map(|n| longest[n]).max().unwrap_or(0);
            let through = taken[index].saturating_add(best);
            changed |= through != longest[index];
            longest[index] = through;
        }
        if !changed {
            return longest.first().copied();
        }
    }
}

/// Whether the parser may come from one state to another.
pub fn reaches(parser: &Parser, from: usize, to: usize) -> bool {
    let mut seen = vec![false; parser.states.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for next in successors(&parser.states[at].transition) {
            if next == to {
                return true;
            }
            if !std::mem::replace(&mut seen[next], true) {
                open.push(next);
            }
        }
    }
    false
}

/// With cycles: each stack once, if the states on cycles take nothing but elements of stacks.
fn each_once(program: &Program, parser: &Parser, taken: &[u64]) -> Option<u64> {
    let mut stacks: Vec<(&ir::Expr, u64)> = vec![];
    let mut sum = 0u64;
    for (index, state) in parser.states.iter().enumerate() {
        // A state outside of cycles is passed once at most.
        if !reaches(parser, index, index) {
            sum = sum.saturating_add(taken[index]);
            continue;
        }
        for stmt in &state.stmts {
            match &stmt.kind {
                StmtKind::Extract { header, .. } => {
                    let ExprKind::Next(stack) = &header.kind else { return None };
                    let Type::Stack(elem, size) = &stack.ty else { return None };
                    if !stacks.iter().any(|(known, _)| known.kind == stack.kind) {
                        let bits = program.bits(elem)?.saturating_mul(u64::from(*size));
                        stacks.push((stack.as_ref(), bits));
                    }
                }
                _ if stmt_bits(program, stmt)? > 0 => return None,
                _ => {}
            }
        }
    }
    Some(stacks.iter().fold(sum, |sum, (_, bits)| sum.saturating_add(*bits)))
}
