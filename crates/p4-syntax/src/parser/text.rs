//! The text of a token, for the parser.

use std::cell::Cell;

use base_diag::SourceMap;
use smol_str::SmolStr;

use crate::ast::AnnotationToken;
use crate::token::Token;

/// The texts of tokens.
pub(super) enum Texts<'a> {
    /// In the sources; the file looked at last is kept: its first byte's number and its text.
    Sources { map: &'a SourceMap, last: Cell<(u32, &'a str)> },
    /// In the tokens of an annotation, which have the same indices.
    Words(&'a [AnnotationToken]),
}

impl<'a> Texts<'a> {
    pub fn of_sources(map: &'a SourceMap) -> Texts<'a> {
        Texts::Sources { map, last: Cell::new((0, "")) }
    }

    /// The text of a token as spelled; empty beyond the end.
    pub fn text(&self, tokens: &[Token], index: usize) -> &'a str {
        match self {
            Texts::Words(words) => words.get(index).map_or("", |w| w.text.as_str()),
            Texts::Sources { map, last } => {
                let Some(span) = tokens.get(index).map(|t| t.span) else { return "" };
                let (base, text) = last.get();
                let lo = span.lo.wrapping_sub(base) as usize;
                if let Some(found) = text.get(lo..lo + (span.hi - span.lo) as usize) {
                    return found;
                }
                let Some(file) = map.file_of(span.lo) else { return "" };
                last.set((file.base(), file.text()));
                map.text(span)
            }
        }
    }

    /// The contents of a string literal, escapes resolved.
    pub fn string(&self, tokens: &[Token], index: usize) -> SmolStr {
        let text = self.text(tokens, index);
        match self {
            Texts::Words(_) => text.into(),
            Texts::Sources { .. } => unescape(text),
        }
    }
}

/// `\"` and `\\` stand for the second character, a backslash before a line end for nothing; every other
/// backslash is one (P4-16 §6.4.3.3).
fn unescape(literal: &str) -> SmolStr {
    let inner = literal.strip_prefix('"').unwrap_or(literal);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if !inner.contains('\\') {
        return inner.into();
    }
    let mut out = String::new();
    let mut rest = inner.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\\', Some('"' | '\\')) => out.extend(rest.next()),
            ('\\', Some('\n')) => drop(rest.next()),
            _ => out.push(c),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn only_quotes_and_backslashes_are_escaped() {
        assert_eq!(unescape(r#""a\"b\\c\n""#), r#"a"b\c\n"#);
        assert_eq!(unescape("\"a\\\nb\nc\""), "ab\nc");
    }
}
