//! Tables (P4-16 §14.2).

use base_diag::Span;

use super::Parser;
use crate::ast::{
    ActionRef, Annotation, Entry, Expr, KeyElement, TableDecl, TableProperty, TablePropertyKind,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `table name { properties }`, at the keyword.
    pub(super) fn table(&mut self, annotations: Vec<Annotation>, start: Span) -> TableDecl {
        self.bump();
        let name = self.name();
        let properties = self.members(Self::property);
        if properties.is_empty() {
            self.error(
                base_diag::codes::syntax::UNEXPECTED,
                "a table without properties",
                name.span,
                "expected at least `actions = { ... }`",
            );
        }
        TableDecl { annotations, name, properties, span: self.since(start) }
    }

    /// `{ member* }`; where `member` gives none, the rest of it is left out.
    pub(super) fn members<T>(&mut self, member: impl Fn(&mut Self) -> Option<T>) -> Vec<T> {
        let open = self.span();
        let mut list = vec![];
        if !self.expect(TokenKind::LBrace) {
            return list;
        }
        while !matches!(self.kind(), TokenKind::RBrace | TokenKind::Eof) && !self.begins_declaration() {
            let before = self.pos;
            let found = member(self);
            if self.pos == before {
                self.bump();
            }
            if found.is_none() {
                self.skip_statement();
            }
            list.extend(found);
        }
        self.expect_close(TokenKind::RBrace, open);
        list
    }

    fn property(&mut self) -> Option<TableProperty> {
        let start = self.span();
        let annotations = self.annotations();
        let const_span = self.span();
        let is_const = self.eat(TokenKind::Const);
        let keyword = self.kind();
        if !Self::is_name(keyword) || keyword == TokenKind::List {
            self.unexpected("a table property");
            return None;
        }
        let name = self.any_word();
        if !self.expect(TokenKind::Assign) {
            return None;
        }
        let kind = match keyword {
            TokenKind::Key => TablePropertyKind::Key(self.members(Self::key_element)),
            TokenKind::Actions => TablePropertyKind::Actions(self.members(|p| Some(p.listed_action()))),
            TokenKind::Entries => TablePropertyKind::Entries(self.members(Self::entry)),
            _ => {
                let value = self.expr();
                self.end_statement();
                TablePropertyKind::Value(value)
            }
        };
        if is_const && matches!(keyword, TokenKind::Key | TokenKind::Actions) {
            let why = format!("`{}` is always constant", name.text);
            self.misplaced("`const`", const_span, &why);
        }
        Some(TableProperty { annotations, is_const, kind, name, span: self.since(start) })
    }

    fn key_element(&mut self) -> Option<KeyElement> {
        let start = self.span();
        let value = self.expr();
        if !self.expect(TokenKind::Colon) {
            return None;
        }
        let match_kind = self.name();
        let annotations = self.annotations();
        self.end_statement();
        Some(KeyElement { value, match_kind, annotations, span: self.since(start) })
    }

    fn listed_action(&mut self) -> ActionRef {
        let annotations = self.annotations();
        let action = self.action_ref(annotations);
        self.end_statement();
        action
    }

    fn action_ref(&mut self, annotations: Vec<Annotation>) -> ActionRef {
        let start = annotations.first().map_or(self.span(), |a| a.span);
        let path = self.path();
        let args = self.at(TokenKind::LParen).then(|| self.args());
        ActionRef { annotations, path, args, span: self.since(start) }
    }

    fn entry(&mut self) -> Option<Entry> {
        let start = self.span();
        let is_const = self.eat(TokenKind::Const);
        let priority = self.priority();
        let keyset = self.keyset();
        if !self.expect(TokenKind::Colon) {
            return None;
        }
        let action = self.action_ref(vec![]);
        let annotations = self.annotations();
        self.end_statement();
        Some(Entry { is_const, priority, keyset, action, annotations, span: self.since(start) })
    }

    /// `priority = e :` before an entry.
    fn priority(&mut self) -> Option<Expr> {
        if !self.at(TokenKind::Priority) || self.peek(1) != TokenKind::Assign {
            return None;
        }
        self.bump();
        self.bump();
        let value = match self.kind() {
            TokenKind::Int | TokenKind::LParen => self.postfix(),
            _ => {
                self.unexpected("a number or an expression in parentheses");
                self.expr()
            }
        };
        self.expect(TokenKind::Colon);
        Some(value)
    }
}
