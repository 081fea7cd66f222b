//! Diagnostics as text, by `annotate-snippets`.
//!
//! A label in a macro is shown at the call the user wrote, and where it is spelled in the macro's body.

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use crate::source::{File, SourceMap};
use crate::{Diagnostic, Label, Severity, Span};

/// Longer lines, in bytes, are not shown: no one reads them, and laying them out takes long.
const MAX_LINE: u32 = 5000;

/// Style of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// Text alone.
    #[default]
    Plain,
    /// With the escape codes of ANSI terminals.
    Color,
}

/// The diagnostic as a person reads it, ending in a newline.
pub fn render(diagnostic: &Diagnostic, map: &SourceMap, style: Style) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(&diagnostic.title).id(diagnostic.code.to_string());
    let marks = marks(diagnostic, map);
    let group = Group::with_title(title)
        .elements(snippets(&marks, map))
        .elements(included_from(diagnostic.span(), map).map(|s| Level::NOTE.message(s)))
        .elements(diagnostic.notes.iter().map(|n| Level::NOTE.message(n.as_str())))
        .elements(diagnostic.help.iter().map(|h| Level::HELP.message(h.as_str())));
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Color => Renderer::styled(),
    };
    let mut text = renderer.render(&[group]);
    text.push('\n');
    text
}

/// One underlined place in a file.
struct Mark {
    span: Span,
    primary: bool,
    text: String,
}

/// The labels; labels inside macros are moved to the macro calls.
fn marks(diagnostic: &Diagnostic, map: &SourceMap) -> Vec<Mark> {
    let mut marks: Vec<Mark> = vec![];
    let labels = diagnostic.labels.iter().filter(|l| !l.span.is_none());
    for (i, label) in labels.enumerate() {
        let span = map.call_site(label.span);
        marks.push(Mark { span, primary: i == 0, text: label.text.clone() });
        marks.extend(expansion_marks(label, map));
    }
    let mut seen: Vec<(Span, String)> = vec![];
    marks.retain(|m| {
        let key = (m.span, m.text.clone());
        let new = !seen.contains(&key);
        seen.push(key);
        new
    });
    marks
}

/// Marks for a label in a macro: the place of its text, and the calls in between.
fn expansion_marks(label: &Label, map: &SourceMap) -> Vec<Mark> {
    let mut marks = vec![];
    let mut spelled = label.span;
    for expansion in map.backtrace(label.span) {
        let place = Span { expansion: Default::default(), ..spelled };
        if !expansion.definition.is_none() && !map.file_of(place.lo).is_some_and(File::is_generated) {
            let text = format!("in the expansion of macro `{}`", expansion.name);
            marks.push(Mark { span: place, primary: false, text });
        }
        spelled = expansion.call;
    }
    marks.truncate(4);
    marks
}

/// The marks grouped into snippets: one for each stretch of lines under one name.
fn snippets<'a>(marks: &'a [Mark], map: &'a SourceMap) -> Vec<Element<'a>> {
    let mut groups: Vec<(&File, Vec<&Mark>)> = vec![];
    for mark in marks {
        let Some(file) = map.file_of(mark.span.lo) else { continue };
        let same = |other: &Mark| same_stretch(file, mark.span.lo, other.span.lo);
        match groups.iter_mut().find(|(f, m)| f.base() == file.base() && m.iter().all(|m| same(m))) {
            Some((_, group)) => group.push(mark),
            None => groups.push((file, vec![mark])),
        }
    }
    groups.into_iter().filter_map(|(file, marks)| snippet(file, &marks)).collect()
}

/// True if lines count on from one place to the other without a line marker between.
fn same_stretch(file: &File, a: u32, b: u32) -> bool {
    let real = file.line_of(a) as i64 - file.line_of(b) as i64;
    let presumed = i64::from(file.presumed_line(a)) - i64::from(file.presumed_line(b));
    real == presumed && file.presumed_name(a) == file.presumed_name(b)
}

