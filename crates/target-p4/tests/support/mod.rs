//! Source text to elaborated program, for tests.

use p4_syntax::{LoadError, Loader, Options};
use std::sync::Arc;

struct OneFile<'t>(&'t str);

impl Loader for OneFile<'_> {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        if path == "test.p4" { Ok(self.0.into()) } else { Err(LoadError::NotFound) }
    }

    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        p4_arch::include(name).map(Arc::from)
    }
}

/// The elaborated program, without spans; or what is wrong.
pub fn compile(source: &str) -> Result<ir::Program, String> {
    let mut map = base_diag::SourceMap::new();
    let parsed = p4_syntax::parse("test.p4", &OneFile(source), &Options::default(), &mut map);
    let (typed, found) = p4_check::check(&parsed.program);
    let mut diagnostics = parsed.diagnostics.into_sorted(&map);
    diagnostics.extend(found);
    let mut program = None;
    let errors = |list: &[base_diag::Diagnostic]| {
        let bad = list.iter().filter(|d| d.severity == base_diag::Severity::Error);
        bad.map(|d| base_diag::render(d, &map, base_diag::Style::Plain)).collect::<String>()
    };
    if errors(&diagnostics).is_empty() {
        let (made, found) = ir_elaborate::elaborate(&typed);
        program = made;
        diagnostics.extend(found);
    }
    match (program, errors(&diagnostics)) {
        (Some(mut program), text) if text.is_empty() => {
            ir::text::erase_spans(&mut program);
            Ok(program)
        }
        (_, text) => Err(text),
    }
}
