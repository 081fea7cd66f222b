//! Building blocks in P4 that approximate, with known error, what limited switches cannot do (FlexSwitch, NSDI'17, section 3).
//!
//! A program includes a block by name, with parameters if the defaults do not fit, and instantiates its control:
//!
//! ```p4
//! #include <v1model.p4>
//! #include <p4rack/blocks/count-min.p4>
//! #include <p4rack/blocks/multiply/bits=16,mantissa=4,fraction=7,as=Price.p4>
//! ...
//!     CountMin() packets;
//!     apply { packets.apply(hdr.ipv4.src, 32w1, meta.estimate); }
//! ```
//!
//! The text of an included block is generated: an include is a call of the generator ([`include()`]), and `p4rack block generate -o DIR` writes
//! the same text into files for other compilers, under the same names.
//!
//! Each block is a file here and a [`Block`]: parameters, interface, P4, exact twin, model, cost, error. The twin has the interface of the
//! block and computes the exact result by means that only software devices have. The model is the block in Rust: tests compare it with the P4 on
//! every engine, and sizes are chosen with it.

mod arch;
mod balance;
mod block;
mod cardinality;
mod count_min;
mod distribution;
mod fixed;
mod hash;
mod log_exp;
pub mod measure;
mod normalised;
mod parameters;
mod purpose;
mod rate_continuous;
mod rates;
mod sizing;
mod text;
mod timestamps;

pub use balance::reduce_weights;
pub use block::{Access, Arch, Block, Body, Cost, Direction, Entries, Hash, Model, Port};
pub use distribution::Distribution;
pub use parameters::{Parameter, Request, Values};
pub use purpose::{Alternative, PURPOSES, Purpose, Variant, Wanted, percentage, rank};
pub use sizing::{Sized, error_of, expected_error, size};
pub use text::{
    Form, REPORT, example, include, include_by_purpose, include_names, include_reporting, path, source,
};

/// All blocks, by area.
pub const BLOCKS: [&Block; 18] = [
    &cardinality::BITMAP,
    &cardinality::HYPERLOGLOG,
    &count_min::PLAIN,
    &count_min::CONSERVATIVE,
    &count_min::DECAY,
    &log_exp::MULTIPLY,
    &log_exp::DIVIDE,
    &normalised::MULTIPLY,
    &normalised::DIVIDE,
    &rates::EWMA,
    &rates::RATE_INTERVAL,
    &rate_continuous::RATE_CONTINUOUS,
    &rates::QUEUE_METER,
    &rates::PERIODIC,
    &timestamps::MIN_TIMESTAMP,
    &timestamps::FLOWLET,
    &balance::WCMP,
    &balance::TWO_CHOICES,
];

/// The block of this name.
pub fn find(name: &str) -> Option<&'static Block> {
    BLOCKS.into_iter().find(|block| block.name == name)
}
