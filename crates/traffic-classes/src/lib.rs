//! Traffic classes: predicates over the headers that most packets begin with, and the port that a packet came in by.
//!
//! ```text
//! ipv4.dst in 10.1.0.0/16 && (tcp || udp) && l4.dst != 53 && port in 1..4
//! ```
//!
//! A [`Class`] is read from text. Its [`rows`](Class::rows) say for each [`Shape`] of a packet which values of the fields
//! belong to it, which is what a parser can select on; [`Class::overlap`] finds a packet of two classes.
//! [`Class::matches`] defines what a class means: on bytes, without rows.

mod address;
mod class;
mod field;
mod packet;
mod read;
mod rows;
mod shape;
mod witness;

pub use class::{Class, Predicate};
pub use field::{Field, Header, Layer};
pub use packet::headers_of;
pub use read::ClassError;
pub use rows::{Row, TooComplex};
pub use shape::{L3, L4, SHAPES, Shape};
pub use witness::Witness;
