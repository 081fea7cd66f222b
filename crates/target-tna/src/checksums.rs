//! Checksums: `update_checksum` becomes a `Checksum` of the deparser.
//!
//! Before: `update_checksum(hdr.ipv4.isValid(), {...}, hdr.ipv4.sum, HashAlgorithm.csum16);`
//! After:  `Checksum() checksum; ... if (hdr.ipv4.isValid()) { hdr.ipv4.sum = checksum.update({...}); }`
//!
//! A deparser only knows headers and single bits. The last control before it computes other conditions:
//!
//! Before: `update_checksum(hdr.ipv4.ihl == 5, {...}, hdr.ipv4.sum, HashAlgorithm.csum16);`
//! After:  `if (hdr.ipv4.ihl == 5) { standard.sum0 = 1; }` in a control of its own, and `if (standard.sum0 == 1) { hdr.ipv4.sum = checksum.update({...}); }`
//!
//! Verification only sets `checksum_error`. A program that does not read this field loses its verification; [`crate::verified`] converts that of the others.

use crate::original::{add_metadata, has_code, path, refused, standard_type};
use base_diag::{Diagnostic, Span};
use ir::{
    BinaryOp, Block, Call, Callee, Const, Control, ControlId, Direction, Expr, ExprKind, ExternId,
    ExternMethod, ExternObject, Instance, InstanceId, Name, Owner, Program, Signature, SignatureParam,
    StageKind, StmtKind, Type, TypeKind, Var, VarId, VarKind, build, visit,
};

const UPDATE: &str = "update_checksum";
const OBJECT: &str = "Checksum";
/// The only algorithm of `Checksum`.
const ALGORITHM: &str = "csum16";
const BITS: u32 = 16;

/// The controls that verify and that compute checksums.
pub(crate) fn controls(program: &Program) -> [Option<ControlId>; 2] {
    ["verify_checksum", "compute_checksum"].map(|name| match program.stage(name)?.kind {
        StageKind::Control(id) => Some(id),
        _ => None,
    })
}

/// True if the program computes checksums.
pub(crate) fn has_updates(program: &Program) -> bool {
    program.stage("compute_checksum").is_some_and(|stage| has_code(program, stage))
}

/// Refuses everything in the computation of checksums that is no `update_checksum` of 16 bits.
pub(crate) fn check(program: &Program) -> Vec<Diagnostic> {
    let mut found = vec![];
    let [_, Some(id)] = controls(program) else { return found };
    let control = program.control(id);
    if !control.tables.is_empty() || !control.instances.is_empty() {
        found.push(refused("tables and objects in checksums", control.span, "computes checksums"));
    }
    visit::stmts(&control.body, &mut |stmt| match &stmt.kind {
        StmtKind::Block(_) | StmtKind::If(..) => {}
        StmtKind::Call(call) if update(program, call).is_some() => {}
        _ => found.push(refused("this", stmt.span, "no `update_checksum` with `HashAlgorithm.csum16`")),
    });
    let mut all = vec![];
    updates(program, &control.body, None, &mut all);
    let mut computed: Vec<&Expr> = vec![];
    for update in all {
        match &update.place.kind {
            ExprKind::Field(base, _) if program.is_header(&base.ty) => {}
            _ => found.push(refused("this checksum", update.span, "no field of a header")),
        }
        let mut reads = false;
        visit::subexprs(&update.condition, &mut |part| {
            reads |= computed.iter().any(|place| path(place) == path(part) && path(part).is_some());
        });
        if reads {
            found.push(refused("this condition", update.span, "reads a checksum that is computed before"));
        }
        computed.push(update.place);
    }
    found
}

/// Condition, data and place of an `update_checksum`.
fn update<'c>(program: &Program, call: &'c Call) -> Option<[&'c Expr; 3]> {
    let Callee::ExternFunction(id) = call.callee else { return None };
    let [Some(cond), Some(data), Some(place), Some(algorithm)] = &call.args[..] else { return None };
    let is_known = program.extern_functions[id.index()].name == UPDATE && is_known(program, algorithm, place);
    is_known.then_some([cond, data, place])
}

/// True for the algorithm of `Checksum`, with a checksum of its width.
pub(crate) fn is_known(program: &Program, algorithm: &Expr, place: &Expr) -> bool {
    let ExprKind::Const(Const::Enum(member)) = algorithm.kind else { return false };
    let Type::Named(ty) = algorithm.ty else { return false };
    let TypeKind::Enum(members) = &program.type_decl(ty).kind else { return false };
    members.get(member as usize).is_some_and(|name| name == ALGORITHM)
        && *program.representation(&place.ty) == Type::Bit(BITS)
}

/// Leaves out the verification.
pub(crate) fn leave_out_verification(program: &mut Program) {
    let [verify, _] = controls(program);
    if let Some(id) = verify {
        program.controls[id.index()].body = Block::default();
    }
}

/// An `update_checksum`, with the conditions around it.
struct Update<'p> {
    condition: Expr,
    data: &'p Expr,
    place: &'p Expr,
    span: Span,
}

/// Adds those of a block that `condition` guards.
fn updates<'p>(
    program: &'p Program,
    block: &'p Block,
    condition: Option<&Expr>,
    found: &mut Vec<Update<'p>>,
) {
    let with = |own: &Expr| match condition {
        Some(outer) => build::and(outer.clone(), own.clone()),
        None => own.clone(),
    };
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Block(inner) => updates(program, inner, condition, found),
            StmtKind::If(own, yes, no) => {
                updates(program, yes, Some(&with(own)), found);
                updates(program, no, Some(&with(&build::not(own.clone()))), found);
            }
            StmtKind::Call(call) => {
                if let Some([own, data, place]) = update(program, call) {
                    found.push(Update { condition: with(own), data, place, span: stmt.span });
                }
            }
            _ => {}
        }
    }
}

