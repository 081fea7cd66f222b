//! A table's keys, taken one by one; unused ones are reported.

use crate::{Match, Named, Value, parse_match, parse_number};
use base_bits::num_bigint::BigUint;
use base_diag::codes::run::ENTRIES_SYNTAX;
use base_diag::{Diagnostic, Span, did_you_mean};
use base_time::Duration;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Collects problems and knows where the text stands.
pub(super) struct Reader {
    start: u32,
    pub(super) problems: Vec<Diagnostic>,
}

/// A value of the file.
#[derive(Clone, Copy)]
pub(super) struct Item<'t> {
    pub(super) value: &'t DeValue<'t>,
    pub(super) span: Span,
}

/// The keys of a table that were not taken yet, in the order of the file.
pub(super) struct Fields<'t> {
    what: &'static str,
    pub(super) span: Span,
    rest: Vec<(Named, Item<'t>)>,
}

impl Reader {
    pub(super) fn new(start: u32) -> Reader {
        Reader { start, problems: vec![] }
    }

    /// The place of the bytes `range` of the text.
    pub(super) fn span(&self, range: Range<usize>) -> Span {
        let at = |offset: usize| self.start.saturating_add(u32::try_from(offset).unwrap_or(u32::MAX));
        Span { lo: at(range.start), hi: at(range.end), ..Span::NONE }
    }

    pub(super) fn wrong(&mut self, span: Span, title: impl Into<String>, label: impl Into<String>) {
        self.problems.push(Diagnostic::error(ENTRIES_SYNTAX, title).at(span, label));
    }

    /// Says that a value is to be of another type.
    fn expected(&mut self, item: Item, what: &str, example: &str) {
        let found = item.value.type_str();
        let problem = Diagnostic::error(ENTRIES_SYNTAX, format!("expected {what}"))
            .at(item.span, format!("this is of type {found}"))
            .help(format!("for example: {example}"));
        self.problems.push(problem);
    }

    /// The table in `item`.
    pub(super) fn fields<'t>(&mut self, what: &'static str, item: Item<'t>) -> Option<Fields<'t>> {
        match item.value {
            DeValue::Table(table) => Some(Fields::of_table(what, item.span, self, table)),
            _ => {
                self.expected(item, "a table", "{ port = 1 }");
                None
            }
        }
    }

    /// The elements of the array in `item`.
    pub(super) fn list<'t>(&mut self, item: Item<'t>, example: &str) -> Option<Vec<Item<'t>>> {
        match item.value {
            DeValue::Array(array) => Some(self.elements(array)),
            _ => {
                self.expected(item, "an array", example);
                None
            }
        }
    }

    fn elements<'t>(&self, array: &'t toml::de::DeArray<'t>) -> Vec<Item<'t>> {
        array.iter().map(|e| Item { value: e.get_ref(), span: self.span(e.span()) }).collect()
    }

    /// A string that is not empty.
    pub(super) fn name(&mut self, item: Item) -> Option<Named> {
        match item.value {
            DeValue::String(text) if !text.trim().is_empty() => {
                Some(Named { text: text.to_string(), span: item.span })
            }
            _ => {
                self.expected(item, "a name", "\"drop\"");
                None
            }
        }
    }

    /// A number, or text that [`parse_number`] reads.
    pub(super) fn number(&mut self, item: Item) -> Option<Value<BigUint>> {
        let text = self.text(item, "a number", "5, or \"10.0.0.1\"")?;
        match parse_number(&text) {
            Ok(value) => Some(Value { value, span: item.span }),
            Err(error) => {
                self.wrong(item.span, "this is not a number", error.to_string());
                None
            }
        }
    }

    /// A number of at most 64 bits.
    pub(super) fn small<T: TryFrom<u64> + std::fmt::Display>(&mut self, item: Item, most: T) -> Option<T> {
        let number = self.number(item)?;
        let small = u64::try_from(&number.value).ok().and_then(|n| T::try_from(n).ok());
        if small.is_none() {
            self.wrong(item.span, "number out of range", format!("at most {most} is allowed"));
        }
        small
    }

    /// A time with its unit: `"5ms"`.
    pub(super) fn duration(&mut self, item: Item) -> Option<Duration> {
        let DeValue::String(text) = item.value else {
            self.expected(item, "a time", "\"5ms\"");
            return None;
        };
        match text.parse() {
            Ok(duration) => Some(duration),
            Err(error) => {
                self.wrong(item.span, "this is not a time", format!("{error}"));
                None
            }
        }
    }

    /// A match, by [`parse_match`].
    pub(super) fn matching(&mut self, item: Item) -> Option<Value<Match>> {
        let text = self.text(item, "a match", "\"10.0.0.0/8\"")?;
        match parse_match(&text) {
            Ok(value) => Some(Value { value, span: item.span }),
            Err(error) => {
                let problem =
                    Diagnostic::error(ENTRIES_SYNTAX, "this is not a match").at(item.span, error.to_string());
                self.problems.push(problem.help(
                    "write a number or an address, `value/length`, `value &&& mask`, `low..high`, or `*`",
                ));
                None
            }
        }
    }

    fn text(&mut self, item: Item, what: &str, example: &str) -> Option<String> {
        match item.value {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Boolean(value) => Some(value.to_string()),
            DeValue::Integer(number) => {
                let prefix = match number.radix() {
                    16 => "0x",
                    8 => "0o",
                    2 => "0b",
                    _ => "",
                };
                Some(format!("{prefix}{}", number.as_str()))
            }
            _ => {
                self.expected(item, what, example);
                None
            }
        }
    }
}