fn line_length(file: &File, at: u32) -> u32 {
    let (start, end) = file.line_range(file.line_of(at));
    end - start
}

fn snippet<'a>(file: &'a File, marks: &[&'a Mark]) -> Option<Element<'a>> {
    let first = marks.iter().map(|m| m.span.lo).min()?;
    let end = file.base() + file.text().len() as u32;
    let last = marks.iter().map(|m| m.span.hi.min(end)).max()?.max(first);
    let (start, _) = file.line_range(file.line_of(first));
    let (_, stop) = file.line_range(file.line_of(last));
    let source = file.text().get((start - file.base()) as usize..(stop - file.base()) as usize)?;
    if file.is_generated() {
        return Some(Element::Origin(Origin::path(file.name().as_str())));
    }
    if marks.iter().any(|m| line_length(file, m.span.lo) > MAX_LINE) {
        let primary = marks.iter().find(|m| m.primary).or(marks.first())?.span.lo;
        let (line_start, _) = file.line_range(file.line_of(primary));
        let column = (primary - line_start) as usize + 1;
        let origin = Origin::path(file.presumed_name(primary).as_str());
        let line = file.presumed_line(primary) as usize;
        return Some(Element::Origin(origin.line(line).char_column(column)));
    }
    let annotations = marks.iter().map(|m| {
        let kind = if m.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let lo = (m.span.lo - start) as usize;
        let hi = (m.span.hi.min(end).max(m.span.lo) - start) as usize;
        // A place within a character is that of the whole character: the renderer cannot cut one.
        let annotation = kind.span(start_of_character(source, lo)..end_of_character(source, hi));
        if m.text.is_empty() { annotation } else { annotation.label(m.text.as_str()) }
    });
    let snippet = Snippet::source(source)
        .line_start(file.presumed_line(first) as usize)
        .path(file.presumed_name(first).as_str())
        .annotations(annotations.collect::<Vec<_>>());
    Some(Element::Cause(snippet))
}

/// The last place before `at`, or there, where a character starts or the text ends.
fn start_of_character(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first place after `at`, or there, where a character ends.
fn end_of_character(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Place of the `#include` of the primary label's file, if the file was included.
fn included_from(span: Span, map: &SourceMap) -> Option<String> {
    let from = map.file_of(map.call_site(span).lo)?.included_from();
    let place = map.position(map.call_site(from).lo)?;
    Some(format!("included from {}:{}", place.file, place.line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Expansion};
    use expect_test::{Expect, expect};

    /// Renders an error at the `^^^` under a line of the last file.
    fn check(diagnostic: &Diagnostic, map: &SourceMap, expect: Expect) {
        expect.assert_eq(&render(diagnostic, map, Style::Plain));
    }

    fn find(map: &SourceMap, file: u32, text: &str) -> Span {
        let file = map.file(crate::FileId(file)).unwrap();
        let at = file.base() + file.text().find(text).unwrap() as u32;
        Span { lo: at, hi: at + text.len() as u32, ..Span::NONE }
    }

    #[test]
    fn a_place_within_a_character_shows_the_character() {
        let mut map = SourceMap::new();
        map.add_file("a.stf", "aüb\n", Span::NONE).unwrap();
        for (lo, hi) in [(2, 3), (3, 3), (3, 4), (2, 4)] {
            let span = Span { lo, hi, ..Span::NONE };
            let text = render(&Diagnostic::error(Code(1), "odd").at(span, "here"), &map, Style::Plain);
            assert!(text.contains("aüb") && text.contains(" ^"), "{lo}..{hi}: {text}");
        }
    }

    #[test]
    fn labels_notes_and_help() {
        let mut map = SourceMap::new();
        let text = "control c() {\n    table acl {\n        size = 4096;\n    }\n}\n";
        map.add_file("tenant.p4", text, Span::NONE).unwrap();
        let diagnostic = Diagnostic::error(Code(213), "table `acl` fits no device on this path")
            .at(find(&map, 0, "acl"), "needs 4096 ternary entries of 296 bits")
            .at(find(&map, 0, "size = 4096"), "because of this")
            .note("switch-1 has 2048 ternary entries left")
            .help("set `size = 2048`");
        check(
            &diagnostic,
            &map,
            expect![[r#"
            error[P4R0213]: table `acl` fits no device on this path
             --> tenant.p4:2:11
              |
            2 |     table acl {
              |           ^^^ needs 4096 ternary entries of 296 bits
            3 |         size = 4096;
              |         ----------- because of this
              |
              = note: switch-1 has 2048 ternary entries left
              = help: set `size = 2048`
        "#]],
        );
    }

    #[test]
    fn a_label_in_a_macro_shows_the_call_and_the_body() {
        let mut map = SourceMap::new();
        map.add_file("a.p4", "#define SET(x) hdr.x = y;\n\n\n\n\n\nSET(ttl)\n", Span::NONE).unwrap();
        let call = find(&map, 0, "SET(ttl)");
        let definition = find(&map, 0, "SET");
        let expansion = map.add_expansion(Expansion { name: "SET".into(), definition, call });
        let span = Span { expansion, ..find(&map, 0, "y") };
        let diagnostic = Diagnostic::error(Code(201), "unknown name `y`").at(span, "not declared");
        check(
            &diagnostic,
            &map,
            expect![[r#"
            error[P4R0201]: unknown name `y`
             --> a.p4:7:1
              |
            1 | #define SET(x) hdr.x = y;
              |                        - in the expansion of macro `SET`
            ...
            7 | SET(ttl)
              | ^^^^^^^^ not declared
        "#]],
        );
    }

    #[test]
    fn included_files_and_line_markers() {
        let mut map = SourceMap::new();
        map.add_file("a.p4", "\n#include \"b.p4\"\n", Span::NONE).unwrap();
        let from = find(&map, 0, "#include \"b.p4\"");
        let b = map.add_file("b.p4", "x\n# 369 \"sai.p4\"\n  y\n", from).unwrap();
        map.add_line_marker(b, find(&map, 1, "  y").lo, 369, Some("sai.p4".into()));
        let diagnostic = Diagnostic::warning(Code(250), "unused", "`y` is not used")
            .at(find(&map, 1, "y"), "")
            .at(find(&map, 1, "x"), "unlike this");
        check(
            &diagnostic,
            &map,
            expect![[r#"
                warning[P4R0250]: `y` is not used
                   --> sai.p4:369:3
                    |
                369 |   y
                    |   ^
                    |
                   ::: b.p4:1:1
                    |
                  1 | x
                    | - unlike this
                    |
                    = note: included from a.p4:2
            "#]],
        );
    }

    #[test]
    fn endless_lines_are_not_shown() {
        let mut map = SourceMap::new();
        map.add_file("a.p4", format!("{}?", "x".repeat(10_000)), Span::NONE).unwrap();
        let diagnostic = Diagnostic::error(Code(101), "invalid character `?`").at(find(&map, 0, "?"), "here");
        check(
            &diagnostic,
            &map,
            expect![[r#"
                error[P4R0101]: invalid character `?`
                 --> a.p4:1:10001
            "#]],
        );
    }

    #[test]
    fn no_place_and_the_end_of_a_file() {
        let mut map = SourceMap::new();
        map.add_file("a.p4", "abc", Span::NONE).unwrap();
        check(
            &Diagnostic::error(Code(301), "there is no `main`"),
            &map,
            expect![[r#"
                error[P4R0301]: there is no `main`
            "#]],
        );
        let end = Span { lo: 4, hi: 4, ..Span::NONE };
        check(
            &Diagnostic::error(Code(120), "expected `;`").at(end, "here"),
            &map,
            expect![[r#"
                error[P4R0120]: expected `;`
                 --> a.p4:1:4
                  |
                1 | abc
                  |    ^ here
            "#]],
        );
    }
}
