//! Collects diagnostics: reports many, repeats none.

use std::collections::HashSet; // tidy: looked up, never walked

use crate::{Code, Diagnostic, Severity, SourceMap, Span};

/// Diagnostics that are kept; more are only counted, so broken input does not fill the memory.
const MAX_KEPT: usize = 2000;

/// The diagnostics of one run.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    seen: HashSet<(Code, Span, String)>, // tidy: looked up, never walked
    errors: usize,
}

impl Diagnostics {
    /// None yet.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds one, unless the same was said of the same place.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let key = (diagnostic.code, diagnostic.span(), diagnostic.title.clone());
        if self.list.len() < MAX_KEPT && !self.seen.insert(key) {
            return;
        }
        self.errors += usize::from(diagnostic.severity == Severity::Error);
        if self.list.len() < MAX_KEPT {
            self.list.push(diagnostic);
        }
    }

    /// True if anything was refused.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Number of errors.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// True if nothing was said.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// In the order they were pushed.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// In the order they were pushed.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.list
    }

    /// In the order of their places as a reader meets them.
    pub fn into_sorted(mut self, map: &SourceMap) -> Vec<Diagnostic> {
        self.list.sort_by_cached_key(|d| map.reading_order(d.span()));
        self.list
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, iter: I) {
        iter.into_iter().for_each(|d| self.push(d));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_dropped_and_the_rest_is_sorted() {
        let mut map = SourceMap::new();
        map.add_file("a.p4", "abc", Span::NONE).unwrap();
        let at = |lo| Span { lo, hi: lo + 1, ..Span::NONE };
        let mut sink = Diagnostics::new();
        sink.push(Diagnostic::error(Code(1), "late").at(at(3), ""));
        sink.push(Diagnostic::error(Code(1), "early").at(at(1), ""));
        sink.push(Diagnostic::error(Code(1), "late").at(at(3), "again"));
        sink.push(Diagnostic::warning(Code(2), "unused", "late").at(at(3), ""));
        assert_eq!(sink.error_count(), 2);
        let titles: Vec<String> = sink.into_sorted(&map).into_iter().map(|d| d.title).collect();
        assert_eq!(titles, ["early", "late", "late"]);
    }
}
