//! `a[i]`, `a[hi:lo]`, `a[lo+:width]` (P4-16 §8.6, §8.10, §8.18).

use base_diag::{Diagnostic, Span};
use num_bigint::BigInt;
use p4_syntax::ast;

use super::fold::fold_slice;
use crate::codes;
use crate::cx::Checker;
use crate::typed::{Expr, ExprKind, Type};

impl Checker {
    pub(crate) fn index(&mut self, base: &ast::Expr, index: &ast::Expr, span: Span) -> Expr {
        let base = self.expr(base, None);
        let index = self.expr(index, None);
        if base.ty.is_error() || index.ty.is_error() {
            return Expr::error(span);
        }
        match self.infer.shallow(&base.ty) {
            Type::Array(element, n) => self.array_index(base, index, (*element).clone(), n, span),
            Type::Tuple(members) => self.tuple_index(base, index, &members, span),
            other => {
                let shown = self.show(&other);
                self.error(
                    codes::BAD_INDEX,
                    base.span,
                    format!("`{shown}` has no elements"),
                    "only arrays and tuples do",
                );
                Expr::error(span)
            }
        }
    }

    fn array_index(&mut self, base: Expr, index: Expr, element: Type, n: u32, span: Span) -> Expr {
        let index = self.to_numeric(index);
        if !matches!(index.ty, Type::Int | Type::Bit(_) | Type::Signed(_)) {
            let shown = self.show(&index.ty);
            self.error(
                codes::BAD_INDEX,
                index.span,
                "the index is not a number",
                format!("this is `{shown}`"),
            );
            return Expr::error(span);
        }
        if let Some(value) = self.int_value(&index)
            && (value < BigInt::ZERO || (value >= BigInt::from(n) && n > 0))
        {
            let why = format!("the array has {}", crate::cx::count(n as usize, "element"));
            self.error(codes::BAD_INDEX, index.span, format!("index {value} is out of bounds"), why);
            return Expr::error(span);
        }
        let expr = Expr {
            kind: ExprKind::Index { base: Box::new(base), index: Box::new(index) },
            ty: element,
            span,
        };
        self.simplify_known(expr)
    }

    fn tuple_index(&mut self, base: Expr, index: Expr, members: &[Type], span: Span) -> Expr {
        let Some(value) = self.int_value(&index) else {
            self.error(codes::BAD_INDEX, index.span, "the index of a tuple must be a constant", "");
            return Expr::error(span);
        };
        let found = u32::try_from(&value).ok().and_then(|i| members.get(i as usize).map(|t| (i, t.clone())));
        let Some((index, ty)) = found else {
            let why = format!("the tuple has {}", crate::cx::count(members.len(), "member"));
            self.error(codes::BAD_INDEX, index.span, format!("index {value} is out of bounds"), why);
            return Expr::error(span);
        };
        let expr = Expr { kind: ExprKind::TupleIndex { base: Box::new(base), index }, ty, span };
        self.simplify_known(expr)
    }

    pub(crate) fn slice(&mut self, base: &ast::Expr, hi: &ast::Expr, lo: &ast::Expr, span: Span) -> Expr {
        let base = self.slice_base(base);
        let hi = self.const_int(hi, "the bounds of a slice");
        let lo = self.const_int(lo, "the bounds of a slice");
        let (Some(base), Some(hi), Some(lo)) = (base, hi, lo) else { return Expr::error(span) };
        self.fixed_slice(base, &hi, &lo, span)
    }

    pub(crate) fn plus_slice(
        &mut self,
        base: &ast::Expr,
        lo: &ast::Expr,
        width: &ast::Expr,
        span: Span,
    ) -> Expr {
        let base = self.slice_base(base);
        let lo = self.expr(lo, None);
        let lo = self.to_numeric(lo);
        let width = self.const_int(width, "the width of a slice");
        let (Some(base), Some(width)) = (base, width) else { return Expr::error(span) };
        if lo.ty.is_error() {
            return Expr::error(span);
        }
        if let Some(low) = self.int_value(&lo) {
            let hi = &low + &width - 1;
            return self.fixed_slice(base, &hi, &low, span);
        }
        if !matches!(lo.ty, Type::Int | Type::Bit(_)) {
            let shown = self.show(&lo.ty);
            self.error(
                codes::BAD_INDEX,
                lo.span,
                "the start of a slice is not a natural number",
                format!("this is `{shown}`"),
            );
            return Expr::error(span);
        }
        let available = base.ty.fixed_width().unwrap_or(0);
        match u32::try_from(&width).ok().filter(|w| *w >= 1 && *w <= available.max(1)) {
            Some(bits) => Expr {
                kind: ExprKind::SliceAt { base: Box::new(base), lo: Box::new(lo) },
                ty: Type::Bit(bits),
                span,
            },
            None => {
                self.error(
                    codes::BAD_INDEX,
                    span,
                    format!("a slice of {width} bits"),
                    format!("the value has {available} bits"),
                );
                Expr::error(span)
            }
        }
    }

    fn slice_base(&mut self, base: &ast::Expr) -> Option<Expr> {
        let base = self.expr(base, None);
        let base = self.to_numeric(base);
        match base.ty {
            Type::Error => None,
            Type::Bit(_) | Type::Signed(_) => Some(base),
            Type::Int => {
                self.report(
                    Diagnostic::error(codes::CANNOT_INFER, "a slice needs a value of known width")
                        .at(base.span, "this number has no width")
                        .help("give it one: `32w1`"),
                );
                None
            }
            _ => {
                let shown = self.show(&base.ty);
                self.error(
                    codes::OPERANDS,
                    base.span,
                    format!("`{shown}` cannot be sliced"),
                    "only bits can",
                );
                None
            }
        }
    }

    fn fixed_slice(&mut self, base: Expr, hi: &BigInt, lo: &BigInt, span: Span) -> Expr {
        let width = base.ty.fixed_width().unwrap_or(0);
        let bound = |value: &BigInt| u32::try_from(value).ok().filter(|v| *v < width);
        let (Some(high), Some(low)) = (bound(hi), bound(lo)) else {
            let why = format!("bits are numbered from 0 to {}", i64::from(width) - 1);
            self.error(codes::BAD_INDEX, span, format!("slice [{hi}:{lo}] is out of bounds"), why);
            return Expr::error(span);
        };
        if high < low {
            self.report(
                Diagnostic::error(codes::BAD_INDEX, format!("slice [{hi}:{lo}] has its bounds swapped"))
                    .at(span, "the most significant bit comes first")
                    .help(format!("write `[{lo}:{hi}]`")),
            );
            return Expr::error(span);
        }
        let ty = Type::Bit(high - low + 1);
        let kind = match self.int_value(&base) {
            Some(value) => ExprKind::Int(fold_slice(&value, high, low)),
            None => ExprKind::Slice { base: Box::new(base), hi: high, lo: low },
        };
        Expr { kind, ty, span }
    }
}
