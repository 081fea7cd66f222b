//! The merged controls. Ingress and egress apply the control of the packet's app; checksums and deparsers, which BMv2
//! allows little in, are put one after the other.

use crate::builder::{Common, Params, Source, control};
use crate::effects::{standard_field, to_merged, to_own};
use crate::scan;
use crate::substitute::Substitution;
use ir::{
    Call, Callee, Const, Control, Direction, Expr, ExprKind, ExternFunctionId, Name, Program, Role, Stmt,
    StmtKind, Type, Var, VarId, VarKind, build,
};

const BOTH: [(Role, Direction); 3] = [
    (Role::Headers, Direction::InOut),
    (Role::Metadata, Direction::InOut),
    (Role::StandardMetadata, Direction::InOut),
];

/// True if the app's control for this stage gets a place of its own, which the merged control applies.
pub fn stands_alone(control: &Control, stage: &str) -> bool {
    match stage {
        "ingress" => true,
        "egress" => !is_empty(control),
        _ => !can_be_inlined(control),
    }
}

fn is_empty(control: &Control) -> bool {
    control.body.stmts.is_empty() && control.locals.is_empty()
}

fn can_be_inlined(control: &Control) -> bool {
    let has_members = !control.tables.is_empty()
        || !control.actions.is_empty()
        || !control.instances.is_empty()
        || !control.locals.is_empty();
    !has_members && !scan::any_stmt(&control.body, |s| matches!(s.kind, StmtKind::Return(_) | StmtKind::Exit))
}

/// `ingress`: the app's ingress, then its group among those of all apps. Packets of no app are dropped.
pub fn ingress(
    out: &Program,
    common: &Common,
    sources: &[Source],
    drop: ExternFunctionId,
) -> Option<Control> {
    let params = Params::new(common, &Type::Void, &BOTH);
    let group = group(out, common, &params)?;
    let standard = params.expr(Role::StandardMetadata)?;
    let mut rest = vec![build::call(Callee::ExternFunction(drop), vec![], vec![standard])];
    for source in sources.iter().rev() {
        let mut stmts = vec![source.apply(&params, common, "ingress")?];
        stmts.extend(to_merged(&group, source.share.groups).filter(|_| source.chooses_groups()));
        rest = vec![build::if_else(source.is_packets(&params)?, stmts, rest)];
    }
    Some(control("MergedIngress", params, vec![], rest))
}

/// `egress`: the app's own group, then its egress.
pub fn egress(out: &Program, common: &Common, sources: &[Source]) -> Option<Control> {
    let params = Params::new(common, &Type::Void, &BOTH);
    let group = group(out, common, &params)?;
    let mut rest = vec![];
    for source in sources.iter().rev() {
        let (_, own) = source.control("egress")?;
        if is_empty(own) {
            continue;
        }
        let mut stmts: Vec<Stmt> =
            to_own(&group, source.share.groups).filter(|_| source.chooses_groups()).into_iter().collect();
        stmts.push(source.apply(&params, common, "egress")?);
        rest = vec![build::if_else(source.is_packets(&params)?, stmts, rest)];
    }
    Some(control("MergedEgress", params, vec![], rest))
}

/// `verify_checksum` and `compute_checksum`: those of all apps, each under the condition that the packet is the app's.
pub fn checksums(
    out: &Program,
    common: &Common,
    sources: &[Source],
    (stage, name): (&str, &str),
) -> Option<Control> {
    let params = Params::new(common, &Type::Void, &BOTH[..2]);
    let (mut vars, mut stmts) = (params.vars.clone(), vec![]);
    for source in sources {
        let (_, own) = source.control(stage)?;
        let is_apps = source.is_packets(&params)?;
        if !can_be_inlined(own) {
            stmts.push(build::if_then(is_apps, vec![source.apply(&params, common, stage)?]));
            continue;
        }
        let mut inlined = source.inlined(&params, common, stage, &mut vars)?;
        // BMv2 allows calls alone in these controls, so the condition becomes a part of their first argument.
        if inlined.iter_mut().all(|stmt| condition(out, stmt).is_some()) {
            for stmt in &mut inlined {
                let condition = condition(out, stmt)?;
                *condition = match condition.kind {
                    ExprKind::Const(Const::Bool(true)) => is_apps.clone(),
                    _ => build::and(is_apps.clone(), condition.clone()),
                };
            }
            stmts.extend(inlined);
        } else {
            stmts.push(build::if_then(is_apps, inlined));
        }
    }
    let extra = vars.split_off(params.vars.len());
    Some(control(name, params, extra, stmts))
}

