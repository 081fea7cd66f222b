//! Where PSA's stages and their metadata are in a program.

use crate::codes;
use base_diag::Diagnostic;
use ir::{Control, ControlId, Name, Parser, ParserId, Program, Role, StageKind, Type, Var, VarId};

/// What is worked out once for a program.
pub(super) struct Layout {
    pub(super) ingress: Half,
    pub(super) egress: Half,
}

/// Ingress or egress.
pub(super) struct Half {
    pub(super) parser: Stage<ParserId>,
    pub(super) control: Stage<ControlId>,
    pub(super) deparser: Stage<ControlId>,
}

/// One block and what its parameters are.
pub(super) struct Stage<Id> {
    pub(super) name: Name,
    pub(super) id: Id,
    pub(super) params: Vec<Param>,
}

/// A parameter of a block.
pub(super) struct Param {
    pub(super) var: VarId,
    pub(super) role: Role,
    pub(super) ty: Type,
}

impl<Id> Stage<Id> {
    /// The type of the parameter with this role.
    pub(super) fn ty(&self, role: Role) -> Type {
        self.params.iter().find(|p| p.role == role).map_or(Type::Void, |p| p.ty.clone())
    }
}

impl Layout {
    pub(super) fn new(program: &Program) -> Result<Layout, Vec<Diagnostic>> {
        let half = |name: &str| {
            Some(Half {
                parser: parser(program, &format!("{name}_parser"))?,
                control: control(program, name)?,
                deparser: control(program, &format!("{name}_deparser"))?,
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

fn parser(program: &Program, name: &str) -> Option<Stage<ParserId>> {
    let stage = program.stage(name)?;
    let StageKind::Parse(id) = stage.kind else { return None };
    let Parser { params, vars, .. } = program.parsers.get(id.index())?;
    Some(Stage { name: stage.name.clone(), id, params: parameters(params, vars, &stage.roles) })
}

fn control(program: &Program, name: &str) -> Option<Stage<ControlId>> {
    let stage = program.stage(name)?;
    let (StageKind::Control(id) | StageKind::Deparse(id)) = stage.kind else { return None };
    let Control { params, vars, .. } = program.controls.get(id.index())?;
    Some(Stage { name: stage.name.clone(), id, params: parameters(params, vars, &stage.roles) })
}

fn parameters(params: &[VarId], vars: &[Var], roles: &[Role]) -> Vec<Param> {
    let param = |(var, role): (&VarId, &Role)| {
        let declared = vars.get(var.index())?;
        Some(Param { var: *var, role: *role, ty: declared.ty.clone() })
    };
    params.iter().zip(roles).filter_map(param).collect()
}
