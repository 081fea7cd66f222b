//! `name-flows`: the flow of a packet stands in a field of metadata before each region of a handler that runs on a group.
//!
//! Before: `@region("snat") { given = snat.call(q, r); }`
//! After:  `meta.snat_flow = q.address ++ q.port; @region("snat") { given = snat.call(q, r); }`, with
//!         `@flow("snat", 1024) bit<48> snat_flow;` in the metadata
//!
//! With a block, the first bit of the flow says whether the rest is the number of a leased block or the key:
//!         `meta.snat_flow = 1w0 ++ q.address ++ q.port; if (q.block != 0) { meta.snat_flow = 1w1 ++ 38w0 ++ q.block; } @region("snat") ...`, with
//!         `@flow("snat", 1024) @blocks("snat", 1024) bit<49> snat_flow;`. A block that is not 0 is at the server that it is leased to.
//!
//! All calls of a handler have one field, with an annotation for each of their regions: a call's flow is assigned just before it.
//!
//! If the program uses its metadata as one value, the field is in a struct around it: `wrap-whole-structs` (`prepare/wrap.rs`).
//!
//! Why: the policy `group` finds the server of a packet at the switch, before the call (`policy/group`).

use crate::arch;
use crate::prepare::bind::bind_whole_arguments;
use crate::prepare::wrap::wrap_whole;
use crate::prepare::{add_metadata, role_type};
use base_diag::{Diagnostic, Span, codes::group as codes};
use ir::{
    Annotation, AnnotationBody, AnnotationValue, BinaryOp, Block, Call, Callee, ControlId, Expr, ExprKind,
    Name, Program, Role, Stmt, StmtKind, Type, TypeKind, build, visit,
};
use p4_arch::Duty;

/// Annotation of a flow's field whose flows may be leased blocks: `@blocks("REGION", COUNT)`.
pub(crate) const BLOCKS: &str = "blocks";

/// The calls of a handler at a group, and the key of their flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowsOf {
    /// The regions, each of which is one call.
    pub regions: Vec<Name>,
    /// Fields of a call's first argument, each by the names from there on.
    pub key: Vec<Vec<String>>,
    /// The field that names a leased block; empty if there is none.
    pub block: Vec<String>,
    /// Buckets of the group.
    pub buckets: u32,
}

