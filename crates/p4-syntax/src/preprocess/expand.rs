//! Macro calls.
//!
//! Expansions stand on a stack of contexts. A macro is not expanded while one of its own expansions is on the
//! stack; a name met then is marked and never expanded again (ISO C 6.10.3.4).

use base_diag::{Diagnostic, Expansion, ExpansionId, Span, codes::syntax};
use std::rc::Rc;

use super::macros::{MacroKind, Params, Piece, Role};
use super::{MAX_EXPANDED, Preprocessor};
use crate::lexer::Lexer;
use crate::token::{Token, TokenKind};

/// Arguments expanded within arguments; each costs native stack.
const MAX_ARGUMENT_DEPTH: usize = 60;

/// Tokens that are read before the file goes on.
pub(super) struct Context {
    tokens: Vec<Token>,
    pos: usize,
    /// The macro they come from, which must not be expanded among them.
    source: Option<usize>,
    /// Reading stops at their end.
    barrier: bool,
}

/// A call's arguments, and where it ends.
struct Call {
    args: Vec<Vec<Token>>,
    close: Span,
}

impl Preprocessor<'_> {
    /// The next token after expansion; `Eof` at a barrier and at the end of the files.
    pub(super) fn expanded_token(&mut self) -> Token {
        loop {
            let mut token = self.raw_token();
            if token.kind != TokenKind::Ident || token.has(Token::NO_EXPAND) {
                return token;
            }
            let Some(id) = self.macros.find(self.text(token)) else { return token };
            if self.macros.is_active(id) || self.exhausted {
                token.flags |= Token::NO_EXPAND;
                return token;
            }
            if !self.expand(id, token) {
                return token;
            }
        }
    }

    /// All tokens of `tokens` after expansion.
    pub(super) fn expand_all(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        if self.depth >= MAX_ARGUMENT_DEPTH {
            self.exhaust(tokens.first().map_or(Span::NONE, |t| t.span), "calls are nested too deeply");
            return tokens;
        }
        self.depth += 1;
        self.push_barrier(tokens);
        let mut out = vec![];
        loop {
            let token = self.expanded_token();
            if token.kind == TokenKind::Eof {
                break;
            }
            out.push(token);
        }
        self.pop_context();
        self.depth -= 1;
        out
    }

    pub(super) fn push_barrier(&mut self, tokens: Vec<Token>) {
        self.contexts.push(Context { tokens, pos: 0, source: None, barrier: true });
    }

    /// Leaves the innermost context.
    pub(super) fn pop_context(&mut self) {
        if let Some(id) = self.contexts.pop().and_then(|c| c.source) {
            self.macros.leave(id);
        }
    }

    /// The next token before expansion.
    pub(super) fn raw_token(&mut self) -> Token {
        let mut token = self.context_token().unwrap_or_else(|| self.file_token());
        token.flags |= std::mem::take(&mut self.carried);
        token
    }

    fn context_token(&mut self) -> Option<Token> {
        loop {
            let context = self.contexts.last_mut()?;
            if let Some(token) = context.tokens.get(context.pos) {
                context.pos += 1;
                return Some(*token);
            }
            if context.barrier {
                return Some(Token::new(TokenKind::Eof, 0, 0, 0));
            }
            self.pop_context();
        }
    }

    /// Puts the expansion of a macro in front. False if `name` is no call of it.
    fn expand(&mut self, id: usize, name: Token) -> bool {
        let tokens = match self.macros.get(id).kind.clone() {
            MacroKind::Object(body) => {
                let expansion = self.expansion(id, name.span);
                self.substitute(&body, None, expansion)
            }
            MacroKind::Function { params, body } => {
                if !self.opens_call() {
                    return false;
                }
                let Some(call) = self.call(id, name, &params) else { return true };
                let expansion = self.expansion(id, name.span.to(call.close));
                self.substitute(&body, Some((&params, call.args)), expansion)
            }
            builtin => self.builtin(&builtin, id, name.span).into_iter().collect(),
        };
        self.expanded += tokens.len() + 1;
        if self.expanded > MAX_EXPANDED {
            self.exhaust(name.span, "macros expand to too many tokens");
        }
        // The expansion stands on the name's line and after its space; of an empty one the next token does.
        let mut tokens = tokens;
        let before = name.flags & (Token::LINE_START | Token::SPACE | Token::COMMENT_LINES);
        match tokens.first_mut() {
            Some(first) => first.flags = first.flags & Token::NO_EXPAND | before,
            None => self.carried |= before,
        }
        self.macros.enter(id);
        self.contexts.push(Context { tokens, pos: 0, source: Some(id), barrier: false });
        true
    }

    /// Reports once that expansion ends here; from now on names stand for themselves.
    fn exhaust(&mut self, span: Span, why: &str) {
        if !std::mem::replace(&mut self.exhausted, true) {
            let error = Diagnostic::error(syntax::PREPROCESSOR_LIMIT, why);
            let limits = format!(
                "the limits are {MAX_EXPANDED} tokens in all and {MAX_ARGUMENT_DEPTH} calls in arguments of calls"
            );
            self.diagnostics.push(error.at(span, "macros are not expanded from here on").note(limits));
        }
    }

    fn expansion(&mut self, id: usize, call: Span) -> ExpansionId {
        let source = self.macros.get(id);
        self.map.add_expansion(Expansion { name: source.name.clone(), definition: source.definition, call })
    }

    /// Steps over `(` if it comes next, be it on a later line.
    fn opens_call(&mut self) -> bool {
        while let Some(context) = self.contexts.last_mut() {
            if let Some(next) = context.tokens.get(context.pos) {
                let opens = next.kind == TokenKind::LParen;
                context.pos += usize::from(opens);
                return opens;
            }
            if context.barrier {
                return false;
            }
            self.pop_context();
        }
        let Some(frame) = self.frames.last_mut() else { return false };
        let next = frame.lexer.next();
        if next.kind != TokenKind::LParen {
            frame.lexer.unread(next);
        }
        next.kind == TokenKind::LParen
    }

    /// Reads a call's arguments up to its `)`.
    fn call(&mut self, id: usize, name: Token, params: &Params) -> Option<Call> {
        let floor = std::mem::replace(&mut self.floor, self.frames.len());
        let call = self.arguments(params);
        self.floor = floor;
        let Some(mut call) = call else {
            let title = format!("the call of macro `{}` is not closed", self.macros.get(id).name);
            self.error(syntax::MACRO_CALL, &title, name.span, "no `)` follows");
            return None;
        };
        let wanted = params.names.len();
        if wanted == 0 && call.args.iter().all(Vec::is_empty) {
            call.args.clear();
        }
        if params.variadic && call.args.len() + 1 == wanted {
            call.args.push(vec![]);
        }
        if call.args.len() != wanted {
            self.wrong_count(id, name.span.to(call.close), call.args.len(), params);
            return None;
        }
        Some(call)
    }

    fn wrong_count(&mut self, id: usize, span: Span, given: usize, params: &Params) {
        let source = self.macros.get(id);
        let at_least = if params.variadic { "at least " } else { "" };
        let wanted = params.names.len() - usize::from(params.variadic);
        let plural = if given == 1 { "" } else { "s" };
        let title = format!("macro `{}` called with {given} argument{plural}", source.name);
        let error =
            Diagnostic::error(syntax::MACRO_CALL, title).at(span, format!("wants {at_least}{wanted}"));
        let definition = source.definition;
        self.diagnostics.push(error.at(definition, "defined here"));
    }

    fn arguments(&mut self, params: &Params) -> Option<Call> {
        let mut args = vec![vec![]];
        let mut open = 0;
        loop {
            let mut token = self.raw_token();
            match token.kind {
                TokenKind::Eof => return None,
                TokenKind::RParen if open == 0 => return Some(Call { args, close: token.span }),
                TokenKind::RParen => open -= 1,
                TokenKind::LParen => open += 1,
                TokenKind::Comma if open == 0 && !(params.variadic && args.len() == params.names.len()) => {
                    args.push(vec![]);
                    continue;
                }
                TokenKind::Ident
                    if self.macros.find(self.text(token)).is_some_and(|m| self.macros.is_active(m)) =>
                {
                    token.flags |= Token::NO_EXPAND;
                }
                _ => {}
            }
            // A line end between arguments counts as a space.
            if token.flags & (Token::LINE_START | Token::COMMENT_LINES) != 0 {
                token.flags = token.flags & Token::NO_EXPAND | Token::SPACE;
            }
            args.last_mut()?.push(token);
        }
    }

    /// The body with arguments in the places of parameters and `##` carried out.
    fn substitute(
        &mut self,
        body: &Rc<[Piece]>,
        call: Option<(&Params, Vec<Vec<Token>>)>,
        expansion: ExpansionId,
    ) -> Vec<Token> {
        let (variadic, args) = match call {
            Some((params, args)) => (params.variadic.then(|| params.names.len() - 1), args),
            None => (None, vec![]),
        };
        let mut expanded: Vec<Option<Vec<Token>>> = vec![None; args.len()];
        let mut out: Vec<Token> = vec![];
        let mut before: Option<Before> = None;
        for piece in body.iter() {
            let pasting = before.take();
            let own = Token { span: Span { expansion, ..piece.token.span }, ..piece.token };
            let mut tokens = match piece.role {
                Role::Text => vec![own],
                Role::Stringize(i) => vec![self.stringize(&args[i], own)],
                // Next to `##`, an argument is used without expanding it (C17 §6.10.3.1).
                Role::Param(i) if piece.pasted || pasting.is_some() => args[i].clone(),
                Role::Param(i) => {
                    let done = match expanded[i].take() {
                        Some(done) => done,
                        None => self.expand_all(args[i].clone()),
                    };
                    expanded[i].insert(done).clone()
                }
            };
            if let (Role::Param(_), Some(first)) = (piece.role, tokens.first_mut()) {
                first.flags = first.flags & Token::NO_EXPAND | own.flags & Token::SPACE;
            }
            let empty = tokens.is_empty();
            let rest = matches!(piece.role, Role::Param(i) if Some(i) == variadic);
            // `, ## __VA_ARGS__` drops the comma if there are no variable arguments, and pastes nothing otherwise (a GNU extension).
            match pasting {
                Some(Before { comma: true, .. }) if rest && empty => drop(out.pop()),
                Some(Before { comma: true, .. }) if rest => {}
                Some(Before { empty: false, .. }) if !empty => {
                    let left = out.pop();
                    let right = tokens.remove(0);
                    out.extend(left.into_iter().flat_map(|l| self.paste(l, right, expansion)));
                }
                _ => {}
            }
            out.append(&mut tokens);
            // Pasting with an empty argument gives the other side, also over several `##`.
            let empty = empty && pasting.is_none_or(|p| p.empty);
            let comma = piece.role == Role::Text && piece.token.kind == TokenKind::Comma;
            before = piece.pasted.then_some(Before { empty, comma });
            if self.expanded + out.len() > MAX_EXPANDED {
                self.exhaust(piece.token.span, "macros expand to too many tokens");
                break;
            }
        }
        out
    }

    /// The text of an argument as a string literal.
    fn stringize(&mut self, arg: &[Token], own: Token) -> Token {
        let mut text = String::from("\"");
        for (i, token) in arg.iter().enumerate() {
            if i > 0 && token.has(Token::SPACE) {
                text.push(' ');
            }
            let spelled = self.text(*token);
            if token.kind == TokenKind::String {
                text.push_str(&spelled.replace('\\', "\\\\").replace('"', "\\\""));
            } else {
                text.push_str(spelled);
            }
        }
        text.push('"');
        self.expanded += text.len() / 16;
        self.generate(&text, TokenKind::String, own.flags, own.span.expansion)
    }

    /// `left ## right`: one token if their texts make one, else the two side by side.
    fn paste(&mut self, left: Token, right: Token, expansion: ExpansionId) -> Vec<Token> {
        let text = format!("{}{}", self.text(left), self.text(right));
        self.expanded += text.len() / 16;
        let mut lexer = Lexer::new(text.as_str().into(), 0);
        let token = lexer.next();
        let whole = token.span.hi as usize == text.len() && lexer.errors.is_empty();
        if whole && token.kind != TokenKind::Unknown && token.kind != TokenKind::Eof {
            return vec![self.generate(&text, token.kind, left.flags & Token::SPACE, expansion)];
        }
        vec![left, Token { flags: right.flags & Token::NO_EXPAND, ..right }]
    }

    fn builtin(&mut self, kind: &MacroKind, id: usize, name: Span) -> Option<Token> {
        let place = self.map.position(self.map.call_site(name).lo);
        let (text, kind) = match kind {
            MacroKind::Line => (place.map_or(0, |p| p.line).to_string(), TokenKind::Int),
            MacroKind::File => {
                let file = place.map(|p| p.file).unwrap_or_default();
                (format!("\"{}\"", file.replace('\\', "\\\\").replace('"', "\\\"")), TokenKind::String)
            }
            _ => {
                self.counter += 1;
                ((self.counter - 1).to_string(), TokenKind::Int)
            }
        };
        let expansion = self.expansion(id, name);
        Some(self.generate(&text, kind, 0, expansion))
    }

    /// A token whose text stands in no file.
    pub(super) fn generate(
        &mut self,
        text: &str,
        kind: TokenKind,
        flags: u8,
        expansion: ExpansionId,
    ) -> Token {
        let span = match self.map.add_generated(text) {
            Ok(span) => Span { expansion, ..span },
            Err(_) => {
                self.exhaust(Span::NONE, "macros expand to too much text");
                Span::NONE
            }
        };
        Token { kind, flags, span }
    }
}

/// The left operand of a `##`.
#[derive(Clone, Copy)]
struct Before {
    /// Nothing.
    empty: bool,
    /// A comma written in the body: before variadic arguments it vanishes with them.
    comma: bool,
}
