//! The tests of this crate as one program: linking one takes longer than compiling it.

mod crashes;
mod files;
