//! Source text that p4rack wrote itself, through the whole front end again.

use crate::compile::{Until, compile};
use base_diag::{Diagnostic, SourceMap};
use ir::Program;
use p4_arch::Texts;
use p4_syntax::Options;
use std::sync::Arc;

/// Compiles a printed program. Diagnostics here mean that printing or splitting has a fault.
pub fn reparse(name: &str, text: &str, map: &mut SourceMap) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let compiled = compile(name, &Texts(&[(name, text)]), &Options::default(), Until::Elaborated, map);
    compiled.program.ok_or(compiled.diagnostics)
}
