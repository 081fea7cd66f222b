//! Annotations, kept as written.

use crate::Name;
use num_bigint::BigInt;

/// The annotations of one declaration, in source order.
pub type Annotations = Vec<Annotation>;

/// `@name body`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Annotation {
    /// Without the `@`.
    pub name: Name,
    /// The text in brackets or parentheses.
    pub body: AnnotationBody,
}

/// The forms of an annotation's body (P4-16 §20).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnnotationBody {
    /// `@atomic`
    Empty,
    /// `@name("acl")`, `@field_list(1, 2)`
    Values(Vec<AnnotationValue>),
    /// `@list[1, 2]`, `@list[]`: structured.
    List(Vec<AnnotationValue>),
    /// `@origin[file="x", line=4]`: structured, at least one pair.
    Pairs(Vec<(Name, AnnotationValue)>),
    /// An unstructured body that is no list of values: its tokens, separated by blanks.
    Tokens(String),
}

/// A value in an annotation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnnotationValue {
    /// A string literal.
    Str(String),
    /// An integer of any size.
    Int(BigInt),
    /// `true`, `false`.
    Bool(bool),
}

impl AnnotationBody {
    /// The values of `(...)` or `[...]`; none for other forms.
    pub fn values(&self) -> &[AnnotationValue] {
        match self {
            AnnotationBody::Values(values) | AnnotationBody::List(values) => values,
            _ => &[],
        }
    }
}

impl Annotation {
    /// `@name("text")`.
    pub fn string(name: &str, text: &str) -> Annotation {
        let body = AnnotationBody::Values(vec![AnnotationValue::Str(text.to_string())]);
        Annotation { name: name.into(), body }
    }

    /// The only value, if it is one string.
    pub fn as_str(&self) -> Option<&str> {
        match self.body.values() {
            [AnnotationValue::Str(text)] => Some(text),
            _ => None,
        }
    }
}
