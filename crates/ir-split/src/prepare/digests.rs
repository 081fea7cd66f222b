//! `record-digests`: digests are stored, and sent at the end of their half.
//!
//! Before: `digest<learn_t>(1, { hdr.ethernet.src, port }); ...`
//! After:  `meta.p4rack_digest1 = 1; meta.p4rack_digest1_a = hdr.ethernet.src; meta.p4rack_digest1_b = port; ...
//!          if (meta.p4rack_digest1 == 1) { digest<learn_t>(1, { meta.p4rack_digest1_a, meta.p4rack_digest1_b }); }`
//!
//! Why: the control plane talks to the origin, where the end of each half runs; the values are those of the call.
//! Each call needs a place of its own, in the order of execution: one that may run twice is refused. Equal calls on different paths, as those of
//! pinned programs, share one.

use super::{add_metadata, role_type};
use crate::arch;
use crate::refuse::unsupported;
use base_diag::{Diagnostic, Span};
use ir::{
    ActionId, Block, Call, Callee, ControlId, Expr, ExprKind, Field, Program, Role, Stmt, StmtKind, SwitchOn,
    TableId, Type, VarId, build,
};
use p4_arch::CutCall;
use std::collections::BTreeSet;

/// Records the digests of a control.
pub fn record_digests(
    program: &mut Program,
    prefix: &str,
    control: ControlId,
) -> Result<(), Vec<Diagnostic>> {
    let mut order =
        Order { program, control, seen: BTreeSet::new(), found: vec![], last: None, refused: vec![] };
    order.block(&program.control(control).body, false);
    let Order { found, mut refused, .. } = order;
    if found.is_empty() {
        return if refused.is_empty() { Ok(()) } else { Err(refused) };
    }
    let Some(metadata) = metadata_of(program, control) else { return Ok(()) };
    let mut sites = vec![];
    for (number, call) in (1..).zip(found) {
        match Site::new(program, prefix, number, &call, &metadata) {
            Some(site) => sites.push((call, site)),
            None => refused.push(unsupported(call.span, "a digest of this data")),
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut changed = program.control(control).clone();
    let rewrite = |block: &mut Block| rewrite_block(block, &sites);
    rewrite(&mut changed.body);
    changed.actions.iter_mut().for_each(|a| rewrite(&mut a.body));
    for (call, site) in &sites {
        let mut digest_call = Call { span: Span::NONE, ..call.clone() };
        if let Some(data) = digest_call.args.last_mut() {
            *data = Some(site.data.clone());
        }
        let is_set = build::equals(site.flag.clone(), build::bits(1, 1));
        changed.body.stmts.push(build::if_then(is_set, vec![build::stmt(StmtKind::Call(digest_call))]));
    }
    program.controls[control.index()] = changed;
    Ok(())
}

fn metadata_of(program: &Program, control: ControlId) -> Option<VarId> {
    let stage = program.stages.iter().find(|s| s.kind == ir::StageKind::Control(control))?;
    let position = stage.roles.iter().position(|r| *r == Role::Metadata)?;
    program.control(control).params.get(position).copied()
}

fn digest<'s>(program: &Program, stmt: &'s Stmt) -> Option<&'s Call> {
    let StmtKind::Call(call) = &stmt.kind else { return None };
    let Callee::ExternFunction(id) = call.callee else { return None };
    let function = &program.extern_functions[id.index()];
    (arch::call(function) == Some(CutCall::Digest)).then_some(call)
}

/// Digests in an order in which they may be sent.
struct Order<'a> {
    program: &'a Program,
    control: ControlId,
    seen: BTreeSet<ActionId>,
    found: Vec<Call>,
    /// The last one, in that order, that may have been sent on the path to here.
    last: Option<usize>,
    refused: Vec<Diagnostic>,
}

impl Order<'_> {
    fn block(&mut self, block: &Block, in_loop: bool) {
        for stmt in &block.stmts {
            self.stmt(stmt, in_loop);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, in_loop: bool) {
        ir::visit::exprs(stmt, &mut |e| {
            ir::visit::subexprs(e, &mut |e| match &e.kind {
                ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => self.table(*table, in_loop),
                _ => {}
            });
        });
        match &stmt.kind {
            StmtKind::Apply(table) | StmtKind::Switch(SwitchOn::ActionRun(table), _) => {
                self.table(*table, in_loop);
            }
            StmtKind::Call(Call { callee: Callee::Action(action), .. }) => self.action(*action, in_loop),
            _ => {}
        }
        if let Some(call) = digest(self.program, stmt) {
            let known = self.found.iter().position(|known| known == call);
            let at = known.unwrap_or(self.found.len());
            // Records are sent in the order of their numbers, which has to be that of the calls.
            if in_loop || self.last.is_some_and(|last| last >= at) {
                self.refused.push(unsupported(call.span, "a digest that may be sent twice"));
            } else if known.is_none() {
                self.found.push(call.clone());
            }
            self.last = self.last.max(Some(at));
        }
        let in_loop = in_loop || matches!(stmt.kind, StmtKind::For { .. } | StmtKind::ForIn { .. });
        let before = self.last;
        // One arm of an `if` runs: both begin after the calls before it.
        let is_choice = matches!(stmt.kind, StmtKind::If(..));
        let mut after = before;
        ir::visit::blocks(stmt, &mut |inner| {
            if is_choice {
                self.last = before;
            }
            self.block(inner, in_loop);
            after = after.max(self.last);
        });
        self.last = after;
    }

    fn table(&mut self, table: TableId, in_loop: bool) {
        let actions = &self.program.control(self.control).tables[table.index()].actions;
        for run in actions {
            self.action(run.action, in_loop);
        }
    }

    fn action(&mut self, action: ActionId, in_loop: bool) {
        let body = &self.program.control(self.control).actions[action.index()].body;
        let mut found_at = None;
        ir::visit::stmts(body, &mut |stmt| {
            found_at = found_at.or(digest(self.program, stmt).map(|call| call.span))
        });
        match found_at {
            Some(span) if !self.seen.insert(action) => {
                self.refused.push(unsupported(span, "a digest that may be sent twice"));
            }
            _ => self.block(body, in_loop),
        }
    }
}

