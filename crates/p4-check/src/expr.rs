//! Expressions: one function for each form (P4-16 §8).
//!
//! [`Checker::expr`] finds the type of an expression; `want`, the type its surroundings would like, is only a hint
//! that aggregates and `...` need. [`Checker::expr_as`] then makes it that type or reports why it cannot be.

mod aggregate;
mod binary;
mod cast;
mod convert;
mod fold;
mod index;
mod keyset;
mod lvalue;
mod member;
mod name;
mod unary;

use base_diag::{Diagnostic, Span};
use num_bigint::BigInt;
use p4_syntax::ast::{self, ExprKind as Ast};

use crate::codes;
use crate::cx::Checker;
use crate::typed::{Expr, ExprKind, Type};

pub(crate) use binary::{needs_hint, operator};
pub(crate) use fold::wrap;
pub(crate) use keyset::listed;
pub(crate) use name::is_literal;

impl Checker {
    /// The expression with its type. A type that is not `want` is no error here.
    pub(crate) fn expr(&mut self, e: &ast::Expr, want: Option<&Type>) -> Expr {
        let span = e.span;
        match &e.kind {
            Ast::Int(literal) => self.int_literal(literal, span),
            Ast::Bool(value) => Expr { kind: ExprKind::Bool(*value), ty: Type::Bool, span },
            Ast::String(text) => Expr { kind: ExprKind::String(text.clone()), ty: Type::String, span },
            Ast::This => self.this(span),
            Ast::Dots => self.dots(want, span),
            Ast::Invalid => self.invalid_header(want, span),
            Ast::DontCare => {
                self.error(
                    codes::NOT_A_VALUE,
                    span,
                    "`_` is not a value here",
                    "only an argument or a keyset can be `_`",
                );
                Expr::error(span)
            }
            Ast::Path(path) => self.path(path, span),
            Ast::Type(ty) => {
                let ty = self.resolve_type(ty);
                if !ty.is_error() {
                    let shown = self.show(&ty);
                    self.error(
                        codes::NOT_A_VALUE,
                        span,
                        format!("type `{shown}` used as a value"),
                        "expected a value here",
                    );
                }
                Expr::error(span)
            }
            Ast::Member { base, name } => self.member(base, name, span),
            Ast::Index { base, index } => self.index(base, index, span),
            Ast::Slice { base, hi, lo } => self.slice(base, hi, lo, span),
            Ast::PlusSlice { base, lo, width } => self.plus_slice(base, lo, width, span),
            Ast::List(items) => self.list(items, want, span),
            Ast::Struct { fields, dots } => self.record(fields, *dots, want, span),
            Ast::Unary { op, operand } => self.unary(*op, operand, span),
            Ast::Binary { op, op_span, left, right } => self.binary(*op, *op_span, left, right, span),
            Ast::Ternary { condition, then, otherwise, chained } => {
                let made = self.ternary(condition, then, otherwise, want, span);
                if *chained && made.ty == Type::Bool {
                    self.warn_chained(otherwise.span);
                }
                made
            }
            Ast::Cast { ty, operand } => self.cast(ty, operand, span),
            Ast::Call { callee, type_args, args } => self.call(callee, type_args, args, want, span),
            Ast::Missing => Expr::error(span),
        }
    }

    /// The expression made `want`, or an error at its place.
    pub(crate) fn expr_as(&mut self, e: &ast::Expr, want: &Type) -> Expr {
        let checked = self.expr(e, Some(want));
        self.convert(checked, want)
    }

    /// `checked` made `want`, or an error at its place.
    pub(crate) fn convert(&mut self, checked: Expr, want: &Type) -> Expr {
        match self.coerce(checked, want) {
            Ok(expr) => expr,
            Err(expr) => {
                self.mismatch(&expr, want);
                Expr::error(expr.span)
            }
        }
    }

    /// Reports that an expression has not the type wanted.
    pub(crate) fn mismatch(&mut self, expr: &Expr, want: &Type) {
        let (wanted, found) = (self.show(want), self.show(&expr.ty));
        let mut diagnostic =
            Diagnostic::error(codes::MISMATCH, format!("expected `{wanted}`, found `{found}`"))
                .at(expr.span, "");
        if let Some(note) =
            self.block_difference(&expr.ty, want).or_else(|| self.kind_difference(&expr.ty, want))
        {
            diagnostic = diagnostic.note(note);
        }
        if let Some(help) = self.cast_help(expr, want) {
            diagnostic = diagnostic.help(help);
        }
        self.report(diagnostic);
    }

