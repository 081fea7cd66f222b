//! Tokens to fields. No type is known here yet.

use super::TextError;
use super::lex::{Lexer, Token};
use crate::MAX_DEPTH;
use std::ops::Range;

/// `name: value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Field {
    pub(super) name: FieldName,
    pub(super) name_at: Range<usize>,
    pub(super) value: Value,
}

/// How a field is named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FieldName {
    /// `table_entry`
    Plain(String),
    /// `[type.googleapis.com/p4.v1.Error]`: the URL of a message in an `Any`.
    Any(String),
}

/// A value and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Value {
    pub(super) kind: ValueKind,
    pub(super) at: Range<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ValueKind {
    /// Strings that stand next to one another are one.
    Str(Vec<u8>),
    /// A name or number, with its sign.
    Word { negative: bool, text: String },
    /// `{ ... }`, `< ... >`
    Message(Vec<Field>),
    /// `[a, b]`
    List(Vec<Value>),
}

/// The fields of a whole text.
pub(super) fn parse(input: &str) -> Result<Vec<Field>, TextError> {
    let mut parser = Parser { lexer: Lexer::new(input), next: None, end: input.len() };
    parser.bump()?;
    let fields = parser.fields(MAX_DEPTH)?;
    match parser.next {
        None => Ok(fields),
        Some((_, at)) => Err(TextError::new("expected the name of a field", &at)),
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: Option<(Token<'a>, Range<usize>)>,
    end: usize,
}

impl<'a> Parser<'a> {
    fn bump(&mut self) -> Result<Option<(Token<'a>, Range<usize>)>, TextError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn at(&self) -> Range<usize> {
        self.next.as_ref().map_or(self.end..self.end, |(_, at)| at.clone())
    }

    fn is(&self, sign: char) -> bool {
        matches!(&self.next, Some((Token::Sign(s), _)) if *s == sign)
    }

    fn eat(&mut self, sign: char) -> Result<bool, TextError> {
        let found = self.is(sign);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: char) -> Result<Range<usize>, TextError> {
        let at = self.at();
        match self.eat(sign)? {
            true => Ok(at),
            false => Err(TextError::new(format!("expected `{sign}`"), &at)),
        }
    }

    /// Fields up to what begins none.
    fn fields(&mut self, left: usize) -> Result<Vec<Field>, TextError> {
        if left == 0 {
            return Err(TextError::new(format!("nested deeper than {MAX_DEPTH}"), &self.at()));
        }
        let mut fields = vec![];
        while matches!(self.next, Some((Token::Word(_) | Token::Sign('['), _))) {
            let (name, name_at) = self.name()?;
            let value = if self.eat(':')? || self.is('{') || self.is('<') {
                self.value(left)?
            } else {
                return Err(TextError::new("expected `:` or `{`", &self.at()));
            };
            if !self.eat(',')? {
                self.eat(';')?;
            }
            fields.push(Field { name, name_at, value });
        }
        Ok(fields)
    }

    fn name(&mut self) -> Result<(FieldName, Range<usize>), TextError> {
        let at = self.at();
        if !self.eat('[')? {
            return match self.bump()? {
                Some((Token::Word(word), at)) => Ok((FieldName::Plain(word.to_string()), at)),
                _ => Err(TextError::new("expected the name of a field", &at)),
            };
        }
        let mut url = String::new();
        loop {
            match self.bump()? {
                Some((Token::Word(word), _)) => url.push_str(word),
                Some((Token::Sign(']'), end)) => return Ok((FieldName::Any(url), at.start..end.end)),
                Some((Token::Sign(sign @ ('.' | '/' | '-')), _)) => url.push(sign),
                Some((_, at)) => return Err(TextError::new("expected `]`", &at)),
                None => return Err(TextError::new("expected `]`", &(self.end..self.end))),
            }
        }
    }

    fn value(&mut self, left: usize) -> Result<Value, TextError> {
        if !self.is('[') {
            return self.single(left);
        }
        let start = self.expect('[')?.start;
        let mut list = vec![];
        while !self.is(']') {
            list.push(self.single(left)?);
            if !self.eat(',')? {
                break;
            }
        }
        let end = self.expect(']')?.end;
        Ok(Value { kind: ValueKind::List(list), at: start..end })
    }

    fn single(&mut self, left: usize) -> Result<Value, TextError> {
        let place = self.at();
        match self.bump()? {
            Some((Token::Sign(open @ ('{' | '<')), at)) => {
                let fields = self.fields(left - 1)?;
                let end = self.expect(if open == '{' { '}' } else { '>' })?.end;
                Ok(Value { kind: ValueKind::Message(fields), at: at.start..end })
            }
            Some((Token::Str(mut bytes), mut at)) => {
                while matches!(self.next, Some((Token::Str(_), _))) {
                    if let Some((Token::Str(more), more_at)) = self.bump()? {
                        bytes.extend(more);
                        at.end = more_at.end;
                    }
                }
                Ok(Value { kind: ValueKind::Str(bytes), at })
            }
            Some((Token::Word(word), at)) => self.word(false, word, at),
            Some((Token::Sign('-'), at)) => match self.bump()? {
                Some((Token::Word(word), end)) => self.word(true, word, at.start..end.end),
                _ => Err(TextError::new("expected a number", &place)),
            },
            _ => Err(TextError::new("expected a value", &place)),
        }
    }

    fn word(&mut self, negative: bool, word: &str, at: Range<usize>) -> Result<Value, TextError> {
        if self.is('.') {
            return Err(TextError::new("no field of these messages is a floating-point number", &at));
        }
        Ok(Value { kind: ValueKind::Word { negative, text: word.to_string() }, at })
    }
}
