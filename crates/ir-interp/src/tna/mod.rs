//! Externs of TNA and T2NA.

mod check;
mod externs;
mod meter;
mod parser;
mod register;

pub(crate) use check::{check_call, check_instances};
pub(crate) use externs::TnaArch;
