//! Types and variables are bounded: every packet has a copy of them.

use base_diag::codes::run as codes;
use base_diag::{Diagnostic, Span};
use ir::{Program, Type, TypeKind, Var};

/// The widest number.
const MAX_WIDTH: u32 = 1 << 16;
/// The most scalars that the variables of one block may have.
const MAX_LEAVES: u64 = 1 << 16;
/// Maximum nesting depth of types.
const MAX_NESTING: u32 = 64;

/// Refuses blocks whose variables are too large.
pub(super) fn check(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let mut problems = vec![];
    let mut block = |vars: &[Var], span: Span| {
        let mut total = 0u64;
        for var in vars {
            match leaves(program, &var.ty, MAX_NESTING) {
                Some(n) => total = total.saturating_add(n),
                None => problems.push(too_large(var.span, "a number or nesting in its type")),
            }
        }
        if total > MAX_LEAVES {
            problems
                .push(too_large(span, "its variables").note(format!("{total} fields; at most {MAX_LEAVES}")));
        }
    };
    program.controls.iter().for_each(|c| block(&c.vars, c.span));
    program.parsers.iter().for_each(|p| block(&p.vars, p.span));
    program.functions.iter().for_each(|f| block(&f.vars, f.span));
    for instance in &program.instances {
        for ty in &instance.type_args {
            if leaves(program, ty, MAX_NESTING).is_none_or(|n| n > MAX_LEAVES) {
                problems.push(too_large(instance.span, "its element type"));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn too_large(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(codes::TOO_LARGE, "too large to run").at(span, format!("{what} is too large"))
}

/// Number of scalars of a value of the type; `None` if a width or the nesting exceeds the limits.
fn leaves(program: &Program, ty: &Type, nesting: u32) -> Option<u64> {
    let nesting = nesting.checked_sub(1)?;
    match ty {
        Type::Bit(n) | Type::Int(n) | Type::Varbit(n) => (*n <= MAX_WIDTH).then_some(1),
        Type::Tuple(types) => sum(types.iter().map(|t| leaves(program, t, nesting))),
        Type::Stack(elem, size) => {
            Some(leaves(program, elem, nesting)?.saturating_mul(u64::from(*size)).max(1))
        }
        Type::Named(id) => match &program.types.get(id.index())?.kind {
            TypeKind::Header(fields) | TypeKind::Union(fields) | TypeKind::Struct(fields) => {
                sum(fields.iter().map(|f| leaves(program, &f.ty, nesting)))
            }
            TypeKind::SerEnum { underlying: under, .. } | TypeKind::New(under) => {
                leaves(program, under, nesting)
            }
            TypeKind::Enum(_) => Some(1),
        },
        _ => Some(1),
    }
}

fn sum(mut parts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    parts.try_fold(1u64, |sum, part| Some(sum.saturating_add(part?)))
}
