//! Expressions (P4-16 §8), by precedence.

use base_diag::Span;

use super::Parser;
use crate::ast::{Arg, BinaryOp, Expr, ExprKind, NamedExpr, Type, TypeKind, UnaryOp};
use crate::token::{Token, TokenKind};

/// Binding strength of operators; a larger one binds tighter (P4-16 §8.2).
type Level = u8;

impl Parser<'_> {
    /// `expression`
    pub(super) fn expr(&mut self) -> Expr {
        self.nested(Self::ternary, Self::missing)
    }

    pub(super) fn missing(&mut self) -> Expr {
        self.height = 1;
        let at = self.span();
        Expr { kind: ExprKind::Missing, span: Span { hi: at.lo, ..at } }
    }

    fn ternary(&mut self) -> Expr {
        let condition = self.binary(1);
        if !self.at(TokenKind::Question) {
            self.is_conditional = false;
            return condition;
        }
        let mut height = self.height;
        self.bump();
        let then = self.in_brackets(Self::expr);
        height = height.max(self.height);
        self.expect(TokenKind::Colon);
        let otherwise = self.expr();
        let chained = self.is_conditional && matches!(otherwise.kind, ExprKind::Ternary { .. });
        self.raise(height.max(self.height));
        let span = self.since(condition.span);
        let (condition, then, otherwise) = (Box::new(condition), Box::new(then), Box::new(otherwise));
        self.is_conditional = true;
        Expr { kind: ExprKind::Ternary { condition, then, otherwise, chained }, span }
    }

    fn binary(&mut self, min: Level) -> Expr {
        let mut left = self.unary();
        let mut height = self.height;
        while let Some((op, level, tokens)) = self.operator().filter(|(_, level, _)| *level >= min) {
            let op_span = self.span();
            for _ in 0..tokens {
                self.bump();
            }
            let op_span = self.since(op_span);
            let right = self.nested(|p| p.binary(level + 1), Self::missing);
            self.raise(height.max(self.height));
            height = self.height;
            let span = self.since(left.span);
            let (l, right) = (Box::new(left), Box::new(right));
            left = Expr { kind: ExprKind::Binary { op, op_span, left: l, right }, span };
        }
        left
    }

    /// The infix operator that comes next, its level and its length in tokens.
    fn operator(&self) -> Option<(BinaryOp, Level, usize)> {
        use BinaryOp::*;
        let (op, level) = match self.kind() {
            TokenKind::OrOr => (Or, 1),
            TokenKind::AndAnd => (And, 2),
            TokenKind::EqEq => (Eq, 3),
            TokenKind::Ne => (Ne, 3),
            TokenKind::Lt => (Lt, 4),
            TokenKind::Le => (Le, 4),
            TokenKind::Ge => (Ge, 4),
            // In a list of type arguments `>` ends the list.
            TokenKind::Gt if self.no_greater => return None,
            TokenKind::Gt if self.shifts_right() => return Some((Shr, 8, 2)),
            TokenKind::Gt => (Gt, 4),
            TokenKind::Or => (BitOr, 5),
            TokenKind::Caret => (BitXor, 6),
            TokenKind::And => (BitAnd, 7),
            TokenKind::Shl => (Shl, 8),
            TokenKind::Plus => (Add, 9),
            TokenKind::Minus => (Sub, 9),
            TokenKind::PlusSat => (AddSat, 9),
            TokenKind::MinusSat => (SubSat, 9),
            TokenKind::PlusPlus => (Concat, 9),
            TokenKind::Star => (Mul, 10),
            TokenKind::Slash => (Div, 10),
            TokenKind::Percent => (Mod, 10),
            _ => return None,
        };
        Some((op, level, 1))
    }

    /// `>` followed by another one without space.
    fn shifts_right(&self) -> bool {
        let next = self.token(1);
        next.kind == TokenKind::Gt && next.flags & (Token::SPACE | Token::LINE_START) == 0
    }

    fn unary(&mut self) -> Expr {
        let start = self.span();
        let op = match self.kind() {
            TokenKind::Not => UnaryOp::Not,
            TokenKind::Tilde => UnaryOp::Complement,
            TokenKind::Minus => UnaryOp::Minus,
            TokenKind::Plus => UnaryOp::Plus,
            TokenKind::LParen if self.begins_cast() => return self.cast(),
            _ => return self.postfix(),
        };
        self.bump();
        let operand = Box::new(self.nested(Self::unary, Self::missing));
        self.raise(self.height);
        Expr { kind: ExprKind::Unary { op, operand }, span: self.since(start) }
    }

    fn cast(&mut self) -> Expr {
        let open = self.bump().span;
        let ty = Box::new(self.in_brackets(Self::ty));
        let mut height = self.height;
        self.expect_close(TokenKind::RParen, open);
        let operand = Box::new(self.nested(Self::unary, Self::missing));
        height = height.max(self.height);
        self.raise(height);
        Expr { kind: ExprKind::Cast { ty, operand }, span: self.since(open) }
    }

    /// An operand with its members, indices, slices and calls.
    pub(super) fn postfix(&mut self) -> Expr {
        let mut e = self.primary();
        loop {
            let below = self.height;
            let start = e.span;
            let kind = match self.kind() {
                TokenKind::Dot => {
                    self.bump();
                    let name = self.name();
                    ExprKind::Member { base: Box::new(e), name }
                }
                TokenKind::LBracket => self.bracket(e),
                TokenKind::LParen => self.call(e, vec![]),
                TokenKind::Lt if self.begins_type_args() => {
                    let type_args = self.type_args();
                    let height = self.height;
                    let call = self.call(e, type_args);
                    self.height = self.height.max(height);
                    call
                }
                _ => return e,
            };
            self.raise(below.max(self.height));
            e = Expr { kind, span: self.since(start) };
        }
    }

    /// `[i]`, `[hi:lo]` or `[lo +: width]`; does not count the nesting of the expressions inside.
    fn bracket(&mut self, base: Expr) -> ExprKind {
        let open = self.bump().span;
        let base = Box::new(base);
        let first = Box::new(self.in_brackets(Self::expr));
        let height = self.height;
        let second = |p: &mut Self| {
            p.bump();
            Box::new(p.in_brackets(Self::expr))
        };
        let kind = match self.kind() {
            TokenKind::Colon => ExprKind::Slice { base, hi: first, lo: second(self) },
            TokenKind::PlusColon => ExprKind::PlusSlice { base, lo: first, width: second(self) },
            _ => ExprKind::Index { base, index: first },
        };
        self.expect_close(TokenKind::RBracket, open);
        self.height = self.height.max(height);
        kind
    }

    fn call(&mut self, callee: Expr, type_args: Vec<Type>) -> ExprKind {
        let args = self.args();
        ExprKind::Call { callee: Box::new(callee), type_args, args }
    }

    /// `(a, b = c, _)`; leaves the height of the highest argument.
    pub(super) fn args(&mut self) -> Vec<Arg> {
        let open = self.span();
        let mut args = vec![];
        let mut height = 0;
        if !self.expect(TokenKind::LParen) {
            return args;
        }
        self.in_brackets(|p| {
            while !matches!(p.kind(), TokenKind::RParen | TokenKind::Eof) {
                args.push(p.arg());
                height = height.max(p.height);
                if !p.eat(TokenKind::Comma) {
                    break;
                }
                if p.at(TokenKind::RParen) {
                    p.unexpected("an argument");
                }
            }
            p.expect_close(TokenKind::RParen, open);
        });
        self.height = height;
        args
    }

    fn arg(&mut self) -> Arg {
        let start = self.span();
        let named = Self::is_name(self.kind()) && self.peek(1) == TokenKind::Assign;
        let name = named.then(|| self.name());
        if named {
            self.bump();
        }
        let value = if self.at(TokenKind::Underscore) {
            self.height = 1;
            Expr { kind: ExprKind::DontCare, span: self.bump().span }
        } else {
            self.expr()
        };
        Arg { name, value, span: self.since(start) }
    }

    fn primary(&mut self) -> Expr {
        let start = self.span();
        self.height = 1;
        let kind = match self.kind() {
            TokenKind::Int => ExprKind::Int(self.int()),
            TokenKind::String => {
                let text = self.texts.string(self.tokens, self.pos);
                self.bump();
                ExprKind::String(text)
            }
            TokenKind::True => self.word(ExprKind::Bool(true)),
            TokenKind::False => self.word(ExprKind::Bool(false)),
            TokenKind::This => self.word(ExprKind::This),
            TokenKind::Dots => self.word(ExprKind::Dots),
            TokenKind::Invalid => self.word(ExprKind::Invalid),
            TokenKind::LParen => return self.parenthesized(),
            TokenKind::LBrace => self.braces(),
            TokenKind::Error if self.peek(1) == TokenKind::Dot => {
                let span = self.bump().span;
                ExprKind::Type(Box::new(Type { kind: TypeKind::Error, span }))
            }
            TokenKind::Dot => self.name_or_type(),
            kind if Self::is_name(kind) && kind != TokenKind::List => self.name_or_type(),
            _ => {
                self.unexpected("an expression");
                return self.missing();
            }
        };
        Expr { kind, span: self.since(start) }
    }

    fn word(&mut self, kind: ExprKind) -> ExprKind {
        self.bump();
        kind
    }

    /// `x`, `.x`, or `T<A>` before a `.`
    fn name_or_type(&mut self) -> ExprKind {
        let after = self.pos + 1 + usize::from(self.at(TokenKind::Dot));
        let specialized = self.token_at(after).kind == TokenKind::Lt
            && self.sort_at(after - 1) != Some(super::names::Sort::Value)
            && self.scan_type_args(after).is_some_and(|end| self.token_at(end).kind == TokenKind::Dot);
        if specialized {
            return ExprKind::Type(Box::new(self.ty()));
        }
        ExprKind::Path(self.path())
    }

    fn parenthesized(&mut self) -> Expr {
        let open = self.bump().span;
        let inner = self.in_brackets(Self::expr);
        let height = self.height;
        self.expect_close(TokenKind::RParen, open);
        self.height = height;
        Expr { span: self.since(open), ..inner }
    }

    /// `{ a, b }`, `{ a = 1, ... }`, `{ }`, each with a trailing comma if wanted.
    fn braces(&mut self) -> ExprKind {
        let open = self.bump().span;
        let record = Self::is_name(self.kind()) && self.peek(1) == TokenKind::Assign;
        let kind = self.in_brackets(|p| if record { p.fields() } else { p.elements() });
        let height = self.height;
        self.expect_close(TokenKind::RBrace, open);
        self.raise(height);
        kind
    }

    fn elements(&mut self) -> ExprKind {
        let items = self.expr_list(TokenKind::RBrace);
        ExprKind::List(items)
    }

    fn fields(&mut self) -> ExprKind {
        let mut fields = vec![];
        let mut dots = None;
        let mut height = 0;
        loop {
            if self.at(TokenKind::Dots) {
                dots = Some(self.bump().span);
                self.eat(TokenKind::Comma);
                break;
            }
            fields.push(self.named_expr());
            height = height.max(self.height);
            if !self.eat(TokenKind::Comma) || self.at(TokenKind::RBrace) {
                break;
            }
        }
        self.height = height;
        ExprKind::Struct { fields, dots }
    }

    /// `name = value`
    pub(super) fn named_expr(&mut self) -> NamedExpr {
        let name = self.name();
        self.expect(TokenKind::Assign);
        let value = self.expr();
        let span = self.since(name.span);
        NamedExpr { name, value, span }
    }

    /// Expressions separated by commas up to `close`, a trailing comma allowed; leaves the greatest height.
    pub(super) fn expr_list(&mut self, close: TokenKind) -> Vec<Expr> {
        let mut items = vec![];
        let mut height = 0;
        while !self.at(close) && !self.at(TokenKind::Eof) {
            items.push(self.expr());
            height = height.max(self.height);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.height = height;
        items
    }
}
