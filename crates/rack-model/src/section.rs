//! Reading a table of the file key by key: every mistake gets a place, and keys that nobody asked for are told.

use crate::Spanned;
use base_diag::codes::rack;
use base_diag::{Diagnostic, Diagnostics, Span, did_you_mean};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Turns byte ranges into spans and collects diagnostics.
pub(crate) struct Reader {
    /// The number of the file's first byte.
    base: u32,
    pub diagnostics: Diagnostics,
}

/// A value of the file.
#[derive(Clone, Copy)]
pub(crate) struct Item<'t> {
    pub value: &'t DeValue<'t>,
    pub span: Span,
}

/// A table of the file.
pub(crate) struct Section<'t> {
    /// As messages call it: "device `tor`", "link".
    what: String,
    /// What is underlined when a key is missing.
    pub place: Span,
    /// In the order of the file.
    entries: Vec<Entry<'t>>,
    asked: Vec<&'static str>,
}

/// A key with its value.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'t> {
    pub key: &'t str,
    pub key_span: Span,
    pub item: Item<'t>,
}

impl Reader {
    pub fn new(base: u32) -> Reader {
        Reader { base, diagnostics: Diagnostics::new() }
    }

    /// The place of the bytes `range` of the text.
    pub fn span(&self, range: Range<usize>) -> Span {
        let at = |offset: usize| self.base.saturating_add(u32::try_from(offset).unwrap_or(u32::MAX));
        Span { lo: at(range.start), hi: at(range.end), ..Span::NONE }
    }

    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Keys and values of `table` in the order of the file.
    pub fn entries<'t>(&self, table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
        let mut entries: Vec<Entry<'t>> = table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref(),
                key_span: self.span(key.span()),
                item: Item { value: value.get_ref(), span: self.span(value.span()) },
            })
            .collect();
        entries.sort_by_key(|e| e.key_span);
        entries
    }

    /// Says that `what` is to be of another type.
    pub fn wrong_type(&mut self, item: Item<'_>, expected: &str) {
        let found = match item.value.type_str() {
            "array" => "an array".to_string(),
            "integer" => "an integer".to_string(),
            other => format!("a {other}"),
        };
        let title = format!("expected {expected}, found {found}");
        self.push(Diagnostic::error(rack::WRONG_TYPE, title).at(item.span, format!("this is {found}")));
    }

    /// Says that a value cannot be used.
    pub fn bad_value(&mut self, span: Span, title: impl Into<String>, why: impl Into<String>) {
        self.push(Diagnostic::error(rack::BAD_VALUE, title).at(span, why));
    }

    /// Says that something will come later.
    pub fn not_yet(&mut self, span: Span, what: &str) {
        let title = format!("{what} not supported yet");
        self.push(Diagnostic::error(rack::NOT_SUPPORTED, title).at(span, "not supported yet"));
    }
}

/// A diagnostic about a name that is not known, with the nearest of `known`.
pub(crate) fn unknown_name<'a>(
    title: String,
    name: Spanned<&str>,
    known: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let known: Vec<&str> = known.into_iter().collect();
    let diagnostic = Diagnostic::error(rack::UNKNOWN_NAME, title).at(name.span, "not known");
    match did_you_mean(name.value, known.iter().copied()) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => diagnostic,
        None => diagnostic.note(format!("known are {}", quoted(&known))),
    }
}

/// `` `a`, `b` and `c` ``; of long lists the first eight.
pub(crate) fn quoted(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(8).map(|n| format!("`{n}`")).collect();
    match shown.split_last() {
        _ if names.len() > 8 => format!("{} and {} more", shown.join(", "), names.len() - 8),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

impl<'t> Section<'t> {
    /// The table `item`; none, with a message, if it is no table.
    pub fn new(r: &mut Reader, what: String, place: Span, item: Item<'t>) -> Option<Section<'t>> {
        match item.value {
            DeValue::Table(table) => Some(Section { what, place, entries: r.entries(table), asked: vec![] }),
            _ => {
                r.wrong_type(item, "a table");
                None
            }
        }
    }

    /// The file itself.
    pub fn of_file(r: &Reader, table: &'t DeTable<'t>, place: Span) -> Section<'t> {
        Section { what: "the file".to_string(), place, entries: r.entries(table), asked: vec![] }
    }

    /// The entry of `key`, which from now on is a known key.
    pub fn entry(&mut self, key: &'static str) -> Option<Entry<'t>> {
        self.asked.push(key);
        self.entries.iter().find(|e| e.key == key).copied()
    }

    /// The value of `key` as `parse` reads it; none if it is not there or wrong.
    pub fn optional<T>(
        &mut self,
        r: &mut Reader,
        key: &'static str,
        parse: impl FnOnce(&mut Reader, Item<'t>) -> Option<T>,
    ) -> Option<Spanned<T>> {
        let item = self.entry(key)?.item;
        Some(Spanned::new(parse(r, item)?, item.span))
    }

    /// As [`optional`](Section::optional), and a missing key is told with an `example` of its value.
    pub fn required<T>(
        &mut self,
        r: &mut Reader,
        key: &'static str,
        example: &str,
        parse: impl FnOnce(&mut Reader, Item<'t>) -> Option<T>,
    ) -> Option<Spanned<T>> {
        if !self.entries.iter().any(|e| e.key == key) {
            let title = format!("`{key}` is missing");
            let label = format!("{} has no `{key}`", self.what);
            let help = format!("for example: `{key} = {example}`");
            r.push(Diagnostic::error(rack::MISSING_KEY, title).at(self.place, label).help(help));
        }
        self.optional(r, key, parse)
    }

    /// A key that a later version will know.
    pub fn later(&mut self, r: &mut Reader, key: &'static str) {
        if let Some(entry) = self.entry(key) {
            r.not_yet(entry.key_span, &format!("`{key}` of a {}:", self.kind()));
        }
    }

    /// Tells about all keys that were not asked for.
    pub fn finish(self, r: &mut Reader) {
        for entry in self.entries.iter().filter(|e| !self.asked.contains(&e.key)) {
            let title = format!("unknown key `{}`", entry.key.escape_debug());
            let label = format!("{} has no such key", self.what);
            let diagnostic = Diagnostic::error(rack::UNKNOWN_KEY, title).at(entry.key_span, label);
            r.push(match did_you_mean(entry.key, self.asked.iter().copied()) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic.note(format!("its keys are {}", quoted(&self.asked))),
            });
        }
    }

    /// The first word of what it is called: "device", "link".
    fn kind(&self) -> &str {
        self.what.split(' ').next().unwrap_or("")
    }
}
