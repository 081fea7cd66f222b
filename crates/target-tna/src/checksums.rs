//! Checksums: `update_checksum` becomes a `Checksum` of the deparser.
//!
//! Before: `update_checksum(hdr.ipv4.isValid(), {...}, hdr.ipv4.sum, HashAlgorithm.csum16);`
//! After:  `Checksum() checksum; ... if (hdr.ipv4.isValid()) { hdr.ipv4.sum = checksum.update({...}); }`
//!
//! Verification only sets `checksum_error`. A program that does not read this field loses its verification; [`crate::verified`] converts that of the others.

use crate::original::{has_code, refused};
use base_diag::{Diagnostic, Span};
use ir::{
    Block, Call, Callee, Const, ControlId, Direction, Expr, ExprKind, ExternId, ExternMethod, ExternObject,
    Instance, InstanceId, Name, Owner, Program, Signature, SignatureParam, StageKind, Stmt, StmtKind, Type,
    TypeKind, build, visit,
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

/// Replaces all of them.
pub(crate) fn replace(program: &mut Program) {
    let [_, compute] = controls(program);
    let Some(id) = compute.filter(|_| has_updates(program)) else { return };
    let object = object(program);
    let instance = InstanceId::from(program.instances.len());
    let old = program.clone();
    let mut change = |stmt: &mut Stmt| {
        let StmtKind::Call(call) = &stmt.kind else { return };
        let Some([cond, data, place]) = update(&old, call) else { return };
        let value = Call {
            callee: Callee::Method(instance, METHOD_UPDATE),
            type_args: vec![data.ty.clone()],
            args: vec![Some(data.clone()), None],
            span: call.span,
        };
        let value = Expr { kind: ExprKind::Call(Box::new(value)), ty: place.ty.clone(), span: call.span };
        *stmt = build::if_then(cond.clone(), vec![build::assign(place.clone(), value)]).at(stmt.span);
    };
    let control = &mut program.controls[id.index()];
    visit::stmts_mut(&mut control.body, &mut change);
    control.instances.push(instance);
    let name = format!("{}.checksum", control.control_plane_name);
    program.instances.push(Instance {
        name: "checksum".into(),
        control_plane_name: name.into(),
        object,
        type_args: vec![],
        args: vec![],
        owner: Owner::Control(id),
        methods: vec![],
        annotations: vec![],
        span: Span::NONE,
    });
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
