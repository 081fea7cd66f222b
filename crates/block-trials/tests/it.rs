//! The tests of this crate as one program: linking one takes longer than compiling it.

mod blocks;
mod choices;
mod costs;
mod figure4;
mod figure5;
mod reference;
