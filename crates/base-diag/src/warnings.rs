//! The warnings by name, and the user's settings for them.

use crate::{Diagnostic, Severity, did_you_mean};

/// Every name of a warning, with its meaning.
pub const WARNINGS: &[(&str, &str)] = &[
    (
        "control-name",
        "actions of different tables, or objects outside of tables, with the same control-plane name",
    ),
    ("default-rate", "a link without a rate"),
    ("deprecated", "a call of something marked `@deprecated`"),
    ("endless-loop", "frames that devices forward in a loop without end"),
    (
        "entry-mask",
        "an entry of an lpm key whose mask is not a prefix, or of an exact, optional or range key with a mask",
    ),
    ("flow-order", "packets of one flow may be reordered"),
    ("invalid-header", "a field of a header that is or may be invalid here"),
    ("keys", "a table entry or select case that never matches"),
    ("macro-redefined", "a macro is redefined differently"),
    ("missing-case", "a switch or select on an enum or bool without all its values"),
    ("nested-conditional", "a conditional in the last part of another one, which p4c reads differently"),
    ("not-in-bmv2", "a part that needs what `simple_switch` lacks"),
    ("nothing-arrived", "a workload without a packet that arrived"),
    ("overflow", "a constant that does not fit its type"),
    ("parser-transition", "a state without a transition"),
    ("passed-over", "a command in a file of entries that has no effect here"),
    ("shadow", "a declaration hides another one"),
    ("uninitialized-out-param", "an out parameter that may not be set"),
    ("uninitialized-use", "a value that may be read before it is set"),
    ("unreachable", "code that never runs"),
    ("unused", "a declaration that nothing uses"),
    ("user-warning", "a #warning directive"),
];

/// Warnings that are disabled, and warnings that count as errors; `all` stands for every warning.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct WarningPolicy {
    disabled: Vec<String>,
    errors: Vec<String>,
}

impl WarningPolicy {
    /// A policy from names; an unknown one is refused with the nearest that exists.
    pub fn new(disabled: &[String], errors: &[String]) -> Result<WarningPolicy, String> {
        for name in disabled.iter().chain(errors) {
            if name != "all" && !WARNINGS.iter().any(|(known, _)| known == name) {
                let near = did_you_mean(name, WARNINGS.iter().map(|(known, _)| *known));
                let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                return Err(format!("there is no warning `{name}`{hint}"));
            }
        }
        Ok(WarningPolicy { disabled: disabled.to_vec(), errors: errors.to_vec() })
    }

    /// The diagnostics as the user wants them.
    pub fn apply(&self, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let named = |list: &[String], name: &str| list.iter().any(|n| n == "all" || n == name);
        let wanted = found.into_iter().filter_map(|mut diagnostic| {
            let Some(name) = diagnostic.warning.filter(|_| diagnostic.severity == Severity::Warning) else {
                return Some(diagnostic);
            };
            if named(&self.disabled, name) {
                return None;
            }
            if named(&self.errors, name) {
                diagnostic.severity = Severity::Error;
            }
            Some(diagnostic)
        });
        wanted.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    fn apply(disabled: &[&str], errors: &[&str]) -> Vec<Severity> {
        let owned = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        let policy = WarningPolicy::new(&owned(disabled), &owned(errors)).unwrap();
        let found = vec![Diagnostic::warning(Code(1), "unused", ""), Diagnostic::error(Code(2), "")];
        policy.apply(found).iter().map(|d| d.severity).collect()
    }

    #[test]
    fn warnings_are_switched_off_or_made_errors() {
        use Severity::{Error, Warning};
        assert_eq!(apply(&[], &[]), [Warning, Error]);
        assert_eq!(apply(&["unused"], &[]), [Error]);
        assert_eq!(apply(&["shadow"], &[]), [Warning, Error]);
        assert_eq!(apply(&["all"], &["all"]), [Error]);
        assert_eq!(apply(&[], &["unused"]), [Error, Error]);
    }

    #[test]
    fn unknown_names_are_refused() {
        let refused = WarningPolicy::new(&["unusd".to_string()], &[]);
        assert_eq!(refused, Err("there is no warning `unusd`; did you mean `unused`?".to_string()));
    }

    #[test]
    fn names_are_sorted() {
        assert!(WARNINGS.windows(2).all(|w| w[0].0 < w[1].0));
    }
}
