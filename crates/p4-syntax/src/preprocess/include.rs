//! `#include`: search path, and opening of files.

use std::sync::Arc;

use base_diag::{Diagnostic, Span, codes::syntax, did_you_mean};
use smol_str::SmolStr;

use super::{Frame, MAX_INCLUDE_DEPTH, MAX_SOURCE, Preprocessor};
use crate::LoadError;
use crate::lexer::{Lexer, despliced, logical_line};
use crate::token::{Token, TokenKind};

/// The least size, in bytes, that is charged for an included file, so that including a small file again and again ends, too.
const LEAST_COST: usize = 1 << 10;

/// The file name of an `#include`.
struct Wanted {
    name: String,
    /// In double quotes: looked for beside the includer first.
    quoted: bool,
    span: Span,
}

impl Preprocessor<'_> {
    pub(super) fn open_main(&mut self, path: &str) {
        match self.loader.read(path) {
            Ok(text) => self.push_file(path.into(), text, Span::NONE),
            Err(e) => {
                let title = match e {
                    LoadError::NotFound => format!("cannot find `{path}`"),
                    LoadError::Unreadable(why) => format!("cannot read `{path}`: {why}"),
                };
                let error = Diagnostic::error(syntax::INCLUDE_NOT_FOUND, title);
                self.diagnostics.push(match self.loader.meant(path) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
    }

    pub(super) fn push_file(&mut self, path: SmolStr, text: Arc<str>, from: Span) {
        if self.includes_ended {
            return;
        }
        self.source += text.len().max(LEAST_COST);
        let too_large = self.source > MAX_SOURCE || self.frames.len() > MAX_INCLUDE_DEPTH;
        let file = if too_large { None } else { self.map.add_file(path.clone(), text.clone(), from).ok() };
        let Some(file) = file else {
            self.includes_ended = true;
            let label = if self.frames.len() > MAX_INCLUDE_DEPTH {
                format!("{MAX_INCLUDE_DEPTH} files are open already")
            } else {
                format!("all files together have more than {} MiB", MAX_SOURCE >> 20)
            };
            let error = Diagnostic::error(syntax::PREPROCESSOR_LIMIT, "too many or too large includes");
            let help =
                "a file that includes itself needs a guard: `#ifndef F_P4`, `#define F_P4`, ..., `#endif`";
            let note = "nothing is included from here on";
            return self.diagnostics.push(error.at(from, label).note(note).help(help));
        };
        let base = self.map.file(file).map_or(0, |f| f.base());
        self.frames.push(Frame { lexer: Lexer::new(text, base), file, path, conditions: vec![] });
    }

    pub(super) fn include(&mut self, directive: Span) {
        let Some(wanted) = self.wanted() else {
            let label = "expected `\"file\"` or `<file>`";
            self.error(syntax::MALFORMED_DIRECTIVE, "`#include` without a file", directive, label);
            return self.finish_line();
        };
        self.finish_line();
        let mut unreadable = None;
        for path in self.candidates(&wanted) {
            match self.loader.read(&path) {
                Ok(text) => return self.open(path.into(), text, wanted.span),
                Err(LoadError::Unreadable(why)) => unreadable = unreadable.or(Some((path, why))),
                Err(LoadError::NotFound) => {}
            }
        }
        if let Some(text) = self.loader.builtin(&wanted.name) {
            return self.open(wanted.name.into(), text, wanted.span);
        }
        self.not_found(&wanted, unreadable);
    }

    fn open(&mut self, path: SmolStr, text: Arc<str>, from: Span) {
        if !self.once.contains(&path) {
            self.push_file(path, text, from);
        }
    }

    fn not_found(&mut self, wanted: &Wanted, unreadable: Option<(String, String)>) {
        let name = &wanted.name;
        let error = match unreadable {
            Some((path, why)) => {
                let error = Diagnostic::error(syntax::INCLUDE_NOT_FOUND, format!("cannot read `{name}`"));
                error.at(wanted.span, "").note(format!("{path}: {why}"))
            }
            None => {
                let error = Diagnostic::error(syntax::INCLUDE_NOT_FOUND, format!("cannot find `{name}`"));
                let mut places: Vec<String> =
                    self.candidates(wanted).iter().map(|path| format!("`{path}`")).collect();
                places.push("the built-in architectures".into());
                let error =
                    error.at(wanted.span, "no such file").note(format!("looked at {}", places.join(", ")));
                match self.meant(wanted) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => {
                        error.help("give its directory with `-I DIR`, of a rack's program with `include`")
                    }
                }
            }
        };
        self.diagnostics.push(error);
    }

    /// A likely file name, as it would be written in the `#include`.
    fn meant(&self, wanted: &Wanted) -> Option<String> {
        let near = self.candidates(wanted).iter().find_map(|path| {
            let near = self.loader.meant(path)?;
            let file = near.rsplit('/').next().unwrap_or(&near);
            Some(wanted.name.rsplit_once('/').map_or(file.to_string(), |(dir, _)| join(dir, file)))
        });
        near.or_else(|| did_you_mean(&wanted.name, self.loader.builtins()).map(str::to_string))
    }

    /// The paths to try, in order.
    fn candidates(&self, wanted: &Wanted) -> Vec<String> {
        if wanted.name.starts_with('/') {
            return vec![wanted.name.clone()];
        }
        let includer = self.frames.last().map_or("", |f| f.path.as_str());
        let beside = includer.rsplit_once('/').map_or("", |(dir, _)| if dir.is_empty() { "/" } else { dir });
        let dirs = self.options.include_dirs.iter().map(String::as_str);
        let dirs = wanted.quoted.then_some(beside).into_iter().chain(dirs);
        let mut paths: Vec<String> = dirs.map(|d| join(d, &wanted.name)).collect();
        let mut seen = std::collections::BTreeSet::new();
        paths.retain(|p| seen.insert(p.clone()));
        paths
    }

    /// The file named on the rest of the line, directly or by macros.
    fn wanted(&mut self) -> Option<Wanted> {
        let frame = self.frames.last_mut()?;
        let spelled = logical_line(frame.lexer.rest());
        let joined = despliced(spelled);
        let (line, spliced) = (joined.as_str(), joined.len() != spelled.len());
        let blank = line.len() - line.trim_start().len();
        let close = match line[blank..].chars().next() {
            Some('"') => '"',
            Some('<') => '>',
            _ => return self.computed(),
        };
        let name = line[blank + 1..].split(close).next().unwrap_or("").to_string();
        let lo = frame.lexer.here() + blank as u32;
        let closed = line[blank + 1..].contains(close) && !name.is_empty();
        let end = if spliced { spelled.len() } else { blank + 1 + name.len() + usize::from(closed) };
        frame.lexer.skip(end);
        let span = Span { lo, hi: frame.lexer.here(), ..Span::NONE };
        closed.then_some(Wanted { name, quoted: close == '"', span })
    }

    fn computed(&mut self) -> Option<Wanted> {
        let line = self.rest_of_line();
        let span = line.first()?.span.to(line.last()?.span);
        let tokens = self.expand_all(line);
        let first = tokens.first()?;
        if first.kind == TokenKind::String {
            let name = self.text(*first).trim_matches('"').to_string();
            return Some(Wanted { name, quoted: true, span });
        }
        let end = tokens.iter().position(|t| t.kind == TokenKind::Gt)?;
        let inner = tokens.get(1..end).filter(|_| first.kind == TokenKind::Lt)?;
        let mut name = String::new();
        for (i, token) in inner.iter().enumerate() {
            if i > 0 && token.has(Token::SPACE) {
                name.push(' ');
            }
            name.push_str(self.text(*token));
        }
        Some(Wanted { name, quoted: false, span })
    }
}

fn join(dir: &str, name: &str) -> String {
    match dir {
        "" => name.to_string(),
        _ if dir.ends_with('/') => format!("{dir}{name}"),
        _ => format!("{dir}/{name}"),
    }
}
