//! Where PSA's stages and their metadata are in a program.

use crate::stage::Stage;
use base_diag::Diagnostic;
use base_diag::codes::run as codes;
use ir::Program;

/// What is worked out once for a program.
pub(super) struct Layout {
    pub(super) ingress: Half,
    pub(super) egress: Half,
}

/// Ingress or egress.
pub(super) struct Half {
    pub(super) parser: Stage,
    pub(super) control: Stage,
    pub(super) deparser: Stage,
}

impl Layout {
    pub(super) fn new(program: &Program) -> Result<Layout, Vec<Diagnostic>> {
        let half = |name: &str| {
            Some(Half {
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
}
