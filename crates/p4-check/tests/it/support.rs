//! `check(expect![[...]])`: a program with its diagnostics drawn under its lines.
//!
//! A line of carets shows the primary place of the diagnostic on the line above it, then `error` or the name of the
//! warning, the title, and after `--` the label. `UPDATE_EXPECT=1 cargo test -p p4-check` draws them anew.

use base_diag::{Diagnostic, Severity, SourceMap};
use expect_test::Expect;
use p4_arch::Texts;
use p4_check::typed::Program;
use p4_syntax::{Options, parse};

/// Parses and checks a program. Mistakes of the syntax are mistakes of the test.
pub fn run(source: &str) -> (Program, Vec<Diagnostic>, SourceMap) {
    let mut map = SourceMap::new();
    let parsed = parse("t.p4", &Texts(&[("t.p4", source)]), &Options::default(), &mut map);
    let syntax: Vec<&Diagnostic> = parsed.diagnostics.iter().collect();
    assert!(syntax.is_empty(), "the test does not parse: {syntax:#?}\n{source}");
    let (program, diagnostics) = p4_check::check(&parsed.program);
    (program, diagnostics, map)
}

/// As [`run`]; `None` if the program does not parse.
pub fn try_run(source: &str) -> Option<(Program, Vec<Diagnostic>)> {
    let mut map = SourceMap::new();
    let parsed = parse("t.p4", &Texts(&[("t.p4", source)]), &Options::default(), &mut map);
    parsed.diagnostics.is_empty().then(|| p4_check::check(&parsed.program))
}

/// Titles of what is wrong with the syntax of a program.
pub fn syntax_errors(source: &str) -> Vec<String> {
    let mut map = SourceMap::new();
    let parsed = parse("t.p4", &Texts(&[("t.p4", source)]), &Options::default(), &mut map);
    parsed.diagnostics.iter().map(|d| d.title.clone()).collect()
}

/// Draws the diagnostics of a program into it and compares.
pub fn check(expect: Expect) {
    let source = plain(expect.data());
    let (_, diagnostics, map) = run(&source);
    draw(expect, &source, &diagnostics, &map);
}

/// As [`check`], with the errors of the syntax.
pub fn check_damaged(expect: Expect) {
    let source = plain(expect.data());
    let mut map = SourceMap::new();
    let found = run_damaged(&source, &mut map);
    assert!(found.iter().any(|d| d.code.0 < 200), "the test has no syntax error: {source}");
    draw(expect, &source, &found, &map);
}

/// As [`run`], of a program that may have syntax errors: these first.
pub fn run_damaged(source: &str, map: &mut SourceMap) -> Vec<Diagnostic> {
    let parsed = parse("t.p4", &Texts(&[("t.p4", source)]), &Options::default(), map);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(p4_check::check(&parsed.program).1);
    diagnostics.into_vec()
}

fn draw(expect: Expect, source: &str, diagnostics: &[Diagnostic], map: &SourceMap) {
    let mut marks: Vec<(u32, u32, u32, String)> = vec![];
    let mut elsewhere = vec![];
    for d in diagnostics {
        let kind = match d.severity {
            Severity::Error => "error",
            Severity::Warning => d.warning.unwrap_or("warning"),
        };
        let label = d.labels.first().map(|l| l.text.as_str()).filter(|l| !l.is_empty());
        let text = match label {
            Some(label) => format!("{kind}: {} -- {label}", d.title),
            None => format!("{kind}: {}", d.title),
        };
        let span = d.span();
        match map.position(span.lo) {
            Some(at) if at.file == "t.p4" => marks.push((at.line, at.column, span.hi - span.lo, text)),
            _ => elsewhere.push(text),
        }
    }
    marks.sort();
    let mut out = String::new();
    for (i, line) in source.lines().enumerate() {
        out.push_str(line);
        out.push('\n');
        for (_, column, width, text) in marks.iter().filter(|m| m.0 as usize == i + 1) {
            let rest = (line.chars().count() as u32 + 1).saturating_sub(*column).max(1);
            let carets = "^".repeat((*width).clamp(1, rest) as usize);
            out.push_str(&format!("{}{carets} {text}\n", " ".repeat(*column as usize - 1)));
        }
    }
    for text in elsewhere {
        out.push_str(&format!("^ elsewhere: {text}\n"));
    }
    expect.assert_eq(&out);
}

/// A program without mistakes: it and the declarations of these names as the typed tree has them.
pub fn tree(source: &str, names: &[&str], expect: Expect) {
    let (program, diagnostics, _) = run(source);
    let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "the test has mistakes: {errors:#?}");
    expect.assert_eq(&p4_check::print::print_named(&program, names));
}

/// A program without mistakes and warnings.
pub fn ok(source: &str) {
    let (_, diagnostics, _) = run(source);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
}

/// The text without indentation and carets.
fn plain(data: &str) -> String {
    let data = data.strip_prefix('\n').unwrap_or(data);
    let indent = data
        .lines()
        .filter(|l| !l.trim().is_empty())
        .map(|l| l.len() - l.trim_start().len())
        .min()
        .unwrap_or(0);
    data.lines()
        .filter(|l| !l.trim_start().starts_with('^'))
        .map(|l| l.get(indent..).unwrap_or("").to_string() + "\n")
        .collect::<String>()
        .trim_end()
        .to_string()
}
