//! Exact match.

mod cuckoo;
mod direct;

pub use cuckoo::Buckets;
pub(crate) use cuckoo::Cuckoo;
pub(crate) use direct::Direct;
