//! Protobuf's text format.
//!
//! ```text
//! # comment
//! type: INSERT                 lex: text to tokens
//! entity {                     tree: tokens to fields, with their places
//!   table_entry { ... }        build: fields to the message that a descriptor describes
//! }                            print: a message to text
//! ```
//!
//! Read is what the published grammar says (protobuf.dev, "Text Format Language Specification") but for
//! floating-point numbers and extensions, which P4Runtime has none of.

mod build;
mod json;
mod lex;
mod places;
mod print;
mod tree;

pub use places::{Places, Step};
pub(crate) use print::print;

use prost_reflect::{DynamicMessage, MessageDescriptor};
use std::ops::Range;

/// Error in a text, and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// A sentence without its period.
    pub message: String,
    /// Bytes of the text.
    pub at: Range<usize>,
    /// Suggested correction, if there is one.
    pub help: Option<String>,
}

impl TextError {
    fn new(message: impl Into<String>, at: &Range<usize>) -> TextError {
        TextError { message: message.into(), at: at.clone(), help: None }
    }
}

/// Places of the fields in a JSON text that has been read.
pub(crate) fn json_places(input: &str) -> Places {
    Places::new(json::fields(input))
}

/// Reads a message.
pub(crate) fn parse(
    descriptor: &MessageDescriptor,
    input: &str,
) -> Result<(DynamicMessage, Places), TextError> {
    let fields = tree::parse(input)?;
    let message = build::message(descriptor, &fields)?;
    Ok((message, Places::new(fields)))
}
