//! Expressions, one to one; values known through constructor parameters become constants.

use base_diag::Span;
use ir::{BinaryOp, Const, Expr, ExprKind, StmtKind, UnaryOp};
use p4_check::typed::{self, Type};

use crate::arguments::calls_something;
use crate::refuse;
use crate::stmt::Body;
use crate::value::{Object, Value};

/// The operation, as the IR names it.
pub(crate) fn binary_op(op: typed::BinaryOp) -> BinaryOp {
    use typed::BinaryOp as T;
    match op {
        T::Add => BinaryOp::Add,
        T::Sub => BinaryOp::Sub,
        T::Mul => BinaryOp::Mul,
        T::Div => BinaryOp::Div,
        T::Mod => BinaryOp::Mod,
        T::AddSat => BinaryOp::AddSat,
        T::SubSat => BinaryOp::SubSat,
        T::Shl => BinaryOp::Shl,
        T::Shr => BinaryOp::Shr,
        T::BitAnd => BinaryOp::BitAnd,
        T::BitOr => BinaryOp::BitOr,
        T::BitXor => BinaryOp::BitXor,
        T::Concat => BinaryOp::Concat,
        T::And => BinaryOp::And,
        T::Or => BinaryOp::Or,
        T::Eq => BinaryOp::Eq,
        T::Ne => BinaryOp::Ne,
        T::Lt => BinaryOp::Lt,
        T::Le => BinaryOp::Le,
        T::Gt => BinaryOp::Gt,
        T::Ge => BinaryOp::Ge,
    }
}

fn unary_op(op: typed::UnaryOp) -> UnaryOp {
    match op {
        typed::UnaryOp::Neg => UnaryOp::Neg,
        typed::UnaryOp::Complement => UnaryOp::BitNot,
        typed::UnaryOp::Not => UnaryOp::Not,
    }
}

impl Body<'_, '_> {
    /// The closed type of an expression.
    pub(crate) fn type_of(&mut self, expr: &typed::Expr) -> ir::Type {
        let ty = self.env.close(&expr.ty);
        self.el.ty(&ty)
    }

    /// An expression or place. One that cannot be expressed is reported and replaced by `false`.
    pub(crate) fn expr(&mut self, expr: &typed::Expr) -> Expr {
        if let Some(constant) = self.folded(expr) {
            return constant;
        }
        if let Some(value) = self.captured(expr) {
            return value;
        }
        match self.expr_kind(expr) {
            Some((kind, ty)) => Expr { kind, ty, span: expr.span },
            None => Expr { kind: ExprKind::Const(Const::Bool(false)), ty: ir::Type::Bool, span: expr.span },
        }
    }

    /// An expression that is known at compile time wherever the language wants that: in entries and the like.
    pub(crate) fn settled(&mut self, expr: &typed::Expr) -> Expr {
        let ty = self.env.close(&expr.ty);
        let value = self.el.eval(&self.env, expr);
        match value.and_then(|v| self.el.constant(&v, &ty, expr.span)) {
            Some(constant) => constant,
            None => self.expr(expr),
        }
    }

    /// An expression that is written to.
    pub(crate) fn place(&mut self, expr: &typed::Expr) -> Expr {
        self.refuse_captured(expr);
        self.expr(expr)
    }

    fn boxed(&mut self, expr: &typed::Expr) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    /// The constant `expr` is, if it is made of constructor parameters or of `int` values. Literals and run-time
    /// expressions are left to `expr_kind`, so that no tree is evaluated again at each level.
    fn folded(&mut self, expr: &typed::Expr) -> Option<Expr> {
        let worth = match &expr.kind {
            typed::ExprKind::Var(id) => self.env.values.contains_key(id),
            typed::ExprKind::Const(_)
            | typed::ExprKind::Int(_)
            | typed::ExprKind::Bool(_)
            | typed::ExprKind::String(_)
            | typed::ExprKind::EnumMember(..)
            | typed::ExprKind::ErrorMember(_)
            | typed::ExprKind::MatchKind(_)
            | typed::ExprKind::Default
            | typed::ExprKind::SizeOf(..)
            | typed::ExprKind::Invalid => true,
            typed::ExprKind::Cast { operand, .. } => {
                !self.env.values.is_empty() || operand.ty == Type::Int || self.is_const_cast(operand)
            }
            typed::ExprKind::Call(_) => true,
            typed::ExprKind::Unary(..)
            | typed::ExprKind::Binary(..)
            | typed::ExprKind::Ternary(..)
            | typed::ExprKind::Field { .. }
            | typed::ExprKind::Index { .. }
            | typed::ExprKind::TupleIndex { .. }
            | typed::ExprKind::Slice { .. }
            | typed::ExprKind::SliceAt { .. } => !self.env.values.is_empty() || expr.ty == Type::Int,
            _ => false,
        };
        if !worth {
            return None;
        }
        let value = self.el.eval(&self.env, expr)?;
        let ty = self.env.close(&expr.ty);
        let constant = self.el.constant(&value, &ty, expr.span);
        if constant.is_none() {
            self.el.refuse("a known value of this type", expr.span);
        }
        constant
    }

