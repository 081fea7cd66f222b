//! The names that control planes give to keys without `@name` (P4-16 §18.3.1).
//!
//! `hdr.ipv4.dst` is itself, `h.isValid()` is `h.$valid$`, `a[7:0]` and `s[0].f` keep their brackets. Other expressions
//! need a `@name`. Numbers keep the base they are written in: `hdr.ipv4.dst & 0xff00`.

use base_diag::Span;
use p4_syntax::ast::{self, Radix};
use smol_str::{SmolStr, format_smolstr};

use crate::typed::{BinaryOp, Builtin, Callee, Expr, ExprKind, Program};

/// The name of a key, and how the key is written.
pub(crate) fn key_name(expr: &Expr, written: &ast::Expr, program: &Program) -> Option<SmolStr> {
    let name = |e: &Expr| key_name(e, written, program);
    Some(match &expr.kind {
        ExprKind::Var(id) => program.vars[*id].name.text.clone(),
        ExprKind::Const(id) => program.consts[*id].name.text.clone(),
        ExprKind::Int(value) => match radix_at(written, expr.span) {
            Some(Radix::Hex) => format_smolstr!("{value:#x}"),
            Some(Radix::Oct) => format_smolstr!("{value:#o}"),
            Some(Radix::Bin) => format_smolstr!("{value:#b}"),
            Some(Radix::Dec) | None => format_smolstr!("{value}"),
        },
        ExprKind::Bool(value) => format_smolstr!("{value}"),
        ExprKind::EnumMember(id, member) => {
            let decl = &program.enums[*id];
            format_smolstr!("{}.{}", decl.name.text, decl.members.get(*member as usize)?.name.text)
        }
        ExprKind::ErrorMember(id) => format_smolstr!("error.{}", program.errors[*id].name.text),
        ExprKind::Field { base, name: field, .. } => format_smolstr!("{}.{field}", name(base)?),
        ExprKind::Index { base, index } => format_smolstr!("{}[{}]", name(base)?, name(index)?),
        ExprKind::TupleIndex { base, index } => format_smolstr!("{}[{index}]", name(base)?),
        ExprKind::Slice { base, hi, lo } => format_smolstr!("{}[{hi}:{lo}]", name(base)?),
        ExprKind::StackNext(base) => format_smolstr!("{}.next", name(base)?),
        ExprKind::StackLast(base) => format_smolstr!("{}.last", name(base)?),
        ExprKind::Cast { operand, implicit: true } => name(operand)?,
        ExprKind::Binary(BinaryOp::BitAnd, a, b) if matches!(b.kind, ExprKind::Int(_)) => {
            format_smolstr!("{} & {}", name(a)?, name(b)?)
        }
        ExprKind::Call(call) => match &call.callee {
            Callee::Builtin { object, method: Builtin::IsValid } => {
                format_smolstr!("{}.$valid$", name(object)?)
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// The base of the literal that stands at `span`, if there is one.
fn radix_at(written: &ast::Expr, span: Span) -> Option<Radix> {
    use ast::ExprKind::{Binary, Call, Cast, Index, Int, Member, Slice};
    match &written.kind {
        Int(literal) if written.span == span => Some(literal.radix),
        Member { base, .. } | Slice { base, .. } => radix_at(base, span),
        Index { base, index } => radix_at(base, span).or_else(|| radix_at(index, span)),
        Binary { left, right, .. } => radix_at(left, span).or_else(|| radix_at(right, span)),
        Cast { operand, .. } => radix_at(operand, span),
        Call { callee, .. } => radix_at(callee, span),
        _ => None,
    }
}
