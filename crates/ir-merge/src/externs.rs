//! Functions of v1model that the merged program calls though no app may: a program declares those that it uses.

use base_diag::Span;
use ir::{Direction, ExternFunction, ExternFunctionId, Program, Signature, SignatureParam, Type};

/// `mark_to_drop(standard_metadata)`
pub fn mark_to_drop(program: &mut Program, standard: &Type) -> ExternFunctionId {
    declare(program, "mark_to_drop", &[("standard_metadata", Direction::InOut, standard.clone())])
}

/// `clone_preserving_field_list(type, session, index)`; `None` in a program without the type of `type`, which cannot
/// clone.
pub fn clone_preserving_field_list(program: &mut Program) -> Option<ExternFunctionId> {
    let kinds = program.types.iter().position(|decl| decl.name == "CloneType")?;
    let params = [
        ("type", Direction::In, Type::Named(kinds.into())),
        ("session", Direction::In, Type::Bit(32)),
        ("index", Direction::None, Type::Bit(8)),
    ];
    Some(declare(program, "clone_preserving_field_list", &params))
}

fn declare(program: &mut Program, name: &str, params: &[(&str, Direction, Type)]) -> ExternFunctionId {
    let is_it = |f: &ExternFunction| f.name == name && !f.user && f.signature.params.len() == params.len();
    if let Some(found) = program.extern_functions.iter().position(is_it) {
        return found.into();
    }
    let param = |(name, direction, ty): &(&str, Direction, Type)| SignatureParam {
        name: (*name).into(),
        direction: *direction,
        ty: ty.clone(),
        optional: false,
    };
    let params = params.iter().map(param).collect();
    program.extern_functions.push(ExternFunction {
        name: name.into(),
        user: false,
        signature: Signature { type_params: vec![], params, returns: Type::Void },
        annotations: vec![],
        span: Span::NONE,
    });
    ExternFunctionId::from(program.extern_functions.len() - 1)
}