    /// A cast of a constant that is no literal (`(bit<8>)SIZE`) is worth folding too.
    fn is_const_cast(&self, operand: &typed::Expr) -> bool {
        matches!(operand.kind, typed::ExprKind::Const(_) | typed::ExprKind::SizeOf(..))
    }

    fn expr_kind(&mut self, expr: &typed::Expr) -> Option<(ExprKind, ir::Type)> {
        use typed::ExprKind as T;
        let span = expr.span;
        let kind = match &expr.kind {
            T::Var(id) => ExprKind::Var(self.var(*id, span)?),
            T::Field { base, index, .. } | T::TupleIndex { base, index } => {
                ExprKind::Field(self.boxed(base), *index)
            }
            T::Index { base, index } => {
                let base = self.boxed(base);
                ExprKind::Index(base, Box::new(self.position(index)))
            }
            T::Slice { base, hi, lo } => ExprKind::Slice { base: self.boxed(base), hi: *hi, lo: *lo },
            T::SliceAt { base, lo } => self.slice_at(expr, base, lo)?,
            T::StackNext(base) => ExprKind::Next(self.boxed(base)),
            T::StackLast(base) => ExprKind::Last(self.boxed(base)),
            T::StackLastIndex(base) => ExprKind::LastIndex(self.boxed(base)),
            T::Unary(op, operand) => ExprKind::Unary(unary_op(*op), self.boxed(operand)),
            T::Binary(op @ (typed::BinaryOp::Shl | typed::BinaryOp::Shr), left, right) => {
                let left = self.boxed(left);
                ExprKind::Binary(binary_op(*op), left, Box::new(self.position(right)))
            }
            T::Binary(op, left, right) => {
                let left = self.boxed(left);
                ExprKind::Binary(binary_op(*op), left, self.boxed(right))
            }
            T::Ternary(condition, then, otherwise) => {
                let condition = self.boxed(condition);
                let then = self.boxed(then);
                ExprKind::Ternary(condition, then, self.boxed(otherwise))
            }
            T::Cast { operand, .. } => return Some(self.cast(expr, operand)),
            T::Call(call) => self.call_expression(call)?,
            T::Hit(table) => ExprKind::ApplyHit(self.table_id(*table, span)?),
            T::Miss(table) => ExprKind::ApplyMiss(self.table_id(*table, span)?),
            T::Struct(fields) => return Some(self.aggregate(expr, fields)),
            T::Tuple(parts) | T::Array(parts) => {
                ExprKind::Aggregate(parts.iter().map(|p| self.expr(p)).collect())
            }
            T::List(parts) => {
                let parts: Vec<Expr> = parts.iter().map(|p| self.expr(p)).collect();
                let ty = ir::Type::Tuple(parts.iter().map(|p| p.ty.clone()).collect());
                return Some((ExprKind::Aggregate(parts), ty));
            }
            T::Const(id) => {
                let name = &self.el.typed.consts[*id].name.text;
                self.el.report(refuse::not_constant(&format!("`{name}`"), span));
                return None;
            }
            T::Instance(_) | T::This | T::New(_) => {
                let Some(Value::Object(Object::Extern(id))) = self.el.eval(&self.env, expr) else {
                    self.el.refuse("such an instance as a value", span);
                    return None;
                };
                return Some(self.el.instance_value(id));
            }
            T::Mask(..) | T::Range(..) | T::ValueSet(_) | T::MatchKind(_) => {
                self.el.refuse("a set as a value", span);
                return None;
            }
            T::Default => {
                self.el.refuse("the default value of this type", span);
                return None;
            }
            T::SizeOf(..) => {
                self.el.report(refuse::not_constant("the size of this type", span));
                return None;
            }
            T::Int(_) | T::Bool(_) | T::String(_) | T::EnumMember(..) | T::ErrorMember(_) | T::Invalid => {
                self.el.refuse("a literal of this type", span);
                return None;
            }
            T::Error | T::Table(_) | T::ActionRun(_) => {
                self.el.refuse("this expression", span);
                return None;
            }
        };
        Some((kind, self.type_of(expr)))
    }

