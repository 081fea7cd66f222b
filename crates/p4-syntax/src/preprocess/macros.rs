//! `#define`: macros and their bodies.

use base_diag::{Diagnostic, Span, codes::syntax};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::rc::Rc;

use super::Preprocessor;
use crate::token::{Token, TokenKind};

/// A macro.
pub(super) struct Macro {
    pub name: SmolStr,
    /// The name in the `#define`.
    pub definition: Span,
    pub kind: MacroKind,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum MacroKind {
    /// `#define A body`
    Object(Rc<[Piece]>),
    /// `#define F(x) body`
    Function { params: Rc<Params>, body: Rc<[Piece]> },
    /// `__LINE__`
    Line,
    /// `__FILE__`
    File,
    /// `__COUNTER__`
    Counter,
}

/// The parameters of a function-like macro.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Params {
    pub names: Vec<SmolStr>,
    /// The last one takes all arguments that are left.
    pub variadic: bool,
}

/// One token of a body, or its replacement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Piece {
    pub token: Token,
    pub role: Role,
    /// Followed by `##`.
    pub pasted: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Role {
    /// The token itself.
    Text,
    /// The argument with this index.
    Param(usize),
    /// The text of the argument with this index, as a string.
    Stringize(usize),
}

/// The macros by name.
pub(super) struct Macros {
    all: Vec<Macro>,
    /// Number of expansions of each macro that are being read.
    active: Vec<u32>,
    by_name: FxHashMap<SmolStr, usize>,
    /// A bit for the length and one for the first letter of each name ever defined.
    lengths: u64,
    letters: u64,
}

impl Macros {
    pub fn new() -> Macros {
        let by_name = FxHashMap::default();
        let mut macros = Macros { all: vec![], active: vec![], by_name, lengths: 0, letters: 0 };
        let builtin = [
            ("__LINE__", MacroKind::Line),
            ("__FILE__", MacroKind::File),
            ("__COUNTER__", MacroKind::Counter),
        ];
        for (name, kind) in builtin {
            macros.insert(Macro { name: name.into(), definition: Span::NONE, kind });
        }
        macros
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        let (length, letter) = bits(name);
        if self.lengths & length == 0 || self.letters & letter == 0 {
            return None;
        }
        self.by_name.get(name).copied()
    }

    pub fn get(&self, id: usize) -> &Macro {
        &self.all[id]
    }

    pub fn insert(&mut self, new: Macro) {
        let (length, letter) = bits(&new.name);
        self.lengths |= length;
        self.letters |= letter;
        self.by_name.insert(new.name.clone(), self.all.len());
        self.all.push(new);
        self.active.push(0);
    }

    pub fn remove(&mut self, name: &str) {
        self.by_name.remove(name);
    }

    /// True while its own expansion is being read.
    pub fn is_active(&self, id: usize) -> bool {
        self.active[id] > 0
    }

    pub fn enter(&mut self, id: usize) {
        self.active[id] += 1;
    }

    pub fn leave(&mut self, id: usize) {
        self.active[id] = self.active[id].saturating_sub(1);
    }
}

fn bits(name: &str) -> (u64, u64) {
    let letter = name.bytes().next().unwrap_or(0) % 64;
    (1 << name.len().min(63), 1 << letter)
}

