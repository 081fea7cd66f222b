//! `note-length`: the length that counters and meters of bytes see, as a value.
//!
//! Before: `bytes.count(5);`
//! After:  at the start of ingress `meta.p4rack_length = (bit<16>)std.packet_length;`, in a field with `@counted_length`
//!
//! Why: v1model counts the length of the frame on arrival, which after a cut is that of the hand-over. p4rack's devices
//! count the annotated field instead. Clones keep it like a field list.

use super::{add_metadata, field_list, mark, role_type};
use crate::arch;
use crate::field_lists::unused_list;
use crate::layout::FRAME_LENGTH_BITS;
use base_diag::Span;
use ir::{
    AnnotationValue, Call, Callee, Direction, Expr, ExternFunction, ExternFunctionId, Field, Program, Role,
    Signature, SignatureParam, StageKind, StmtKind, Type, build, visit,
};
use p4_arch::v1model::COUNTED_LENGTH;
use p4_arch::{Duty, Meaning};

const KEEPING_CLONE: &str = "clone_preserving_field_list";

/// Stores the length of each packet in a metadata field.
pub fn note_length(program: &mut Program, prefix: &str) {
    keep_something(program);
    let ty = Type::Bit(FRAME_LENGTH_BITS);
    let marks = vec![mark(COUNTED_LENGTH), field_list(kept_lists(program))];
    let name = format!("{prefix}_length").into();
    let Some(number) = add_metadata(program, Field { name, ty: ty.clone(), annotations: marks }) else {
        return;
    };
    let (Some(metadata), Some(standard)) =
        (ingress_parameter(program, Role::Metadata), ingress_parameter(program, Role::StandardMetadata))
    else {
        return;
    };
    let fields = program.fields(&standard.ty);
    let length = arch::field(program, Meaning::Length);
    let Some(at) = fields.iter().position(|f| Some(f.name.as_str()) == length) else { return };
    let whole = fields[at].ty.clone();
    let length = build::cast(build::field(standard, at, whole), ty.clone());
    let note = build::assign(build::field(metadata, number, ty), length);
    if let Some(id) = arch::control(program, Duty::Ingress) {
        program.controls[id.index()].body.stmts.insert(0, note);
    }
}

/// `clone(type, session)` becomes a clone with a field list that nothing else has.
pub fn keep_something(program: &mut Program) {
    let Some(metadata) = role_type(program, Role::Metadata) else { return };
    let Some(plain) = program.extern_functions.iter().position(|f| !f.user && f.name == "clone") else {
        return;
    };
    let plain = Callee::ExternFunction(ExternFunctionId::from(plain));
    let list = build::bits(8, u64::from(unused_list(program, &metadata)));
    let keeping = Callee::ExternFunction(keeping_clone(program));
    for control in &mut program.controls {
        let blocks =
            std::iter::once(&mut control.body).chain(control.actions.iter_mut().map(|a| &mut a.body));
        for block in blocks {
            visit::stmts_mut(block, &mut |stmt| {
                if let StmtKind::Call(call) = &mut stmt.kind
                    && call.callee == plain
                {
                    call.callee = keeping.clone();
                    call.args.push(Some(list.clone()));
                }
            });
        }
    }
}

/// The function that clones with a field list, declared here if the program does not use it.
fn keeping_clone(program: &mut Program) -> ExternFunctionId {
    let functions = &mut program.extern_functions;
    if let Some(found) = functions.iter().position(|f| !f.user && f.name == KEEPING_CLONE) {
        return ExternFunctionId::from(found);
    }
    let mut params: Vec<SignatureParam> =
        functions.iter().find(|f| f.name == "clone").map_or(vec![], |f| f.signature.params.clone());
    params.push(SignatureParam {
        name: "index".into(),
        direction: Direction::None,
        ty: Type::Bit(8),
        optional: false,
    });
    functions.push(ExternFunction {
        name: KEEPING_CLONE.into(),
        user: false,
        signature: Signature { type_params: vec![], params, returns: Type::Void },
        annotations: vec![],
        span: Span::NONE,
    });
    ExternFunctionId::from(functions.len() - 1)
}

/// The field lists of all clones.
pub fn kept_lists(program: &Program) -> Vec<AnnotationValue> {
    let mut lists = vec![];
    for control in &program.controls {
        let blocks = std::iter::once(&control.body).chain(control.actions.iter().map(|a| &a.body));
        for block in blocks {
            visit::stmts(block, &mut |stmt| {
                if let StmtKind::Call(call) = &stmt.kind
                    && let Some(list) = list_of(program, call)
                    && !lists.contains(&list)
                {
                    lists.push(list);
                }
            });
        }
    }
    lists.into_iter().map(|n| AnnotationValue::Int(n.into())).collect()
}

fn list_of(program: &Program, call: &Call) -> Option<u32> {
    let Callee::ExternFunction(id) = call.callee else { return None };
    let function = &program.extern_functions[id.index()];
    let list = call.args.get(2).filter(|_| !function.user && function.name == KEEPING_CLONE)?;
    crate::expressions::constant(list.as_ref()?)
}

fn ingress_parameter(program: &Program, role: Role) -> Option<Expr> {
    let stage = arch::stage(program, Duty::Ingress)?;
    let StageKind::Control(id) = stage.kind else { return None };
    let position = stage.roles.iter().position(|r| *r == role)?;
    let control = program.control(id);
    let var = *control.params.get(position)?;
    Some(build::var(var, &control.vars[var.index()].ty))
}
