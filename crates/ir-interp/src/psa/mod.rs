//! PSA's externs (PSA 1.2 §7).

mod check;
mod externs;

pub(crate) use check::{check_call, check_instances};
pub(crate) use externs::PsaArch;
