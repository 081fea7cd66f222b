//! The tests of this crate as one program: linking one takes longer than compiling it.

mod circles;
mod common;
mod conservation;
mod drive;
mod faults;
mod measures;
mod programs;
mod table;
mod tcp;
mod traffic;
