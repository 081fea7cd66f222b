//! The benchmark programs as the front end's sources.

use bench_load::{HEADERS, Program};
use ir::Program as Ir;
use p4_arch::Texts;
use p4_syntax::Options;
use std::sync::Arc;

/// Compiles a program.
pub fn compile(program: &'static Program) -> Result<Arc<Ir>, String> {
    let mut map = base_diag::SourceMap::new();
    let until = compiler::Until::Elaborated;
    let texts = [(program.name, program.p4), ("headers.p4", HEADERS)];
    let compiled = compiler::compile(program.name, &Texts(&texts), &Options::default(), until, &mut map);
    let rendered = |d| base_diag::render(d, &map, base_diag::Style::Plain);
    compiled.program.ok_or_else(|| compiled.diagnostics.iter().map(rendered).collect())
}

/// The first diagnostic, and how many there are.
pub fn first(found: Vec<base_diag::Diagnostic>) -> String {
    let Some(first) = found.first() else { return String::new() };
    let labels: Vec<&str> = first.labels.iter().map(|l| l.text.as_str()).collect();
    format!("{}: {} (and {} more)", first.title, labels.join("; "), found.len() - 1)
}
