//! The names that control planes give to keys without `@name` (P4-16 §18.3.1).
//!
//! `hdr.ipv4.dst` is itself, `h.isValid()` is `h.$valid$`, `a[7:0]` and `s[0].f` keep their brackets. What has no such
//! name needs a `@name`.

use smol_str::{SmolStr, format_smolstr};

use crate::typed::{BinaryOp, Builtin, Callee, Expr, ExprKind, Program};

pub(crate) fn key_name(expr: &Expr, program: &Program) -> Option<SmolStr> {
    let name = |e: &Expr| key_name(e, program);
    Some(match &expr.kind {
        ExprKind::Var(id) => program.vars[*id].name.text.clone(),
        ExprKind::Const(id) => program.consts[*id].name.text.clone(),
        ExprKind::Int(value) => format_smolstr!("{value}"),
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
