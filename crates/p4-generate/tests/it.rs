//! The tests of this crate as one program: linking one takes longer than compiling it.

mod keys;
mod merged;
mod native;
mod pinned;
mod programs;
mod sharded;
mod support;
