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
    /// What follows.
    pub body: AnnotationBody,
}

/// The forms of an annotation's body (P4-16 §20).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnnotationBody {
    /// `@atomic`
    Empty,
    /// `@name("acl")`, `@field_list(1, 2)`, `@list[1, 2]`
    Values(Vec<AnnotationValue>),
    /// `@origin[file="x", line=4]`
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

impl Annotation {
    /// `@name("text")`.
    pub fn string(name: &str, text: &str) -> Annotation {
        let body = AnnotationBody::Values(vec![AnnotationValue::Str(text.to_string())]);
        Annotation { name: name.into(), body }
    }

    /// The only value, if it is one string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.body {
            AnnotationBody::Values(values) => match values.as_slice() {
                [AnnotationValue::Str(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }
}
