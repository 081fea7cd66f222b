//! JSON (RFC 8259) with the place of every key and value, for files that people write.
//!
//! [`parse`] gives a tree of [`Json`]; [`Reader`] and [`Fields`] take the keys of its objects one by one and report each mistake with its place.
//!
//! ```
//! use base_json::{Kind, parse};
//! let json = parse(r#"{ "port": 1 }"#, 1).unwrap();
//! let Kind::Object(members) = &json.kind else { panic!() };
//! assert_eq!((members[0].name.as_str(), members[0].value.span.lo), ("port", 11));
//! ```

mod parse;
mod read;

pub use parse::{ParseError, parse};
pub use read::{Fields, Reader};

use base_diag::Span;

/// A value and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Json {
    /// The value.
    pub kind: Kind,
    /// Place in the text.
    pub span: Span,
}

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    /// Without quotes and escapes.
    String(String),
    Array(Vec<Json>),
    /// In the order of the text. Names may be there twice.
    Object(Vec<Member>),
}

/// `"name": value`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Without quotes and escapes.
    pub name: String,
    /// The place of the name.
    pub name_span: Span,
    /// The value.
    pub value: Json,
}

impl Json {
    /// The type, in words.
    pub fn type_in_words(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::Array(_) => "an array",
            Kind::Object(_) => "an object",
        }
    }
}
