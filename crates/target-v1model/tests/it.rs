//! Converted programs beside the originals.

mod packets;
mod refusals;
mod sources;