    /// The kinds of the two operands, if one is an object and the kinds differ.
    fn kind_difference(&self, found: &Type, wanted: &Type) -> Option<String> {
        if !self.is_object(found) && !self.is_object(wanted) {
            return None;
        }
        let kind = |ty: &Type| match self.infer.shallow(ty) {
            Type::Parser(..) | Type::ParserType(..) => "a parser",
            Type::Control(..) | Type::ControlType(..) => "a control",
            Type::Package(..) => "a package",
            Type::Extern(..) => "an extern object",
            _ => "a value",
        };
        let (is, wants) = (kind(found), kind(wanted));
        (is != wants).then(|| format!("`{}` is {is}, `{}` is {wants}", self.show(found), self.show(wanted)))
    }

    fn cast_help(&self, expr: &Expr, want: &Type) -> Option<String> {
        let wanted = self.show(want);
        match (self.infer.shallow(&expr.ty), self.infer.shallow(want)) {
            (Type::Bit(_), Type::Bit(_)) | (Type::Signed(_), Type::Signed(_)) => {
                Some(format!("write `({wanted})` before it to change its width"))
            }
            (Type::Bit(n), Type::Signed(m)) | (Type::Signed(n), Type::Bit(m)) if n == m => {
                Some(format!("write `({wanted})` before it to change its signedness"))
            }
            (Type::Bit(1), Type::Bool) | (Type::Bool, Type::Bit(1)) => {
                Some(format!("write `({wanted})` before it"))
            }
            (_, Type::NewType(id)) if self.infer.shallow(&expr.ty) == self.program.new_types[id].of => {
                Some(format!("`{wanted}` is a type of its own: write `({wanted})` before it"))
            }
            (Type::NewType(id), _) if self.infer.shallow(want) == self.program.new_types[id].of => {
                let found = self.show(&expr.ty);
                Some(format!("`{found}` is a type of its own: write `({wanted})` before it"))
            }
            (Type::Int, Type::Enum(_)) => Some(format!("write `({wanted})` before it, or name a member")),
            (found, Type::Enum(id)) if Some(&found) == self.program.enums[id].underlying.as_ref() => {
                Some(format!("write `({wanted})` before it, or name a member"))
            }
            (Type::Int | Type::Bit(_) | Type::Signed(_) | Type::Bool, Type::Struct(id, _)) => {
                let fields = self.program.structs[id].fields.iter().take(4);
                let names: Vec<String> = fields.map(|f| format!("{} = ...", f.name.text)).collect();
                let more = if self.program.structs[id].fields.len() > 4 { ", ..." } else { "" };
                Some(format!("write a value for each field: `{{ {}{more} }}`", names.join(", ")))
            }
            (Type::Bit(_) | Type::Signed(_) | Type::Int, Type::Bool) => {
                Some("compare it: `... != 0`".to_string())
            }
            _ => None,
        }
    }

    fn int_literal(&mut self, literal: &ast::IntLit, span: Span) -> Expr {
        let value = BigInt::from(literal.value.clone());
        let Some(width) = literal.width else {
            return Expr { kind: ExprKind::Int(value), ty: Type::Int, span };
        };
        let ty = if width.signed { Type::Signed(width.bits) } else { Type::Bit(width.bits) };
        if width.bits > crate::types::resolve::MAX_WIDTH || (width.signed && width.bits == 0) {
            let shown = self.show(&ty);
            self.error(codes::BAD_WIDTH, span, format!("`{shown}` is not a type"), "bad width prefix");
            return Expr::error(span);
        }
        Expr { kind: ExprKind::Int(self.fit(&value, &ty, span)), ty, span }
    }

    /// `value` in the range of a fixed-width type; warns if it changes.
    pub(crate) fn fit(&mut self, value: &BigInt, ty: &Type, span: Span) -> BigInt {
        let fitted = wrap(value, ty);
        if &fitted != value {
            let shown = self.show(ty);
            self.report(
                Diagnostic::warning(codes::OVERFLOW, "overflow", format!("{value} does not fit `{shown}`"))
                    .at(span, format!("it becomes {fitted}")),
            );
        }
        fitted
    }

    /// The number an expression is known to be: a literal, or a member of a serializable enum.
    pub(crate) fn int_value(&self, expr: &Expr) -> Option<BigInt> {
        match &expr.kind {
            ExprKind::Int(value) => Some(value.clone()),
            ExprKind::EnumMember(id, member) => {
                self.program.enums[*id].members.get(*member as usize).and_then(|m| m.value.clone())
            }
            _ => None,
        }
    }

