//! State shared by the blocks of the merged program: types, parameters, and each app's part of them.

use crate::effects::Effects;
use crate::ids::Ids;
use crate::share::Share;
use ir::{
    Control, ControlId, Direction, Expr, ExprKind, Name, Program, Role, Stage, StageKind, Type, Var, VarId,
    VarKind, build,
};

/// An app on its way into the merged program.
pub struct Source {
    /// The app's program with the numbers and names of the merged program; the app's blocks keep their positions.
    pub program: Program,
    /// Numbers of the app's declarations.
    pub ids: Ids,
    /// The app's names and numbers in the merged program.
    pub share: Share,
    /// The app's requests to the traffic manager.
    pub effects: Effects,
    /// Position among the apps.
    pub at: usize,
    /// Position of the app whose parser it shares; its own without one.
    pub leader: usize,
    /// Position of its headers among the merged ones.
    pub headers: usize,
}

/// Types of the values that go with a packet.
#[derive(Clone)]
pub struct Common {
    pub headers: Type,
    pub metadata: Type,
    pub standard: Type,
    pub packet_in: Type,
    pub packet_out: Type,
    /// Types of each app's headers and metadata.
    pub parts: Vec<(Type, Type)>,
}

/// Parameters of a merged block.
pub struct Params {
    pub vars: Vec<Var>,
    pub roles: Vec<Role>,
}

impl Source {
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.program.stage(name)
    }

    /// The control of a stage, with its old number.
    pub fn control(&self, stage: &str) -> Option<(ControlId, &Control)> {
        let id = self.program.stage_control(stage)?;
        Some((id, self.program.control(id)))
    }

    pub fn parser(&self) -> Option<&ir::Parser> {
        match self.stage("parser")?.kind {
            StageKind::Parse(id) => self.program.parsers.get(id.index()),
            _ => None,
        }
    }

    /// Condition that a packet is the app's.
    pub fn is_packets(&self, params: &Params) -> Option<Expr> {
        Some(build::equals(app_number(params)?, build::bits(8, self.share.number.into())))
    }

    /// The app's argument for a parameter of a block that has `params`.
    pub fn argument(&self, params: &Params, common: &Common, role: Role) -> Option<Expr> {
        let whole = params.expr(role)?;
        let (headers, metadata) = common.parts.get(self.at)?;
        Some(match role {
            Role::Headers => build::field(whole, self.headers, headers.clone()),
            Role::Metadata => build::field(whole, self.at + 1, metadata.clone()),
            _ => whole,
        })
    }

    /// The arguments for the block of a stage.
    pub fn arguments(&self, params: &Params, common: &Common, stage: &str) -> Option<Vec<Expr>> {
        let roles = &self.stage(stage)?.roles;
        roles.iter().map(|role| self.argument(params, common, *role)).collect()
    }
}

impl Params {
    /// For these roles, in this order; `packet` is the type of a packet.
    pub fn new(common: &Common, packet: &Type, roles: &[(Role, Direction)]) -> Params {
        let var = |(role, direction): &(Role, Direction)| {
            let (name, ty) = match role {
                Role::Headers => ("hdr", &common.headers),
                Role::Metadata => ("meta", &common.metadata),
                Role::StandardMetadata => ("standard_metadata", &common.standard),
                _ => ("packet", packet),
            };
            Var {
                name: name.into(),
                ty: ty.clone(),
                kind: VarKind::Param(*direction),
                annotations: vec![],
                span: base_diag::Span::NONE,
            }
        };
        Params { vars: roles.iter().map(var).collect(), roles: roles.iter().map(|(role, _)| *role).collect() }
    }

    pub fn ids(&self) -> Vec<VarId> {
        (0..self.vars.len()).map(VarId::from).collect()
    }

    /// The parameter of a role.
    pub fn expr(&self, role: Role) -> Option<Expr> {
        let at = self.roles.iter().position(|known| *known == role)?;
        Some(build::var_of(&self.vars, VarId::from(at)))
    }

    pub fn var(&self, role: Role) -> Option<VarId> {
        match self.expr(role)?.kind {
            ExprKind::Var(var) => Some(var),
            _ => None,
        }
    }
}

/// `meta.app`
pub fn app_number(params: &Params) -> Option<Expr> {
    Some(build::field(params.expr(Role::Metadata)?, 0, Type::Bit(8)))
}

/// A control of the merged program.
pub fn control(name: &str, params: Params, extra: Vec<Var>, stmts: Vec<ir::Stmt>) -> Control {
    let ids = params.ids();
    let mut vars = params.vars;
    vars.extend(extra);
    Control {
        name: name.into(),
        control_plane_name: Name::from(name),
        params: ids,
        vars,
        locals: vec![],
        instances: vec![],
        actions: vec![],
        tables: vec![],
        body: build::block(stmts),
        annotations: vec![],
        span: base_diag::Span::NONE,
    }
}