/// Storage of a digest until it is sent.
struct Site {
    flag: Expr,
    /// Each scalar of the data and its field.
    values: Vec<(Expr, Expr)>,
    /// The data again, made of the fields.
    data: Expr,
}

impl Site {
    fn new(program: &mut Program, prefix: &str, number: u32, call: &Call, metadata: &VarId) -> Option<Site> {
        let Some(Some(receiver)) = call.args.first() else { return None };
        let data = call.args.last()?.clone()?;
        if !matches!(receiver.kind, ExprKind::Const(_)) {
            return None;
        }
        let mut scalars = vec![];
        let Type::Named(owner) = role_type(program, Role::Metadata)? else { return None };
        parts(program, &data, owner, &mut scalars)?;
        let mut note = |name: String, ty: &Type| {
            let field = Field { name: name.into(), ty: ty.clone(), annotations: vec![] };
            let number = add_metadata(program, field)?;
            Some(build::field(build::var(*metadata, &Type::Named(owner)), number, ty.clone()))
        };
        let flag = note(format!("{prefix}_digest{number}"), &Type::Bit(1))?;
        let mut values = vec![];
        for (n, scalar) in scalars.into_iter().enumerate() {
            let field = note(format!("{prefix}_digest{number}_{n}"), &scalar.ty)?;
            values.push((field, scalar));
        }
        let mut fields = values.iter().map(|(field, _)| field.clone());
        let data = rebuilt(program, &data.ty, &mut fields);
        Some(Site { flag, values, data })
    }
}

/// The scalars of a value; `None` if one has a form that cannot be kept in the metadata.
fn parts(program: &Program, value: &Expr, owner: ir::TypeId, out: &mut Vec<Expr>) -> Option<()> {
    if let Some(types) = component_types(program, &value.ty) {
        for (n, ty) in types.into_iter().enumerate() {
            let component = match &value.kind {
                ExprKind::Aggregate(all) => all.get(n)?.clone(),
                ExprKind::Var(_) | ExprKind::Field(..) | ExprKind::Index(..) => {
                    build::field(value.clone(), n, ty)
                }
                _ => return None,
            };
            parts(program, &component, owner, out)?;
        }
        return Some(());
    }
    match &value.ty {
        Type::Bit(_) | Type::Int(_) | Type::Bool | Type::Error => {}
        Type::Named(id) if *id < owner && program.fields(&value.ty).is_empty() => {}
        _ => return None,
    }
    out.push(value.clone());
    Some(())
}

/// Types of the components of a struct or tuple.
fn component_types(program: &Program, ty: &Type) -> Option<Vec<Type>> {
    match ty {
        Type::Tuple(types) => Some(types.clone()),
        Type::Named(id) => match &program.type_decl(*id).kind {
            ir::TypeKind::Struct(fields) => Some(fields.iter().map(|f| f.ty.clone()).collect()),
            _ => None,
        },
        _ => None,
    }
}

fn rebuilt(program: &Program, ty: &Type, fields: &mut dyn Iterator<Item = Expr>) -> Expr {
    match component_types(program, ty) {
        Some(types) => {
            let parts = types.iter().map(|ty| rebuilt(program, ty, fields)).collect();
            build::expr(ExprKind::Aggregate(parts), ty.clone())
        }
        None => fields.next().unwrap_or_else(|| build::bits(1, 0)),
    }
}

fn rewrite_block(block: &mut Block, sites: &[(Call, Site)]) {
    for mut stmt in std::mem::take(&mut block.stmts) {
        ir::visit::blocks_mut(&mut stmt, &mut |inner| rewrite_block(inner, sites));
        let site = match &stmt.kind {
            StmtKind::Call(call) => sites.iter().find(|(known, _)| known == call).map(|(_, site)| site),
            _ => None,
        };
        match site {
            Some(site) => {
                let kept = site.values.iter();
                block.stmts.extend(kept.map(|(field, value)| build::assign(field.clone(), value.clone())));
                block.stmts.push(build::assign(site.flag.clone(), build::bits(1, 1)));
            }
            None => block.stmts.push(stmt),
        }
    }
}