/// `deparser`: the emits of all apps. The headers of all but one are invalid.
pub fn deparser(common: &Common, sources: &[Source]) -> Option<Control> {
    let params = Params::new(
        common,
        &common.packet_out,
        &[(Role::Packet, Direction::None), (Role::Headers, Direction::In)],
    );
    let (mut vars, mut stmts) = (params.vars.clone(), vec![]);
    // Apps with one parser have one deparser.
    for source in sources.iter().filter(|source| source.leader == source.at) {
        let (_, own) = source.control("deparser")?;
        match can_be_inlined(own) {
            true => stmts.extend(source.inlined(&params, common, "deparser", &mut vars)?),
            false => stmts.push(source.apply(&params, common, "deparser")?),
        }
    }
    let extra = vars.split_off(params.vars.len());
    Some(control("MergedDeparser", params, extra, stmts))
}

impl Source {
    /// `app_MyIngress.apply(hdr.app, meta.app, standard_metadata);`
    fn apply(&self, params: &Params, common: &Common, stage: &str) -> Option<Stmt> {
        let (id, _) = self.control(stage)?;
        let id = self.ids.controls.get(id.index()).copied().flatten()?;
        Some(build::call(Callee::Control(id), vec![], self.arguments(params, common, stage)?))
    }

    /// The statements of the app's control in a merged one, whose further variables come after `vars`.
    fn inlined(
        &self,
        params: &Params,
        common: &Common,
        stage: &str,
        vars: &mut Vec<Var>,
    ) -> Option<Vec<Stmt>> {
        let (_, own) = self.control(stage)?;
        let arguments = self.arguments(params, common, stage)?;
        let mut moved = vec![];
        for (at, var) in own.vars.iter().enumerate() {
            let param = own.params.iter().position(|param| param.index() == at);
            moved.push(match param.and_then(|param| arguments.get(param)) {
                Some(argument) => argument.clone(),
                None => {
                    let name = Name::from(format!("{}_{}", self.share.prefix, var.name));
                    vars.push(Var { name, kind: VarKind::Local, ..var.clone() });
                    build::var_of(vars, VarId::from(vars.len() - 1))
                }
            });
        }
        let mut body = own.body.clone();
        Substitution { vars: moved, value_sets: 0 }.block(&mut body);
        Some(body.stmts)
    }
}

/// The condition of a `verify_checksum` or `update_checksum`.
fn condition<'s>(out: &Program, stmt: &'s mut Stmt) -> Option<&'s mut Expr> {
    let StmtKind::Call(Call { callee: Callee::ExternFunction(id), args, .. }) = &mut stmt.kind else {
        return None;
    };
    let function = out.extern_functions.get(id.index()).filter(|f| !f.user)?;
    let is_conditional = p4_arch::v1model::CUT
        .calls
        .iter()
        .any(|(name, call)| *name == function.name && *call == p4_arch::CutCall::Conditional);
    args.first_mut().filter(|_| is_conditional)?.as_mut()
}

/// `standard_metadata.mcast_grp`
fn group(out: &Program, common: &Common, params: &Params) -> Option<Expr> {
    let (at, ty) = standard_field(out, &common.standard, "mcast_grp")?;
    Some(build::field(params.expr(Role::StandardMetadata)?, at as usize, ty))
}