    fn var(&mut self, id: typed::VarId, span: Span) -> Option<ir::VarId> {
        let known = self.env.vars.get(&id).copied();
        if known.is_none() {
            self.el.refuse("a variable of the enclosing block in a method's implementation", span);
        }
        known
    }

    /// A stack's index or the amount of a shift; an `int` is given 32 bits, or the most they hold.
    pub(crate) fn position(&mut self, expr: &typed::Expr) -> Expr {
        if let (typed::ExprKind::Cast { operand, .. }, Type::Int) = (&expr.kind, &expr.ty)
            && self.el.eval(&self.env, expr).is_none()
        {
            return self.expr(operand);
        }
        let lowered = self.expr(expr);
        if let (ExprKind::Const(Const::Bits(_)), ir::Type::Int(width)) = (&lowered.kind, &lowered.ty) {
            let ty = ir::Type::Bit(*width);
            return Expr { ty, ..lowered };
        }
        let ExprKind::Const(Const::Int(value)) = &lowered.kind else { return lowered };
        let value = u32::try_from(value).unwrap_or(u32::MAX);
        let kind = ExprKind::Const(Const::Bits(base_bits::Bits::new(32, value.into())));
        Expr { kind, ty: ir::Type::Bit(32), span: lowered.span }
    }

    fn slice_at(&mut self, expr: &typed::Expr, base: &typed::Expr, lo: &typed::Expr) -> Option<ExprKind> {
        let width = self.env.close(&expr.ty).fixed_width()?;
        let known = self.el.eval(&self.env, lo).and_then(|v| u32::try_from(v.as_int()?).ok());
        let base = self.boxed(base);
        let hi = known.and_then(|lo| lo.checked_add(width)?.checked_sub(1));
        Some(match (known, hi) {
            (Some(lo), Some(hi)) => ExprKind::Slice { base, hi, lo },
            _ => ExprKind::SlicePlus { base, start: self.boxed(lo), width },
        })
    }

    /// A cast that changes nothing (a typedef's, a generic's) is not kept.
    fn cast(&mut self, expr: &typed::Expr, operand: &typed::Expr) -> (ExprKind, ir::Type) {
        let ty = self.type_of(expr);
        let operand = self.expr(operand);
        if ty == ir::Type::InfInt && operand.ty != ty {
            self.el.refuse("an `int` computed at run time", expr.span);
        }
        if operand.ty == ty { (operand.kind, ty) } else { (ExprKind::Cast(Box::new(operand)), ty) }
    }

    /// All fields in order. A union is made in a variable of our own: one member assigned, the others invalid.
    fn aggregate(&mut self, expr: &typed::Expr, fields: &[typed::FieldValue]) -> (ExprKind, ir::Type) {
        let closed = self.env.close(&expr.ty);
        let ty = self.el.ty(&closed);
        if !self.el.is_union(&closed) {
            return (ExprKind::Aggregate(fields.iter().map(|f| self.expr(&f.value)).collect()), ty);
        }
        let var = self.temporary("made", ty.clone(), None, expr.span);
        for field in fields {
            if calls_something(&field.value) {
                self.el.refuse("a call as the member of a new header union", field.value.span);
            }
            let value = self.expr(&field.value);
            let base = Box::new(Expr { kind: ExprKind::Var(var), ty: ty.clone(), span: expr.span });
            let place =
                Expr { kind: ExprKind::Field(base, field.index), ty: value.ty.clone(), span: expr.span };
            self.hoist(StmtKind::Assign(place, value), expr.span);
        }
        (ExprKind::Var(var), ty)
    }
}
