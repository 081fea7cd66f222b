//! Tokens to the syntax tree: recursive descent that never fails.
//!
//! Each function parses one construct of the grammar and always returns a node; missing parts become `Missing` or an
//! empty name, and a diagnostic. No token is reported twice, and after an error the parser goes on at the next
//! statement or declaration.
//!
//! P4's grammar needs to know which names are types: `(T) - x` is a cast, `(v) - x` a subtraction, and
//! `f<T>(x)` a call where `a < b > (x)` is none. [`names`] follows the scopes for that; everywhere else the
//! tokens that follow decide, so that an undeclared name is left to the checker.

mod annotation;
mod annotation_body;
mod container;
mod decl;
mod expr;
mod keyset;
mod literal;
mod names;
mod recover;
mod scan;
mod stmt;
mod table;
mod text;
mod types;

use base_diag::{Diagnostics, SourceMap, Span};

use smol_str::SmolStr;

use crate::ast::{Damage, MAX_HEIGHT, Name, Path, Program};
use crate::token::{Token, TokenKind};
use names::Names;
use text::Texts;

/// Constructs that may be open at once; each costs native stack.
const MAX_DEPTH: u32 = 150;

/// Parses a program. `tokens` ends with `Eof`.
pub(crate) fn parse_program(tokens: &[Token], map: &SourceMap, diagnostics: &mut Diagnostics) -> Program {
    Parser::new(tokens, Texts::of_sources(map), diagnostics).program()
}

struct Parser<'a> {
    tokens: &'a [Token],
    pos: usize,
    texts: Texts<'a>,
    diagnostics: &'a mut Diagnostics,
    names: Names,
    /// Constructs that are open.
    depth: u32,
    /// The height of the expression, type or statement parsed last.
    height: u32,
    /// The expression parsed last is a conditional without parentheses.
    is_conditional: bool,
    /// A `>` ends the expression: it stands between angle brackets.
    no_greater: bool,
    /// Position of the last reported error; at most one is reported for each token.
    reported: Option<usize>,
}

const END: Token = Token { kind: TokenKind::Eof, flags: Token::LINE_START, span: Span::NONE };

impl<'a> Parser<'a> {
    fn new(tokens: &'a [Token], texts: Texts<'a>, diagnostics: &'a mut Diagnostics) -> Parser<'a> {
        Parser {
            tokens,
            pos: 0,
            texts,
            diagnostics,
            names: Names::default(),
            depth: 0,
            height: 0,
            is_conditional: false,
            no_greater: false,
            reported: None,
        }
    }

    fn program(&mut self) -> Program {
        let mut decls = Vec::new();
        let mut damage = Vec::new();
        while !self.at(TokenKind::Eof) {
            if self.eat(TokenKind::Semicolon) {
                continue;
            }
            let (before, errors) = (self.pos, self.diagnostics.error_count());
            let decl = self.top_level();
            if self.pos == before {
                self.skip_declaration();
            }
            if self.diagnostics.error_count() > errors {
                let words = self.words(before..self.pos);
                damage.push(Damage { at: decls.len(), recovered: decl.is_some(), words });
            }
            decls.extend(decl);
        }
        Program { decls, damage }
    }

    /// The names among these tokens.
    fn words(&self, tokens: std::ops::Range<usize>) -> Vec<SmolStr> {
        let names = tokens.filter(|&i| Self::is_name(self.token_at(i).kind));
        names.map(|i| self.texts.text(self.tokens, i).into()).collect()
    }

    /// The token `ahead` of the next one; `Eof` beyond the end.
    fn token(&self, ahead: usize) -> Token {
        self.token_at(self.pos + ahead)
    }

    fn token_at(&self, index: usize) -> Token {
        self.tokens.get(index).or(self.tokens.last()).copied().unwrap_or(END)
    }

    fn kind(&self) -> TokenKind {
        self.token(0).kind
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn peek(&self, ahead: usize) -> TokenKind {
        self.token(ahead).kind
    }

    /// Position of the next token.
    fn span(&self) -> Span {
        self.token(0).span
    }

    /// From `start` to the token parsed last.
    fn since(&self, start: Span) -> Span {
        match self.pos.checked_sub(1) {
            Some(last) => start.to(self.token_at(last).span),
            None => start,
        }
    }

    fn bump(&mut self) -> Token {
        let token = self.token(0);
        if token.kind != TokenKind::Eof {
            self.pos += 1;
        }
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// The text of the next token.
    fn text(&self) -> &'a str {
        self.texts.text(self.tokens, self.pos)
    }

    /// True if the token may be a name (`name` in the grammar): identifiers and the words that are keywords
    /// only in their places.
    fn is_name(kind: TokenKind) -> bool {
        use TokenKind::*;
        matches!(kind, Ident | Actions | Apply | Entries | Key | List | Priority | State | Type)
    }

    /// A name, or an empty one and an error.
    fn name(&mut self) -> Name {
        if !Self::is_name(self.kind()) {
            self.unexpected("a name");
            return self.no_name();
        }
        self.any_word()
    }

    fn no_name(&self) -> Name {
        let at = self.span();
        Name { text: "".into(), span: Span { hi: at.lo, ..at } }
    }

    /// The next token as a name, whatever it is.
    fn any_word(&mut self) -> Name {
        let text = self.text().into();
        Name { text, span: self.bump().span }
    }

    /// `x` or `.x`
    fn path(&mut self) -> Path {
        let start = self.span();
        let absolute = self.eat(TokenKind::Dot);
        let name = self.name();
        Path { absolute, name, span: self.since(start) }
    }

    /// Runs `f` one level deeper, or gives up on the program if that is too deep.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> T, too_deep: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MAX_DEPTH {
            self.give_up();
            return too_deep(self);
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Notes that a node stands on others of at most `below`, and gives up if the tree becomes too high.
    fn raise(&mut self, below: u32) {
        self.height = below + 1;
        if self.height >= MAX_HEIGHT {
            self.give_up();
        }
    }

    /// Runs `f` with `>` as an operator again.
    fn in_brackets<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.no_greater, false);
        let result = f(self);
        self.no_greater = outer;
        result
    }
}
