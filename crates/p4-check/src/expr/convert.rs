//! Implicit conversions (P4-16 §8.12.2), written out as casts.
//!
//! `int` becomes `bit<W>` or `int<W>`; a serializable enum becomes its underlying type; lists and structure-valued
//! expressions become the struct, header, tuple, array or list wanted.

use crate::cx::Checker;
use crate::typed::{Expr, ExprKind, FieldValue, StructKind, Type};

impl Checker {
    /// The expression made `to`; given back as it was if that is impossible.
    pub(crate) fn coerce(&mut self, expr: Expr, to: &Type) -> Result<Expr, Expr> {
        let from = self.infer.shallow(&expr.ty);
        let to = self.infer.shallow(to);
        if from == to {
            return Ok(expr);
        }
        match (&from, &to) {
            (Type::Error, _) | (_, Type::Error) => Ok(Expr::error(expr.span)),
            (Type::Int, Type::Bit(_) | Type::Signed(_)) => Ok(self.int_to(expr, &to)),
            (Type::Int, Type::NewType(_)) if matches!(expr.kind, ExprKind::Int(_)) => {
                self.int_to_new_type(expr, &to)
            }
            (Type::Bit(_) | Type::Signed(_), Type::Int) => Ok(self.implicit_cast(expr, &to)),
            (Type::Enum(id), Type::Bit(_) | Type::Signed(_))
                if self.program.enums[*id].underlying.as_ref() == Some(&to) =>
            {
                Ok(self.implicit_cast(expr, &to))
            }
            _ => match expr.kind {
                ExprKind::Tuple(items) => self.spread(items, expr.ty, &to, expr.span),
                _ if self.unify(&from, &to) => Ok(expr),
                _ => Err(expr),
            },
        }
    }

    /// An `int` made `bit<W>` or `int<W>`.
    pub(crate) fn int_to(&mut self, expr: Expr, to: &Type) -> Expr {
        match &expr.kind {
            ExprKind::Int(value) => {
                let value = self.fit(value, to, expr.span);
                Expr { kind: ExprKind::Int(value), ty: to.clone(), span: expr.span }
            }
            _ => self.implicit_cast(expr, to),
        }
    }

    /// A number made a new type of numbers.
    fn int_to_new_type(&mut self, expr: Expr, to: &Type) -> Result<Expr, Expr> {
        let under = self.underlying(to);
        if under.fixed_width().is_none() {
            return Err(expr);
        }
        let number = self.int_to(expr, &under);
        Ok(Expr { ty: to.clone(), ..number })
    }

    pub(crate) fn implicit_cast(&self, expr: Expr, to: &Type) -> Expr {
        let span = expr.span;
        let kind = match self.int_value(&expr) {
            Some(value) if to.fixed_width().is_some() || *to == Type::Int => {
                ExprKind::Int(super::wrap(&value, to))
            }
            _ => ExprKind::Cast { operand: Box::new(expr), implicit: true },
        };
        Expr { kind, ty: to.clone(), span }
    }

    /// A serializable enum as its underlying number; anything else as it is.
    pub(crate) fn to_numeric(&self, expr: Expr) -> Expr {
        let numeric = self.numeric(&expr.ty);
        if numeric == self.infer.shallow(&expr.ty) { expr } else { self.implicit_cast(expr, &numeric) }
    }

    /// The members of a list expression as the parts of `to`.
    fn spread(&mut self, items: Vec<Expr>, ty: Type, to: &Type, span: base_diag::Span) -> Result<Expr, Expr> {
        let wanted: Vec<Type> = match to {
            Type::Struct(id, args) if self.program.structs[*id].kind != StructKind::Union => {
                self.field_types(*id, args)
            }
            Type::Tuple(members) => members.to_vec(),
            Type::Array(element, n) if *n as usize == items.len() => vec![(**element).clone(); items.len()],
            Type::List(element) => vec![(**element).clone(); items.len()],
            Type::Infer(_) => {
                let expr = Expr { kind: ExprKind::Tuple(items), ty, span };
                return if self.unify(&expr.ty.clone(), to) { Ok(expr) } else { Err(expr) };
            }
            _ => return Err(Expr { kind: ExprKind::Tuple(items), ty, span }),
        };
        if wanted.len() != items.len() {
            return Err(Expr { kind: ExprKind::Tuple(items), ty, span });
        }
        let mut parts = Vec::with_capacity(items.len());
        for (item, want) in items.into_iter().zip(&wanted) {
            parts.push(self.convert(item, want));
        }
        Ok(build(parts, to, span))
    }

