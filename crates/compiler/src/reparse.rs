//! Source text that p4rack wrote itself, through the whole front end again.

use crate::compile::{Until, compile};
use base_diag::{Diagnostic, SourceMap};
use ir::Program;
use p4_syntax::{LoadError, Loader, Options};
use std::sync::Arc;

/// One text; architecture files are built in.
struct Memory<'a> {
    name: &'a str,
    text: &'a str,
}

impl Loader for Memory<'_> {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        if path == self.name { Ok(self.text.into()) } else { Err(LoadError::NotFound) }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        p4_arch::include(name).map(Arc::from)
    }
}

/// Compiles a printed program. Diagnostics here mean that printing or splitting has a fault.
pub fn reparse(name: &str, text: &str, map: &mut SourceMap) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let compiled = compile(name, &Memory { name, text }, &Options::default(), Until::Elaborated, map);
    compiled.program.ok_or(compiled.diagnostics)
}
