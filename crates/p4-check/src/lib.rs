//! Names, types and compile-time values of a P4-16 program.

pub mod typed;
