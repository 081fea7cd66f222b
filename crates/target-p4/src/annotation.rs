//! Annotations, and the `@name` that a control-plane name needs.

use crate::literal::string;
use crate::names::{qualify, relative};
use ir::{Annotation, AnnotationBody, AnnotationValue, Annotations};

/// `@a @b(1) ` with a blank after, or nothing.
pub(crate) fn inline(annotations: &Annotations) -> String {
    annotations.iter().map(|a| format!("{} ", annotation(a))).collect()
}

/// The same annotations, with a `@name` if `printed` inside `prefix` would else have another control-plane name
/// than `full`.
pub(crate) fn named(annotations: &Annotations, prefix: &str, printed: &str, full: &str) -> Annotations {
    let written = annotations.iter().find(|a| a.name == "name").and_then(|a| a.as_str());
    if qualify(prefix, written.unwrap_or(printed)) == full {
        return annotations.clone();
    }
    let mut fitting = vec![Annotation::string("name", &relative(prefix, full))];
    fitting.extend(annotations.iter().filter(|a| a.name != "name").cloned());
    fitting
}

pub(crate) fn annotation(annotation: &Annotation) -> String {
    let name = &annotation.name;
    match &annotation.body {
        AnnotationBody::Empty => format!("@{name}"),
        AnnotationBody::Values(values) => {
            format!("@{name}({})", values.iter().map(value).collect::<Vec<_>>().join(", "))
        }
        AnnotationBody::List(values) => {
            format!("@{name}[{}]", values.iter().map(value).collect::<Vec<_>>().join(", "))
        }
        AnnotationBody::Pairs(pairs) => {
            let pairs: Vec<String> = pairs.iter().map(|(key, v)| format!("{key}={}", value(v))).collect();
            format!("@{name}[{}]", pairs.join(", "))
        }
        AnnotationBody::Tokens(tokens) => format!("@{name}({tokens})"),
    }
}

fn value(value: &AnnotationValue) -> String {
    match value {
        AnnotationValue::Str(text) => string(text),
        AnnotationValue::Int(number) => number.to_string(),
        AnnotationValue::Bool(value) => value.to_string(),
    }
}
