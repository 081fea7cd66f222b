//! Labs: hosts in network namespaces, P4 switches on the native engine, links in real time.
//!
//! ```text
//! find ──> prepare ──> Network::up
//! which    programs    ├─ Space: a namespace for each host, with a TAP interface and its own network stack
//! file     and entries ├─ agent: a switch for each, which serves P4Runtime
//!                      └─ Wire: a thread for each link
//! ```
//!
//! **Invariant**: open files of its process hold everything that a lab creates in the kernel. When the process ends,
//! all of it is gone, except for processes that the hosts have started, which [`Registry::clean`] ends.

// This is where namespaces, processes and time come from.
#![allow(clippy::disallowed_methods)]

mod build;
mod command;
mod draw;
mod dump;
mod exec;
mod find;
mod follow;
mod graph;
mod import;
mod netlink;
mod network;
mod ping;
mod prepare;
mod printed;
mod process;
mod prompt;
mod real;
mod registry;
mod script;
mod served;
mod shared_address;
mod signals;
mod space;
mod stack;
mod terminal;
mod transfer;
mod wire;

pub use build::welcome;
pub use command::{Done, Streams, perform};
pub use draw::draw;
pub use exec::exec;
pub use find::{Found, find};
pub use import::import;
pub use network::{Network, Settings};
pub use prepare::{Prepared, Ready, Wishes, prepare, read};
pub use process::own_command;
pub use prompt::{Commands, read_commands, run as prompt};
pub use real::{RealSettings, real};
pub use registry::{HostRecord, MARK, Record, Registry, SwitchRecord};
pub use script::{Outcome, Step, read as read_script, run as run_script};
pub use served::serve;
pub use signals::{Ending, on_signals};
pub use space::become_root;

use base_diag::codes::lab as codes;
use base_diag::{Diagnostic, SourceMap};
use std::path::Path;

/// Brings a lab up: everything that it names is read before anything is made. Warnings come with it. To be called while the process has one thread.
pub fn up(
    path: &Path,
    wishes: &Wishes,
    mut settings: Settings,
    map: &mut SourceMap,
) -> Result<(Network, Vec<Diagnostic>), Vec<Diagnostic>> {
    let registry = Registry::of_user();
    registry.clean();
    let mut found = find(path).map_err(|problem| vec![problem])?;
    found.base = wishes.base.clone().unwrap_or(found.base);
    let (prepared, warnings) = prepare(&found, wishes, map)?;
    let failed = |why: String| vec![failure(&why, "p4rack lab")];
    become_root().map_err(failed)?;
    let logs = prepared.base.join("logs");
    let mut notes = build::write_requests(&prepared, &logs);
    if settings.for_controllers && prepared.lab.origin != lab_model::Origin::Rack {
        notes.extend(build::write_programs(&prepared));
    }
    settings.pcaps = settings.pcaps.filter(|_| prepared.lab.records).map(|pcaps| prepared.base.join(pcaps));
    let mut network = Network::up(prepared, &settings, registry).map_err(failed)?;
    network.notes.extend(notes);
    Ok((network, warnings))
}

/// Error of a lab that cannot be brought up, with advice if there is any.
fn failure(why: &str, command: &str) -> Diagnostic {
    let problem = Diagnostic::error(codes::BRING_UP, "the lab cannot be brought up").note(why);
    let is_denied =
        why.contains("Operation not permitted") || why.contains("Permission denied") || why.contains("EPERM");
    match is_denied {
        true => problem.help(format!("run it as root: `sudo {command}`")),
        false => problem,
    }
}
