//! The type of an expression, inferred from its parts.
//!
//! The writer leaves a type out where this gives it, the reader puts it back, and the verifier compares.

use crate::{BinaryOp, Call, Callee, Const, Expr, ExprKind, Name, Program, Signature, Type, UnaryOp, Var};

/// The type of an expression; `None` if its parts do not determine it: casts, `{#}`, lookahead, and references to missing declarations.
pub(crate) fn infer(program: &Program, vars: &[Var], kind: &ExprKind) -> Option<Type> {
    Some(match kind {
        ExprKind::Const(value) => return infer_const(value),
        ExprKind::Var(id) => vars.get(id.index())?.ty.clone(),
        ExprKind::Field(base, index) => field_type(program, &base.ty, *index)?.clone(),
        ExprKind::Index(stack, _) | ExprKind::Next(stack) | ExprKind::Last(stack) => match &stack.ty {
            Type::Stack(elem, _) => elem.as_ref().clone(),
            _ => return None,
        },
        ExprKind::LastIndex(_) | ExprKind::PacketLength(_) => Type::Bit(32),
        ExprKind::Slice { hi, lo, .. } => Type::Bit(hi.checked_sub(*lo)?.checked_add(1)?),
        ExprKind::SlicePlus { width, .. } => Type::Bit(*width),
        ExprKind::Unary(UnaryOp::Not, _) => Type::Bool,
        ExprKind::Unary(_, operand) => operand.ty.clone(),
        ExprKind::Binary(op, left, right) => return infer_binary(*op, left, right),
        ExprKind::Ternary(_, yes, _) => yes.ty.clone(),
        ExprKind::Aggregate(parts) => Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect()),
        ExprKind::IsValid(_) | ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_) => Type::Bool,
        ExprKind::Cast(_) | ExprKind::InvalidHeader | ExprKind::Lookahead(_) => return None,
        ExprKind::Call(call) => return infer_call(program, vars, call),
    })
}

/// The type that a constant shows; a name of a declared type must come from outside.
pub(crate) fn infer_const(value: &Const) -> Option<Type> {
    match value {
        Const::Bits(bits) => Some(Type::Bit(bits.width())),
        Const::Bool(_) => Some(Type::Bool),
        Const::Error(_) => Some(Type::Error),
        Const::Enum(_) | Const::Instance(_) => None,
        Const::Str(_) => Some(Type::String),
        Const::Int(_) => Some(Type::InfInt),
    }
}

/// The type of the n-th field of a struct, header or union, or of the n-th part of a tuple.
pub(crate) fn field_type<'a>(program: &'a Program, base: &'a Type, index: u32) -> Option<&'a Type> {
    match base {
        Type::Tuple(types) => types.get(index as usize),
        Type::Named(id) if id.index() < program.types.len() => {
            program.fields(base).get(index as usize).map(|field| &field.ty)
        }
        _ => None,
    }
}

fn infer_binary(op: BinaryOp, left: &Expr, right: &Expr) -> Option<Type> {
    match op {
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            Some(Type::Bool)
        }
        BinaryOp::And | BinaryOp::Or => Some(Type::Bool),
        BinaryOp::Concat => match (&left.ty, &right.ty) {
            (Type::Bit(a), Type::Bit(b) | Type::Int(b)) => Some(Type::Bit(a.checked_add(*b)?)),
            (Type::Int(a), Type::Bit(b) | Type::Int(b)) => Some(Type::Int(a.checked_add(*b)?)),
            (Type::String, Type::String) => Some(Type::String),
            _ => None,
        },
        _ => Some(left.ty.clone()),
    }
}

fn infer_call(program: &Program, vars: &[Var], call: &Call) -> Option<Type> {
    match &call.callee {
        Callee::Function(id) => Some(program.functions.get(id.index())?.returns.clone()),
        Callee::Action(_) | Callee::Control(_) | Callee::Parser(_) => Some(Type::Void),
        Callee::ExternFunction(_) | Callee::Method(..) | Callee::ParamMethod(..) => {
            let (signature, outer) = signature(program, vars, &call.callee)?;
            Some(substitute(&signature.returns, &|name| bound(signature, outer, call, name)))
        }
    }
}

/// The type parameters of an extern object, each with the argument of an instance.
pub(crate) type Bindings<'a> = (&'a [Name], &'a [Type]);

/// Declaration of the extern function or method that `callee` names.
pub(crate) fn signature<'a>(
    program: &'a Program,
    vars: &'a [Var],
    callee: &Callee,
) -> Option<(&'a Signature, Bindings<'a>)> {
    match callee {
        Callee::ExternFunction(id) => {
            Some((&program.extern_functions.get(id.index())?.signature, (&[], &[])))
        }
        Callee::Method(instance, method) => {
            let instance = program.instances.get(instance.index())?;
            let object = program.externs.get(instance.object.index())?;
            let method = object.methods.get(*method as usize)?;
            Some((&method.signature, (&object.type_params, &instance.type_args)))
        }
        Callee::ParamMethod(var, method) => match &vars.get(var.index())?.ty {
            Type::Extern(id, args) => {
                let object = program.externs.get(id.index())?;
                let method = object.methods.get(*method as usize)?;
                Some((&method.signature, (&object.type_params, args)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Type that a type parameter stands for in a call; `None` if the call does not determine it.
pub(crate) fn bound<'a>(
    signature: &Signature,
    outer: Bindings<'a>,
    call: &'a Call,
    name: &Name,
) -> Option<&'a Type> {
    let own = signature.type_params.iter().position(|param| param == name);
    match own {
        Some(position) => call.type_args.get(position),
        None => outer.1.get(outer.0.iter().position(|param| param == name)?),
    }
}

/// `ty` with the bindings of `bound` in place of type parameters.
pub(crate) fn substitute<'a>(ty: &Type, bound: &dyn Fn(&Name) -> Option<&'a Type>) -> Type {
    match ty {
        Type::Param(name) => bound(name).unwrap_or(ty).clone(),
        Type::Stack(elem, size) => Type::Stack(Box::new(substitute(elem, bound)), *size),
        Type::List(elem) => Type::List(Box::new(substitute(elem, bound))),
        Type::Tuple(types) => Type::Tuple(types.iter().map(|t| substitute(t, bound)).collect()),
        Type::Extern(id, args) => Type::Extern(*id, args.iter().map(|t| substitute(t, bound)).collect()),
        _ => ty.clone(),
    }
}