/// True if a deparser can decide the condition: it knows which headers are valid.
fn is_for_deparser(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::IsValid(_) | ExprKind::Const(Const::Bool(true)) => true,
        ExprKind::Binary(BinaryOp::And, left, right) => is_for_deparser(left) && is_for_deparser(right),
        _ => false,
    }
}

/// Replaces all of them. Returns the name of the control that computes conditions, if there is one.
pub(crate) fn replace(program: &mut Program) -> Option<Name> {
    let [_, compute] = controls(program);
    let id = compute.filter(|_| has_updates(program))?;
    let object = object(program);
    let instance = InstanceId::from(program.instances.len());
    let old = program.clone();
    let mut found = vec![];
    updates(&old, &old.control(id).body, None, &mut found);
    let ty = Type::Named(standard_type(&old));
    let standard = VarId::from(old.control(id).vars.len());
    let (mut conditions, mut stmts) = (vec![], vec![]);
    for Update { condition, data, place, span } in found {
        let condition = if is_for_deparser(&condition) {
            condition
        } else {
            let field = add_metadata(program, &format!("sum{}", conditions.len()), Type::Bit(1));
            let flag = build::field(build::var(standard, &ty), field, Type::Bit(1));
            let set = build::assign(flag.clone(), build::bits(1, 1));
            conditions.push(build::if_then(condition, vec![set]).at(span));
            build::equals(flag, build::bits(1, 1))
        };
        let value = Call {
            callee: Callee::Method(instance, METHOD_UPDATE),
            type_args: vec![data.ty.clone()],
            args: vec![Some(data.clone()), None],
            span,
        };
        let value = Expr { kind: ExprKind::Call(Box::new(value)), ty: place.ty.clone(), span };
        stmts.push(build::if_then(condition, vec![build::assign(place.clone(), value)]).at(span));
    }
    let control = &mut program.controls[id.index()];
    control.body = build::block(stmts);
    let name = control.name.clone();
    let computes = (!conditions.is_empty()).then(|| {
        let mut computes = with_standard(control, &ty, Direction::InOut);
        computes.body = build::block(conditions);
        *control = with_standard(control, &ty, Direction::In);
        computes
    });
    // The deparser changes headers, not metadata.
    for param in control.params.iter().skip(1) {
        control.vars[param.index()].kind = VarKind::Param(Direction::In);
    }
    control.instances.push(instance);
    let checksum = format!("{}.checksum", control.control_plane_name);
    program.instances.push(Instance {
        name: "checksum".into(),
        control_plane_name: checksum.into(),
        object,
        type_args: vec![],
        args: vec![],
        owner: Owner::Control(id),
        methods: vec![],
        annotations: vec![],
        span: Span::NONE,
    });
    let mut computes = computes?;
    let is_known = |name: &str| program.controls.iter().any(|control| control.name == name);
    let mut fresh = format!("{name}Conditions");
    while is_known(&fresh) {
        fresh.push('_');
    }
    computes.name = fresh.as_str().into();
    computes.control_plane_name = computes.name.clone();
    program.controls.push(computes);
    Some(fresh.into())
}

/// The control with the standard metadata as a further parameter.
fn with_standard(control: &Control, ty: &Type, direction: Direction) -> Control {
    let mut control = control.clone();
    control.params.push(VarId::from(control.vars.len()));
    control.vars.push(Var {
        name: "standard_metadata".into(),
        ty: ty.clone(),
        kind: VarKind::Param(direction),
        annotations: vec![],
        span: Span::NONE,
    });
    control
}

/// Methods of `Checksum` by their place.
const METHOD_UPDATE: u32 = 0;
pub(crate) const ADD: u32 = 1;
pub(crate) const VERIFY: u32 = 2;

/// `Checksum`, which is declared if it is not yet.
pub(crate) fn object(program: &mut Program) -> ExternId {
    let known = program.externs.iter().position(|object| object.name == OBJECT && !object.user);
    if known.is_none() {
        program.externs.push(declared());
    }
    ExternId::from(known.unwrap_or(program.externs.len() - 1))
}

/// `Checksum` as far as it is used.
fn declared() -> ExternObject {
    let param = |name: &str, ty: Type, optional: bool| SignatureParam {
        name: name.into(),
        direction: Direction::In,
        ty,
        optional,
    };
    let data = || param("data", Type::Param("T".into()), false);
    let method =
        |name: &str, type_params: Vec<Name>, params: Vec<SignatureParam>, returns: Type| ExternMethod {
            name: name.into(),
            signature: Signature { type_params, params, returns },
            is_abstract: false,
            annotations: vec![],
            span: Span::NONE,
        };
    let generic = || vec![Name::from("T")];
    ExternObject {
        name: OBJECT.into(),
        user: false,
        type_params: vec![],
        constructors: vec![vec![]],
        methods: vec![
            method(
                "update",
                generic(),
                vec![data(), param("zeros_as_ones", Type::Bool, true)],
                Type::Bit(BITS),
            ),
            method("add", generic(), vec![data()], Type::Void),
            method("verify", vec![], vec![], Type::Bool),
        ],
        annotations: vec![],
        span: Span::NONE,
    }
}
