//! `parser-transition`: a state without `transition` rejects the packet; a case after one that matches everything
//! never matches.

use base_diag::{Diagnostic, Diagnostics};

use super::silenced;
use crate::codes;
use crate::typed::{KeySet, Program, Transition};

pub(crate) fn warn_transition(program: &Program, diags: &mut Diagnostics) {
    for state in program.parsers.iter().flat_map(|(_, p)| &p.states) {
        if silenced(&state.annotations, "parser-transition") {
            continue;
        }
        match &state.transition {
            Transition::To(_, span) if *span == state.span => {
                let title = format!("state `{}` has no `transition`", state.name.text);
                diags.push(
                    Diagnostic::warning(codes::MISSING_TRANSITION, "parser-transition", title)
                        .at(state.name.span, "it rejects the packet")
                        .help("write `transition reject;` if this is intended"),
                );
            }
            Transition::Select { cases, .. } => {
                let all =
                    |sets: &[KeySet]| !sets.is_empty() && sets.iter().all(|s| matches!(s, KeySet::Any(..)));
                let Some(last) = cases.iter().position(|c| all(&c.sets)) else { continue };
                if let Some(dead) = cases.get(last + 1) {
                    let title = "this case is never reached";
                    diags.push(
                        Diagnostic::warning(codes::MISSING_TRANSITION, "parser-transition", title)
                            .at(dead.span, "")
                            .at(cases[last].span, "this one matches everything"),
                    );
                }
            }
            Transition::To(..) => {}
        }
    }
}
