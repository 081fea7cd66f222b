//! The tests of this crate as one program: linking one takes longer than compiling it.

mod adversary;
mod machines;
mod mapper;
mod printed;
mod traffic;
