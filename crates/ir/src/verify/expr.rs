//! Expressions: their parts, and their types.

use super::Verifier;
use super::scope::Code;
use crate::text::infer::{field_type, infer};
use crate::{Expr, ExprKind, Type, TypeKind, VarId};
use base_diag::Span;

impl Verifier<'_> {
    pub(super) fn expr(&mut self, expr: &Expr) {
        let before = self.errors.len();
        if !self.exists(&expr.ty) {
            return self.error(expr.span, format!("the type of `{}` does not exist", self.show_expr(expr)));
        }
        self.parts(expr);
        if self.errors.len() > before {
            return;
        }
        if !self.is_well_formed(expr) {
            let (text, ty) = (self.show_expr(expr), self.show(&expr.ty));
            return self.error(expr.span, format!("`{text}` makes no sense as `{ty}`"));
        }
        let said = match &expr.kind {
            ExprKind::Const(_) | ExprKind::Aggregate(_) => None,
            ExprKind::Binary(op, left, right) => self.binary_result(*op, left, right),
            kind => infer(self.program, self.scope.vars, kind),
        };
        if let Some(said) = said {
            self.require(said == expr.ty, expr.span, |v| {
                let (text, said, ty) = (v.show_expr(expr), v.show(&said), v.show(&expr.ty));
                format!("`{text}` is a `{said}` and not a `{ty}`")
            });
        }
    }

    /// The expressions in `expr`, and the things that it names.
    fn parts(&mut self, expr: &Expr) {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::InvalidHeader => {}
            ExprKind::Var(id) => self.visible(*id, span),
            ExprKind::Field(e, _)
            | ExprKind::Next(e)
            | ExprKind::Last(e)
            | ExprKind::LastIndex(e)
            | ExprKind::Slice { base: e, .. }
            | ExprKind::Unary(_, e)
            | ExprKind::Cast(e)
            | ExprKind::IsValid(e) => self.expr(e),
            ExprKind::Index(a, b)
            | ExprKind::SlicePlus { base: a, start: b, .. }
            | ExprKind::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Ternary(cond, yes, no) => {
                self.expr(cond);
                self.expr(yes);
                self.expr(no);
            }
            ExprKind::Aggregate(parts) => parts.iter().for_each(|part| self.expr(part)),
            ExprKind::Lookahead(packet) | ExprKind::PacketLength(packet) => {
                self.packet(*packet, "packet_in", span);
            }
            ExprKind::ApplyHit(table) | ExprKind::ApplyMiss(table) => self.apply(*table, span),
            ExprKind::Call(call) => self.call(call, span),
        }
    }

    fn visible(&mut self, var: VarId, span: Span) {
        let good = self.scope.is_visible(var);
        self.require(good, span, |v| match v.scope.vars.get(var.index()) {
            Some(var) => format!("variable `{}` is not visible here", var.name),
            None => format!("variable {} does not exist", var.index()),
        });
    }

    /// True if the parts of `expr` may be combined.
    fn is_well_formed(&self, expr: &Expr) -> bool {
        let program = self.program;
        match &expr.kind {
            ExprKind::Const(value) => self.is_const_of(value, &expr.ty),
            ExprKind::Var(_) => true,
            ExprKind::Field(base, index) => field_type(program, &base.ty, *index).is_some(),
            ExprKind::Index(stack, index) => {
                matches!(stack.ty, Type::Stack(..))
                    && matches!(program.representation(&index.ty), Type::Bit(_) | Type::Int(_) | Type::InfInt)
            }
            ExprKind::Next(stack) | ExprKind::Last(stack) | ExprKind::LastIndex(stack) => {
                self.is_header_stack(&stack.ty) && matches!(self.scope.code, Code::Parser(_))
            }
            ExprKind::Slice { base, hi, lo } => width(&base.ty).is_some_and(|w| lo <= hi && *hi < w),
            ExprKind::SlicePlus { base, start, width: part } => {
                width(&base.ty).is_some_and(|w| (1..=w).contains(part))
                    && matches!(start.ty, Type::Bit(_) | Type::InfInt)
            }
            ExprKind::Unary(op, operand) => self.unary_result(*op, &operand.ty).is_some(),
            ExprKind::Binary(op, left, right) => self.binary_result(*op, left, right).is_some(),
            ExprKind::Ternary(cond, yes, no) => cond.ty == Type::Bool && yes.ty == no.ty,
            ExprKind::Cast(operand) => self.casts(&operand.ty, &expr.ty),
            ExprKind::Aggregate(parts) => self.is_aggregate(parts, &expr.ty),
            ExprKind::InvalidHeader => self.is_header_or_union(&expr.ty),
            ExprKind::IsValid(header) => self.is_header_or_union(&header.ty),
            ExprKind::Lookahead(_) => program.bits(&expr.ty).is_some(),
            ExprKind::PacketLength(_) | ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_) => true,
            ExprKind::Call(_) => true,
        }
    }

    /// True for a constant of its type, and for an aggregate of such.
    pub(super) fn is_constant(&self, expr: &Expr) -> bool {
        self.exists(&expr.ty)
            && match &expr.kind {
                ExprKind::Const(value) => self.is_const_of(value, &expr.ty),
                ExprKind::Aggregate(parts) => {
                    self.is_aggregate(parts, &expr.ty) && parts.iter().all(|part| self.is_constant(part))
                }
                ExprKind::InvalidHeader => self.is_header_or_union(&expr.ty),
                _ => false,
            }
    }

    fn is_aggregate(&self, parts: &[Expr], ty: &Type) -> bool {
        match ty {
            Type::Tuple(types) => parts.iter().map(|part| &part.ty).eq(types),
            Type::Stack(elem, size) => {
                parts.len() == *size as usize && parts.iter().all(|part| part.ty == **elem)
            }
            Type::List(elem) => parts.iter().all(|part| part.ty == **elem),
            Type::Named(id) => match &self.program.type_decl(*id).kind {
                TypeKind::Header(fields) | TypeKind::Struct(fields) => {
                    parts.iter().map(|part| &part.ty).eq(fields.iter().map(|field| &field.ty))
                }
                _ => false,
            },
            _ => false,
        }
    }
}

fn width(ty: &Type) -> Option<u32> {
    match ty {
        Type::Bit(width) | Type::Int(width) => Some(*width),
        _ => None,
    }
}
