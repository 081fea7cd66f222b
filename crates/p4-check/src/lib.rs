//! Names, types and compile-time values of a P4-16 program.
//!
//! [`check`] reads the syntax tree once, in source order, and gives the [`typed`] tree and the diagnostics. Each rule
//! has its place: `types` (which types there are and how they compare), `expr`, `call`, `stmt`, `table`, `decl`.
//!
//! **Invariant**: nothing here knows an architecture. Of the standard library only what the language itself names is
//! known: `packet_in` and `packet_out`, `error`, `match_kind`, `NoAction`, `verify`, `static_assert`.
//!
//! **Invariant**: errors do not cascade. A wrong expression has [`typed::Type::Error`], which agrees with everything.

mod call;
mod cx;
mod decl;
mod expr;
mod late;
pub mod print;
mod scope;
mod stmt;
mod table;
pub mod typed;
mod types;
mod warn;

use base_diag::codes::check as codes;
use base_diag::{Diagnostic, Severity};
use p4_syntax::ast;

/// Checks a program. If one of the diagnostics is an error, or the program has syntax errors, the tree has holes.
///
/// Diagnostics come in no particular order. The checks of whole bodies run only on programs without errors so far,
/// the warnings of whole bodies only on programs without errors. Of a program with syntax errors only those
/// declarations are judged that have none, and nothing is said about a name that a damaged one may declare.
pub fn check(program: &ast::Program) -> (typed::Program, Vec<Diagnostic>) {
    let mut checker = cx::Checker::new();
    checker.decls(program);
    let sound = program.damage.is_empty();
    let cx::Checker { mut program, mut diags, .. } = checker;
    if !sound {
        let errors = diags.into_vec().into_iter().filter(|d| d.severity == Severity::Error);
        return (program, errors.collect());
    }
    if !diags.has_errors() {
        late::check(&mut program, &mut diags);
    }
    if !diags.has_errors() {
        warn::check(&program, &mut diags);
    }
    (program, diags.into_vec())
}
