//! Names that are identifiers of P4 and differ where they must.

use std::collections::BTreeSet;

/// Words that P4 keeps for itself everywhere (P4-16 §6.4.2). Those that may still be names (`apply`, `key`, ...)
/// are not among them.
const RESERVED: [&str; 52] = [
    "abstract",
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
    "entries",
    "enum",
    "error",
    "exit",
    "extern",
    "false",
    "for",
    "header",
    "header_union",
    "if",
    "in",
    "inout",
    "int",
    "key",
    "list",
    "match_kind",
    "optional",
    "out",
    "package",
    "parser",
    "pragma",
    "priority",
    "return",
    "select",
    "state",
    "string",
    "struct",
    "switch",
    "table",
    "this",
    "transition",
    "true",
    "tuple",
    "type",
    "typedef",
    "value_set",
    "varbit",
    "void",
    "actions",
    "reject",
    "accept",
];

/// Reserved words that P4's grammar still takes as a name (P4-16 Appendix H, `nonTypeName`).
const ALSO_NAMES: [&str; 8] = ["apply", "key", "actions", "state", "entries", "type", "priority", "list"];

/// The nearest identifier to `name`.
pub(crate) fn identifier(name: &str) -> String {
    let mut out: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) || out == "_" {
        out.insert(0, '_');
    }
    if RESERVED.contains(&out.as_str()) && !ALSO_NAMES.contains(&out.as_str()) {
        out.push('_');
    }
    out
}

/// The names that are taken where a declaration stands.
#[derive(Clone, Default)]
pub(crate) struct Taken(BTreeSet<String>);

impl Taken {
    /// Takes `name`, or the first free one of `name_2`, `name_3`, ...
    pub(crate) fn pick(&mut self, name: &str) -> String {
        let name = identifier(name);
        let mut free = name.clone();
        let mut number = 2u32;
        while !self.0.insert(free.clone()) {
            free = format!("{name}_{number}");
            number = number.saturating_add(1);
        }
        free
    }

    /// Only `names` are taken.
    pub(crate) fn of(names: BTreeSet<String>) -> Taken {
        Taken(names)
    }

    /// Names taken in either.
    pub(crate) fn and(&self, other: &Taken) -> Taken {
        Taken(self.0.union(&other.0).cloned().collect())
    }

    /// Takes `name` as it is; false if it was taken.
    pub(crate) fn try_take(&mut self, name: &str) -> bool {
        self.0.insert(name.to_string())
    }

    /// Takes `name` as it is.
    pub(crate) fn take(&mut self, name: &str) {
        self.0.insert(name.to_string());
    }
}

/// The control-plane name of `local` inside `prefix` (P4-16 §18.3).
pub(crate) fn qualify(prefix: &str, local: &str) -> String {
    match local.strip_prefix('.') {
        Some(absolute) => absolute.to_string(),
        None if prefix.is_empty() => local.to_string(),
        None => format!("{prefix}.{local}"),
    }
}

/// Argument of `@name` inside `prefix` for the control-plane name `full`.
pub(crate) fn relative(prefix: &str, full: &str) -> String {
    if prefix.is_empty() {
        return full.to_string();
    }
    match full.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.')) {
        Some(rest) if !rest.is_empty() => rest.to_string(),
        _ => format!(".{full}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers() {
        assert_eq!(identifier("both<bit<8>, bool>"), "both_bit_8___bool_");
        assert_eq!(identifier("8bit"), "_8bit");
        assert_eq!(identifier("table"), "table_");
        assert_eq!(identifier("type"), "type");
        assert_eq!(identifier(""), "_");
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        let mut taken = Taken::default();
        taken.take("x");
        assert_eq!([taken.pick("x"), taken.pick("x"), taken.pick("y")], ["x_2", "x_3", "y"]);
    }

    #[test]
    fn relative_names_lead_back_to_the_full_one() {
        for (prefix, full) in [("", "a.b"), ("a", "a.b"), ("a", "ab.c"), ("a.b", "a"), ("a", "a")] {
            assert_eq!(qualify(prefix, &relative(prefix, full)), full, "{full} in {prefix}");
        }
        assert_eq!(relative("a", "a.b"), "b");
        assert_eq!(relative("a", "c"), ".c");
    }
}
