//! A checked program to the elaborated IR: generics, constants and instances resolved.
//!
//! ```text
//! control Acl<H>(inout H hdr)(bit<9> port) { table t { ... } apply { t.apply(); } }
//! control In(...) { Acl<headers>(1) a; Acl<headers>(2) b; apply { a.apply(hdr); b.apply(hdr); } }
//! V1Switch(..., In(), ...) main;
//! ```
//! becomes two controls whose tables are named `In.a.t` and `In.b.t`, and a stage `ingress` that runs `In`.
//!
//! Elaboration begins at `main` and makes the objects of its constructor calls (P4-16 §18.1, §18.2): the result
//! contains only code that can run. Structure, names, annotations and places of the source stay. Constructs that the IR
//! cannot express are refused with a diagnostic, never left out.
//!
//! Modules: [`package`] finds the stages, [`instance`] makes objects, [`control`], [`parser`], [`table`] and
//! [`function`] fill them, [`stmt`], [`expr`] and [`call`] translate the code, [`eval`] evaluates at compile time.

mod annotation;
mod arguments;
mod arith;
mod call;
mod capture;
mod consts;
mod control;
mod elaborator;
mod env;
mod eval;
mod expr;
mod externs;
mod function;
mod instance;
mod key_name;
mod keyset;
mod names;
mod own_registers;
mod package;
mod packet;
mod parser;
mod priorities;
mod properties;
mod refuse;
mod sizes;
mod stmt;
mod table;
mod types;
mod value;

use base_diag::{Diagnostic, SourceMap};
use p4_syntax::{Loader, Options};

/// The elaborated form of `program`, or `None` where the diagnostics say why there is none.
///
/// `program` has been checked without errors. The diagnostics are in the order in which elaboration meets them.
pub fn elaborate(program: &p4_check::typed::Program) -> (Option<ir::Program>, Vec<Diagnostic>) {
    elaborator::Elaborator::new(program).run()
}

/// The program of `main_file`: parsed, checked and elaborated.
///
/// # Errors
///
/// All diagnostics, in reading order, if one of them is an error; none of them if the text has no `main`. Each step is done only
/// if those before it have found no error.
pub fn program(
    main_file: &str,
    loader: &dyn Loader,
    options: &Options,
    map: &mut SourceMap,
) -> Result<ir::Program, Vec<Diagnostic>> {
    let parsed = p4_syntax::parse(main_file, loader, options, map);
    let mut found = parsed.diagnostics;
    let mut program = None;
    if !found.has_errors() {
        let (typed, more) = p4_check::check(&parsed.program);
        more.into_iter().for_each(|diagnostic| found.push(diagnostic));
        if !found.has_errors() {
            let (made, more) = elaborate(&typed);
            more.into_iter().for_each(|diagnostic| found.push(diagnostic));
            program = made;
        }
    }
    let has_errors = found.has_errors();
    program.filter(|_| !has_errors).ok_or_else(|| found.into_sorted(map))
}
