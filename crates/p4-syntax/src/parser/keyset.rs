//! Keysets of select cases and table entries (P4-16 §8.13), and the collections of `for`.

use super::Parser;
use crate::ast::{Keyset, KeysetElement, KeysetElementKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `keysetExpression`, which a `:` follows.
    pub(super) fn keyset(&mut self) -> Keyset {
        let start = self.span();
        let parens = self.at(TokenKind::LParen)
            && self.scan_brackets(self.pos).is_none_or(|end| self.token_at(end).kind == TokenKind::Colon);
        if !parens {
            let element = self.keyset_element();
            return Keyset { span: element.span, elements: vec![element], tuple: false };
        }
        self.bump();
        let mut elements = vec![];
        loop {
            elements.push(self.keyset_element());
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect_close(TokenKind::RParen, start);
        let span = self.since(start);
        let mut tuple = true;
        if let [KeysetElement { kind: KeysetElementKind::Value(e), span: outer }] = elements.as_mut_slice() {
            e.span = span;
            *outer = span;
            tuple = false;
        }
        Keyset { elements, tuple, span }
    }

    /// `e`, `e &&& e`, `e .. e`, `default` or `_`
    pub(super) fn keyset_element(&mut self) -> KeysetElement {
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::Default => {
                self.bump();
                KeysetElementKind::Default
            }
            TokenKind::Underscore => {
                self.bump();
                KeysetElementKind::DontCare
            }
            _ => {
                let first = self.expr();
                if self.eat(TokenKind::Mask) {
                    KeysetElementKind::Mask(first, self.expr())
                } else if self.eat(TokenKind::DotDot) {
                    KeysetElementKind::Range(first, self.expr())
                } else {
                    KeysetElementKind::Value(first)
                }
            }
        };
        KeysetElement { kind, span: self.since(start) }
    }
}
