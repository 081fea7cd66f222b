//! The compiler's stages wired together, without files: sources come from a [`p4_syntax::Loader`].
//!
//! ```text
//! source text ─ compile ─> ir::Program ─ make_parts ─> what each device runs, and its P4
//!                              │  ├─ lowering ─> IR as text
//!                              │  └─ p4info ──> P4Info and entries as files
//!                              └─ pushed ─────> what a controller pushes
//! ```

mod compile;
pub mod lowering;
pub mod p4info;
mod parts;
pub mod pushed;
mod reparse;

pub use compile::{Compiled, Until, compile};
pub use parts::{Parts, Printed, make_parts, print_parts};
pub use reparse::reparse;