impl<'t> Fields<'t> {
    pub(super) fn of_table(
        what: &'static str,
        span: Span,
        reader: &Reader,
        table: &'t DeTable<'t>,
    ) -> Fields<'t> {
        let field = |(key, value): (&'t toml::Spanned<_>, &'t toml::Spanned<DeValue<'t>>)| {
            let key: &toml::Spanned<toml::de::DeString<'t>> = key;
            let name = Named { text: key.get_ref().to_string(), span: reader.span(key.span()) };
            (name, Item { value: value.get_ref(), span: reader.span(value.span()) })
        };
        let mut rest: Vec<(Named, Item<'t>)> = table.iter().map(field).collect();
        rest.sort_by_key(|(name, _)| name.span);
        Fields { what, span, rest }
    }

    /// The value of `key`, if it is there.
    pub(super) fn take(&mut self, key: &str) -> Option<Item<'t>> {
        let at = self.rest.iter().position(|(name, _)| name.text == key)?;
        Some(self.rest.remove(at).1)
    }

    /// The value of `key`, which must be there.
    pub(super) fn need(&mut self, reader: &mut Reader, key: &str, example: &str) -> Option<Item<'t>> {
        let item = self.take(key);
        let slip = did_you_mean(key, self.rest.iter().map(|(name, _)| name.text.as_str()));
        if item.is_none() && slip.is_none() {
            let problem = Diagnostic::error(ENTRIES_SYNTAX, format!("`{key}` is missing"))
                .at(self.span, format!("{} has no `{key}`", self.what))
                .help(format!("for example: `{key} = {example}`"));
            reader.problems.push(problem);
        }
        item
    }

    /// All remaining keys and values.
    pub(super) fn rest(&mut self) -> Vec<(Named, Item<'t>)> {
        std::mem::take(&mut self.rest)
    }

    /// Tells about keys that nobody took; `known` are all there may be.
    pub(super) fn finish(self, reader: &mut Reader, known: &[&str]) {
        for (name, _) in self.rest {
            let title = format!("unknown key `{}`", name.text.escape_debug());
            let problem = Diagnostic::error(ENTRIES_SYNTAX, title)
                .at(name.span, format!("{} has no such key", self.what));
            let problem = problem.suggest_or(&name.text, known.iter().copied(), |d| {
                d.note(format!("its keys are: {}", known.join(", ")))
            });
            reader.problems.push(problem);
        }
    }
}
