//! Programs for the tests: those of the reference interpreter, with changes.

use base_diag::{Diagnostic, SourceMap, Style, render};
use compiler::{Until, compile};
use p4_arch::Texts;
use std::sync::Arc;

/// A program of the reference interpreter's packet tests.
pub fn text(name: &str) -> String {
    let path = format!("{}/../ir-interp/testdata/{name}.p4", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The elaborated program of a text that may include the common blocks.
pub fn program(text: &str) -> (Arc<ir::Program>, SourceMap) {
    let common = self::text("tna_common");
    let paths = self::text("tna_paths");
    let texts = [("main.p4", text), ("tna_common.p4", common.as_str()), ("tna_paths.p4", paths.as_str())];
    let mut map = SourceMap::new();
    let compiled =
        compile("main.p4", &Texts(&texts), &p4_syntax::Options::default(), Until::Elaborated, &mut map);
    match compiled.program {
        Some(program) => (program, map),
        None => panic!("{}", rendered(&compiled.diagnostics, &map)),
    }
}

/// Diagnostics as text.
pub fn rendered(found: &[Diagnostic], map: &SourceMap) -> String {
    found.iter().map(|one| render(one, map, Style::Plain)).collect()
}

/// `text` with every replacement, each of which has to have a place.
pub fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}
