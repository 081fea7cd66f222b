//! Tables with constant entries, which decide by several values at once.

/// A table that is printed with its entries; the first one that matches counts.
pub(super) struct Decisions {
    name: &'static str,
    /// Name in [`Decisions::row`], and expression.
    keys: &'static [(&'static str, &'static str)],
    rows: Vec<String>,
}

impl Decisions {
    /// A table without entries.
    pub fn new(name: &'static str, keys: &'static [(&'static str, &'static str)]) -> Decisions {
        Decisions { name, keys, rows: vec![] }
    }

    /// Adds an entry: values of keys by their names, and a call. Other keys may have any value.
    pub fn row(&mut self, values: &[(&str, &str)], call: &str) {
        debug_assert!(values.iter().all(|(name, _)| self.keys.iter().any(|(known, _)| known == name)));
        let value = |(key, _): &(&str, &str)| {
            values.iter().rev().find(|(name, _)| name == key).map_or("_", |(_, value)| *value)
        };
        let values: Vec<&str> = self.keys.iter().map(value).collect();
        let tuple = values.join(", ");
        self.rows.push(format!("            ({tuple}): {call};\n"));
    }

    /// The declaration. `actions`: their names.
    pub fn text(&self, actions: &[&str], default: &str) -> String {
        let keys: String =
            self.keys.iter().map(|(_, key)| format!("            {key}: ternary;\n")).collect();
        format!(
            "    table {} {{
        key = {{
{keys}        }}
        actions = {{ {}; }}
        const default_action = {default};
        const entries = {{
{}        }}
        size = {};
    }}
",
            self.name,
            actions.join("; "),
            self.rows.concat(),
            self.rows.len()
        )
    }
}

/// An index: the upper bits of `first` from `bits` on, then the bits of `field` below.
pub(super) fn join(first: &str, field: &str, bits: u32) -> String {
    match bits {
        0 => first.to_string(),
        _ => format!("{first}[31:{bits}] ++ {field}[{}:0]", bits - 1),
    }
}
