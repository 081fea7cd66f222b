//! The items of a file in CLIP's form that are not P4, found by their first words outside of braces.

use super::{Mistake, is_part};
use std::ops::Range;

/// A part of the file, as places in its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// `request { ... };`: the word, the inside of the braces, and the end with its semicolon.
    Fields { word: Range<usize>, body: Range<usize>, end: usize },
    /// `extern "C" { ... }`: all of it, and the inside of the braces.
    Code { all: Range<usize>, body: Range<usize> },
    /// The arguments of `@remote(...)`.
    Remote { inside: Range<usize> },
    /// `void h(request req, response res) { ... }`
    Handler(Handler),
}

/// The handler's places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handler {
    pub all: Range<usize>,
    pub returns: Range<usize>,
    pub name: Range<usize>,
    pub request: Range<usize>,
    pub response: Option<Range<usize>>,
    /// With its braces.
    pub body: Range<usize>,
}

/// All items in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Items {
    pub all: Vec<Item>,
}

const TITLE: &str = "the program is not in CLIP's form";
const FORM: &str = "write `void NAME(request req, response res) { ... }`, or `bool`";

impl Items {
    pub fn of(text: &str) -> Result<Items, Mistake> {
        let tokens = tokens(text, 0..text.len());
        let mut items = Items { all: vec![] };
        let mut at = 0;
        while at < tokens.len() {
            let word = |ahead: usize| tokens.get(at + ahead).map_or("", |token| &text[token.clone()]);
            let place = |ahead: usize| tokens[at + ahead].clone();
            let starts_item = at == 0 || matches!(&text[tokens[at - 1].clone()], "}" | ";" | ")");
            match (word(0), word(1)) {
                ("request" | "response", "{") if starts_item => {
                    let end = closing(text, &tokens, at + 1)?;
                    let last = if tokens.get(end + 1).is_some_and(|t| &text[t.clone()] == ";") {
                        end + 1
                    } else {
                        end
                    };
                    let body = place(1).end..tokens[end].start;
                    items.all.push(Item::Fields { word: place(0), body, end: tokens[last].end });
                    at = last + 1;
                }
                ("extern", "\"C\"") if word(2) == "{" => {
                    let end = closing(text, &tokens, at + 2)?;
                    let all = place(0).start..tokens[end].end;
                    items.all.push(Item::Code { all, body: place(2).end..tokens[end].start });
                    at = end + 1;
                }
                ("@", "remote") if word(2) == "(" => {
                    let end = closing(text, &tokens, at + 2)?;
                    items.all.push(Item::Remote { inside: place(2).end..tokens[end].start });
                    at = end + 1;
                }
                (returns, name)
                    if (word(2), word(3)) == ("(", "request")
                        && is_name(returns)
                        && is_name(name)
                        && !matches!(returns, "control" | "parser" | "action" | "package") =>
                {
                    let (handler, next) = handler(text, &tokens, at)?;
                    items.all.push(Item::Handler(handler));
                    at = next;
                }
                ("{" | "(" | "[", _) => at = closing(text, &tokens, at)? + 1,
                ("}" | ")" | "]", _) => {
                    return Err(Mistake::new(place(0), TITLE, "nothing is open here", "remove it"));
                }
                _ => at += 1,
            }
        }
        Ok(items)
    }

    /// The only handler.
    pub fn handler(&self) -> Result<&Handler, Mistake> {
        let mut found = self.all.iter().filter_map(|item| match item {
            Item::Handler(handler) => Some(handler),
            _ => None,
        });
        let first = found.next().ok_or_else(|| Mistake::new(0..0, TITLE, "there is no handler", FORM))?;
        match found.next() {
            Some(again) => {
                let help = "use one file in P4 with `@remote` declarations, and others in C";
                Err(Mistake::new(again.name.clone(), TITLE, "a second handler", help))
            }
            None => Ok(first),
        }
    }

