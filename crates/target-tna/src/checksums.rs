//! Checksums: `update_checksum` becomes a `Checksum` of the deparser.
//!
//! Before: `update_checksum(hdr.ipv4.isValid(), {...}, hdr.ipv4.sum, HashAlgorithm.csum16);`
//! After:  `Checksum() checksum; ... if (hdr.ipv4.isValid()) { hdr.ipv4.sum = checksum.update({...}); }`
//!
//! Verification only sets `checksum_error`. A program that reads this field is refused, so the verification of all others has no effect.

use crate::original::{has_code, refused};
use base_diag::{Diagnostic, Span};
use ir::{
    Block, Call, Callee, Const, ControlId, Direction, Expr, ExprKind, ExternId, ExternMethod, ExternObject,
    Instance, InstanceId, Name, Owner, Program, Signature, SignatureParam, StageKind, Stmt, StmtKind, Type,
    TypeKind, build, visit,
};

const UPDATE: &str = "update_checksum";
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
    let ExprKind::Const(Const::Enum(member)) = algorithm.kind else { return None };
    let Type::Named(ty) = algorithm.ty else { return None };
    let TypeKind::Enum(members) = &program.type_decl(ty).kind else { return None };
    let is_known = program.extern_functions[id.index()].name == UPDATE
        && members.get(member as usize).is_some_and(|name| name == ALGORITHM)
        && *program.representation(&place.ty) == Type::Bit(BITS);
    is_known.then_some([cond, data, place])
}

/// Replaces all of them.
pub(crate) fn replace(program: &mut Program) {
    let [verify, compute] = controls(program);
    if let Some(id) = verify {
        program.controls[id.index()].body = Block::default();
    }
    let Some(id) = compute.filter(|_| has_updates(program)) else { return };
    let object = ExternId::from(program.externs.len());
    let instance = InstanceId::from(program.instances.len());
    let old = program.clone();
    let mut change = |stmt: &mut Stmt| {
        let StmtKind::Call(call) = &stmt.kind else { return };
        let Some([cond, data, place]) = update(&old, call) else { return };
        let value = Call {
            callee: Callee::Method(instance, 0),
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
    program.externs.push(declared());
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

/// `Checksum` as far as it is used.
fn declared() -> ExternObject {
    let param = |name: &str, ty: Type, optional: bool| SignatureParam {
        name: name.into(),
        direction: Direction::In,
        ty,
        optional,
    };
    let signature = Signature {
        type_params: vec![Name::from("T")],
        params: vec![param("data", Type::Param("T".into()), false), param("zeros_as_ones", Type::Bool, true)],
        returns: Type::Bit(BITS),
    };
    ExternObject {
        name: "Checksum".into(),
        user: false,
        type_params: vec![],
        constructors: vec![vec![]],
        methods: vec![ExternMethod {
            name: "update".into(),
            signature,
            is_abstract: false,
            annotations: vec![],
            span: Span::NONE,
        }],
        annotations: vec![],
        span: Span::NONE,
    }
}
