//! Source to elaborated program.

use base_diag::{Diagnostic, Severity, SourceMap, Style, render};
use ir::Program;
use p4_arch::Texts;
use p4_syntax::Options;

/// The file's name in diagnostics.
pub(crate) const FILE: &str = "program.p4";

/// Why a program is refused.
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
    ir_elaborate::program(FILE, &Texts(&[(FILE, source)]), &Options::default(), &mut map)
        .map_err(|found| refusal(&found, &map))
}

fn refusal(found: &[Diagnostic], map: &SourceMap) -> Refusal {
    let errors: Vec<&Diagnostic> = found.iter().filter(|d| d.severity == Severity::Error).collect();
    let Some(first) = errors.first() else {
        return Refusal { title: "no program".to_string(), text: "no error and no program".to_string() };
    };
    let text = errors.iter().map(|d| render(d, map, Style::Plain)).collect();
    Refusal { title: format!("{:?} {}", first.code, first.title), text }
}
