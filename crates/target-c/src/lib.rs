//! Handlers for C and Python, as text and rules. Nothing here runs a compiler or loads code: see `handlers`.
//!
//! - `header`: the header of a program: `abi.h`, a struct with accessors for each request and response, a prototype for each handler
//! - `harness`: the handlers as a table, for a library, for the `main` of a worker process (`worker.c`) and of a fuzz target (`fuzz.c`)
//! - `python`: a worker for handlers in Python (`worker.py`)
//! - `clip`: programs in CLIP's own form
//! - `symbols`: symbols of an object file, and those that a handler must not use or define

pub mod clip;
mod harness;
mod header;
mod python;
pub mod symbols;

pub use harness::{calls, fuzz, worker};
pub use header::{ABI, fingerprint_prefix, fingerprint_symbol, header};
pub use python::python_worker;
