//! Text to tokens.

use base_diag::codes::job as codes;
use base_diag::{Diagnostic, Span};

/// A piece of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    Word(String),
    Number(u64),
    Text(String),
    /// `=`, `(`, `)`, `,`
    Sign(char),
    /// The end of a line outside of parentheses.
    End,
}

impl Token {
    pub fn in_words(&self) -> String {
        match self {
            Token::Word(word) => format!("`{word}`"),
            Token::Number(number) => format!("`{number}`"),
            Token::Text(text) => format!("`\"{text}\"`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the line".into(),
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// The tokens of a text whose first byte has the number `first`. Mistakes are left out and reported.
pub(crate) fn tokens(text: &str, first: u32, problems: &mut Vec<Diagnostic>) -> Vec<(Token, Span)> {
    let span = |from: usize, to: usize| Span {
        lo: first.saturating_add(from as u32),
        hi: first.saturating_add(to as u32),
        ..Span::NONE
    };
    let mut found = vec![];
    let mut depth = 0u32;
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = &text[at..];
        let start = at;
        at += match c {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '\n' => {
                if depth == 0 {
                    found.push((Token::End, span(at, at)));
                }
                1
            }
            '"' => match rest[1..].find(['"', '\n']).filter(|end| rest[1..][*end..].starts_with('"')) {
                Some(end) => {
                    found.push((Token::Text(rest[1..=end].into()), span(at, at + end + 2)));
                    end + 2
                }
                None => {
                    let length = rest.find('\n').unwrap_or(rest.len());
                    let title = "a text has no end";
                    let problem = Diagnostic::error(codes::JOB_SYNTAX, title);
                    problems.push(problem.at(span(at, at + length), "").help("close it by `\"`"));
                    found.push((Token::Text(rest[1..length].into()), span(at, at + length)));
                    length
                }
            },
            '=' | ',' => 1,
            '(' => {
                depth = depth.saturating_add(1);
                1
            }
            ')' => {
                depth = depth.saturating_sub(1);
                1
            }
            c if c.is_whitespace() => c.len_utf8(),
            c if is_word(c) => {
                let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
                let token = match word.parse() {
                    Ok(number) => Token::Number(number),
                    Err(_) => Token::Word(word.into()),
                };
                found.push((token, span(at, at + word.len())));
                word.len()
            }
            c => {
                let title = format!("`{}` has no meaning here", c.escape_debug());
                let problem = Diagnostic::error(codes::JOB_SYNTAX, title);
                problems.push(problem.at(span(at, at + c.len_utf8()), ""));
                c.len_utf8()
            }
        };
        if "=(),".contains(c) {
            found.push((Token::Sign(c), span(start, at)));
        }
    }
    found.push((Token::End, span(at, at)));
    found
}
