//! The tests of this crate as one program: linking one takes longer than compiling it.

mod architectures;
mod captures;
mod code;
mod instances;
mod parsers;
mod programs;
mod support;
mod tables;
