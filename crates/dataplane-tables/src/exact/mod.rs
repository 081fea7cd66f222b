//! Exact match.

mod cuckoo;
mod direct;

pub(crate) use cuckoo::{Cuckoo, Probe};
pub(crate) use direct::Direct;