    fn ternary(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Expr,
        otherwise: &ast::Expr,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let condition = self.condition(condition, "the condition of `?:`");
        let a = self.expr(then, want);
        let b = self.expr(otherwise, want);
        let (a, b) = match self.balance(a, b) {
            Ok(pair) => pair,
            Err(pair) => {
                let (a, b) = *pair;
                let (x, y) = (self.show(&a.ty), self.show(&b.ty));
                self.report(
                    Diagnostic::error(codes::OPERANDS, "the branches of `?:` have different types")
                        .at(b.span, format!("this is `{y}`"))
                        .at(a.span, format!("this is `{x}`")),
                );
                return Expr::error(span);
            }
        };
        if a.ty.is_error() || b.ty.is_error() || condition.ty.is_error() {
            return Expr::error(span);
        }
        // Both branches have been checked: a known condition only chooses.
        if let ExprKind::Bool(taken) = condition.kind {
            return Expr { span, ..if taken { a } else { b } };
        }
        if a.ty == Type::Int && !self.is_known(&condition) {
            self.report(
                Diagnostic::error(codes::CANNOT_INFER, "the width of `?:` is not known")
                    .at(a.span, "neither branch has a width")
                    .help("give one of them a width: `8w1`"),
            );
            return Expr::error(span);
        }
        let ty = a.ty.clone();
        Expr { kind: ExprKind::Ternary(Box::new(condition), Box::new(a), Box::new(b)), ty, span }
    }

    /// Both readings of `a ? b : c ? d : e` have types if all values are `bool`.
    fn warn_chained(&mut self, last: Span) {
        let title = "p4c reads a nested `?:` differently";
        let label =
            "p4rack takes this as the last part; p4c takes all before the second `?` as its condition";
        self.report(
            Diagnostic::warning(codes::NESTED_CONDITIONAL, "nested-conditional", title)
                .at(last, label)
                .help("put parentheses around the inner conditional"),
        );
    }

    /// A `bool`.
    pub(crate) fn condition(&mut self, e: &ast::Expr, what: &str) -> Expr {
        let checked = self.expr(e, Some(&Type::Bool));
        match self.coerce(checked, &Type::Bool) {
            Ok(expr) => expr,
            Err(expr) => {
                let found = self.show(&expr.ty);
                self.error(
                    codes::MISMATCH,
                    expr.span,
                    format!("{what} is not `bool`"),
                    format!("this is `{found}`"),
                );
                Expr::error(expr.span)
            }
        }
    }

    fn this(&mut self, span: Span) -> Expr {
        match self.this.clone() {
            Some(ty) => Expr { kind: ExprKind::This, ty, span },
            None => {
                self.error(
                    codes::NOT_A_VALUE,
                    span,
                    "`this` outside the methods of an instance",
                    "only an abstract method's implementation has `this`",
                );
                Expr::error(span)
            }
        }
    }

    /// True if the value is known at compile time: it depends on literals, constants, constructor parameters and
    /// parameters without direction only (P4-16 §18.1).
    pub(crate) fn is_known(&self, expr: &Expr) -> bool {
        use crate::typed::{Callee, Direction, VarKind};
        match &expr.kind {
            ExprKind::Error
            | ExprKind::Int(_)
            | ExprKind::Bool(_)
            | ExprKind::String(_)
            | ExprKind::EnumMember(..)
            | ExprKind::ErrorMember(_)
            | ExprKind::MatchKind(_)
            | ExprKind::Const(_)
            | ExprKind::Instance(_)
            | ExprKind::New(_)
            | ExprKind::This
            | ExprKind::ValueSet(_)
            | ExprKind::Invalid
            | ExprKind::Default
            | ExprKind::SizeOf(..) => true,
            ExprKind::Var(id) => {
                let var = &self.program.vars[*id];
                matches!(var.kind, VarKind::ConstructorParam | VarKind::Param(Direction::None))
            }
            ExprKind::Field { base, .. }
            | ExprKind::TupleIndex { base, .. }
            | ExprKind::Slice { base, .. } => self.is_known(base),
            ExprKind::Index { base, index } | ExprKind::SliceAt { base, lo: index } => {
                self.is_known(base) && self.is_known(index)
            }
            ExprKind::Unary(_, a) => self.is_known(a),
            ExprKind::Cast { operand, .. } => self.is_known(operand),
            ExprKind::Binary(_, a, b) | ExprKind::Mask(a, b) | ExprKind::Range(a, b) => {
                self.is_known(a) && self.is_known(b)
            }
            ExprKind::Ternary(a, b, c) => self.is_known(a) && self.is_known(b) && self.is_known(c),
            ExprKind::Struct(fields) => fields.iter().all(|f| self.is_known(&f.value)),
            ExprKind::Tuple(items) | ExprKind::Array(items) | ExprKind::List(items) => {
                items.iter().all(|i| self.is_known(i))
            }
            ExprKind::Call(call) => match &call.callee {
                Callee::Function(id) => {
                    let function = &self.program.functions[*id];
                    (function.annotations.has("pure") || function.name.text == "static_assert")
                        && call.args.iter().all(|a| a.expr().is_none_or(|e| self.is_known(e)))
                }
                _ => false,
            },
            ExprKind::Table(_)
            | ExprKind::StackNext(_)
            | ExprKind::StackLast(_)
            | ExprKind::StackLastIndex(_)
            | ExprKind::Hit(_)
            | ExprKind::Miss(_)
            | ExprKind::ActionRun(_) => false,
        }
    }
}
