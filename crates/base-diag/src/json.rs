//! Diagnostics as JSON: the same value as the text, one object each.

use serde_json::{Value, json};

use crate::{Diagnostic, Label, Severity, SourceMap, Span};

/// One object: `code`, `severity`, `warning` (its name, or null), `title`, `labels` (the first is the primary
/// one), `notes`, `help`. A label has `file`, `line`, `column`, `end_line`, `end_column` (from 1; the end is
/// one past the last character) and `text`; a label in a macro has `expansions`, innermost first, each with
/// `macro` and the place of its `call`. The place of a label in a macro is that of the outermost call.
pub fn to_json(diagnostic: &Diagnostic, map: &SourceMap) -> Value {
    json!({
        "code": diagnostic.code.to_string(),
        "severity": match diagnostic.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "warning": diagnostic.warning,
        "title": diagnostic.title,
        "labels": diagnostic.labels.iter().map(|l| label(l, map)).collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "help": diagnostic.help,
    })
}

fn label(label: &Label, map: &SourceMap) -> Value {
    let mut object = place(map.call_site(label.span), map);
    object["text"] = label.text.as_str().into();
    let expansions: Vec<Value> = map
        .backtrace(label.span)
        .filter(|e| !e.name.is_empty())
        .map(|e| json!({ "macro": e.name.as_str(), "call": place(e.call, map) }))
        .collect();
    if !expansions.is_empty() {
        object["expansions"] = expansions.into();
    }
    object
}

fn place(span: Span, map: &SourceMap) -> Value {
    let (Some(start), Some(end)) = (map.position(span.lo), map.position(span.hi)) else {
        return json!({ "file": null });
    };
    json!({
        "file": start.file.as_str(),
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Expansion};

    #[test]
    fn the_place_of_a_label_in_a_macro_is_the_call() {
        let mut map = SourceMap::new();
        map.add_file("a.p4", "#define A 1\nA", Span::NONE).unwrap();
        let call = Span { lo: 13, hi: 14, ..Span::NONE };
        let expansion = map.add_expansion(Expansion { name: "A".into(), definition: Span::NONE, call });
        let one = Span { lo: 11, hi: 12, expansion };
        let json = to_json(&Diagnostic::error(Code(101), "no").at(one, "here").note("n"), &map);
        assert_eq!(json["code"], "P4R0101");
        assert_eq!(json["labels"][0]["line"], 2);
        assert_eq!(json["labels"][0]["end_column"], 2);
        assert_eq!(json["labels"][0]["expansions"][0]["macro"], "A");
        assert_eq!(json["notes"], json!(["n"]));
    }
}
