//! Explicit casts (P4-16 §8.12.1).

use base_diag::{Diagnostic, Span};
use num_bigint::BigInt;
use p4_syntax::ast;

use super::wrap;
use crate::codes;
use crate::cx::Checker;
use crate::typed::{Expr, ExprKind, Type};

impl Checker {
    pub(crate) fn cast(&mut self, ty: &ast::Type, operand: &ast::Expr, span: Span) -> Expr {
        let to = self.resolve_type(ty);
        let operand = self.expr(operand, Some(&to));
        if to.is_error() || operand.ty.is_error() {
            return Expr::error(span);
        }
        match self.cast_to(operand, &to, span) {
            Ok(expr) => expr,
            Err(operand) => {
                let (from, to) = (self.show(&operand.ty), self.show(&to));
                let mut diagnostic =
                    Diagnostic::error(codes::BAD_CAST, format!("`{from}` cannot be cast to `{to}`"))
                        .at(span, "");
                if let (Some(n), Some(m)) = (operand.ty.fixed_width(), operand_width(&to)) {
                    diagnostic = diagnostic.note(format!(
                        "a cast changes width or signedness, not both: from {n} to {m} bits takes two casts"
                    ));
                }
                self.report(diagnostic);
                Expr::error(span)
            }
        }
    }

    fn cast_to(&mut self, operand: Expr, to: &Type, span: Span) -> Result<Expr, Expr> {
        let from = self.infer.shallow(&operand.ty);
        if from == *to {
            return Ok(Expr { span, ..operand });
        }
        if let Some(value) = self.int_value(&operand)
            && let Some(result) = self.cast_number(&value, &from, to, span)
        {
            return Ok(result);
        }
        if let (ExprKind::Bool(value), Type::Bit(1)) = (&operand.kind, to) {
            return Ok(Expr { kind: ExprKind::Int(BigInt::from(u8::from(*value))), ty: to.clone(), span });
        }
        if self.can_cast(&from, to, 0) {
            return Ok(Expr {
                kind: ExprKind::Cast { operand: Box::new(operand), implicit: false },
                ty: to.clone(),
                span,
            });
        }
        let mut operand = operand;
        if matches!(from, Type::Tuple(_)) || !matches!(to, Type::Bit(_) | Type::Signed(_)) {
            operand = match self.coerce(operand, to) {
                Ok(expr) => return Ok(Expr { span, ..expr }),
                Err(operand) => operand,
            };
        }
        Err(operand)
    }

    /// The cast of a known number, if it gives a known number or truth value.
    fn cast_number(&mut self, value: &BigInt, from: &Type, to: &Type, span: Span) -> Option<Expr> {
        if !self.can_cast(from, to, 0) {
            return None;
        }
        let under = self.numeric(&self.underlying(to));
        let kind = match under {
            Type::Bool => match u8::try_from(value) {
                Ok(bit @ (0 | 1)) => ExprKind::Bool(bit == 1),
                _ => {
                    self.error(
                        codes::BAD_CAST,
                        span,
                        "only 0 and 1 can be cast to `bool`",
                        format!("this is {value}"),
                    );
                    return Some(Expr::error(span));
                }
            },
            Type::Bit(_) | Type::Signed(_) => {
                // An `int` that does not fit is reported; a number with a width is cut, as the cast says.
                let wrapped =
                    if *from == Type::Int { self.fit(value, &under, span) } else { wrap(value, &under) };
                ExprKind::Int(wrapped)
            }
            Type::Int => ExprKind::Int(value.clone()),
            _ => return None,
        };
        if let (Type::Enum(id), ExprKind::Int(number)) = (to, &kind) {
            let members = &self.program.enums[*id].members;
            if let Some(member) = members.iter().position(|m| m.value.as_ref() == Some(number)) {
                return Some(Expr { kind: ExprKind::EnumMember(*id, member as u32), ty: to.clone(), span });
            }
        }
        Some(Expr { kind, ty: to.clone(), span })
    }

    fn can_cast(&self, from: &Type, to: &Type, depth: u32) -> bool {
        let (from, to) = (self.infer.shallow(from), self.infer.shallow(to));
        if from == to {
            return true;
        }
        if depth > 8 {
            return false;
        }
        let made_of = |ty: &Type, other: &Type| matches!(ty, Type::NewType(id) if self.program.new_types[*id].of == *other);
        if made_of(&to, &from) || made_of(&from, &to) {
            return true;
        }
        match (&from, &to) {
            (Type::Bit(n), Type::Signed(m)) | (Type::Signed(n), Type::Bit(m)) => n == m,
            (Type::Bit(_), Type::Bit(_)) | (Type::Signed(_), Type::Signed(_)) => true,
            (Type::Bit(1), Type::Bool) | (Type::Bool, Type::Bit(1)) => true,
            (Type::Int, Type::Bit(_) | Type::Signed(_) | Type::Bool) => true,
            (Type::Bit(_) | Type::Signed(_), Type::Int) => true,
            (Type::Enum(id), _) => match &self.program.enums[*id].underlying {
                Some(under) => self.can_cast(under, &to, depth + 1),
                None => false,
            },
            (_, Type::Enum(id)) => match &self.program.enums[*id].underlying {
                Some(under) => self.can_cast(&from, under, depth + 1),
                None => false,
            },
            (Type::Int, Type::NewType(id)) => {
                self.can_cast(&from, &self.program.new_types[*id].of, depth + 1)
            }
            _ => false,
        }
    }
}

/// The width in a type's text.
fn operand_width(shown: &str) -> Option<&str> {
    shown.strip_prefix("bit<").or_else(|| shown.strip_prefix("int<")).and_then(|s| s.strip_suffix('>'))
}