    /// Two operands given one type, if implicit conversions can.
    pub(crate) fn balance(&mut self, a: Expr, b: Expr) -> Result<(Expr, Expr), Box<(Expr, Expr)>> {
        let (x, y) = (self.infer.shallow(&a.ty), self.infer.shallow(&b.ty));
        if x == y {
            return Ok((a, b));
        }
        // An integer without a width, and a list, take the type of the other operand.
        let soft = |e: &Expr, t: &Type| *t == Type::Int || matches!(e.kind, ExprKind::Tuple(_));
        if soft(&a, &x) && !soft(&b, &y) {
            let b_number = if x == Type::Int { self.to_numeric(b) } else { b };
            let to = b_number.ty.clone();
            return match self.coerce(a, &to) {
                Ok(a) => Ok((a, b_number)),
                Err(a) => Err(Box::new((a, b_number))),
            };
        }
        if soft(&b, &y) && !soft(&a, &x) {
            let a_number = if y == Type::Int { self.to_numeric(a) } else { a };
            let to = a_number.ty.clone();
            return match self.coerce(b, &to) {
                Ok(b) => Ok((a_number, b)),
                Err(b) => Err(Box::new((a_number, b))),
            };
        }
        if x.is_error() || y.is_error() || self.unify(&x, &y) {
            return Ok((a, b));
        }
        // A serializable enum counts as its underlying type.
        let (p, q) = (self.numeric(&x), self.numeric(&y));
        if p == q {
            return Ok((self.to_numeric(a), self.to_numeric(b)));
        }
        if matches!((&a.kind, &b.kind), (ExprKind::Tuple(_), ExprKind::Tuple(_))) {
            return self.balance_tuples(a, b);
        }
        Err(Box::new((a, b)))
    }

    /// Two list expressions whose members differ in `int` only.
    fn balance_tuples(&mut self, a: Expr, b: Expr) -> Result<(Expr, Expr), Box<(Expr, Expr)>> {
        let (ExprKind::Tuple(xs), ExprKind::Tuple(ys)) = (&a.kind, &b.kind) else {
            return Err(Box::new((a, b)));
        };
        if xs.len() != ys.len() {
            return Err(Box::new((a, b)));
        }
        let mut left = Vec::with_capacity(xs.len());
        let mut right = Vec::with_capacity(xs.len());
        for (x, y) in xs.clone().into_iter().zip(ys.clone()) {
            match self.balance(x, y) {
                Ok((x, y)) => {
                    left.push(x);
                    right.push(y);
                }
                Err(_) => return Err(Box::new((a, b))),
            }
        }
        let of = |items: &[Expr]| Type::tuple(items.iter().map(|i| i.ty.clone()).collect());
        let (x, y) = (of(&left), of(&right));
        Ok((
            Expr { kind: ExprKind::Tuple(left), ty: x, span: a.span },
            Expr { kind: ExprKind::Tuple(right), ty: y, span: b.span },
        ))
    }
}

/// An aggregate of type `to` of these parts, one for each field, member or element.
pub(crate) fn build(parts: Vec<Expr>, to: &Type, span: base_diag::Span) -> Expr {
    let kind = match to {
        Type::Struct(..) => ExprKind::Struct(
            parts.into_iter().enumerate().map(|(i, value)| FieldValue { index: i as u32, value }).collect(),
        ),
        Type::Array(..) => ExprKind::Array(parts),
        Type::List(_) => ExprKind::List(parts),
        _ => ExprKind::Tuple(parts),
    };
    Expr { kind, ty: to.clone(), span }
}