    /// True if the handler has an annotation of its own.
    pub fn has_remote(&self) -> bool {
        self.all.iter().any(|item| matches!(item, Item::Remote { .. }))
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// A handler that begins at this token, and the token after it.
fn handler(text: &str, tokens: &[Range<usize>], at: usize) -> Result<(Handler, usize), Mistake> {
    let word = |n: usize| tokens.get(n).map_or("", |token| &text[token.clone()]);
    let place = |n: usize| tokens.get(n).cloned().unwrap_or(text.len()..text.len());
    let wrong = |n: usize, why: &str| Err(Mistake::new(place(n), TITLE, why, FORM));
    if !matches!(word(at), "void" | "bool") {
        return wrong(at, "a handler returns `void` or `bool`");
    }
    if !is_name(word(at + 4)) {
        return wrong(at + 4, "the request needs a name");
    }
    let (response, close) = match word(at + 5) {
        "," if word(at + 6) == "response" && is_name(word(at + 7)) => (Some(place(at + 7)), at + 8),
        "," => return wrong(at + 6, "the second parameter is the response"),
        _ => (None, at + 5),
    };
    if word(close) != ")" || word(close + 1) != "{" {
        return wrong(close, "`) {` is missing");
    }
    let end = closing(text, tokens, close + 1)?;
    let handler = Handler {
        all: place(at).start..place(end).end,
        returns: place(at),
        name: place(at + 1),
        request: place(at + 4),
        response,
        body: place(close + 1).start..place(end).end,
    };
    Ok((handler, end + 1))
}

/// The token that closes the bracket at this one.
fn closing(text: &str, tokens: &[Range<usize>], open: usize) -> Result<usize, Mistake> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match &text[token.clone()] {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Ok(at);
                }
            }
            _ => {}
        }
    }
    Err(Mistake::new(tokens[open].clone(), TITLE, "it is never closed", "close it"))
}

/// Words, brackets and strings of a part; comments, and lines of the preprocessor, are left out.
fn tokens(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let (mut found, mut at, mut is_line_start) = (vec![], part.start, true);
    let until =
        |from: usize, end: &str| text[from..part.end].find(end).map_or(part.end, |n| from + n + end.len());
    while let Some(c) = text[at..part.end].chars().next() {
        let rest = &text[at..part.end];
        let next = match c {
            '\n' => {
                is_line_start = true;
                at += 1;
                continue;
            }
            '#' if is_line_start => {
                // A line goes on after a backslash.
                let mut end = until(at, "\n");
                while text[at..end].trim_end().ends_with('\\') && end < part.end {
                    end = until(end, "\n");
                }
                at = end;
                continue;
            }
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            _ if rest.starts_with("//") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            _ if rest.starts_with("/*") => {
                at = until(at + 2, "*/");
                continue;
            }
            '"' | '\'' => string_end(rest, c) + at,
            c if is_part(c) => at + rest.find(|c: char| !is_part(c)).unwrap_or(rest.len()),
            c => at + c.len_utf8(),
        };
        found.push(at..next);
        (at, is_line_start) = (next, false);
    }
    found
}

/// Length of a string with its quotes, or of its line if it has no end.
fn string_end(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return at,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The fields in braces, without their semicolons and comments, each with its place.
pub fn fields_of(text: &str, body: Range<usize>) -> Vec<(usize, &str)> {
    let (mut found, mut first, mut last) = (vec![], None, body.start);
    for token in tokens(text, body) {
        if &text[token.clone()] == ";" {
            if let Some(first) = first.take() {
                found.push((first, &text[first..last]));
            }
            continue;
        }
        first.get_or_insert(token.start);
        last = token.end;
    }
    // The paper leaves the last semicolon out.
    found.extend(first.map(|first| (first, &text[first..last])));
    found
}

/// C code in which a variable is now reached through a pointer of the same name: `res.a` becomes `(*res).a`.
pub fn pointed(code: &str, variable: &str) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for token in tokens(code, 0..code.len()) {
        let before = code[..token.start].trim_end();
        if &code[token.clone()] == variable && !before.ends_with('.') && !before.ends_with("->") {
            out.push_str(&code[at..token.start]);
            out.push_str("(*");
            out.push_str(variable);
            out.push(')');
            at = token.end;
        }
    }
    out.push_str(&code[at..]);
    out
}
