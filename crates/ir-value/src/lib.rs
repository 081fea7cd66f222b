//! Values of a program at run time: what operators make of them ([`operate`]), how they lie in a packet ([`wire`]), the fields of an
//! architecture's metadata by name ([`fields`]), and values as lists of numbers ([`numbers`]).

pub mod fields;
pub mod numbers;
pub mod operate;
mod value;
pub mod wire;

pub use value::{Header, Stack, Value, equal};