/// Adds the fields and the assignments.
pub fn name_flows(program: &mut Program, all: &[FlowsOf]) -> Result<(), Vec<Diagnostic>> {
    if !all.is_empty() {
        bind_whole_arguments(program);
        let name = free_type(program);
        wrap_whole(program, Role::Metadata, &name);
    }
    let mut wrong = vec![];
    for flows in all {
        if let Err(problem) = name_one(program, flows) {
            wrong.push(problem);
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn refuse(region: &Name, span: Span, why: &str) -> Diagnostic {
    Diagnostic::error(codes::NOT_GROUPED, format!("the handler `{region}` cannot run on a group"))
        .at(span, why.to_string())
}

fn name_one(program: &mut Program, flows: &FlowsOf) -> Result<(), Diagnostic> {
    let mut place = None;
    for region in &flows.regions {
        let call = Named::of(program, region, flows)?;
        let number = match place {
            Some(number) => number,
            None => add_field(program, region, flows, &call)?,
        };
        place = Some(number);
        call.write(program, region, number)?;
    }
    Ok(())
}

/// A call, and the flow that its packets have.
struct Named {
    stage: Duty,
    control: ControlId,
    span: Span,
    /// The key, after a bit if there are leased blocks.
    flow: Expr,
    /// The field that names a leased block.
    block: Option<Expr>,
}

impl Named {
    fn of(
        program: &Program,
        region: &Name,
        FlowsOf { key, block, .. }: &FlowsOf,
    ) -> Result<Named, Diagnostic> {
        let Some((stage, control, request, span)) = find(program, region) else {
            return Err(refuse(region, Span::NONE, "the program calls it neither in ingress nor in egress"));
        };
        if key.is_empty() {
            let why = "all packets are of one flow";
            return Err(refuse(region, span, why)
                .help("name fields of the request in `@remote`: `key = { q.src, q.sport }`"));
        }
        let mut calls = false;
        visit::subexprs(&request, &mut |expr| calls |= matches!(expr.kind, ExprKind::Call(_)));
        if calls {
            return Err(refuse(region, span, "the request itself is the result of a call")
                .help("assign it to a variable first"));
        }
        let parts: Option<Vec<Expr>> = key.iter().map(|path| part(program, &request, path)).collect();
        let whole = parts.into_iter().flatten().reduce(joined);
        let block = if block.is_empty() { None } else { part(program, &request, block) };
        // A bit before the key, and room for the block.
        let with_bit = |flow: Expr| match &block {
            Some(block) => build::cast(flow.clone(), Type::Bit(1 + width(&flow).max(width(block)))),
            None => flow,
        };
        let Some(flow) = whole.map(with_bit) else {
            return Err(refuse(region, span, "its key is nothing that a packet has"));
        };
        Ok(Named { stage, control, span, flow, block })
    }

    /// Assigns the flow before the call.
    fn write(self, program: &mut Program, region: &Name, number: usize) -> Result<(), Diagnostic> {
        let Named { stage, control, span, flow, block } = self;
        let Some(metadata) = metadata(program, stage, control) else {
            return Err(refuse(region, span, "the control of the call has no metadata"));
        };
        let place = build::field(metadata, number, flow.ty.clone());
        let mut stmts = vec![build::assign(place.clone(), flow.clone()).at(span)];
        if let Some(block) = block {
            let bits = width(&flow);
            let leased = build::cast(block.clone(), Type::Bit(bits - 1));
            let leased = joined(build::bits(1, 1), leased);
            let is_leased = build::differs(block.clone(), build::bits(width(&block), 0));
            stmts.push(build::if_then(is_leased, vec![build::assign(place, leased)]).at(span));
        }
        put_before(&mut program.controls[control.index()].body, region, &mut stmts);
        Ok(())
    }
}

/// The field of all flows of a handler.
fn add_field(
    program: &mut Program,
    region: &Name,
    flows: &FlowsOf,
    call: &Named,
) -> Result<usize, Diagnostic> {
    let mut field = build::struct_field(&free_name(program, region), call.flow.ty.clone());
    let blocks = call.block.as_ref().map(|block| (BLOCKS, 1u64 << width(block).min(16)));
    for (name, count) in [("flow", u64::from(flows.buckets))].into_iter().chain(blocks) {
        field.annotations.extend(flows.regions.iter().map(|region| {
            let values = vec![AnnotationValue::Str(region.to_string()), AnnotationValue::Int(count.into())];
            Annotation { name: name.into(), body: AnnotationBody::Values(values) }
        }));
    }
    add_metadata(program, field)
        .ok_or_else(|| refuse(region, call.span, "the program has no struct of metadata"))
}

/// `left ++ right`
fn joined(left: Expr, right: Expr) -> Expr {
    let ty = Type::Bit(width(&left) + width(&right));
    build::binary(BinaryOp::Concat, left, right, ty)
}

/// The stage and control with the region, the request of its call, and the call's place.
fn find(program: &Program, region: &Name) -> Option<(Duty, ControlId, Expr, Span)> {
    [Duty::Ingress, Duty::Egress].into_iter().find_map(|stage| {
        let id = arch::control(program, stage)?;
        let mut found = None;
        visit::stmts(&program.control(id).body, &mut |stmt| {
            if let StmtKind::Block(block) = &stmt.kind
                && block.region().is_some_and(|name| name == region.as_str())
            {
                found = block.stmts.iter().find_map(request).map(|request| (stage, id, request, stmt.span));
            }
        });
        found
    })
}

/// The first argument of the call that a statement makes.
fn request(stmt: &Stmt) -> Option<Expr> {
    let of = |call: &Call| match call.callee {
        Callee::Method(..) => call.args.first().cloned().flatten(),
        _ => None,
    };
    if let StmtKind::Call(call) = &stmt.kind {
        return of(call);
    }
    let mut found = None;
    visit::exprs(stmt, &mut |expr| {
        visit::subexprs(expr, &mut |expr| {
            if let ExprKind::Call(call) = &expr.kind
                && found.is_none()
            {
                found = of(call);
            }
        });
    });
    found
}

/// A field of the request as bits.
fn part(program: &Program, request: &Expr, path: &[String]) -> Option<Expr> {
    let mut expr = request.clone();
    for name in path {
        let fields = program.fields(&expr.ty);
        let number = fields.iter().position(|field| field.name == name.as_str())?;
        let ty = fields[number].ty.clone();
        expr = match expr.kind {
            ExprKind::Aggregate(mut parts) => parts.swap_remove(number),
            _ => build::field(expr, number, ty),
        };
    }
    let width = match program.representation(&expr.ty) {
        Type::Bit(width) | Type::Int(width) => *width,
        Type::Bool => 1,
        Type::Named(id) => match program.type_decl(*id).kind {
            TypeKind::SerEnum { underlying: Type::Bit(width) | Type::Int(width), .. } => width,
            _ => return None,
        },
        _ => return None,
    };
    Some(if expr.ty == Type::Bit(width) { expr } else { build::cast(expr, Type::Bit(width)) })
}

fn width(expr: &Expr) -> u32 {
    if let Type::Bit(width) = expr.ty { width } else { 0 }
}

/// The metadata as a control has it.
fn metadata(program: &Program, stage: Duty, id: ControlId) -> Option<Expr> {
    let stage = arch::stage(program, stage)?;
    let position = stage.roles.iter().position(|role| *role == Role::Metadata)?;
    let control = program.control(id);
    Some(build::var_of(&control.vars, *control.params.get(position)?))
}

/// A name for the struct around the metadata.
fn free_type(program: &Program) -> Name {
    let numbered = (2..).map(|n| format!("flow_metadata{n}"));
    let mut names = std::iter::once("flow_metadata".to_string()).chain(numbered);
    let is_free = |name: &String| !crate::names::all(program).iter().any(|known| *known == name.as_str());
    names.find(is_free).unwrap_or_default().into()
}

fn free_name(program: &Program, region: &Name) -> String {
    let fields = role_type(program, Role::Metadata).map_or(&[][..], |ty| program.fields(&ty));
    let numbered = (2..).map(|n| format!("{region}_flow_{n}"));
    let mut names = std::iter::once(format!("{region}_flow")).chain(numbered);
    names.find(|name| !fields.iter().any(|field| field.name == name.as_str())).unwrap_or_default()
}

/// Puts statements before the block of the region.
fn put_before(block: &mut Block, region: &Name, stmts: &mut Vec<Stmt>) {
    let is_it = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Block(block) if block.region().is_some_and(|name| name == region.as_str()));
    if let Some(at) = block.stmts.iter().position(is_it) {
        block.stmts.splice(at..at, stmts.drain(..));
        return;
    }
    for inner in &mut block.stmts {
        visit::blocks_mut(inner, &mut |block| put_before(block, region, stmts));
    }
}
