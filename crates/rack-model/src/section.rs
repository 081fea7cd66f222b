//! Reading a table of the file key by key: every mistake gets a place, and unknown keys are reported.

use crate::Spanned;
use base_diag::codes::rack;
use base_diag::{Diagnostic, Diagnostics, Span, did_you_mean};
use host_programs::Kind;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Turns byte ranges into spans and collects diagnostics.
pub(crate) struct Reader {
    /// The number of the file's first byte.
    base: u32,
    pub diagnostics: Diagnostics,
    /// Links without a rate.
    pub unrated: Vec<Span>,
    /// The kinds of workloads that the file may name.
    pub kinds: &'static [&'static Kind],
}

/// A value of the file.
#[derive(Clone, Copy)]
pub(crate) struct Item<'t> {
    pub value: &'t DeValue<'t>,
    pub span: Span,
}

/// A table of the file.
pub(crate) struct Section<'t> {
    /// As messages call it: "device `tor`", "this link".
    what: String,
    /// Place to underline when a key is missing.
    pub place: Span,
    /// In the order of the file.
    entries: Vec<Entry<'t>>,
    known: Vec<&'static str>,
    /// Keys that a later version will know.
    later: Vec<&'static str>,
    /// Missing required keys, each with its error.
    missing: Vec<(&'static str, Diagnostic)>,
}

/// A key with its value.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'t> {
    pub key: &'t str,
    pub key_span: Span,
    pub item: Item<'t>,
}

impl Reader {
    pub fn new(base: u32, kinds: &'static [&'static Kind]) -> Reader {
        Reader { base, diagnostics: Diagnostics::new(), unrated: vec![], kinds }
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

    /// Reports a value of the wrong type, with an example of the expected type.
    pub fn wrong_type(&mut self, item: Item<'_>, expected: &str, example: &str) {
        let found = match item.value.type_str() {
            "array" => "an array".to_string(),
            "integer" => "an integer".to_string(),
            other => format!("a {other}"),
        };
        let title = format!("expected {expected}, found {found}");
        let diagnostic = Diagnostic::error(rack::WRONG_TYPE, title).at(item.span, format!("this is {found}"));
        self.push(match example {
            "" => diagnostic,
            _ => diagnostic.help(format!("for example: {example}")),
        });
    }

    /// Says that a value cannot be used.
    pub fn bad_value(&mut self, span: Span, title: impl Into<String>, why: impl Into<String>) {
        self.push(Diagnostic::error(rack::BAD_VALUE, title).at(span, why));
    }

    /// Reports an unsupported feature, with advice.
    pub fn not_yet(&mut self, span: Span, what: &str, help: impl Into<String>) {
        let title = format!("{what} not supported yet");
        self.push(Diagnostic::error(rack::NOT_SUPPORTED, title).at(span, "not supported yet").help(help));
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
    diagnostic.suggest_or(name.value, known.iter().copied(), |d| match known.is_empty() {
        true => d,
        false => d.note(format!("known are {}", quoted(&known))),
    })
}

/// `` `a`, `b` and `c` ``; of long lists the first twelve.
pub(crate) fn quoted(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|n| format!("`{n}`")).collect();
    match shown.split_last() {
        _ if names.len() > 12 => format!("{} and {} more", shown.join(", "), names.len() - 12),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

impl<'t> Section<'t> {
    /// The table `item`; none, with a message, if it is no table.
    pub fn new(r: &mut Reader, what: String, place: Span, item: Item<'t>) -> Option<Section<'t>> {
        match item.value {
            DeValue::Table(table) => Some(Section::of(what, place, r.entries(table))),
            _ => {
                r.wrong_type(item, "a table", "");
                None
            }
        }
    }

    /// The file itself.
    pub fn of_file(r: &Reader, table: &'t DeTable<'t>, place: Span) -> Section<'t> {
        Section::of("the file".to_string(), place, r.entries(table))
    }

    fn of(what: String, place: Span, entries: Vec<Entry<'t>>) -> Section<'t> {
        Section { what, place, entries, known: vec![], later: vec![], missing: vec![] }
    }

    /// The entry of `key`, which from now on is a known key.
    pub fn entry(&mut self, key: &'static str) -> Option<Entry<'t>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.find(key)
    }

    fn find(&self, key: &str) -> Option<Entry<'t>> {
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

    /// As [`optional`](Section::optional), but [`finish`](Section::finish) reports the key if it is missing, with an
    /// `example` of its value.
    pub fn required<T>(
        &mut self,
        r: &mut Reader,
        key: &'static str,
        example: &str,
        parse: impl FnOnce(&mut Reader, Item<'t>) -> Option<T>,
    ) -> Option<Spanned<T>> {
        if self.find(key).is_none() {
            let label = format!("{} has no `{key}`", self.what);
            let diagnostic = Diagnostic::error(rack::MISSING_KEY, format!("`{key}` is missing"))
                .at(self.place, label)
                .help(format!("for example: `{key} = {example}`"));
            self.missing.push((key, diagnostic));
        }
        self.optional(r, key, parse)
    }

    /// A key that a later version will know.
    pub fn later(&mut self, r: &mut Reader, key: &'static str) {
        self.later.push(key);
        if let Some(entry) = self.find(key) {
            r.not_yet(entry.key_span, &format!("`{key}` is"), format!("leave `{key}` out"));
        }
    }

    /// Reports all unknown keys and all missing keys. A missing key is not reported if an unknown key seems to be a
    /// misspelling of it.
    pub fn finish(self, r: &mut Reader) {
        let asked = |e: &&Entry<'_>| self.known.contains(&e.key) || self.later.contains(&e.key);
        let mut slips = vec![];
        for entry in self.entries.iter().filter(|e| !asked(e)) {
            let title = format!("unknown key `{}`", entry.key.escape_debug());
            let label = format!("{} has no such key", self.what);
            let diagnostic = Diagnostic::error(rack::UNKNOWN_KEY, title).at(entry.key_span, label);
            let near = did_you_mean(entry.key, self.known.iter().copied());
            slips.extend(near);
            r.push(match near {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic.note(format!("its keys are {}", quoted(&self.known))),
            });
        }
        self.missing.into_iter().filter(|(key, _)| !slips.contains(key)).for_each(|(_, d)| r.push(d));
    }

    /// As [`finish`](Section::finish), if not all keys were read: reports only missing keys.
    pub fn give_up(self, r: &mut Reader) {
        self.missing.into_iter().for_each(|(_, d)| r.push(d));
    }
}

/// The items of all `[[kind]]`.
pub(crate) fn listed<'t>(r: &mut Reader, entry: Option<Entry<'t>>, kind: &str) -> Vec<Item<'t>> {
    let Some(entry) = entry else { return vec![] };
    match entry.item.value {
        DeValue::Array(array) => {
            let item =
                |v: &'t toml::Spanned<DeValue<'t>>| Item { value: v.get_ref(), span: r.span(v.span()) };
            array.iter().map(item).collect()
        }
        _ => {
            wrong_shape(r, entry, format!("write `[[{kind}]]`"));
            vec![]
        }
    }
}

/// Reports a section of another shape than `help` says.
pub(crate) fn wrong_shape(r: &mut Reader, entry: Entry<'_>, help: String) {
    let title = format!("wrong kind of section for `{}`", entry.key);
    r.push(Diagnostic::error(rack::WRONG_TYPE, title).at(entry.key_span, "defined differently").help(help));
}
