//! Types (P4-16 §7).

use base_diag::{Diagnostic, Span, codes::syntax};

use super::Parser;
use super::names::Sort;
use crate::ast::{Expr, Name, Type, TypeKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `typeRef`: the type of something that has values.
    pub(super) fn ty(&mut self) -> Type {
        if matches!(self.kind(), TokenKind::Void | TokenKind::Underscore) {
            self.unexpected("a type");
            self.bump();
            self.height = 1;
            return Type { kind: TypeKind::Missing, span: self.since(self.span()) };
        }
        self.type_arg()
    }

    /// `typeOrVoid`: return type of a function.
    pub(super) fn return_type(&mut self) -> Type {
        if self.at(TokenKind::Void) { self.type_arg() } else { self.ty() }
    }

    /// `typeArg`: also `void` and `_`.
    fn type_arg(&mut self) -> Type {
        self.nested(Self::ty_here, |p| Type { kind: TypeKind::Missing, span: p.span() })
    }

    fn ty_here(&mut self) -> Type {
        let start = self.span();
        let kind = self.ty_kind();
        let ty = Type { kind, span: self.since(start) };
        let below = self.height;
        self.raise(below);
        self.dimensions(ty, start)
    }

    /// `[n]` any number of times after a type or a declared name.
    pub(super) fn dimensions(&mut self, mut ty: Type, start: Span) -> Type {
        let mut height = self.height;
        while self.at(TokenKind::LBracket) {
            let open = self.bump().span;
            let size = Box::new(self.in_brackets(Self::expr));
            self.expect_close(TokenKind::RBracket, open);
            self.raise(height.max(self.height));
            height = self.height;
            ty = Type { kind: TypeKind::Array { element: Box::new(ty), size }, span: self.since(start) };
        }
        ty
    }

    fn ty_kind(&mut self) -> TypeKind {
        self.height = 0;
        let simple = match self.kind() {
            TokenKind::Bool => TypeKind::Bool,
            TokenKind::Error => TypeKind::Error,
            TokenKind::MatchKind => TypeKind::MatchKind,
            TokenKind::StringWord => TypeKind::String,
            TokenKind::Void => TypeKind::Void,
            TokenKind::Underscore => TypeKind::DontCare,
            TokenKind::Bit => {
                self.bump();
                return TypeKind::Bit(self.width());
            }
            TokenKind::IntWord => {
                self.bump();
                return TypeKind::Int(self.width());
            }
            TokenKind::Varbit => return self.varbit(),
            TokenKind::Tuple => {
                self.bump();
                return TypeKind::Tuple(self.type_args());
            }
            TokenKind::List if self.peek(1) == TokenKind::Lt => return self.list_type(),
            TokenKind::Dot => return self.named(),
            kind if Self::is_name(kind) => return self.named(),
            _ => {
                self.unexpected("a type");
                return TypeKind::Missing;
            }
        };
        self.bump();
        simple
    }

    /// `<width>`, if there.
    fn width(&mut self) -> Option<Box<Expr>> {
        let open = self.span();
        if !self.eat(TokenKind::Lt) {
            return None;
        }
        let outer = std::mem::replace(&mut self.no_greater, true);
        let width = self.expr();
        self.no_greater = outer;
        self.expect_close(TokenKind::Gt, open);
        Some(Box::new(width))
    }

    fn varbit(&mut self) -> TypeKind {
        self.bump();
        match self.width() {
            Some(width) => TypeKind::Varbit(width),
            None => {
                self.unexpected("`<`");
                TypeKind::Missing
            }
        }
    }

    fn list_type(&mut self) -> TypeKind {
        let start = self.bump().span;
        let mut args = self.type_args();
        let span = self.since(start);
        match args.pop() {
            Some(element) if args.is_empty() => TypeKind::List(Box::new(element)),
            _ => {
                let error = Diagnostic::error(syntax::UNEXPECTED, "`list` takes one type");
                self.report(error.at(span, "write `list<T>`"));
                TypeKind::Missing
            }
        }
    }

    fn named(&mut self) -> TypeKind {
        let base = self.path();
        if !self.at(TokenKind::Lt) {
            return TypeKind::Named(base);
        }
        let args = self.type_args();
        TypeKind::Specialized { base, args }
    }

    /// `<T1, T2>`; may be empty.
    pub(super) fn type_args(&mut self) -> Vec<Type> {
        let open = self.span();
        let mut args = vec![];
        let mut height = 0;
        if !self.expect(TokenKind::Lt) {
            return args;
        }
        while !matches!(self.kind(), TokenKind::Gt | TokenKind::Eof) {
            args.push(self.type_arg());
            height = height.max(self.height);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect_close(TokenKind::Gt, open);
        self.height = height;
        args
    }

    /// `<A, B>` after a declared name: new type variables, declared in the innermost scope.
    pub(super) fn type_params(&mut self) -> Vec<Name> {
        let open = self.span();
        let mut names = vec![];
        if !self.eat(TokenKind::Lt) {
            return names;
        }
        loop {
            let name = self.name();
            self.names.declare(&name.text, Sort::Type);
            names.push(name);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect_close(TokenKind::Gt, open);
        names
    }
}
