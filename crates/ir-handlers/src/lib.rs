//! Handlers: functions in C that a program calls like any extern (CLIP).
//!
//! ```p4
//! @remote(handler = "snat_alloc", group = "nat", key = { q.src, q.sport })
//! extern bool snat_alloc(in snat_req_t q, out snat_res_t r);
//! ```
//!
//! A handler has memory, so it is a value extern with one instance: [`expand`] declares it and changes the calls. Later steps
//! see only the value extern. [`handlers`] finds the handlers of an expanded program, with the layout of their values in C.
//!
//! - `remote`: the text of `@remote(...)`
//! - `fields`: the values of a struct, as C sees them
//! - `expand`: the pass
//! - `handler`: the handlers of a program, and the offer of a device that runs one
//! - `mirror`: the tables that handlers look up
//! - `hot`: such a table of which a switch has the busy entries

mod expand;
mod fields;
mod handler;
mod hot;
mod mirror;
mod remote;

pub use expand::expand;
pub use fields::{Field, FieldKind, Struct};
pub use handler::{CALL, Handler, handlers, offer};
pub use hot::{Hot, hot};
pub use mirror::Mirror;
pub use remote::Remote;
