//! Helpers of the tests: sources in memory, trees without spans, carets in fixtures.
#![allow(dead_code)]

use std::sync::Arc;

use base_diag::{Diagnostic, Severity, SourceMap};
use p4_syntax::ast::Program;
use p4_syntax::{LoadError, Loader, Options, Parsed, parse};

/// One file, `main.p4`.
pub struct One<'a>(pub &'a str);

impl Loader for One<'_> {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        if path == "main.p4" { Ok(self.0.into()) } else { Err(LoadError::NotFound) }
    }

    fn builtin(&self, _: &str) -> Option<Arc<str>> {
        None
    }
}

pub fn parse_text(text: &str) -> (Parsed, SourceMap) {
    let mut map = SourceMap::new();
    let parsed = parse("main.p4", &One(text), &Options::default(), &mut map);
    (parsed, map)
}

/// The tree of a program that has no errors.
#[track_caller]
pub fn good(text: &str) -> Program {
    let (parsed, map) = parse_text(text);
    let messages: Vec<String> =
        parsed.diagnostics.iter().map(|d| base_diag::render(d, &map, Default::default())).collect();
    assert!(messages.is_empty(), "{}\n--- in ---\n{text}", messages.join("\n"));
    parsed.program
}

/// The tree as text without its spans, so that trees can be compared.
pub fn shape(program: &Program) -> String {
    let text = format!("{program:?}");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("..") {
        let (before, after) = rest.split_at(at);
        out.push_str(before.trim_end_matches(|c: char| c.is_ascii_digit()));
        rest = after[2..].trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}

/// Compares the diagnostics of a fixture with those it announces: below a line, `// ^^^ title` for each whose
/// primary label has exactly this place (`^` alone for an empty one, at the end of a file too).
#[track_caller]
pub fn check(fixture: &str) {
    let (code, expected) = split(fixture);
    let (parsed, map) = parse_text(&code);
    let mut found: Vec<(u32, u32, u32, String)> =
        parsed.diagnostics.into_sorted(&map).iter().map(|d| place(d, &map)).collect();
    found.sort();
    let mut expected = expected;
    expected.sort();
    assert_eq!(found, expected, "\n--- in ---\n{code}");
}

fn place(diagnostic: &Diagnostic, map: &SourceMap) -> (u32, u32, u32, String) {
    let span = map.call_site(diagnostic.span());
    let from = map.position(span.lo).map_or((0, 0), |p| (p.line, p.column));
    let to = map.position(span.hi.max(span.lo + 1)).map_or(0, |p| p.column);
    let to = if to > from.1 { to } else { from.1 + 1 };
    let warning = if diagnostic.severity == Severity::Warning { "warning: " } else { "" };
    (from.0, from.1, to, format!("{warning}{}", diagnostic.title))
}

/// The code, with the announcements as blank lines, and the announcements.
fn split(fixture: &str) -> (String, Vec<(u32, u32, u32, String)>) {
    let mut code = String::new();
    let mut expected = vec![];
    let mut number = 0;
    for line in fixture.trim_start_matches('\n').lines() {
        match line.trim_start().strip_prefix("//").filter(|rest| rest.trim_start().starts_with('^')) {
            Some(rest) => {
                let text = rest.trim_start_matches([' ', '^']);
                let from = line.find('^').unwrap_or(0) as u32 + 1;
                let to = line.rfind('^').unwrap_or(0) as u32 + 2;
                expected.push((number, from, to, text.to_string()));
            }
            None => {
                number = code.lines().count() as u32 + 1;
                code.push_str(line);
                code.push('\n');
            }
        }
    }
    (code, expected)
}
