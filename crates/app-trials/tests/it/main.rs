//! The tests of this crate as one program.

mod apps;
mod checks;
