//! Source to elaborated program.

use base_diag::{Diagnostic, Severity, SourceMap, Style, render};
use ir::Program;
use p4_syntax::{LoadError, Loader, Options};
use std::sync::Arc;

/// The file's name in diagnostics.
pub(crate) const FILE: &str = "program.p4";

/// One text; architecture files are built in.
pub(crate) struct Memory<'t>(pub(crate) &'t str);

impl Loader for Memory<'_> {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        if path == FILE { Ok(self.0.into()) } else { Err(LoadError::NotFound) }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        p4_arch::include(name).map(Arc::from)
    }
}

/// Reason why a program is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// Code and title of the first error.
    pub(crate) title: String,
    /// All errors as a user sees them.
    pub(crate) text: String,
}

/// The elaborated program.
pub(crate) fn compile(source: &str) -> Result<Program, Refusal> {
    let mut map = SourceMap::new();
    let parsed = p4_syntax::parse(FILE, &Memory(source), &Options::default(), &mut map);
    refuse(parsed.diagnostics.into_sorted(&map), &map)?;
    let (typed, found) = p4_check::check(&parsed.program);
    refuse(found, &map)?;
    let (program, found) = ir_elaborate::elaborate(&typed);
    refuse(found, &map)?;
    let none = || Refusal { title: "no program".to_string(), text: "no error and no program".to_string() };
    program.ok_or_else(none)
}

fn refuse(found: Vec<Diagnostic>, map: &SourceMap) -> Result<(), Refusal> {
    let errors: Vec<&Diagnostic> = found.iter().filter(|d| d.severity == Severity::Error).collect();
    let Some(first) = errors.first() else { return Ok(()) };
    let text: String = errors.iter().map(|d| render(d, map, Style::Plain)).collect();
    Err(Refusal { title: format!("{:?} {}", first.code, first.title), text })
}
