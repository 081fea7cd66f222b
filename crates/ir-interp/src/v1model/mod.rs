//! v1model's externs.

mod calls;
mod check;
mod externs;

pub(crate) use check::check_call;
pub(crate) use externs::V1;
