//! Types: reading them from the source, showing them, comparing them, inferring them.

pub(crate) mod facts;
pub(crate) mod infer;
pub(crate) mod nesting;
pub(crate) mod properties;
pub(crate) mod resolve;
pub(crate) mod show;
pub(crate) mod unify;
