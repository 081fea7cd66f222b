//! The reference interpreter: the meaning of an elaborated program.
//!
//! Engines and splits are compared with it, so it is simple before it is fast. It runs the tree of
//! [`ir::Program`] as it stands: expressions, statements, parsers, calls, places. State that lasts from packet to packet is the
//! [`device`]'s, whose stages it runs ([`Interpreter`]). The externs of each architecture have a folder.
//!
//! **Invariant**: no packet, entry or program makes it panic, hang or take unbounded memory. Every pass has a
//! budget of steps.

mod apply;
mod call;
mod check;
mod expr;
mod externs;
mod machine;
mod packet_in;
mod parser;
mod place;
mod plan;
mod psa;
mod region;
mod runner;
mod stage_arch;
mod stmt;
mod tna;
mod trace;
mod v1model;
mod value_calls;

pub use runner::Interpreter;

use base_diag::Diagnostic;
use device::{Options, Switch, check_architecture};
use ir::{Arch, Program};
use std::sync::Arc;

/// A device whose program the interpreter runs. Errors: reasons why it cannot be run; nothing is refused at packet
/// time.
pub fn switch(program: Arc<Program>, options: Options) -> Result<Switch, Vec<Diagnostic>> {
    check(&program)?;
    let interpreter = Interpreter::new(&program);
    Switch::new(program, options, Box::new(interpreter))
}

/// Refuses a program that cannot be run, whatever the device.
pub fn check(program: &Program) -> Result<(), Vec<Diagnostic>> {
    check_architecture(program).map_err(|problem| vec![problem])?;
    match program.arch {
        Arch::Psa { .. } => {
            check::check(program, psa::check_call)?;
            psa::check_instances(program)
        }
        Arch::Tna(_) | Arch::T2na => {
            check::check(program, tna::check_call)?;
            tna::check_instances(program)
        }
        _ => {
            check::check(program, v1model::check_call)?;
            check::check_frame_calls(program)
        }
    }
}
