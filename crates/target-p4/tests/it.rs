//! The tests of this crate as one program: linking one takes longer than compiling it.

mod any_program;
mod round_trip;
mod support;
