//! Lookahead: the construct that the next tokens begin. Nothing is consumed or reported here.

use super::Parser;
use super::names::Sort;
use crate::token::{Token, TokenKind};

/// Tokens looked at before a bracket counts as unclosed; keeps looking ahead linear.
const MAX_SCAN: usize = 4000;

impl Parser<'_> {
    /// The kind of declaration of the name in token `index`.
    pub(super) fn sort_at(&self, index: usize) -> Option<Sort> {
        self.names.find(self.texts.text(self.tokens, index))
    }

    /// True for the keywords that begin a type.
    pub(super) fn is_base_type(kind: TokenKind) -> bool {
        use TokenKind::*;
        matches!(kind, Bool | Bit | IntWord | Varbit | Error | MatchKind | StringWord | Tuple | Void | List)
    }

    /// If a type stands at token `index`, where it ends.
    pub(super) fn scan_type(&self, index: usize) -> Option<usize> {
        use TokenKind::*;
        let mut at = index;
        match self.token_at(at).kind {
            Bit | IntWord | Varbit => {
                at += 1;
                if self.token_at(at).kind == Lt {
                    at = self.scan_width(at + 1)?;
                }
            }
            Tuple | List if self.token_at(at + 1).kind == Lt => at = self.scan_type_args(at + 1)?,
            Bool | Error | MatchKind | StringWord | Void | Underscore => at += 1,
            kind if kind == Dot || Self::is_name(kind) => {
                at += usize::from(kind == Dot);
                if !Self::is_name(self.token_at(at).kind) {
                    return None;
                }
                at += 1;
                if self.token_at(at).kind == Lt {
                    at = self.scan_type_args(at)?;
                }
            }
            _ => return None,
        }
        while self.token_at(at).kind == LBracket {
            at = self.scan_brackets(at)?;
        }
        Some(at)
    }

    /// If `<types>` stands at token `index`, where it ends.
    pub(super) fn scan_type_args(&self, index: usize) -> Option<usize> {
        let mut open = 0;
        let mut at = index;
        // An explicit count of open brackets: types nest, but this must not recurse.
        loop {
            match self.token_at(at).kind {
                TokenKind::Lt if at - index < MAX_SCAN => {
                    open += 1;
                    at += 1;
                }
                _ => return None,
            }
            if self.token_at(at).kind == TokenKind::Gt {
                at += 1;
                open -= 1;
            } else if let Some(next) = self.scan_flat_type(at) {
                at = next;
                if self.token_at(at).kind == TokenKind::Lt {
                    continue;
                }
            } else {
                return None;
            }
            at = self.scan_type_tail(at, &mut open)?;
            if open == 0 {
                return Some(at);
            }
        }
    }

    /// Skips what may follow a type in a list of types: brackets, `>` and `,`. Stops after the last `>`, or before
    /// the `<` of a type that has arguments itself.
    fn scan_type_tail(&self, mut at: usize, open: &mut usize) -> Option<usize> {
        let end = at + MAX_SCAN;
        while at < end {
            if *open == 0 {
                return Some(at);
            }
            match self.token_at(at).kind {
                TokenKind::LBracket => at = self.scan_brackets(at)?,
                TokenKind::Gt => {
                    *open -= 1;
                    at += 1;
                }
                TokenKind::Comma => {
                    at = self.scan_flat_type(at + 1)?;
                    if self.token_at(at).kind == TokenKind::Lt {
                        return Some(at);
                    }
                }
                _ => return None,
            }
        }
        None
    }

    /// A type without its type arguments.
    fn scan_flat_type(&self, index: usize) -> Option<usize> {
        use TokenKind::*;
        match self.token_at(index).kind {
            Bit | IntWord | Varbit if self.token_at(index + 1).kind == Lt => self.scan_width(index + 2),
            Bit | IntWord | Tuple | List | Bool | Error | MatchKind | StringWord | Void | Underscore => {
                Some(index + 1)
            }
            Dot if Self::is_name(self.token_at(index + 1).kind) => Some(index + 2),
            kind if Self::is_name(kind) => Some(index + 1),
            _ => None,
        }
    }

    /// Past the `>` that closes `bit<` before token `index`.
    fn scan_width(&self, index: usize) -> Option<usize> {
        use TokenKind::*;
        let mut open = 0;
        for at in index..index + MAX_SCAN {
            match self.token_at(at).kind {
                Gt if open == 0 => return Some(at + 1),
                LParen | LBracket => open += 1,
                LBrace if open > 0 => open += 1,
                RParen | RBracket | RBrace if open > 0 => open -= 1,
                RParen | RBracket | LBrace | RBrace | Semicolon | Eof => return None,
                _ => {}
            }
        }
        None
    }

    /// Past the bracket that closes the one at token `index`.
    pub(super) fn scan_brackets(&self, index: usize) -> Option<usize> {
        use TokenKind::*;
        let mut open = 0;
        for at in index..index + MAX_SCAN {
            match self.token_at(at).kind {
                LParen | LBracket | LBrace => open += 1,
                RParen | RBracket | RBrace => open -= 1,
                Semicolon | Eof => return None,
                _ => {}
            }
            if open == 0 {
                return Some(at + 1);
            }
        }
        None
    }

    /// True if the next tokens begin a variable or an instance rather than an assignment or a call.
    pub(super) fn begins_variable(&self) -> bool {
        use TokenKind::*;
        let kind = self.kind();
        if kind == Error {
            return self.peek(1) != Dot;
        }
        if Self::is_base_type(kind) && !(kind == List && self.peek(1) != Lt) {
            return true;
        }
        let name = self.pos + usize::from(kind == Dot);
        if !Self::is_name(self.token_at(name).kind) {
            return false;
        }
        let is_type = self.sort_at(name) == Some(Sort::Type);
        match self.token_at(name + 1).kind {
            Dot => false,
            LParen if is_type => true,
            next if Self::is_name(next) => self.token_at(name + 1).kind != Apply || is_type,
            Lt | LBracket | LParen => self.scan_type(self.pos).is_some_and(|end| self.declares(end, is_type)),
            _ => false,
        }
    }

    /// With a type before token `end`, does it declare something? Of an undeclared type only if the name
    /// follows on the same line: else a `;` is missing.
    fn declares(&self, end: usize, is_type: bool) -> bool {
        let named = |at: usize| {
            let token = self.token_at(at);
            Self::is_name(token.kind) && (is_type || !token.has(Token::LINE_START))
        };
        if self.token_at(end).kind == TokenKind::LParen {
            return self.scan_brackets(end).is_some_and(named);
        }
        named(end)
    }

    /// True if `(` begins a cast: the parentheses contain a type, and the next token can begin its operand.
    pub(super) fn begins_cast(&self) -> bool {
        use TokenKind::*;
        let first = self.peek(1);
        if first == Error && self.peek(2) == Dot {
            return false;
        }
        let Some(end) = self.scan_type(self.pos + 1).filter(|end| self.token_at(*end).kind == RParen) else {
            return false;
        };
        if Self::is_base_type(first) && first != List || first == List && self.peek(2) == Lt {
            return true;
        }
        match self.sort_at(self.pos + 1 + usize::from(first == Dot)) {
            // `bit<(T[1])>`: the apparent type is the width.
            Some(Sort::Type) => self.token_at(end + 1).kind != Gt,
            Some(Sort::Value) => false,
            None => {
                let next = self.token_at(end + 1).kind;
                matches!(next, Int | String | True | False | LBrace | Invalid | Not | Tilde | This)
                    || Self::is_name(next)
            }
        }
    }

    /// True if `<` begins the type arguments of a call rather than a comparison. Only an expression that ends in a name
    /// has any.
    pub(super) fn begins_type_args(&self) -> bool {
        if self.pos == 0 || !Self::is_name(self.token_at(self.pos - 1).kind) {
            return false;
        }
        let first = self.peek(1);
        let known = if Self::is_name(first) || first == TokenKind::Dot {
            let name = self.pos + 1 + usize::from(first == TokenKind::Dot);
            self.sort_at(name) != Some(Sort::Value)
        } else {
            Self::is_base_type(first) || first == TokenKind::Underscore
        };
        let end = if known { self.scan_type_args(self.pos) } else { None };
        end.is_some_and(|end| self.token_at(end).kind == TokenKind::LParen)
    }
}