impl Preprocessor<'_> {
    pub(super) fn define(&mut self, directive: Span) {
        let Some(name) = self.name_on_line(directive) else { return };
        let line = self.rest_of_line();
        let text: SmolStr = self.text(name).into();
        let function = line.first().is_some_and(|t| t.kind == TokenKind::LParen && !t.has(Token::SPACE));
        let kind = if function {
            let Some((params, rest)) = self.params(&line) else {
                let title = format!("malformed parameters of macro `{text}`");
                let label = "expected names separated by commas and `)`";
                return self.error(syntax::MALFORMED_DIRECTIVE, &title, line[0].span, label);
            };
            let body = self.body(rest, Some(&params));
            MacroKind::Function { params: Rc::new(params), body }
        } else {
            MacroKind::Object(self.body(&line, None))
        };
        self.warn_if_redefined(&text, name.span, &kind);
        self.macros.insert(Macro { name: text, definition: name.span, kind });
    }

    /// `(a, b, c...)` at the start of `line`, and the rest.
    fn params<'t>(&self, line: &'t [Token]) -> Option<(Params, &'t [Token])> {
        let mut params = Params { names: vec![], variadic: false };
        let mut rest = line.get(1..)?;
        if rest.first()?.kind == TokenKind::RParen {
            return Some((params, &rest[1..]));
        }
        loop {
            let (first, after) = rest.split_first()?;
            match first.kind {
                TokenKind::Ident => params.names.push(self.text(*first).into()),
                TokenKind::Dots => params.names.push("__VA_ARGS__".into()),
                _ => return None,
            }
            params.variadic = first.kind == TokenKind::Dots;
            rest = after;
            // GCC's `args...`: a name for the variable arguments.
            if !params.variadic && rest.first()?.kind == TokenKind::Dots {
                params.variadic = true;
                rest = &rest[1..];
            }
            let (next, after) = rest.split_first()?;
            rest = after;
            match next.kind {
                TokenKind::RParen => return Some((params, rest)),
                TokenKind::Comma if !params.variadic => {}
                _ => return None,
            }
        }
    }

    /// A macro's body. `##` at its ends, and `#` before a token that is not a parameter, are literal.
    fn body(&self, line: &[Token], params: Option<&Params>) -> Rc<[Piece]> {
        let index = |t: &Token| {
            let names = &params?.names;
            if t.kind != TokenKind::Ident {
                return None;
            }
            names.iter().position(|n| n == self.text(*t))
        };
        let mut pieces: Vec<Piece> = vec![];
        let mut at = 0;
        while let Some(token) = line.get(at) {
            at += 1;
            if let Some(before) =
                pieces.last_mut().filter(|_| token.kind == TokenKind::HashHash && at < line.len())
            {
                before.pasted = true;
                continue;
            }
            let string = line.get(at).filter(|_| token.kind == TokenKind::Hash).and_then(index);
            let role = match (string, index(token)) {
                (Some(i), _) => {
                    at += 1;
                    Role::Stringize(i)
                }
                (None, Some(i)) => Role::Param(i),
                (None, None) => Role::Text,
            };
            pieces.push(Piece { token: *token, role, pasted: false });
        }
        pieces.into()
    }

    fn warn_if_redefined(&mut self, name: &str, span: Span, kind: &MacroKind) {
        let Some(old) = self.macros.find(name) else { return };
        let old = self.macros.get(old);
        if self.same(&old.kind, kind) {
            return;
        }
        let title = format!("macro `{name}` is redefined");
        let mut warning = Diagnostic::warning(syntax::MACRO_REDEFINED, "macro-redefined", title)
            .at(span, "this definition counts from here on");
        if !old.definition.is_none() {
            warning = warning.at(old.definition, "defined differently here");
        }
        self.diagnostics.push(warning.help(format!("write `#undef {name}` before it")));
    }

    /// True if two macros have the same parameters and are spelled the same.
    fn same(&self, a: &MacroKind, b: &MacroKind) -> bool {
        let (a, b) = match (a, b) {
            (MacroKind::Object(a), MacroKind::Object(b)) => (a, b),
            (MacroKind::Function { params: p, body: a }, MacroKind::Function { params: q, body: b }) => {
                if p != q {
                    return false;
                }
                (a, b)
            }
            _ => return false,
        };
        let same = |(x, y): (&Piece, &Piece)| {
            (x.role, x.pasted) == (y.role, y.pasted) && self.text(x.token) == self.text(y.token)
        };
        a.len() == b.len() && a.iter().zip(b.iter()).all(same)
    }
}
