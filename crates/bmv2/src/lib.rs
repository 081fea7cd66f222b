//! BMv2's interfaces to its control plane, over P4Runtime's entities: Thrift's binary protocol ([`wire`]), the services `standard`, `simple_pre_lag`
//! and `simple_switch` ([`Services`]), and the JSON that clients read tables and actions from ([`description`]).
//!
//! ```text
//! bytes ─ decode ─> Message ─ Services::handle ─> reads and writes of a Switch ─> Message ─ encode ─> bytes
//! ```
//!
//! [`Learning`] publishes digests. [`cli`] has the commands of `simple_switch_CLI`, as calls of these services.
//!
//! All state is in the switch: P4Runtime controllers read the writes of Thrift clients, and vice versa. Names, numbers and types of the services
//! are those that BMv2 publishes.

mod call;
mod catalog;
pub mod cli;
mod description;
mod entry;
mod handles;
mod learning;
mod management;
mod multicast;
mod objects;
mod profiles;
mod services;
mod switch;
mod tables;
mod value;
pub mod wire;

pub use description::{JSON_VERSION, description};
pub use learning::Learning;
pub use services::{About, Services};
pub use switch::{Calculation, Port, Switch};
