//! The messages of P4Runtime 1.5, P4Info and packet traces, and their three forms: binary, text, JSON.
//!
//! ```
//! use p4runtime_proto::{from_text, p4::v1::Update, to_text};
//! let update: Update = from_text("type: INSERT entity { table_entry { table_id: 33554433 } }").unwrap();
//! assert_eq!(update.r#type, 1);
//! assert!(to_text(&update).unwrap().starts_with("type: INSERT\n"));
//! ```
//!
//! The modules follow the packages of `proto/`, which states names, numbers and types as the specification does; `p4rack` is our own: what
//! P4Runtime lacks.
//! The services stand there too. `cargo xtask protocol` generates the code of messages and services from it, in `generated/`.
//!
//! **Invariant**: no text, JSON or binary makes a function here panic or overflow the stack: what is nested
//! deeper than [`MAX_DEPTH`] is refused.
//!
//! **Invariant**: the same message gives the same bytes in every form. Maps are ordered by their keys.

mod forms;
mod nesting;
mod text;
mod uint128;

pub use forms::{
    FormError, Message, binary_size, from_binary, from_json, from_json_placed, from_text, from_text_placed,
    to_binary, to_json, to_text,
};
pub use nesting::MAX_DEPTH;
pub use text::{Places, Step, TextError};

#[allow(missing_docs, clippy::all)]
mod messages {
    include!("../generated/messages.rs");
}

pub use messages::{google, p4, p4rack};
pub use prost::bytes::Bytes;
pub use prost_types::Any;

/// The encoded `google.protobuf.FileDescriptorSet` of all files, well-known types included, without comments.
pub const DESCRIPTORS: &[u8] = include_bytes!("../generated/descriptors.bin");
