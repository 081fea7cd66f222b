//! Tokens.

use super::TextError;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// A name or keyword.
    Word(String),
    /// A name in backquotes: never a keyword.
    Quoted(String),
    /// `$cast`: the word after the `$`.
    Builtin(String),
    /// As written: `8w0x1f`, `8s-3`, `12`.
    Number(String),
    /// A string literal's content.
    Str(String),
    /// Anything else.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// A token and the byte at which it starts.
pub(super) struct Lexed {
    pub token: Token,
    pub at: usize,
}

/// Longer ones first.
const SIGNS: [&str; 54] = [
    "|+|=", "|-|=", "<<=", "&&&", "|+|", "|-|", "{#}", "::", "->", "==", "!=", "<=", ">=", "&&", "||", "++",
    "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "+:", "..", "<<", "{", "}", "(", ")", "[", "]", "<", ">",
    ",", ";", ":", "=", ".", "?", "#", "@", "'", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!",
];

pub(super) fn lex(text: &str) -> Result<Vec<Lexed>, TextError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = vec![];
    loop {
        lexer.skip_blanks();
        let at = lexer.at;
        let token = lexer.token()?;
        let end = token == Token::End;
        tokens.push(Lexed { token, at });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn token(&mut self) -> Result<Token, TextError> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(Token::End);
        };
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(Token::Word(self.word().to_string()));
        }
        if first.is_ascii_digit() {
            return Ok(Token::Number(self.number().to_string()));
        }
        match first {
            '`' => self.quoted('`').map(Token::Quoted),
            '"' => self.quoted('"').map(Token::Str),
            '$' => {
                self.at += 1;
                Ok(Token::Builtin(self.word().to_string()))
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                let sign = sign.ok_or_else(|| {
                    TextError::new(self.text, self.at, format!("unexpected `{}`", first.escape_debug()))
                })?;
                self.at += sign.len();
                Ok(Token::Sign(sign))
            }
        }
    }

    fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn number(&mut self) -> &'t str {
        let rest = self.rest();
        let start = self.at;
        let head = self.word();
        if head.ends_with('s') && rest[head.len()..].starts_with('-') {
            self.at += 1;
            self.word();
        }
        &self.text[start..self.at]
    }

    fn quoted(&mut self, quote: char) -> Result<String, TextError> {
        let start = self.at;
        let error = |message: &str| TextError::new(self.text, start, message.to_string());
        let mut content = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((offset, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.at += offset + 1;
                    return Ok(content);
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => content.push('\n'),
                    Some('u') => {
                        let code: String =
                            chars.by_ref().map(|(_, c)| c).skip(1).take_while(|c| *c != '}').collect();
                        let code = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                        content.push(code.ok_or_else(|| error("a `\\u{...}` in it is no character"))?);
                    }
                    Some(c) => content.push(c),
                    None => return Err(error("it has no end")),
                },
                c => content.push(c),
            }
        }
        Err(error("it has no end"))
    }
}
