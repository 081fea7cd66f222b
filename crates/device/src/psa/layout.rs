//! Positions of PSA's stages and metadata in a program.

use crate::half::{Half, Halves};
use base_diag::Diagnostic;
use base_diag::codes::run as codes;
use ir::{Program, Role, Type};

/// Facts about a program, computed once.
pub(crate) struct Layout {
    pub(crate) halves: Halves,
}

impl Layout {
    pub(crate) fn new(program: &Program) -> Result<Layout, Vec<Diagnostic>> {
        match Halves::of(program) {
            Some(halves) => Ok(Layout { halves }),
            None => Err(vec![Diagnostic::error(codes::NOT_SUPPORTED, "a stage is missing").note(
                "PSA has ingress_parser, ingress, ingress_deparser, egress_parser, egress, egress_deparser",
            )]),
        }
    }

    /// Types of headers, metadata and output metadata.
    pub(crate) fn types(&self, half: Half) -> [Type; 3] {
        self.halves.types(half, [Role::Headers, Role::Metadata, Role::Output])
    }
}
