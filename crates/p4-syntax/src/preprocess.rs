//! The preprocessor: files in, one stream of tokens out (like `cpp -undef -nostdinc -x assembler-with-cpp`).
//!
//! `files -> lines taken -> tokens with macros expanded`. It works on tokens: a token from a file keeps its
//! place there, one from a macro's body also knows its expansion, and one from an argument stays where the
//! user wrote it. Text that cannot be lexed passes through, as does a `#` line that is no directive (dropped).
//!
//! Limits keep hostile input from using unbounded time and memory: depth and total size of includes, and the
//! number of tokens that macros may produce.

mod condition;
mod directive;
mod expand;
mod include;
mod macros;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use base_diag::{Code, Diagnostic, Diagnostics, Expansion, FileId, SourceMap, Span, codes::syntax};
use smol_str::SmolStr;

use crate::lexer::{LexError, Lexer, despliced};
use crate::token::{Token, TokenKind};
use crate::{Loader, Options};
use expand::Context;
use macros::Macros;

/// Files that may be open at once.
const MAX_INCLUDE_DEPTH: usize = 200;
/// Bytes that may be read in all.
const MAX_SOURCE: usize = 16 << 20;
/// Tokens that macros may produce in all.
const MAX_EXPANDED: usize = 2 << 20;

/// The program's tokens, ending with one `Eof`.
pub(crate) fn preprocess(
    main_file: &str,
    loader: &dyn Loader,
    options: &Options,
    map: &mut SourceMap,
    diagnostics: &mut Diagnostics,
) -> Vec<Token> {
    let mut preprocessor = Preprocessor {
        loader,
        options,
        map,
        diagnostics,
        frames: vec![],
        floor: 0,
        macros: Macros::new(),
        contexts: vec![],
        carried: 0,
        depth: 0,
        counter: 0,
        once: BTreeSet::new(),
        source: 0,
        expanded: 0,
        exhausted: false,
        includes_ended: false,
    };
    preprocessor.run(main_file)
}

struct Preprocessor<'a> {
    loader: &'a dyn Loader,
    options: &'a Options,
    map: &'a mut SourceMap,
    diagnostics: &'a mut Diagnostics,
    /// The open files, the innermost last.
    frames: Vec<Frame>,
    /// Frames that must not be closed now: a macro's arguments do not run past the end of a file.
    floor: usize,
    macros: Macros,
    /// Tokens to be read before those of the files, the innermost expansion last.
    contexts: Vec<Context>,
    /// Flags of tokens that vanished, for the next one.
    carried: u8,
    /// Arguments being expanded within arguments.
    depth: usize,
    /// The next value of `__COUNTER__`.
    counter: u32,
    /// Files that said `#pragma once`.
    once: BTreeSet<SmolStr>,
    source: usize,
    expanded: usize,
    exhausted: bool,
    /// A limit of includes was met: no further file is opened.
    includes_ended: bool,
}

/// An open file.
struct Frame {
    lexer: Lexer,
    file: FileId,
    path: SmolStr,
    conditions: Vec<Condition>,
}

/// An `#if` without its `#endif` so far.
struct Condition {
    opened: Span,
    /// One of its groups has been taken.
    taken: bool,
    else_seen: bool,
}

impl Preprocessor<'_> {
    fn run(&mut self, main_file: &str) -> Vec<Token> {
        self.command_line();
        self.open_main(main_file);
        let mut tokens = Vec::with_capacity(self.source / 4);
        loop {
            let token = self.expanded_token();
            let kind = match token.kind {
                TokenKind::Ident => TokenKind::of_word(self.text(token)),
                other => other,
            };
            if kind == TokenKind::Eof {
                tokens.push(end_behind(tokens.last(), token));
                return tokens;
            }
            tokens.push(Token { kind, ..token });
        }
    }

    /// `-D` and `-U` as a file of their own.
    fn command_line(&mut self) {
        let define = |d: &String| match d.split_once('=') {
            Some((name, value)) => format!("#define {name} {value}"),
            None => format!("#define {d} 1"),
        };
        let defines = self.options.defines.iter().map(define);
        let lines = defines.chain(self.options.undefines.iter().map(|u| format!("#undef {u}")));
        let text: String = lines.map(|l| l.replace(['\n', '\r'], " ") + "\n").collect();
        if !text.is_empty() {
            self.push_file("<command line>".into(), text.into(), Span::NONE);
            while self.expanded_token().kind != TokenKind::Eof {}
        }
    }

    /// The next token of the files, directives followed. `Eof` at the end of the last one, and where a frame
    /// at the floor ends.
    fn file_token(&mut self) -> Token {
        loop {
            let open = self.frames.len();
            let Some(frame) = self.frames.last_mut() else { return Token::new(TokenKind::Eof, 0, 0, 0) };
            let token = frame.lexer.next();
            match token.kind {
                TokenKind::Hash if token.has(Token::LINE_START) => self.directive(token),
                TokenKind::Eof if open > self.floor => {
                    self.close_file();
                    if open == 1 {
                        return token;
                    }
                }
                _ => return self.unspliced(token),
            }
        }
    }

    /// A token of a file as it reads without the line ends that are spliced in it. It stays where it stands.
    fn unspliced(&mut self, token: Token) -> Token {
        if !token.has(Token::SPLICED) {
            return token;
        }
        let text = despliced(self.text(token));
        let place = Expansion { name: SmolStr::default(), definition: Span::NONE, call: token.span };
        let place = self.map.add_expansion(place);
        self.generate(&text, token.kind, token.flags & !Token::SPLICED, place)
    }

    fn close_file(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        for condition in frame.conditions {
            let title = "this condition is not closed";
            self.error(
                syntax::UNBALANCED_CONDITIONAL,
                title,
                condition.opened,
                "no `#endif` follows in this file",
            );
        }
        for error in frame.lexer.errors {
            let (code, title, span, label) = match error {
                LexError::Comment(span) => (
                    syntax::UNTERMINATED_COMMENT,
                    "this comment does not end",
                    span,
                    "no `*/` follows in this file",
                ),
                LexError::String(span) => (
                    syntax::UNTERMINATED_STRING,
                    "this string does not end",
                    span,
                    "no closing `\"` follows in this file",
                ),
            };
            self.error(code, title, span, label);
        }
    }

    /// The text of a token of any file.
    fn text(&self, token: Token) -> &str {
        let here = self.frames.last().and_then(|f| f.lexer.text(token.span));
        here.unwrap_or_else(|| self.map.text(token.span))
    }

    fn error(&mut self, code: Code, title: &str, span: Span, label: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(code, title).at(span, label));
    }
}

/// The end stands after the last token, not after the empty lines that follow it.
fn end_behind(last: Option<&Token>, end: Token) -> Token {
    let Some(last) = last.filter(|t| t.span.expansion == end.span.expansion) else { return end };
    Token { span: Span { lo: last.span.hi, hi: last.span.hi, ..end.span }, ..end }
}
