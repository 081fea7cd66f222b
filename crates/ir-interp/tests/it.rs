//! The tests of this crate as one program: linking one takes longer than compiling it.

mod common;
mod direct;
mod externs;
mod frames;
mod generator;
mod limits;
mod random;
mod stf;
mod tna;
mod trace;
mod values;
