//! Values of a program at run time: what operators make of them ([`operate`]), how they lie in a packet ([`wire`]), and the
//! fields of an architecture's metadata by name ([`fields`]).

pub mod fields;
pub mod operate;
mod value;
pub mod wire;

pub use value::{Header, Stack, Value, equal};
