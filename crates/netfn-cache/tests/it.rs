//! The tests of this crate as one program: linking one takes longer than compiling it.

mod examples;
mod fuzz;
mod hits;
mod keeping;
mod linearizable;
mod protocol;
mod support;
