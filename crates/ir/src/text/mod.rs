//! The text form of a program.
//!
//! Close to P4 in look, but complete: every declaration with its control-plane name, the variables of a block
//! in the order of their ids, every implicit cast. Words with a `$` are built in.
//!
//! ```text
//! control ingress(hdr, std) "ingress" {
//!     vars {
//!         inout headers_t hdr;
//!         inout standard_metadata_t std;
//!         param bit<9> port;
//!     }
//!     action forward(port) "ingress.forward" {
//!         std.egress_spec = port;
//!         hdr.ipv4.ttl -= 8w0x1;
//!     }
//!     table route "ingress.route" {
//!         key {
//!             hdr.ipv4.dst_addr: lpm "hdr.ipv4.dst_addr";
//!         }
//!         actions {
//!             forward();
//!         }
//!         default forward(9w0x0);
//!         size 1024;
//!     }
//!     apply {
//!         if (hdr.ipv4.$isValid) {
//!             apply route;
//!         }
//!     }
//! }
//! ```
//!
//! A type is left out where the parts of an expression give it, and else written after it: `({1, 2} : pair)`.
//! Names that are not unique carry their index: `x#7`. The body of an
//! annotation stands right after its name: `@region("a")`. Spans are not part of the text.

pub(crate) mod infer;
pub(crate) mod names;
mod ops;
mod read;
mod spans;
mod write;

pub use read::{TextError, read};
pub use spans::erase_spans;
pub use write::{write, write_stmts};
pub(crate) use write::{write_expr, write_type};
