//! Allocations against the definition, and against one another.

mod definition;
mod drawn;
mod integer;
mod invariances;
#[path = "../large.rs"]
mod large;
mod published;
mod scale;
mod why;
