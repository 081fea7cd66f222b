//! Binary operations: operand types and results (P4-16 §8.4 to §8.9, §8.12.2).

use base_diag::{Diagnostic, Span};
use num_bigint::BigInt;
use p4_syntax::ast;

use super::fold::{FoldError, fold_compare, fold_int};
use crate::codes;
use crate::cx::Checker;
use crate::typed::{BinaryOp, Expr, ExprKind, Type};

/// The operator of the source.
pub(crate) fn operator(op: ast::BinaryOp) -> BinaryOp {
    match op {
        ast::BinaryOp::Mul => BinaryOp::Mul,
        ast::BinaryOp::Div => BinaryOp::Div,
        ast::BinaryOp::Mod => BinaryOp::Mod,
        ast::BinaryOp::Add => BinaryOp::Add,
        ast::BinaryOp::Sub => BinaryOp::Sub,
        ast::BinaryOp::AddSat => BinaryOp::AddSat,
        ast::BinaryOp::SubSat => BinaryOp::SubSat,
        ast::BinaryOp::Concat => BinaryOp::Concat,
        ast::BinaryOp::Shl => BinaryOp::Shl,
        ast::BinaryOp::Shr => BinaryOp::Shr,
        ast::BinaryOp::Lt => BinaryOp::Lt,
        ast::BinaryOp::Le => BinaryOp::Le,
        ast::BinaryOp::Gt => BinaryOp::Gt,
        ast::BinaryOp::Ge => BinaryOp::Ge,
        ast::BinaryOp::Eq => BinaryOp::Eq,
        ast::BinaryOp::Ne => BinaryOp::Ne,
        ast::BinaryOp::BitAnd => BinaryOp::BitAnd,
        ast::BinaryOp::BitXor => BinaryOp::BitXor,
        ast::BinaryOp::BitOr => BinaryOp::BitOr,
        ast::BinaryOp::And => BinaryOp::And,
        ast::BinaryOp::Or => BinaryOp::Or,
    }
}

impl BinaryOp {
    /// The operator as P4 writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Mod => "%",
            BinaryOp::AddSat => "|+|",
            BinaryOp::SubSat => "|-|",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Concat => "++",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
        }
    }
}

/// No string made of others is longer, in bytes.
const MAX_STRING: usize = 1 << 16;

