//! Exact match.

mod cuckoo;
mod direct;

pub(crate) use cuckoo::Cuckoo;
pub(crate) use direct::Direct;
