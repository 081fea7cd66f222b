//! Entries that fill a device before packets come: tables, defaults, replication, memory, as data.
//!
//! The same can be written in three languages: p4rack's TOML ([`read_toml`], described in `docs/entries.md`), the
//! commands of `simple_switch_CLI` ([`read_commands`]), and the runtime files of p4lang's tutorials ([`read_runtime`]).
//! The readers do not know the program: names and widths are checked when the [`Statement`]s are written to a device.
//! Every name and value carries its place.
//!
//! ```
//! use p4_entries::{Statement, read_toml};
//! let text = "[[table.routes]]\nkey = [\"10.0.1.0/24\"]\naction = \"forward\"\nargs = { port = 2 }\n";
//! let (statements, problems) = read_toml(text, 1);
//! assert!(problems.is_empty());
//! assert!(matches!(&statements[0], Statement::Entry { table, .. } if table.text == "routes"));
//! ```

mod commands;
mod handles;
mod profiles;
mod runtime;
mod statement;
mod toml;
mod value;

pub use commands::{is_about_queues, is_command, queue_commands, read_commands};
pub use runtime::read_runtime;
pub use statement::{Args, Keys, Named, Run, Statement, Value};
pub use toml::read_toml;
pub use value::{Match, MatchError, parse_match, parse_number};
