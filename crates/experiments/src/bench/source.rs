//! The benchmark programs as the front end's sources.

use bench_load::{HEADERS, Program};
use ir::Program as Ir;
use p4_syntax::{LoadError, Loader, Options};
use std::sync::Arc;

/// A program and the file it includes.
struct Built(&'static Program);

impl Loader for Built {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        if path == self.0.name {
            return Ok(self.0.p4.into());
        }
        if path.ends_with("headers.p4") { Ok(HEADERS.into()) } else { Err(LoadError::NotFound) }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        p4_arch::include(name).map(Arc::from)
    }
}

/// Compiles a program.
pub fn compile(program: &'static Program) -> Result<Arc<Ir>, String> {
    let mut map = base_diag::SourceMap::new();
    let until = compiler::Until::Elaborated;
    let compiled = compiler::compile(program.name, &Built(program), &Options::default(), until, &mut map);
    let rendered = |d| base_diag::render(d, &map, base_diag::Style::Plain);
    compiled.program.ok_or_else(|| compiled.diagnostics.iter().map(rendered).collect())
}

/// The first diagnostic, and how many there are.
pub fn first(found: Vec<base_diag::Diagnostic>) -> String {
    let Some(first) = found.first() else { return String::new() };
    let labels: Vec<&str> = first.labels.iter().map(|l| l.text.as_str()).collect();
    format!("{}: {} (and {} more)", first.title, labels.join("; "), found.len() - 1)
}
