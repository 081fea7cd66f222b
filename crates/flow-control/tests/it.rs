//! The tests of this crate as one program: linking one takes longer than compiling it.

mod flows;
mod merge;
mod model;
mod moves;
mod order;
mod printed;