impl Checker {
    pub(crate) fn binary(
        &mut self,
        op: ast::BinaryOp,
        op_span: Span,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Expr {
        let op = operator(op);
        let (a, b) = if needs_hint(left) && !needs_hint(right) {
            let b = self.expr(right, None);
            (self.expr(left, Some(&b.ty)), b)
        } else {
            let a = self.expr(left, None);
            let b = self.expr(right, Some(&a.ty));
            (a, b)
        };
        self.binary_of(op, op_span, a, b, span)
    }

    /// The operation on checked operands.
    pub(crate) fn binary_of(&mut self, op: BinaryOp, op_span: Span, a: Expr, b: Expr, span: Span) -> Expr {
        if a.ty.is_error() || b.ty.is_error() {
            return Expr::error(span);
        }
        match op {
            BinaryOp::And | BinaryOp::Or => self.logical(op, op_span, a, b, span),
            BinaryOp::Eq | BinaryOp::Ne => self.equality(op, op_span, a, b, span),
            BinaryOp::Shl | BinaryOp::Shr => self.shift(op, op_span, a, b, span),
            BinaryOp::Concat => self.concat(op_span, a, b, span),
            _ => self.arithmetic(op, op_span, a, b, span),
        }
    }

    fn bad_operands(&mut self, op: BinaryOp, op_span: Span, a: &Expr, b: &Expr, span: Span) -> Expr {
        let (x, y) = (self.show(&a.ty), self.show(&b.ty));
        let mut diagnostic = Diagnostic::error(
            codes::OPERANDS,
            format!("`{}` cannot be applied to `{x}` and `{y}`", op.symbol()),
        )
        .at(op_span, "")
        .at(a.span, format!("this is `{x}`"))
        .at(b.span, format!("this is `{y}`"));
        if op == BinaryOp::Add && a.ty == Type::String && b.ty == Type::String {
            diagnostic = diagnostic.help("write `++` to join strings");
        }
        self.report(diagnostic);
        Expr::error(span)
    }

    fn logical(&mut self, op: BinaryOp, op_span: Span, a: Expr, b: Expr, span: Span) -> Expr {
        if a.ty != Type::Bool || b.ty != Type::Bool {
            return self.bad_operands(op, op_span, &a, &b, span);
        }
        let kind = match (&a.kind, op) {
            (ExprKind::Bool(true), BinaryOp::And) | (ExprKind::Bool(false), BinaryOp::Or) => {
                return Expr { span, ..b };
            }
            (ExprKind::Bool(_), _) => return Expr { span, ..a },
            _ => ExprKind::Binary(op, Box::new(a), Box::new(b)),
        };
        Expr { kind, ty: Type::Bool, span }
    }

    fn equality(&mut self, op: BinaryOp, op_span: Span, a: Expr, b: Expr, span: Span) -> Expr {
        let (a, b) = match self.balance(a, b) {
            Ok(pair) => pair,
            Err(pair) => return self.bad_operands(op, op_span, &pair.0, &pair.1, span),
        };
        if a.ty.is_error() || b.ty.is_error() {
            return Expr::error(span);
        }
        let ty = self.infer.shallow(&a.ty);
        if !self.is_comparable(&ty) {
            let what = self.program.describe_type(&ty);
            self.error(codes::OPERANDS, span, format!("values of {what} cannot be compared"), "");
            return Expr::error(span);
        }
        let equal = match (&a.kind, &b.kind) {
            (ExprKind::Int(x), ExprKind::Int(y)) => Some(x == y),
            (ExprKind::Bool(x), ExprKind::Bool(y)) => Some(x == y),
            (ExprKind::String(x), ExprKind::String(y)) => Some(x == y),
            (ExprKind::ErrorMember(x), ExprKind::ErrorMember(y)) => Some(x == y),
            (ExprKind::MatchKind(x), ExprKind::MatchKind(y)) => Some(x == y),
            (ExprKind::EnumMember(x, i), ExprKind::EnumMember(y, j)) => {
                // Members of one value are equal, whatever their names.
                let same = self.int_value(&a).zip(self.int_value(&b)).map(|(p, q)| p == q);
                Some(same.unwrap_or(x == y && i == j))
            }
            _ => None,
        };
        let kind = match equal {
            Some(equal) => ExprKind::Bool(equal == (op == BinaryOp::Eq)),
            None => ExprKind::Binary(op, Box::new(a), Box::new(b)),
        };
        Expr { kind, ty: Type::Bool, span }
    }

    fn arithmetic(&mut self, op: BinaryOp, op_span: Span, a: Expr, b: Expr, span: Span) -> Expr {
        let compares = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        if matches!(op, BinaryOp::Div | BinaryOp::Mod) && self.bad_division(&a, &b, span) {
            return Expr::error(span);
        }
        let (a, b) = (self.to_numeric(a), self.to_numeric(b));
        let (a, b) = match self.balance(a, b) {
            Ok(pair) => pair,
            Err(pair) => return self.bad_operands(op, op_span, &pair.0, &pair.1, span),
        };
        if a.ty.is_error() || b.ty.is_error() {
            return Expr::error(span);
        }
        let ty = self.infer.shallow(&a.ty);
        // P4 has no division of `int<N>`, and no saturating arithmetic of `int`.
        let fits = match ty {
            Type::Bit(_) => true,
            Type::Signed(_) => !matches!(op, BinaryOp::Div | BinaryOp::Mod),
            Type::Int => !matches!(op, BinaryOp::AddSat | BinaryOp::SubSat),
            _ => false,
        };
        if !fits {
            return self.bad_operands(op, op_span, &a, &b, span);
        }
        if let (ExprKind::Int(x), ExprKind::Int(y)) = (&a.kind, &b.kind) {
            if compares {
                let value = fold_compare(op, x, y).unwrap_or(false);
                return Expr { kind: ExprKind::Bool(value), ty: Type::Bool, span };
            }
            if let Some(result) = fold_int(op, x, y, &ty) {
                return self.folded(result, ty, op_span, span);
            }
        }
        let ty = if compares { Type::Bool } else { ty };
        Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span }
    }

    fn folded(&mut self, result: Result<BigInt, FoldError>, ty: Type, op_span: Span, span: Span) -> Expr {
        let title = match result {
            Ok(value) => return self.known(ExprKind::Int(value), ty, span),
            Err(FoldError::DivisionByZero) => "division by zero",
            Err(FoldError::NegativeDivision) => "division of negative numbers",
            Err(FoldError::NegativeShift) => "shift by a negative number",
            Err(FoldError::TooLarge) => "the number is too large",
        };
        self.error(codes::BAD_VALUE, op_span, title, "");
        Expr::error(span)
    }

    /// Reports a divisor that is zero, and numbers that are negative (P4-16 §8.8).
    fn bad_division(&mut self, a: &Expr, b: &Expr, span: Span) -> bool {
        let divisor = self.int_value(b);
        let negative = divisor.as_ref().is_some_and(|d| d < &BigInt::ZERO)
            || (self.int_value(a).is_some_and(|n| n < BigInt::ZERO));
        if divisor.as_ref().is_some_and(|d| d == &BigInt::ZERO) {
            self.error(codes::BAD_VALUE, b.span, "division by zero", "");
            return true;
        }
        if negative {
            self.error(
                codes::BAD_VALUE,
                span,
                "division of negative numbers",
                "only natural numbers can be divided",
            );
            return true;
        }
        false
    }

