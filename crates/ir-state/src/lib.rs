//! The state objects of a program: who uses each, and how copies of it on several devices relate.
//!
//! The one place for both: `p4rack analyze` shows it, the splitter refuses by it, proofs and the controller join copies by it.
//! Tables and value sets are not listed: only the control plane writes them, and they are replicated.
//!
//! ```text
//! register<bit<32>>(1024) flows;                exclusive  by cell               Count reads and writes
//! @merge("max") register<bit<16>>(1) peak;      merged     by cell               Count writes, egress reads
//! direct_counter(CounterType.packets) hits;     merged     by entry of I.acl     Acl writes
//! ```

mod facts;
mod mode;
mod objects;
mod overwritten;
mod shown;
mod uses;

pub use facts::{access_of, sharing};
pub use mode::{
    Apart, adds_up, apart, check, is_merged, is_merged_counter, is_soft, mode_of, order_matters, refuse_apart,
};
pub use objects::{Accessor, Key, StateObject, key_of, objects};
pub use shown::shown;
pub use state_modes::{Merge, Mode};
pub use uses::{Touch, Uses, calls_of_block, uses_of_block};
