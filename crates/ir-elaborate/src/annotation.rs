//! Annotations, carried over as they are.

use base_diag::Span;
use ir::{Annotation, AnnotationBody, AnnotationValue, Annotations, Tick};
use p4_check::typed;

/// The annotations in the IR.
pub(crate) fn annotations(list: &typed::Annotations) -> Annotations {
    list.iter().map(annotation).collect()
}

/// The ticks among the annotations of `main` that have wrong values, with the reasons.
pub(crate) fn wrong_ticks(list: &typed::Annotations) -> impl Iterator<Item = (Span, String)> + '_ {
    let ticks = list.iter().filter(|from| from.name == Tick::ANNOTATION);
    ticks.filter_map(|from| Some((from.span, Tick::read(annotation(from).body.values()).err()?)))
}

fn annotation(from: &typed::Annotation) -> Annotation {
    let body = match &from.body {
        typed::AnnotationBody::Empty => AnnotationBody::Empty,
        typed::AnnotationBody::Values(list) => match list.iter().map(value).collect() {
            Some(values) => AnnotationBody::Values(values),
            None => AnnotationBody::Tokens(list.iter().map(spelled).collect::<Vec<_>>().join(", ")),
        },
        typed::AnnotationBody::List(list) => AnnotationBody::List(list.iter().filter_map(value).collect()),
        typed::AnnotationBody::Pairs(list) => {
            AnnotationBody::Pairs(list.iter().filter_map(|(k, v)| Some((k.clone(), value(v)?))).collect())
        }
        typed::AnnotationBody::Tokens(tokens) => AnnotationBody::Tokens(tokens.join(" ")),
    };
    Annotation { name: from.name.clone(), body }
}

fn value(expr: &typed::Expr) -> Option<AnnotationValue> {
    Some(match &expr.kind {
        typed::ExprKind::Int(v) => AnnotationValue::Int(v.clone()),
        typed::ExprKind::Bool(v) => AnnotationValue::Bool(*v),
        typed::ExprKind::String(v) => AnnotationValue::Str(v.to_string()),
        _ => return None,
    })
}

fn spelled(expr: &typed::Expr) -> String {
    match value(expr) {
        Some(AnnotationValue::Int(v)) => v.to_string(),
        Some(AnnotationValue::Bool(v)) => v.to_string(),
        Some(AnnotationValue::Str(v)) => format!("{v:?}"),
        None => "_".into(),
    }
}

/// The name a declaration gives itself for the control plane: `@name`, else its own.
pub(crate) fn local_name<'a>(list: &'a typed::Annotations, name: &'a typed::Name) -> &'a str {
    list.control_name().unwrap_or(&name.text)
}
