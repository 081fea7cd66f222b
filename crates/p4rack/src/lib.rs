//! The compiler and the rack wired together: the one place that knows every crate.

pub mod compile;
pub mod files;

pub use compile::{Compiled, Until, compile};
pub use files::Disk;
