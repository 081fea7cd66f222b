//! Programs for PNA as programs for PSA, which devices run.
//!
//! ```text
//! PNA   main parser ─> pre control ─> main control ─> main deparser ─> port, or the main parser again
//! PSA   PsaParser: parser ─> PsaIngress: pre control, main control, destination ─> PsaDeparser: deparser ─> an egress that does nothing
//! ```
//!
//! The blocks of the program stay as they are, with their tables' names, and blocks for PSA apply them. The externs of both
//! architectures are the same but for names of enums and of table properties. `recirculate` is PSA's recirculation, with the
//! number of the pass and the port of arrival as its metadata.
//!
//! **Invariant**: a construct whose meaning PNA's architecture file leaves open is refused with its place, unless the head of [`convert()`] decides it.

mod check;
mod convert;
mod frame;
mod rewrite;

pub use convert::convert;
