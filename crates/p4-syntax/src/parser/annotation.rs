//! Annotations (P4-16 §20).

use super::Parser;
use crate::ast::{Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind};
use crate::token::{Token, TokenKind};

impl Parser<'_> {
    /// `optAnnotations`
    pub(super) fn annotations(&mut self) -> Vec<Annotation> {
        let mut list = vec![];
        while self.at(TokenKind::At) {
            list.push(self.annotation());
        }
        list
    }

    fn annotation(&mut self) -> Annotation {
        let start = self.bump().span;
        if self.text() == "pragma" && !self.ends_pragma() {
            return self.pragma(start);
        }
        let name =
            if self.kind().is_keyword() || self.at(TokenKind::Ident) { self.any_word() } else { self.name() };
        let body = match self.kind() {
            TokenKind::LParen => self.annotation_tokens(),
            TokenKind::LBracket => self.structured(),
            _ => AnnotationBody::Empty,
        };
        Annotation { name, body, pragma: false, span: self.since(start) }
    }

    /// A pragma ends with its line, also where a comment before the next token runs over lines.
    fn ends_pragma(&self) -> bool {
        let token = self.token(0);
        token.kind == TokenKind::Eof || token.flags & (Token::LINE_START | Token::COMMENT_LINES) != 0
    }

    fn pragma(&mut self, start: base_diag::Span) -> Annotation {
        self.bump();
        let is_word = self.kind().is_keyword() || self.at(TokenKind::Ident);
        let name = if is_word && !self.ends_pragma() {
            self.any_word()
        } else {
            self.unexpected("the name of a pragma");
            self.no_name()
        };
        let mut tokens = vec![];
        while !self.ends_pragma() {
            tokens.push(self.annotation_token());
        }
        let body = AnnotationBody::Tokens(tokens);
        Annotation { name, body, pragma: true, span: self.since(start) }
    }

    /// `( ... )` with balanced parentheses.
    fn annotation_tokens(&mut self) -> AnnotationBody {
        let open = self.bump().span;
        let mut tokens = vec![];
        let mut depth = 0;
        loop {
            match self.kind() {
                TokenKind::Eof => break,
                TokenKind::RParen if depth == 0 => break,
                TokenKind::RParen => depth -= 1,
                TokenKind::LParen => depth += 1,
                _ => {}
            }
            tokens.push(self.annotation_token());
        }
        self.expect_close(TokenKind::RParen, open);
        AnnotationBody::Tokens(tokens)
    }

    fn annotation_token(&mut self) -> AnnotationToken {
        let kind = match self.kind() {
            TokenKind::String => AnnotationTokenKind::String,
            TokenKind::Int => AnnotationTokenKind::Int,
            kind if kind.is_keyword() || kind == TokenKind::Ident => AnnotationTokenKind::Word,
            _ => AnnotationTokenKind::Symbol,
        };
        let text = match kind {
            AnnotationTokenKind::String => self.texts.string(self.tokens, self.pos),
            _ => self.text().into(),
        };
        AnnotationToken { kind, text, span: self.bump().span }
    }

    /// `[e1, e2]` or `[k1 = e1, k2 = e2]`
    fn structured(&mut self) -> AnnotationBody {
        let open = self.bump().span;
        let record = Self::is_name(self.kind()) && self.peek(1) == TokenKind::Assign;
        let body = self.in_brackets(|p| {
            if !record {
                return AnnotationBody::List(p.expr_list(TokenKind::RBracket));
            }
            let mut pairs = vec![];
            loop {
                pairs.push(p.named_expr());
                if !p.eat(TokenKind::Comma) || p.at(TokenKind::RBracket) {
                    return AnnotationBody::Record(pairs);
                }
            }
        });
        if !self.expect_close(TokenKind::RBracket, open) {
            while !matches!(self.kind(), TokenKind::RBracket | TokenKind::Semicolon | TokenKind::Eof) {
                self.bump();
            }
            self.eat(TokenKind::RBracket);
        }
        body
    }
}
