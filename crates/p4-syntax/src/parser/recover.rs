//! Reports unexpected tokens, and finds the place to continue.

use base_diag::{Code, Diagnostic, Span, codes::syntax};

use super::Parser;
use crate::token::{KEYWORDS, Token, TokenKind};

/// Statements that may begin with a name.
pub(super) const A_STATEMENT: &str = "an assignment or a call";

/// Errors after which parsing ends.
const MAX_ERRORS: usize = 100;

impl Parser<'_> {
    /// Steps over `kind`, or reports that it is missing. A `;` is missed at the end of what it closes.
    pub(super) fn expect(&mut self, kind: TokenKind) -> bool {
        if self.eat(kind) {
            return true;
        }
        let spelling = kind.spelling().unwrap_or("token");
        self.unexpected(&format!("`{spelling}`"));
        false
    }

    /// Steps over a closing bracket, or reports which one is open.
    pub(super) fn expect_close(&mut self, kind: TokenKind, open: Span) -> bool {
        if self.eat(kind) {
            return true;
        }
        let spelling = kind.spelling().unwrap_or("token");
        if let Some(error) = self.surprise(&format!("`{spelling}`")) {
            self.report(error.at(open, "opened here"));
        }
        false
    }

    /// Reports that `wanted` was expected instead of the next token.
    pub(super) fn unexpected(&mut self, wanted: &str) {
        if let Some(error) = self.surprise(wanted) {
            self.report(error);
        }
    }

    /// Says it. After very many errors the rest of the program is not looked at.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
        if self.diagnostics.error_count() >= MAX_ERRORS {
            self.skip_program();
        }
    }

    fn skip_program(&mut self) {
        self.pos = self.tokens.len().saturating_sub(1);
        self.reported = Some(self.pos);
    }

    /// A diagnostic about the next token, unless there was one already.
    fn surprise(&mut self, wanted: &str) -> Option<Diagnostic> {
        if self.reported == Some(self.pos) {
            return None;
        }
        self.reported = Some(self.pos);
        let token = self.token(0);
        if token.kind == TokenKind::Unknown {
            let control = self.text().chars().any(char::is_control);
            let shown =
                if control { self.text().escape_debug().to_string() } else { self.text().to_string() };
            let title = format!("invalid character `{shown}`");
            let error = Diagnostic::error(syntax::INVALID_CHARACTER, title);
            let error = error.at(token.span, format!("expected {wanted}"));
            // Replacement of bytes that are not UTF-8.
            let is_replaced = self.text().contains(char::REPLACEMENT_CHARACTER);
            return Some(if is_replaced { error.help("save the file as UTF-8") } else { error });
        }
        let title = format!("expected {wanted}, found {}", self.describe(token));
        let error = Diagnostic::error(syntax::UNEXPECTED, title).at(token.span, "unexpected");
        Some(self.advise(error, wanted, token))
    }

    fn advise(&self, mut error: Diagnostic, wanted: &str, token: Token) -> Diagnostic {
        let before = self.pos.checked_sub(1).map(|p| self.token_at(p).span);
        if let Some(before) = before.filter(|_| wanted == "`;`" && token.has(Token::LINE_START)) {
            let end = Span { lo: before.hi, ..before };
            error = error.at(end, "missing `;`");
        }
        let help = match token.kind {
            TokenKind::Assign if wanted == "`)`" => Some("`==` compares, `=` assigns"),
            TokenKind::PlusPlus if wanted == A_STATEMENT => Some("write `+= 1`; `++` joins bits"),
            TokenKind::Minus if wanted == A_STATEMENT && self.peek(1) == TokenKind::Minus => {
                Some("write `-= 1`")
            }
            _ => None,
        };
        error.help.extend(help.map(String::from));
        if token.kind.is_keyword() && wanted == "a name" {
            error = error.help(format!("`{}` is a keyword; choose another name", self.text()));
        }
        error
    }

    fn describe(&self, token: Token) -> String {
        match token.kind {
            TokenKind::Eof => "the end of the file".into(),
            TokenKind::String => "a string".into(),
            kind if kind.is_keyword() => format!("keyword `{}`", self.text()),
            _ => format!("`{}`", self.text()),
        }
    }

    /// An error of its own kind at `span`, unless one was reported at the next token.
    pub(super) fn error(
        &mut self,
        code: Code,
        title: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) {
        if self.reported != Some(self.pos) {
            self.reported = Some(self.pos);
            self.report(Diagnostic::error(code, title).at(span, label));
        }
    }

    /// `what` is misplaced; parsing continues after it.
    pub(super) fn misplaced(&mut self, what: &str, span: Span, why: &str) {
        let error = Diagnostic::error(syntax::MISPLACED, format!("{what} is not allowed here"));
        self.report(error.at(span, why));
    }

    /// Adds "did you mean" for a word that is nearly a keyword.
    pub(super) fn keyword_slip(&mut self, word: &str, span: Span, title: &str) {
        if self.reported == Some(self.pos) {
            return;
        }
        self.reported = Some(self.pos);
        let error = Diagnostic::error(syntax::UNEXPECTED, title).at(span, "unexpected");
        if word == "header_type" {
            self.report(
                error
                    .note("`header_type` belongs to P4-14, which is not supported; no further errors are reported")
                    .help("p4c translates programs: `p4test --std p4-14 --pp NEW.p4 OLD.p4`"),
            );
            return self.skip_program();
        }
        self.report(error.suggest(word, KEYWORDS.iter().copied()));
    }

    /// Leaves the rest of the program unread.
    pub(super) fn give_up(&mut self) {
        let span = self.span();
        if !self.at(TokenKind::Eof) {
            let error = Diagnostic::error(syntax::TOO_DEEP, "nested too deeply");
            let note = "the rest of the program is not checked";
            self.report(error.at(span, "this is one level too many").note(note));
        }
        self.skip_program();
    }

    /// Steps to the next top-level declaration: over `;`, or over a block and its braces.
    pub(super) fn skip_declaration(&mut self) {
        let mut open = 0;
        loop {
            match self.bump().kind {
                TokenKind::Eof => return,
                TokenKind::Semicolon if open == 0 => return,
                TokenKind::LBrace => open += 1,
                TokenKind::RBrace if open <= 1 => return,
                TokenKind::RBrace => open -= 1,
                _ => {}
            }
            if self.begins_declaration() && self.token(0).has(Token::LINE_START) {
                return;
            }
        }
    }

    /// Steps over the rest of a statement or member: past its `;` or its block, up to a `}` that closes
    /// what it stands in, or up to a line that begins another.
    pub(super) fn skip_statement(&mut self) {
        let mut open = 0;
        loop {
            let token = self.token(0);
            if open == 0 && token.has(Token::LINE_START) && self.begins_statement() {
                return;
            }
            match token.kind {
                TokenKind::Eof => return,
                TokenKind::RBrace if open == 0 => return,
                TokenKind::RBrace => {
                    open -= 1;
                    if open == 0 {
                        self.bump();
                        return;
                    }
                }
                TokenKind::LBrace => open += 1,
                TokenKind::Semicolon if open == 0 => {
                    self.bump();
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// True if the next token can only begin a top-level declaration.
    pub(super) fn begins_declaration(&self) -> bool {
        use TokenKind::*;
        match self.kind() {
            Control | Parser | Extern | Package | Struct | Header | HeaderUnion | Enum | Typedef => true,
            MatchKind | Error => self.peek(1) == LBrace,
            _ => false,
        }
    }

    fn begins_statement(&self) -> bool {
        use TokenKind::*;
        let word = matches!(
            self.kind(),
            If | Return
                | Exit
                | Switch
                | For
                | Break
                | Continue
                | Const
                | Transition
                | State
                | Table
                | Action
        );
        word || self.begins_declaration()
    }
}
