//! How things are named in the text: by their own name where that is enough.
//!
//! A name that two things of one kind share is written with the index, `x#7`; an index that names nothing is
//! written `?#7`; a name that is no identifier, or that would be taken for a keyword, stands in backquotes.

use crate::Name;
use std::collections::BTreeMap;

/// Words that begin a statement, an expression, a type or a target, and so cannot stand for a name there.
const KEYWORDS: [&str; 47] = [
    "accept",
    "action",
    "apply",
    "bit",
    "bool",
    "break",
    "const",
    "continue",
    "control",
    "default",
    "else",
    "enum",
    "error",
    "exit",
    "extern",
    "false",
    "for",
    "function",
    "goto",
    "header",
    "if",
    "in",
    "int",
    "list",
    "match_kind",
    "method",
    "new",
    "optional",
    "param",
    "parser",
    "reject",
    "return",
    "select",
    "set",
    "state",
    "string",
    "struct",
    "switch",
    "true",
    "tuple",
    "type",
    "union",
    "user",
    "var",
    "varbit",
    "void",
    "_",
];

pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

fn is_identifier(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A name where no keyword may stand.
pub(super) fn plain(name: &str) -> String {
    if is_identifier(name) { name.to_string() } else { backquoted(name) }
}

/// A name in backquotes.
pub(super) fn backquoted(name: &str) -> String {
    format!("`{}`", escape(name, '`'))
}

/// A name where a keyword may stand.
pub(super) fn guarded(name: &str) -> String {
    if is_keyword(name) { format!("`{name}`") } else { plain(name) }
}

/// A string literal.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", escape(text, '"'))
}

fn escape(text: &str, quote: char) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// [`Names::plain`] for a few things that are named once.
pub(super) fn refer<'a>(names: impl Iterator<Item = &'a Name> + Clone, index: usize) -> String {
    match names.clone().nth(index) {
        None => format!("?#{index}"),
        Some(name) if names.clone().filter(|n| *n == name).count() > 1 => format!("{}#{index}", plain(name)),
        Some(name) => plain(name),
    }
}

/// The names of all things of one kind.
#[derive(Default)]
pub(crate) struct Names {
    names: Vec<Name>,
    /// The first index of each name, and whether there is another.
    index: BTreeMap<Name, (usize, bool)>,
}

impl Names {
    pub(crate) fn new<'a>(names: impl IntoIterator<Item = &'a Name>) -> Names {
        let mut table = Names::default();
        names.into_iter().for_each(|name| table.push(name.clone()));
        table
    }

    pub(super) fn push(&mut self, name: Name) {
        self.index
            .entry(name.clone())
            .and_modify(|(_, shared)| *shared = true)
            .or_insert((self.names.len(), false));
        self.names.push(name);
    }

    pub(super) fn name(&self, index: usize) -> Option<&Name> {
        self.names.get(index)
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// How to refer to the thing at `index` where no keyword may stand.
    pub(crate) fn plain(&self, index: usize) -> String {
        self.reference(index, plain)
    }

    /// How to refer to the thing at `index` where a keyword may stand.
    pub(super) fn guarded(&self, index: usize) -> String {
        self.reference(index, guarded)
    }

    fn reference(&self, index: usize, quote: fn(&str) -> String) -> String {
        match self.names.get(index) {
            None => format!("?#{index}"),
            Some(name) if self.index.get(name).is_some_and(|(_, shared)| *shared) => {
                format!("{}#{index}", quote(name))
            }
            Some(name) => quote(name),
        }
    }

    /// The thing of that name, and with that index if one is written.
    pub(super) fn resolve(&self, what: &str, name: &str, written: Option<usize>) -> Result<usize, String> {
        match (self.index.get(name), written) {
            (None, _) => Err(format!("no {what} is named `{}`{}", name.escape_debug(), self.near(name))),
            (Some((first, false)), None) => Ok(*first),
            (Some((_, true)), None) => {
                let all = (0..self.len()).filter(|i| self.names[*i] == name);
                let all: Vec<String> = all.map(|i| format!("`{name}#{i}`")).collect();
                Err(format!("several of {what} are named `{name}`: write {}", all.join(" or ")))
            }
            (Some(_), Some(index)) if self.names.get(index).is_some_and(|n| n == name) => Ok(index),
            (Some(_), Some(index)) => Err(format!("{what} {index} is not named `{name}`")),
        }
    }

    fn near(&self, name: &str) -> String {
        let same = |n: &&Name| n.eq_ignore_ascii_case(name) || n.trim_matches('_') == name.trim_matches('_');
        match self.names.iter().find(same) {
            Some(near) => format!("; there is `{near}`"),
            None => String::new(),
        }
    }
}
