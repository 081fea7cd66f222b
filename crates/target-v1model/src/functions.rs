//! TNA's extern functions as expressions and assignments.

use crate::calls::{Calls, Converted};
use crate::pieces::refused;
use crate::values::choose;
use ir::{BinaryOp, Call, Const, Expr, ExprKind, Program, Stmt, Type, build};

impl Calls<'_> {
    /// A call of the function `name`.
    pub(crate) fn function(&mut self, name: &str, call: &Call, before: &mut Vec<Stmt>) -> Converted {
        let arg = |at: usize| call.args.get(at).cloned().flatten();
        let (first, second) = (arg(0), arg(1));
        match (name, first, second) {
            ("max", Some(a), Some(b)) => Ok(Some(extreme(BinaryOp::Ge, a, b))),
            ("min", Some(a), Some(b)) => Ok(Some(extreme(BinaryOp::Le, a, b))),
            ("funnel_shift_right", Some(to), Some(high)) => {
                let (Some(low), Some(by)) = (arg(2), arg(3)) else { return Ok(None) };
                let wide = self.program.bits(&to.ty).unwrap_or(0) as u32;
                let both = build::binary(BinaryOp::Concat, high, low, Type::Bit(2 * wide));
                let count = match &by.kind {
                    ExprKind::Const(Const::Int(count)) => u64::try_from(count).ok(),
                    ExprKind::Const(Const::Bits(bits)) => bits.to_u64(),
                    _ => None,
                };
                let count = count.ok_or_else(|| {
                    refused("this shift cannot be converted", call.span, "its amount is no constant")
                })?;
                let shifted = build::shift_right(both, count.min(u64::from(2 * wide)));
                before.push(build::assign(to, build::cast(shifted, Type::Bit(wide))).at(call.span));
                Ok(None)
            }
            ("invalidate", Some(field), _) => {
                if self.program.is_header(&field.ty) {
                    before.push(build::set_valid(field, false).at(call.span));
                    return Ok(None);
                }
                let is_port = crate::usage::is_member(
                    self.program,
                    &field,
                    device::tna::TO_MANAGER,
                    "ucast_egress_port",
                );
                let value = if is_port { u64::from(p4_arch::tna::NO_PORT) } else { 0 };
                let wide = self.program.bits(&field.ty).unwrap_or(0) as u32;
                let value = build::cast(build::bits(wide, value), field.ty.clone());
                before.push(build::assign(field, value).at(call.span));
                Ok(None)
            }
            ("is_validated", Some(field), _) => Ok(Some(match header_of(self.program, &field) {
                Some(header) => build::is_valid(header),
                None => build::bool(true),
            })),
            ("sizeInBits", Some(value), _) => {
                Ok(Some(build::bits(32, self.program.bits(&value.ty).unwrap_or(0))))
            }
            ("sizeInBytes", Some(value), _) => {
                Ok(Some(build::bits(32, self.program.bits(&value.ty).unwrap_or(0).div_ceil(8))))
            }
            _ => Err(refused("this call has no counterpart in v1model", call.span, &format!("`{name}`"))),
        }
    }
}

fn extreme(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    choose(build::binary(op, a.clone(), b.clone(), Type::Bool), a, b)
}

/// The innermost header that a field belongs to.
fn header_of(program: &Program, place: &Expr) -> Option<Expr> {
    if program.is_header(&place.ty) {
        return Some(place.clone());
    }
    match &place.kind {
        ExprKind::Field(base, _) | ExprKind::Slice { base, .. } | ExprKind::Index(base, _) => {
            header_of(program, base)
        }
        _ => None,
    }
}
