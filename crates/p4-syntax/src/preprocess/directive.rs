//! Lines that begin with `#`.

use base_diag::{Diagnostic, Span, codes::syntax};
use smol_str::SmolStr;

use super::{Condition, Preprocessor};
use crate::lexer::despliced;
use crate::token::{Token, TokenKind};

impl Preprocessor<'_> {
    /// Follows the directive after `hash`. A line that is none is dropped, as the assembler mode of `cpp`
    /// and the lexer after it do.
    pub(super) fn directive(&mut self, hash: Token) {
        let Some((name, span)) = self.directive_name(hash) else { return };
        match self.text(name) {
            "define" => self.define(span),
            "undef" => self.undef(span),
            "include" => return self.include(span),
            "if" => {
                let taken = self.condition(span);
                self.begin_condition(span, taken);
            }
            "ifdef" => {
                let taken = self.is_defined(span);
                self.begin_condition(span, taken);
            }
            "ifndef" => {
                let taken = !self.is_defined(span);
                self.begin_condition(span, taken);
            }
            // Reached after a group that was taken: the other groups are skipped.
            "elif" | "else" => {
                let open = self.frames.last().is_some_and(|f| !f.conditions.is_empty());
                self.check_alternative(name, span);
                if open {
                    self.skip_group();
                }
            }
            "endif" => self.end_condition(span),
            "error" => self.message(span, true),
            "warning" => self.message(span, false),
            "line" => {
                let number = self.next_on_line();
                self.line_marker(number);
            }
            "pragma" => self.pragma(),
            _ if name.kind == TokenKind::Int => self.line_marker(Some(name)),
            _ => {}
        }
        self.finish_line();
    }

    /// The word after `hash`, and the place of both.
    fn directive_name(&mut self, hash: Token) -> Option<(Token, Span)> {
        let name = self.spelled_on_line()?;
        Some((self.unspliced(name), hash.span.to(name.span)))
    }

    fn next_on_line(&mut self) -> Option<Token> {
        let token = self.spelled_on_line()?;
        Some(self.unspliced(token))
    }

    /// As `next_on_line`, but spliced as it stands in the file.
    fn spelled_on_line(&mut self) -> Option<Token> {
        self.frames.last_mut()?.lexer.next_on_line()
    }

    /// The text of a place in a file, for messages: `#if`.
    pub(super) fn spelling(&self, directive: Span) -> String {
        despliced(self.map.text(directive))
    }

    pub(super) fn rest_of_line(&mut self) -> Vec<Token> {
        std::iter::from_fn(|| self.next_on_line()).collect()
    }

    pub(super) fn finish_line(&mut self) {
        while self.next_on_line().is_some() {}
    }

    /// The name that must follow `#undef` or `#ifdef`.
    pub(super) fn name_on_line(&mut self, directive: Span) -> Option<Token> {
        let token = self.next_on_line();
        if let Some(name) = token.filter(|t| t.kind == TokenKind::Ident) {
            return Some(name);
        }
        let (span, label) = match token {
            Some(other) => (other.span, format!("`{}` is not a name", self.text(other))),
            None => (directive, "expected a name after it".to_string()),
        };
        let title = format!("`{}` without a name", self.spelling(directive));
        self.error(syntax::MALFORMED_DIRECTIVE, &title, span, label);
        None
    }

    fn undef(&mut self, directive: Span) {
        if let Some(name) = self.name_on_line(directive) {
            let name = self.text(name).to_string();
            self.macros.remove(&name);
        }
    }

    fn is_defined(&mut self, directive: Span) -> bool {
        let name = self.name_on_line(directive);
        name.is_some_and(|n| self.macros.find(self.text(n)).is_some())
    }

    fn begin_condition(&mut self, opened: Span, taken: bool) {
        let Some(frame) = self.frames.last_mut() else { return };
        frame.conditions.push(Condition { opened, taken, else_seen: false });
        if !taken {
            self.skip_group();
        }
    }

    fn end_condition(&mut self, span: Span) {
        let popped = self.frames.last_mut().and_then(|f| f.conditions.pop());
        if popped.is_none() {
            self.unbalanced(span, "no `#if` is open in this file");
        }
    }

    fn unbalanced(&mut self, span: Span, label: &str) {
        let title = format!("`{}` without `#if`", self.spelling(span));
        self.error(syntax::UNBALANCED_CONDITIONAL, &title, span, label);
    }

    /// True if this `#elif` or `#else` may be taken.
    fn check_alternative(&mut self, name: Token, span: Span) -> bool {
        let is_else = self.text(name) == "else";
        let Some(condition) = self.frames.last_mut().and_then(|f| f.conditions.last_mut()) else {
            self.unbalanced(span, "no `#if` is open in this file");
            return false;
        };
        let (after_else, taken) = (condition.else_seen, condition.taken);
        condition.else_seen |= is_else;
        let opened = condition.opened;
        if after_else {
            let title = format!("`{}` after `#else`", self.spelling(span));
            let error = Diagnostic::error(syntax::UNBALANCED_CONDITIONAL, title);
            self.diagnostics.push(error.at(span, "only `#endif` may follow").at(opened, "of this condition"));
            return false;
        }
        !taken
    }

    /// Steps over lines that are not taken, to the next alternative that is or past the `#endif`.
    fn skip_group(&mut self) {
        let mut inner = 0;
        self.finish_line();
        while let Some(hash) = self.frames.last_mut().and_then(|f| f.lexer.skip_to_directive()) {
            let Some((name, span)) = self.directive_name(hash) else { continue };
            match SmolStr::from(self.text(name)).as_str() {
                "if" | "ifdef" | "ifndef" => inner += 1,
                "endif" if inner > 0 => inner -= 1,
                "endif" => {
                    self.end_condition(span);
                    return;
                }
                "else" if inner == 0 && self.check_alternative(name, span) => return self.take_group(),
                "elif" if inner == 0 && self.check_alternative(name, span) && self.condition(span) => {
                    return self.take_group();
                }
                _ => {}
            }
            self.finish_line();
        }
    }

    fn take_group(&mut self) {
        if let Some(condition) = self.frames.last_mut().and_then(|f| f.conditions.last_mut()) {
            condition.taken = true;
        }
    }

    /// `#error` and `#warning`.
    fn message(&mut self, directive: Span, is_error: bool) {
        let line: Vec<Token> = std::iter::from_fn(|| self.spelled_on_line()).collect();
        let span = line.last().map_or(directive, |last| directive.to(last.span));
        let text = match (line.first(), line.last()) {
            (Some(first), Some(last)) => self.spelling(first.span.to(last.span)),
            _ => String::new(),
        };
        let diagnostic = if is_error {
            Diagnostic::error(syntax::ERROR_DIRECTIVE, format!("#error: {text}"))
        } else {
            Diagnostic::warning(syntax::WARNING_DIRECTIVE, "user-warning", format!("#warning: {text}"))
        };
        self.diagnostics.push(diagnostic.at(span, "raised by the program"));
    }

    /// `# 12 "file"` and `#line 12 "file"`: the next line is that one.
    fn line_marker(&mut self, number: Option<Token>) {
        let line = number.and_then(|n| self.text(n).parse::<u32>().ok());
        let name = self.next_on_line().filter(|t| t.kind == TokenKind::String);
        let name = name.map(|t| unquote(self.text(t)).into());
        self.finish_line();
        let (Some(line), Some(frame)) = (line, self.frames.last_mut()) else { return };
        let newline = frame.lexer.rest().find('\n');
        let next = frame.lexer.here() + newline.map_or(0, |n| n as u32 + 1);
        self.map.add_line_marker(frame.file, next, line, name);
    }

    /// `#pragma once` counts; every other pragma is dropped.
    fn pragma(&mut self) {
        let once = self.next_on_line().is_some_and(|t| self.text(t) == "once");
        if let Some(frame) = self.frames.last().filter(|_| once) {
            self.once.insert(frame.path.clone());
        }
    }
}

/// The contents of a string literal of C.
fn unquote(literal: &str) -> String {
    let inner = literal.trim_start_matches('"').trim_end_matches('"');
    inner.replace("\\\"", "\"").replace("\\\\", "\\")
}
