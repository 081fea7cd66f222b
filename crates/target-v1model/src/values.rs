//! Values as bits, and bits as values.

use ir::{BinaryOp, Expr, ExprKind, Program, Stmt, Type, build};

/// The values of one field after the other that `value` is made of, as `bit<N>`; `None` for a type without a fixed layout.
pub(crate) fn words(program: &Program, value: &Expr) -> Option<Vec<Expr>> {
    if let ExprKind::Aggregate(parts) = &value.kind {
        return parts.iter().try_fold(vec![], |mut all, part| {
            all.extend(words(program, part)?);
            Some(all)
        });
    }
    Some(match &value.ty {
        Type::Bit(_) => vec![value.clone()],
        Type::Int(width) => vec![build::cast(value.clone(), Type::Bit(*width))],
        Type::Bool => vec![build::cast(value.clone(), Type::Bit(1))],
        Type::Stack(element, size) => {
            let mut all = vec![];
            for at in 0..*size {
                all.extend(words(program, &build::element(value.clone(), at, (**element).clone()))?);
            }
            all
        }
        Type::Tuple(types) => {
            let mut all = vec![];
            for (at, ty) in types.iter().enumerate() {
                all.extend(words(program, &build::field(value.clone(), at, ty.clone()))?);
            }
            all
        }
        Type::Named(_) => match program.representation(&value.ty) {
            under if *under != value.ty => words(program, &build::cast(value.clone(), under.clone()))?,
            _ if program.is_union(&value.ty) => return None,
            _ if program.fields(&value.ty).is_empty()
                && !program.is_struct(&value.ty)
                && !program.is_header(&value.ty) =>
            {
                return None;
            }
            _ => {
                let mut all = vec![];
                for (at, field) in program.fields(&value.ty).iter().enumerate() {
                    all.extend(words(program, &build::field(value.clone(), at, field.ty.clone()))?);
                }
                all
            }
        },
        _ => return None,
    })
}

/// Bits of a value of type `bit<N>`.
pub(crate) fn width(value: &Expr) -> u32 {
    match value.ty {
        Type::Bit(width) => width,
        _ => 0,
    }
}

/// The words side by side.
pub(crate) fn concat(words: Vec<Expr>) -> Option<Expr> {
    words.into_iter().reduce(|left, right| {
        let ty = Type::Bit(width(&left) + width(&right));
        build::binary(BinaryOp::Concat, left, right, ty)
    })
}

/// `value` as a number of `wide` bits, with its bits at the top.
pub(crate) fn at_top(value: Expr, wide: u32) -> Expr {
    match wide.saturating_sub(width(&value)) {
        0 => value,
        rest => build::binary(BinaryOp::Concat, value, build::bits(rest, 0), Type::Bit(wide)),
    }
}

/// Bits `offset` to `offset + wide`, counted from the top.
pub(crate) fn from_top(value: &Expr, offset: u32, wide: u32) -> Expr {
    let all = width(value);
    if offset == 0 && wide == all {
        return value.clone();
    }
    let hi = all - offset - 1;
    let kind = ExprKind::Slice { base: Box::new(value.clone()), hi, lo: hi + 1 - wide };
    build::expr(kind, Type::Bit(wide))
}

/// Assignments to the fields of `to`, of the bits that `bits(offset, width)` gives, the first field having offset 0; `None` for a type
/// without a fixed layout. Returns the number of bits.
pub(crate) fn fill(
    program: &Program,
    to: &Expr,
    offset: u32,
    bits: &dyn Fn(u32, u32) -> Expr,
    out: &mut Vec<Stmt>,
) -> Option<u32> {
    let wide = u32::try_from(program.bits(&to.ty)?).ok()?;
    match &to.ty {
        Type::Bit(_) => out.push(build::assign(to.clone(), bits(offset, wide))),
        Type::Int(_) | Type::Bool => {
            out.push(build::assign(to.clone(), build::cast(bits(offset, wide), to.ty.clone())))
        }
        Type::Named(_) if !program.fields(&to.ty).is_empty() => {
            if program.is_union(&to.ty) {
                return None;
            }
            if program.is_header(&to.ty) {
                out.push(build::set_valid(to.clone(), true));
            }
            let mut at = offset;
            for (index, field) in program.fields(&to.ty).to_vec().iter().enumerate() {
                at += fill(program, &build::field(to.clone(), index, field.ty.clone()), at, bits, out)?;
            }
        }
        Type::Named(_) => {
            let under = program.representation(&to.ty).clone();
            let value = match under {
                Type::Bit(_) | Type::Int(_) => {
                    build::cast(build::cast(bits(offset, wide), under), to.ty.clone())
                }
                _ => return None,
            };
            out.push(build::assign(to.clone(), value));
        }
        _ => return None,
    }
    Some(wide)
}

/// The field of a struct of that name.
pub(crate) fn member(program: &Program, base: &Expr, name: &str) -> Option<Expr> {
    let fields = program.fields(&base.ty);
    let at = fields.iter().position(|field| field.name == name)?;
    Some(build::field(base.clone(), at, fields[at].ty.clone()))
}

/// `cond ? yes : no`
pub(crate) fn choose(cond: Expr, yes: Expr, no: Expr) -> Expr {
    let ty = yes.ty.clone();
    build::expr(ExprKind::Ternary(Box::new(cond), Box::new(yes), Box::new(no)), ty)
}
