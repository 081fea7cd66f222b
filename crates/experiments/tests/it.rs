//! The tests of this crate as one program: linking one takes longer than compiling it.

mod bench_programs;
mod profile;
mod profile_app;
mod reproduce;
