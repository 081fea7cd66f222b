//! Annotations in P4Info (P4Runtime 1.5, section 6.2).

use ir::{Annotation, AnnotationBody, AnnotationValue, Annotations};
use p4runtime_proto::p4::config::v1::{
    Documentation, Expression, ExpressionList, KeyValuePair, KeyValuePairList, StructuredAnnotation,
    expression::Value, structured_annotation::Body,
};

/// Annotations that P4Info has fields for.
const ELSEWHERE: [&str; 4] = ["name", "id", "brief", "description"];

/// Unstructured annotations as text, but for those in `ELSEWHERE` and in `also_elsewhere`.
pub(crate) fn unstructured(annotations: &Annotations, also_elsewhere: &[&str]) -> Vec<String> {
    let is_elsewhere =
        |a: &Annotation| ELSEWHERE.contains(&a.name.as_str()) || also_elsewhere.contains(&a.name.as_str());
    annotations.iter().filter(|a| !is_elsewhere(a)).filter_map(text).collect()
}

fn text(annotation: &Annotation) -> Option<String> {
    let name = &annotation.name;
    match &annotation.body {
        AnnotationBody::Empty => Some(format!("@{name}")),
        AnnotationBody::Values(values) => {
            Some(format!("@{name}({})", values.iter().map(spelled).collect::<Vec<_>>().join(", ")))
        }
        AnnotationBody::Tokens(tokens) => Some(format!("@{name}({tokens})")),
        AnnotationBody::List(_) | AnnotationBody::Pairs(_) => None,
    }
}

fn spelled(value: &AnnotationValue) -> String {
    match value {
        AnnotationValue::Str(text) => {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
        }
        AnnotationValue::Int(number) => number.to_string(),
        AnnotationValue::Bool(value) => value.to_string(),
    }
}

/// Structured annotations. A number that 64 bits cannot hold is given as a string.
pub(crate) fn structured(annotations: &Annotations) -> Vec<StructuredAnnotation> {
    annotations.iter().filter_map(structured_one).collect()
}

fn structured_one(annotation: &Annotation) -> Option<StructuredAnnotation> {
    let body = match &annotation.body {
        AnnotationBody::List(values) if values.is_empty() => None,
        AnnotationBody::List(values) => Some(Body::ExpressionList(ExpressionList {
            expressions: values.iter().map(expression).collect(),
        })),
        AnnotationBody::Pairs(pairs) => {
            let pair = |(key, value): &(ir::Name, AnnotationValue)| KeyValuePair {
                key: key.to_string(),
                value: Some(expression(value)),
            };
            Some(Body::KvPairList(KeyValuePairList { kv_pairs: pairs.iter().map(pair).collect() }))
        }
        _ => return None,
    };
    Some(StructuredAnnotation { name: annotation.name.to_string(), body, source_location: None })
}

fn expression(value: &AnnotationValue) -> Expression {
    let value = match value {
        AnnotationValue::Str(text) => Value::StringValue(text.clone()),
        AnnotationValue::Bool(value) => Value::BoolValue(*value),
        AnnotationValue::Int(number) => match i64::try_from(number) {
            Ok(number) => Value::Int64Value(number),
            Err(_) => Value::StringValue(number.to_string()),
        },
    };
    Expression { value: Some(value) }
}

/// `@brief` and `@description`.
pub(crate) fn documentation(annotations: &Annotations) -> Option<Documentation> {
    let text = |name| string(annotations, name);
    let (brief, description) = (text("brief"), text("description"));
    if brief.is_none() && description.is_none() {
        return None;
    }
    let text = |text: Option<&str>| text.unwrap_or_default().to_string();
    Some(Documentation { brief: text(brief), description: text(description) })
}

/// True if there is an annotation of this name.
pub(crate) fn has(annotations: &Annotations, name: &str) -> bool {
    annotations.iter().any(|a| a.name == name)
}

/// The only value of an annotation, if it is a string.
pub(crate) fn string<'a>(annotations: &'a Annotations, name: &str) -> Option<&'a str> {
    annotations.iter().find(|a| a.name == name)?.as_str()
}

/// The only value of an annotation, if it is a number.
pub(crate) fn number<T: for<'a> TryFrom<&'a base_bits::num_bigint::BigInt>>(
    annotations: &Annotations,
    name: &str,
) -> Option<T> {
    match annotations.iter().find(|a| a.name == name)?.body.values() {
        [AnnotationValue::Int(number)] => T::try_from(number).ok(),
        _ => None,
    }
}

/// The name that `@name` gives a type, field or member, else its own.
pub(crate) fn control_name<'a>(annotations: &'a Annotations, name: &'a str) -> &'a str {
    let given = string(annotations, "name").unwrap_or(name);
    given.strip_prefix('.').unwrap_or(given)
}
