//! The names that our declaration files declare.
//!
//! Our files keep to a form that makes this a look at lines: a declaration begins in the first column, after
//! its annotations, and its name stands in that line.

use crate::include;
use std::collections::BTreeSet;

/// Top-level declarations of a file.
#[derive(Default, Debug)]
pub struct Declared {
    /// All names: types, externs, functions, actions, blocks, packages, constants.
    pub names: BTreeSet<&'static str>,
    /// Names of structs, headers, unions, enums and newtypes.
    pub types: BTreeSet<&'static str>,
    /// Members of `error`.
    pub errors: BTreeSet<&'static str>,
    /// Members of `match_kind`.
    pub match_kinds: BTreeSet<&'static str>,
}

/// Declarations of the file `name` and of those it includes.
pub(crate) fn declared(name: &str) -> Declared {
    let mut found = Declared::default();
    let (mut files, mut next) = (vec![name], 0);
    while let Some(text) = files.get(next).map(|file| include(file).unwrap_or("")) {
        next += 1;
        // The `error` or `match_kind` that the line stands in.
        let mut members: Option<&mut BTreeSet<&'static str>> = None;
        for line in text.lines() {
            members = match line {
                "error {" => Some(&mut found.errors),
                "match_kind {" => Some(&mut found.match_kinds),
                "}" => None,
                _ => members,
            };
            if let Some(members) = &mut members {
                let name = line.trim().split([',', ' ']).next().unwrap_or("");
                if line.starts_with(' ') && name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                    members.insert(name);
                }
                continue;
            }
            match line.strip_prefix("#include <").and_then(|rest| rest.strip_suffix('>')) {
                Some(file) if !files.contains(&file) => files.push(file),
                _ => {
                    let name = declared_in(line);
                    found.names.extend(name);
                    found.types.extend(name.filter(|_| is_type(line)));
                }
            }
        }
    }
    found
}

fn is_type(line: &str) -> bool {
    ["struct ", "header ", "header_union ", "enum ", "type "].iter().any(|keyword| line.starts_with(keyword))
}

/// The name that is declared in this line.
fn declared_in(line: &'static str) -> Option<&'static str> {
    if !line.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let line = line.split("//").next()?.trim_end();
    let (keyword, rest) = line.split_once(' ')?;
    let first = || rest.split(['<', '(', ' ']).next();
    let name = match keyword {
        "match_kind" | "error" => None,
        "struct" | "header" | "header_union" | "package" | "parser" | "control" | "action" => first(),
        "extern" if !rest.contains('(') => first(),
        "type" | "typedef" => rest.strip_suffix(';').and_then(last),
        "enum" => rest.split('{').next().and_then(last),
        "const" => rest.split('=').next().and_then(last),
        _ => line.split_once('(').and_then(|(head, _)| last(without_type_params(head))),
    };
    name.filter(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn last(text: &str) -> Option<&str> {
    text.split_whitespace().last()
}

/// `T f` of `T f<T, U>`.
fn without_type_params(head: &str) -> &str {
    match head.strip_suffix('>').and_then(|head| head.rsplit_once('<')) {
        Some((head, _)) => head,
        None => head,
    }
}
