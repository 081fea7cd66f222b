//! A parser ends: from `start` some path leads to `accept` or `reject` (P4-16 §13.4).

use base_diag::{Diagnostic, Diagnostics};

use crate::codes;
use crate::typed::{KeySet, Parser, Program, Target, Transition};

pub(crate) fn check_endless(program: &Program, diags: &mut Diagnostics) {
    for (_, parser) in program.parsers.iter() {
        if let Some(start) = parser.states.iter().position(|s| s.name.text == "start")
            && !ends(parser, start)
        {
            diags.push(
                Diagnostic::error(codes::BAD_STATE, format!("parser `{}` never ends", parser.name.text))
                    .at(parser.name.span, "no path leads to `accept` or `reject`"),
            );
        }
    }
}

fn ends(parser: &Parser, start: usize) -> bool {
    let mut seen = vec![false; parser.states.len()];
    let mut work = vec![start];
    while let Some(i) = work.pop() {
        let Some(state) = parser.states.get(i) else { continue };
        if std::mem::replace(&mut seen[i], true) {
            continue;
        }
        if may_match_nothing(&state.transition) {
            return true;
        }
        for target in targets(&state.transition) {
            match target {
                Target::Accept | Target::Reject => return true,
                Target::State(next) => work.push(next as usize),
            }
        }
    }
    false
}

/// True for a `select` without a case for everything: it may reject.
fn may_match_nothing(transition: &Transition) -> bool {
    let Transition::Select { cases, .. } = transition else { return false };
    !cases.iter().any(|c| c.sets.iter().all(|s| matches!(s, KeySet::Any(..))))
}

/// The next states of a state, without the `reject` of a `select` without match.
pub(crate) fn targets(transition: &Transition) -> Vec<Target> {
    match transition {
        Transition::To(target, _) => vec![*target],
        Transition::Select { cases, .. } => cases.iter().map(|c| c.target).collect(),
    }
}
