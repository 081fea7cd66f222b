//! The bodies of unstructured annotations, parsed as expressions by readers that know their meaning.

use base_diag::{Diagnostic, Diagnostics, codes::syntax};

use super::Parser;
use super::text::Texts;
use crate::ast::{
    Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind, Expr, ExprKind, NamedExpr,
};
use crate::lexer::symbol;
use crate::token::{Token, TokenKind};

impl Annotation {
    /// The body as a list of expressions, be it written `(...)` or `[...]`; no body is an empty list.
    pub fn expressions(&self) -> Result<Vec<Expr>, Diagnostic> {
        match &self.body {
            AnnotationBody::Empty => Ok(vec![]),
            AnnotationBody::List(items) => Ok(items.clone()),
            AnnotationBody::Tokens(tokens) => read(tokens, |p| p.expr_list(TokenKind::Eof)),
            AnnotationBody::Record(_) => Err(self.malformed("expected expressions, found pairs")),
        }
    }

    /// The body as `key = value` pairs, be it written `(...)` or `[...]`; no body is an empty list.
    pub fn pairs(&self) -> Result<Vec<NamedExpr>, Diagnostic> {
        match &self.body {
            AnnotationBody::Empty => Ok(vec![]),
            AnnotationBody::Record(pairs) => Ok(pairs.clone()),
            AnnotationBody::List(items) if items.is_empty() => Ok(vec![]),
            AnnotationBody::Tokens(tokens) => read(tokens, |p| p.pairs()),
            AnnotationBody::List(_) => Err(self.malformed("expected `key = value` pairs, found expressions")),
        }
    }

    /// The text of `@name("text")`, if the body is one string literal.
    pub fn string(&self) -> Option<&str> {
        match &self.body {
            AnnotationBody::Tokens(tokens) => match tokens.as_slice() {
                [t] if t.kind == AnnotationTokenKind::String => Some(&t.text),
                _ => None,
            },
            AnnotationBody::List(items) => match items.as_slice() {
                [Expr { kind: ExprKind::String(text), .. }] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    fn malformed(&self, title: &str) -> Diagnostic {
        let label = format!("in the body of `@{}`", self.name.text);
        Diagnostic::error(syntax::UNEXPECTED, title).at(self.span, label)
    }
}

impl Parser<'_> {
    fn pairs(&mut self) -> Vec<NamedExpr> {
        let mut pairs = vec![];
        while !self.at(TokenKind::Eof) {
            pairs.push(self.named_expr());
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        pairs
    }
}

/// Runs `parse` over all of `words`.
fn read<T>(words: &[AnnotationToken], parse: impl FnOnce(&mut Parser) -> T) -> Result<T, Diagnostic> {
    let mut tokens: Vec<Token> = Vec::with_capacity(words.len() + 1);
    for word in words {
        let kind = match word.kind {
            AnnotationTokenKind::Int => TokenKind::Int,
            AnnotationTokenKind::String => TokenKind::String,
            AnnotationTokenKind::Word => TokenKind::of_word(&word.text),
            AnnotationTokenKind::Symbol => symbol(word.text.as_bytes()).0,
        };
        let apart = tokens.last().is_some_and(|last| last.span.hi != word.span.lo);
        tokens.push(Token { kind, flags: if apart { Token::SPACE } else { 0 }, span: word.span });
    }
    let end = words.last().map_or(base_diag::Span::NONE, |w| base_diag::Span { lo: w.span.hi, ..w.span });
    tokens.push(Token { kind: TokenKind::Eof, flags: 0, span: end });
    let mut diagnostics = Diagnostics::new();
    let mut parser = Parser::new(&tokens, Texts::Words(words), &mut diagnostics);
    let result = parse(&mut parser);
    if !parser.at(TokenKind::Eof) {
        parser.unexpected("`,` or `)`");
    }
    diagnostics.into_vec().into_iter().next().map_or(Ok(result), Err)
}
