//! Words and signs of one line, with their places.

use base_diag::Span;

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    /// A name or number: letters, digits, `_`, `$`, `*`.
    Word(String),
    /// A name in double quotes, without them.
    Quoted(String),
    /// `|`, `:`, `,`, `.`, `[`, `]`, `(`, `)`, `/`, `=`, `==`, `!=`, `<`, `<=`, `>`, `>=`
    Sign(&'static str),
}

const SIGNS: [&str; 16] =
    ["|", "==", "!=", "<=", ">=", ":", ",", ".", "[", "]", "(", ")", "/", "=", "<", ">"];

/// The tokens of a line that starts at `start`; or the character that begins none, with its place. A comment
/// ends the line.
pub(crate) fn tokens(line: &str, start: u32) -> Result<Vec<(Token, Span)>, (char, Span)> {
    let mut found = vec![];
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next().filter(|c| *c != '#') else { return Ok(found) };
        let at = start + (line.len() - rest.len()) as u32;
        let (token, length) = match token(first, rest) {
            Some(found) => found,
            None => return Err((first, span(at, first.len_utf8()))),
        };
        found.push((token, span(at, length)));
        rest = &rest[length..];
    }
}

fn token(first: char, rest: &str) -> Option<(Token, usize)> {
    if first == '"' {
        let length = rest[1..].find('"').filter(|n| *n > 0)?;
        return Some((Token::Quoted(rest[1..1 + length].to_string()), length + 2));
    }
    if is_word(first) {
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        return Some((Token::Word(rest[..length].to_string()), length));
    }
    let sign = SIGNS.into_iter().find(|s| rest.starts_with(s))?;
    Some((Token::Sign(sign), sign.len()))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '*')
}

pub(crate) fn span(at: u32, length: usize) -> Span {
    Span { lo: at, hi: at + length as u32, ..Span::NONE }
}
