//! TOML to statements. Every mistake is reported, with the place of the key or value.

mod fields;
mod sections;

use crate::Statement;
use ::toml::de::DeTable;
use base_diag::codes::run::ENTRIES_SYNTAX;
use base_diag::{Diagnostic, Span};
use fields::{Fields, Reader};

/// Names allowed at the top of the file.
const SECTIONS: [&str; 10] = [
    "table",
    "default",
    "member",
    "group",
    "multicast",
    "clone",
    "register",
    "counter",
    "meter",
    "value_set",
];

/// Reads a file of entries; `start` is the number of the text's first byte in its source map. Values that cannot
/// be read are left out and reported.
pub fn read_toml(text: &str, start: u32) -> (Vec<Statement>, Vec<Diagnostic>) {
    let mut reader = Reader::new(start);
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let (title, label) = error.message().split_once(", ").unwrap_or((error.message(), ""));
        let span = error.span().map_or(Span::NONE, |range| reader.span(range));
        reader.problems.push(Diagnostic::error(ENTRIES_SYNTAX, title).at(span, label));
    }
    if !errors.is_empty() {
        return (vec![], reader.problems);
    }
    let mut file = Fields::of_table("the file", reader.span(0..0), &reader, table.get_ref());
    let mut statements = vec![];
    // Members and groups come first: entries name them.
    let order: [(&'static str, sections::Section); 10] = [
        ("member", sections::members),
        ("group", sections::groups),
        ("table", sections::tables),
        ("default", sections::defaults),
        ("multicast", sections::multicast),
        ("clone", sections::clones),
        ("register", sections::registers),
        ("counter", sections::counters),
        ("meter", sections::meters),
        ("value_set", sections::value_sets),
    ];
    for (key, read) in order {
        if let Some(item) = file.take(key) {
            read(&mut reader, item, &mut statements);
        }
    }
    debug_assert!(SECTIONS.iter().all(|s| order.iter().any(|(key, _)| key == s)));
    file.finish(&mut reader, &SECTIONS);
    reader.problems.sort_by_key(Diagnostic::span);
    (statements, reader.problems)
}
