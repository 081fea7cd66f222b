//! From messages to text, JSON and binary, and back.

use crate::text::{self, Places, TextError};
use crate::{DESCRIPTORS, MAX_DEPTH, nesting};
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use std::fmt;
use std::sync::LazyLock;

/// A message of this crate.
pub trait Message: prost::Message + prost::Name + Default {}

impl<M: prost::Message + prost::Name + Default> Message for M {}

/// Why something is not the form of a message, or a message has no such form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormError {
    /// The text is not protobuf's text format, or not of this message.
    Text(TextError),
    /// The JSON is not JSON, or not of this message; or an `Any` holds what is not known.
    Json {
        /// A sentence without its period.
        message: String,
        /// Offset of the error, in bytes.
        at: usize,
    },
    /// The bytes are not those of this message.
    Binary(String),
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormError::Text(error) => write!(f, "{}", error.message),
            FormError::Json { message, .. } | FormError::Binary(message) => f.write_str(message),
            FormError::TooDeep => write!(f, "messages are nested deeper than {MAX_DEPTH}"),
        }
    }
}

impl std::error::Error for FormError {}

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(DESCRIPTORS).expect("`cargo xtask protocol` wrote a descriptor set")
});

fn descriptor<M: Message>() -> MessageDescriptor {
    POOL.get_message_by_name(&M::full_name()).expect("a message of this crate is among its descriptors")
}

fn dynamic<M: Message>(message: &M) -> Result<DynamicMessage, FormError> {
    let dynamic = DynamicMessage::decode(descriptor::<M>(), message.encode_to_vec().as_slice());
    dynamic.ok().filter(nesting::is_shallow).ok_or(FormError::TooDeep)
}

fn typed<M: Message>(dynamic: &DynamicMessage) -> Result<M, FormError> {
    if !nesting::is_shallow(dynamic) {
        return Err(FormError::TooDeep);
    }
    dynamic.transcode_to().map_err(|e| FormError::Binary(e.to_string()))
}

/// The message in protobuf's text format, one field a line, in the order of the fields' numbers.
pub fn to_text<M: Message>(message: &M) -> Result<String, FormError> {
    Ok(text::print(&dynamic(message)?))
}

/// Reads protobuf's text format.
pub fn from_text<M: Message>(input: &str) -> Result<M, FormError> {
    Ok(from_text_placed(input)?.0)
}

/// Reads protobuf's text format, and returns the place of each field.
pub fn from_text_placed<M: Message>(input: &str) -> Result<(M, Places), FormError> {
    let (message, places) = text::parse(&descriptor::<M>(), input).map_err(FormError::Text)?;
    Ok((typed(&message)?, places))
}

/// The message as JSON (ProtoJSON), indented; the keys of each object in alphabetical order.
pub fn to_json<M: Message>(message: &M) -> Result<String, FormError> {
    let error = |e: serde_json::Error| FormError::Json { message: e.to_string(), at: 0 };
    let value = serde_json::to_value(dynamic(message)?).map_err(error)?;
    serde_json::to_string_pretty(&value).map(|text| text + "\n").map_err(error)
}

/// Reads JSON (ProtoJSON).
pub fn from_json<M: Message>(input: &str) -> Result<M, FormError> {
    // An editor may have put a byte-order mark first.
    let input = input.strip_prefix('\u{feff}').unwrap_or(input);
    let mut reader = serde_json::Deserializer::from_str(input);
    let error = |e: serde_json::Error| json_error(input, &e);
    let message = DynamicMessage::deserialize(descriptor::<M>(), &mut reader).map_err(error)?;
    reader.end().map_err(error)?;
    typed(&message)
}

/// Reads JSON (ProtoJSON), and returns the place of each field. The text has no byte-order mark.
pub fn from_json_placed<M: Message>(input: &str) -> Result<(M, Places), FormError> {
    Ok((from_json(input)?, text::json_places(input)))
}

/// The place of an error is its message's last words: taken off, and given as bytes.
fn json_error(input: &str, error: &serde_json::Error) -> FormError {
    let (line, column) = (error.line(), error.column());
    let before = input.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    let at = (before + column.saturating_sub(1)).min(input.len());
    let said = error.to_string();
    let message = said.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&said);
    FormError::Json { message: message.to_string(), at }
}

/// The message as bytes.
pub fn to_binary<M: Message>(message: &M) -> Vec<u8> {
    message.encode_to_vec()
}

/// Length of the output of [`to_binary`], in bytes.
pub fn binary_size<M: Message>(message: &M) -> usize {
    message.encoded_len()
}

/// Reads bytes.
pub fn from_binary<M: Message>(input: &[u8]) -> Result<M, FormError> {
    M::decode(input).map_err(|e| FormError::Binary(e.to_string()))
}