    fn shift(&mut self, op: BinaryOp, op_span: Span, a: Expr, b: Expr, span: Span) -> Expr {
        let (a, b) = (self.to_numeric(a), self.to_numeric(b));
        let amount = self.int_value(&b);
        if amount.as_ref().is_some_and(|n| n < &BigInt::ZERO) {
            self.error(codes::BAD_VALUE, b.span, "shift by a negative number", "");
            return Expr::error(span);
        }
        let left_fits = matches!(a.ty, Type::Bit(_) | Type::Signed(_) | Type::Int);
        let right_fits = match b.ty {
            Type::Bit(_) => true,
            Type::Int => self.is_known(&b),
            // A known amount is not negative, as tested above; another signed one may be.
            Type::Signed(_) => amount.is_some(),
            _ => false,
        };
        if !left_fits || !right_fits {
            let mut diagnostic =
                Diagnostic::error(codes::OPERANDS, format!("bad operand of `{}`", op.symbol()));
            if left_fits {
                let found = self.show(&b.ty);
                diagnostic = diagnostic.at(b.span, format!("this is `{found}`"));
                diagnostic = diagnostic.note("a shift amount is a `bit<W>` or a non-negative constant");
            } else {
                let found = self.show(&a.ty);
                diagnostic = diagnostic.at(a.span, format!("`{found}` cannot be shifted"));
            }
            self.report(diagnostic);
            return Expr::error(span);
        }
        if a.ty == Type::Int && !self.is_known(&b) {
            self.report(
                Diagnostic::error(codes::CANNOT_INFER, "the width of the shift is not known")
                    .at(a.span, "an `int` can be shifted only by a constant")
                    .help("give it a width: `32w1 << n`"),
            );
            return Expr::error(span);
        }
        let ty = self.infer.shallow(&a.ty);
        if let (Some(width), Some(n)) = (ty.fixed_width(), &amount)
            && *n >= BigInt::from(width)
        {
            let title = format!("a shift of `{}` by {n}", self.show(&ty));
            let sign = op == BinaryOp::Shr && matches!(ty, Type::Signed(_));
            let label = if sign { "only the sign is left" } else { "no bit of the value is left" };
            self.report(Diagnostic::warning(codes::OVERFLOW, "overflow", title).at(b.span, label));
        }
        if let (ExprKind::Int(x), Some(n)) = (&a.kind, &amount)
            && let Some(result) = fold_int(op, x, n, &ty)
        {
            return self.folded(result, ty, op_span, span);
        }
        Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span }
    }

    fn concat(&mut self, op_span: Span, a: Expr, b: Expr, span: Span) -> Expr {
        if let (Type::String, Type::String) = (&a.ty, &b.ty) {
            let kind = match (&a.kind, &b.kind) {
                (ExprKind::String(x), ExprKind::String(y)) if x.len() + y.len() > MAX_STRING => {
                    let why = format!("strings are joined up to {MAX_STRING} bytes");
                    self.error(codes::BAD_VALUE, op_span, "the string is too long", why);
                    return Expr::error(span);
                }
                (ExprKind::String(x), ExprKind::String(y)) => ExprKind::String(format!("{x}{y}").into()),
                _ => ExprKind::Binary(BinaryOp::Concat, Box::new(a), Box::new(b)),
            };
            return self.known(kind, Type::String, span);
        }
        let (a, b) = (self.to_numeric(a), self.to_numeric(b));
        let (Some(n), Some(m)) = (a.ty.fixed_width(), b.ty.fixed_width()) else {
            if a.ty == Type::Int || b.ty == Type::Int {
                let int = if a.ty == Type::Int { &a } else { &b };
                self.report(
                    Diagnostic::error(codes::CANNOT_INFER, "`++` needs operands of known width")
                        .at(int.span, "this number has no width")
                        .help("give it one: `8w1`"),
                );
                return Expr::error(span);
            }
            return self.bad_operands(BinaryOp::Concat, op_span, &a, &b, span);
        };
        let ty = match a.ty {
            Type::Signed(_) => Type::Signed(n + m),
            _ => Type::Bit(n + m),
        };
        if n + m > crate::types::resolve::MAX_WIDTH {
            self.error(codes::BAD_WIDTH, span, "the value is too wide", format!("{} bits", n + m));
            return Expr::error(span);
        }
        let kind = match (&a.kind, &b.kind) {
            (ExprKind::Int(x), ExprKind::Int(y)) => {
                // The bits of a negative number, without its sign.
                let low = super::wrap(y, &Type::Bit(m));
                ExprKind::Int(super::wrap(&((x << m) | low), &ty))
            }
            _ => ExprKind::Binary(BinaryOp::Concat, Box::new(a), Box::new(b)),
        };
        self.known(kind, ty, span)
    }
}

/// True for forms whose type depends on the expected one.
pub(crate) fn needs_hint(e: &ast::Expr) -> bool {
    matches!(
        e.kind,
        ast::ExprKind::Struct { .. } | ast::ExprKind::List(_) | ast::ExprKind::Dots | ast::ExprKind::Invalid
    )
}
