//! Text to tokens.

use super::TextError;
use std::ops::Range;

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// A name or a number, as written.
    Word(&'a str),
    /// A string literal's bytes.
    Str(Vec<u8>),
    /// One of `{}[]<>:,;-./`.
    Sign(char),
}

/// Gives the tokens with their places.
pub(super) struct Lexer<'a> {
    input: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// A byte-order mark at the start is skipped.
    pub(super) fn new(input: &'a str) -> Lexer<'a> {
        let at = if input.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Lexer { input, at }
    }

    fn rest(&self) -> &'a str {
        self.input.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_while(&mut self, test: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !test(c)).unwrap_or(rest.len());
    }

    /// The next token; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(Token<'a>, Range<usize>)>, TextError> {
        loop {
            self.skip_while(|c| c.is_ascii_whitespace() || c == '\x0b');
            if self.peek() != Some('#') {
                break;
            }
            self.skip_while(|c| c != '\n');
        }
        let start = self.at;
        let Some(first) = self.peek() else { return Ok(None) };
        let token = match first {
            '"' | '\'' => {
                self.at += 1;
                Token::Str(self.string(first, start)?)
            }
            c if c.is_ascii_alphanumeric() || c == '_' => {
                self.skip_while(|c| c.is_ascii_alphanumeric() || c == '_');
                Token::Word(self.input.get(start..self.at).unwrap_or(""))
            }
            '{' | '}' | '[' | ']' | '<' | '>' | ':' | ',' | ';' | '-' | '.' | '/' => {
                self.at += 1;
                Token::Sign(first)
            }
            other => {
                let at = start..start + other.len_utf8();
                return Err(TextError::new(format!("unexpected character {other:?}"), &at));
            }
        };
        Ok(Some((token, start..self.at)))
    }

    fn string(&mut self, quote: char, start: usize) -> Result<Vec<u8>, TextError> {
        let mut out = vec![];
        loop {
            let at = self.at;
            let Some(c) = self.peek().filter(|c| *c != '\n') else {
                return Err(TextError::new("the string does not end", &(start..at)));
            };
            self.at += c.len_utf8();
            match c {
                _ if c == quote => return Ok(out),
                '\\' => self.escape(at, &mut out)?,
                _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    fn escape(&mut self, start: usize, out: &mut Vec<u8>) -> Result<(), TextError> {
        let wrong = |end| TextError::new("unknown escape sequence", &(start..end));
        let Some(c) = self.peek() else { return Err(wrong(self.at)) };
        self.at += c.len_utf8();
        match c {
            'a' => out.push(7),
            'b' => out.push(8),
            't' => out.push(9),
            'n' => out.push(10),
            'v' => out.push(11),
            'f' => out.push(12),
            'r' => out.push(13),
            '?' | '\\' | '\'' | '"' => out.push(c as u8),
            '0'..='7' => {
                self.at -= 1;
                let value = self.digits(8, 1, 3).ok_or_else(|| wrong(self.at))?;
                out.push(u8::try_from(value).map_err(|_| wrong(self.at))?);
            }
            'x' | 'X' => {
                let value = self.digits(16, 1, 2).ok_or_else(|| wrong(self.at))?;
                out.push(u8::try_from(value).map_err(|_| wrong(self.at))?);
            }
            'u' | 'U' => {
                let length = if c == 'u' { 4 } else { 8 };
                let value = self.digits(16, length, length).and_then(char::from_u32);
                let value = value.ok_or_else(|| wrong(self.at))?;
                out.extend_from_slice(value.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return Err(wrong(self.at)),
        }
        Ok(())
    }

    /// A number of `least` to `most` digits.
    fn digits(&mut self, radix: u32, least: usize, most: usize) -> Option<u32> {
        let rest = self.rest();
        let count = rest.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let digits = rest.get(..count).filter(|d| d.len() >= least)?;
        self.at += count;
        u32::from_str_radix(digits, radix).ok()
    }
}
