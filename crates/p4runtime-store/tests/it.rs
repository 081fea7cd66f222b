//! The tests of this crate as one program: linking one takes longer than compiling it.

mod bulk;
mod cells;
mod direct;
mod memories;
mod memory;
mod numbers;
mod pieces;
