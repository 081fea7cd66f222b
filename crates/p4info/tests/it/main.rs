//! One small program for each kind of thing, with what P4Info says of it.

mod objects;
mod support;
mod tables;
