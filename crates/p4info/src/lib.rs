//! An elaborated program as `p4.config.v1.P4Info` (P4Runtime 1.5, section 6): its control-plane view.
//!
//! ```text
//! table ipv4 { key = { hdr.ipv4.dst: lpm; } ... }      tables { preamble { id: 45170338 name: "ingress.ipv4"
//!                                                        alias: "ipv4" } match_fields { id: 1 ... } ... }
//! ```
//!
//! Declarations that are never used are left out: a table that is not applied, an action that nothing can run.
//! `@hidden` ones are, too. Objects are included, used or not: they are state.
//!
//! Order of the modules: [`used`] finds the code that can run, [`symbol`] assigns ids and aliases, then [`table`],
//! [`action`], [`object`], [`value_set`], [`packet`] and [`package`] describe it, with [`types`] and [`annotation`].
//! [`entry`] writes the program's own table entries as updates.
//!
//! **Invariant**: ids depend only on names and `@id`. A hand-written program and one that was printed from a split have
//! the same ids for the same names.

mod action;
mod annotation;
mod bytes;
mod describe;
mod entry;
mod numbering;
mod object;
mod package;
mod packet;
mod symbol;
mod table;
mod types;
mod used;
mod value_set;

pub use bytes::{canonical, padded};

use base_diag::Diagnostic;
use ir::Program;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::WriteRequest;

/// P4Info of `program`. Errors: ids that are taken or of another kind, annotations with wrong values.
pub fn p4info(program: &Program) -> Result<P4Info, Vec<Diagnostic>> {
    describe::Describer::new(program).run()
}

/// The program without `@p4runtime_translation`, so that its control plane uses numbers. `None` if it has none.
pub fn untranslated(program: &Program) -> Option<Program> {
    let is_translation = |annotation: &ir::Annotation| annotation.name == "p4runtime_translation";
    if !program.types.iter().any(|ty| ty.annotations.iter().any(is_translation)) {
        return None;
    }
    let mut plain = program.clone();
    plain.types.iter_mut().for_each(|ty| ty.annotations.retain(|annotation| !is_translation(annotation)));
    Some(plain)
}

/// The entries that stand in the source, as the updates that would make them.
pub fn entries(program: &Program) -> Result<WriteRequest, Vec<Diagnostic>> {
    let info = p4info(program)?;
    entry::entries(program, &info)
}
