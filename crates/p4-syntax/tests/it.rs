//! The tests of this crate as one program: linking one takes longer than compiling it.

mod common;
mod errors;
mod fuzz;
mod generate;
mod round_trip;
mod shapes;
