//! Whether the results of an applied parser reach its caller when it rejects.
//!
//! An error ends every parser at once, and nothing runs after it that could copy results back. So the parameters that a
//! sub-parser writes have to stand for their arguments themselves (see `bind`). Calls where they cannot are refused.

use crate::bind::in_header;
use crate::places::{Place, Signatures};
use crate::walk;
use base_diag::Diagnostic;
use base_diag::codes::elaborate as codes;
use ir::{Call, Callee, Direction, Expr, ExprKind, Parser, Program, StmtKind, VarId, visit};
use std::collections::BTreeSet;

/// One diagnostic for each call that is refused.
pub(crate) fn check_parser_results(program: &Program) -> Vec<Diagnostic> {
    let mut problems = vec![];
    let signatures = Signatures::new(program);
    for state in program.parsers.iter().flat_map(|parser| &parser.states) {
        walk::all_stmts(&state.stmts, &mut |stmt| {
            if let StmtKind::Call(call) = &stmt.kind
                && let Callee::Parser(id) = call.callee
                && let Some(inner) = program.parsers.get(id.index())
            {
                problems.extend(check_call(program, inner, call, &signatures.directions(call)));
            }
        });
    }
    problems
}

fn check_call(
    program: &Program,
    inner: &Parser,
    call: &Call,
    directions: &[Direction],
) -> Option<Diagnostic> {
    let passed = passed_on(inner);
    let mut written: Vec<Place> = vec![];
    for ((param, arg), direction) in inner.params.iter().zip(&call.args).zip(directions) {
        let (Some(arg), Direction::Out | Direction::InOut) = (arg, direction) else { continue };
        let Some(place) = Place::of(arg) else { continue };
        if written.iter().any(|other| other.overlaps(&place)) {
            return Some(refusal(arg, "may be the same as another argument that the parser writes"));
        }
        if is_computed(arg) {
            return Some(refusal(arg, "the selected bits are known only at run time"));
        }
        if passed.contains(param) && in_header(program, arg) {
            return Some(refusal(arg, "the parser passes on this field of a header to a call"));
        }
        written.push(place);
    }
    None
}

/// True for bits at a position that is computed.
fn is_computed(arg: &Expr) -> bool {
    let mut found = false;
    visit::subexprs(arg, &mut |e| found |= matches!(e.kind, ExprKind::SlicePlus { .. }));
    found
}

/// The variables in arguments of calls.
fn passed_on(parser: &Parser) -> BTreeSet<VarId> {
    let mut found = BTreeSet::new();
    let mut add = |call: &Call| {
        visit::call_exprs(call, &mut |arg| {
            visit::subexprs(arg, &mut |e| {
                if let ExprKind::Var(var) = e.kind {
                    found.insert(var);
                }
            });
        });
    };
    for state in &parser.states {
        walk::all_stmts(&state.stmts, &mut |stmt| {
            if let StmtKind::Call(call) = &stmt.kind {
                add(call);
            }
        });
        walk::all_exprs(&state.stmts, &mut |e| {
            if let ExprKind::Call(call) = &e.kind {
                add(call);
            }
        });
    }
    found
}

fn refusal(arg: &Expr, why: &str) -> Diagnostic {
    Diagnostic::error(codes::NOT_SUPPORTED, "results of this parser cannot be passed on yet")
        .at(arg.span, why)
        .note("the values written so far are results even if the parser rejects the packet (P4-16 §6.8)")
        .help("pass a separate variable and assign it after the call")
}

#[cfg(test)]
mod tests {
    use crate::testing::refusals;
    use expect_test::expect;

    const INNER: &str =
        "parser I(p, a, b) \"P.i\" { vars { param extern packet_in p; inout bit<8> a; out bit<8> b; }
        state start { extern log<bit<8>>(a); b = a; goto reject; } } ";

    fn check(args: &str, expected: expect_test::Expect) {
        let outer = format!(
            "parser P(p, hdr) \"P\" {{ vars {{ param extern packet_in p; inout headers_t hdr; local bit<8> n; local pair_t o; }}
            state start {{ var n; var o; parser I(p, {args}); goto accept; }} }}"
        );
        expected.assert_eq(&refusals(&(INNER.to_string() + &outer)));
    }

    #[test]
    fn results_apart() {
        check("n, hdr.h.a", expect![""]);
        check("o.first, o.second", expect![""]);
        check("n, hdr.s[0].a", expect![""]);
    }

    #[test]
    fn results_in_one_place() {
        check(
            "n, n",
            expect![
                "P4R0301 results of this parser cannot be passed on yet | may be the same as another argument that the parser writes"
            ],
        );
    }

    #[test]
    fn shown_fields_of_headers() {
        check(
            "hdr.h.a, n",
            expect![
                "P4R0301 results of this parser cannot be passed on yet | the parser passes on this field of a header to a call"
            ],
        );
    }

    #[test]
    fn bits_at_a_position() {
        check(
            "n, hdr.h.a[n +: 8]",
            expect![
                "P4R0301 results of this parser cannot be passed on yet | the selected bits are known only at run time"
            ],
        );
    }
}
