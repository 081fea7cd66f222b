//! Traffic classes and their meaning.

use crate::rows::{self, Row, TooComplex};
use crate::{ClassError, Field, Header, Layer, Shape, headers_of, read};
use std::fmt;

/// The packets of an app.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// As written.
    pub text: String,
    /// The condition.
    pub predicate: Predicate,
}

/// A condition on a packet. A comparison with a field that the packet does not have is false.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Predicate {
    /// `any`
    Any,
    /// The packet has this header.
    Has(Header),
    /// The field lies in one of these ranges, first and last value.
    In(Field, Vec<(u128, u128)>),
    /// The packet has the field, but not in these ranges.
    NotIn(Field, Vec<(u128, u128)>),
    /// `!`
    Not(Box<Predicate>),
    /// `&&`
    And(Box<Predicate>, Box<Predicate>),
    /// `||`
    Or(Box<Predicate>, Box<Predicate>),
}

impl Class {
    /// Reads a class.
    pub fn read(text: &str) -> Result<Class, ClassError> {
        Ok(Class { text: text.trim().to_string(), predicate: read::predicate(text)? })
    }

    /// All packets.
    pub fn any() -> Class {
        Class { text: "any".to_string(), predicate: Predicate::Any }
    }

    /// True if a frame that came in by `port` belongs to the class.
    pub fn matches(&self, port: u32, frame: &[u8]) -> bool {
        let (shape, values) = headers_of(port, frame);
        self.predicate.holds(shape, &|field| values.get(&field).copied())
    }

    /// The packets of the class that have this shape: those that one of the rows takes.
    pub fn rows(&self, shape: Shape) -> Result<Vec<Row>, TooComplex> {
        rows::rows(&self.predicate, shape)
    }

    /// The last header that a parser must extract.
    pub fn layer(&self) -> Layer {
        self.predicate.layer()
    }
}

impl Predicate {
    fn holds(&self, shape: Shape, value: &dyn Fn(Field) -> Option<u128>) -> bool {
        let within =
            |value: u128, ranges: &[(u128, u128)]| ranges.iter().any(|(lo, hi)| (*lo..=*hi).contains(&value));
        match self {
            Predicate::Any => true,
            Predicate::Has(header) => shape.has(*header),
            Predicate::In(field, ranges) => value(*field).is_some_and(|v| within(v, ranges)),
            Predicate::NotIn(field, ranges) => value(*field).is_some_and(|v| !within(v, ranges)),
            Predicate::Not(inner) => !inner.holds(shape, value),
            Predicate::And(a, b) => a.holds(shape, value) && b.holds(shape, value),
            Predicate::Or(a, b) => a.holds(shape, value) || b.holds(shape, value),
        }
    }

    fn layer(&self) -> Layer {
        match self {
            Predicate::Any => Layer::Port,
            Predicate::Has(header) => header.layer(),
            Predicate::In(field, _) | Predicate::NotIn(field, _) => field.layer(),
            Predicate::Not(inner) => inner.layer(),
            Predicate::And(a, b) | Predicate::Or(a, b) => a.layer().max(b.layer()),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
