//! Positions of PSA's stages and metadata in a program.

use crate::half::Half;
use crate::stage::{BlockName, Stage};
use base_diag::Diagnostic;
use base_diag::codes::run as codes;
use ir::{Program, Role, Type};

/// Facts about a program, computed once.
pub(crate) struct Layout {
    ingress: Blocks,
    egress: Blocks,
}

/// Blocks of a half.
pub(super) struct Blocks {
    pub(super) parser: Stage,
    pub(super) control: Stage,
    pub(super) deparser: Stage,
}

impl Layout {
    pub(crate) fn new(program: &Program) -> Result<Layout, Vec<Diagnostic>> {
        let half = |name: &str| {
            Some(Blocks {
                parser: Stage::of(program, &format!("{name}_parser"))?,
                control: Stage::of(program, name)?,
                deparser: Stage::of(program, &format!("{name}_deparser"))?,
            })
        };
        match (half("ingress"), half("egress")) {
            (Some(ingress), Some(egress)) => Ok(Layout { ingress, egress }),
            _ => Err(vec![Diagnostic::error(codes::NOT_SUPPORTED, "a stage is missing").note(
                "PSA has ingress_parser, ingress, ingress_deparser, egress_parser, egress, egress_deparser",
            )]),
        }
    }

    pub(super) fn half(&self, half: Half) -> &Blocks {
        match half {
            Half::Ingress => &self.ingress,
            Half::Egress => &self.egress,
        }
    }

    /// The stage of a half; `None` if it has no such block.
    pub(crate) fn stage(&self, half: Half, block: BlockName) -> Option<&Stage> {
        let Blocks { parser, control, deparser } = self.half(half);
        match block {
            BlockName::Parser => Some(parser),
            BlockName::Deparser => Some(deparser),
            block => (block == half.control()).then_some(control),
        }
    }

    /// Types of headers, metadata and output metadata.
    pub(crate) fn types(&self, half: Half) -> [Type; 3] {
        let control = &self.half(half).control;
        [Role::Headers, Role::Metadata, Role::Output].map(|role| control.ty(role))
    }
}
