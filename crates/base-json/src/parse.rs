//! Text to a tree.

use crate::{Json, Kind, Member};
use base_diag::Span;

/// Arrays and objects inside each other.
const DEEPEST: usize = 128;

/// The text is not JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// A sentence without its period.
    pub message: String,
    /// Place of the error.
    pub span: Span,
}

/// Reads a text. `start` is the number of the text's first byte in its source map; a byte-order mark is skipped.
pub fn parse(text: &str, start: u32) -> Result<Json, ParseError> {
    let (text, start) = base_diag::without_mark(text, start);
    let mut parser = Parser { text, start, at: 0 };
    let json = parser.value(DEEPEST)?;
    parser.space();
    match parser.peek() {
        None => Ok(json),
        Some(_) => Err(parser.error("expected the end of the file")),
    }
}

struct Parser<'t> {
    text: &'t str,
    start: u32,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|c| matches!(c, ' ' | '\t' | '\r' | '\n')) {
            self.at += 1;
        }
    }

    fn span(&self, from: usize, to: usize) -> Span {
        let number = |at: usize| self.start.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
        Span { lo: number(from), hi: number(to), ..Span::NONE }
    }

    /// At what comes next.
    fn error(&self, message: impl Into<String>) -> ParseError {
        let length = self.peek().map_or(0, char::len_utf8);
        ParseError { message: message.into(), span: self.span(self.at, self.at + length) }
    }

    fn eat(&mut self, sign: char) -> bool {
        self.space();
        let found = self.peek() == Some(sign);
        if found {
            self.at += 1;
        }
        found
    }

    fn value(&mut self, left: usize) -> Result<Json, ParseError> {
        self.space();
        let from = self.at;
        if left == 0 {
            return Err(self.error(format!("nested deeper than {DEEPEST}")));
        }
        let kind = match self.peek() {
            Some('{') => Kind::Object(self.object(left)?),
            Some('[') => Kind::Array(self.array(left)?),
            Some('"') => Kind::String(self.string()?),
            Some(c) if c == '-' || c.is_ascii_digit() => Kind::Number(self.number()?),
            Some(c) if c.is_ascii_alphabetic() => self.word()?,
            Some('\'') => return Err(self.error("strings must be in double quotes")),
            Some(_) => return Err(self.error("expected a value")),
            None => return Err(self.error("the file ends before the value")),
        };
        Ok(Json { kind, span: self.span(from, self.at) })
    }

    fn object(&mut self, left: usize) -> Result<Vec<Member>, ParseError> {
        self.at += 1;
        let mut members = vec![];
        if self.eat('}') {
            return Ok(members);
        }
        loop {
            self.space();
            let from = self.at;
            if self.peek() != Some('"') {
                return Err(self.error("expected a key in double quotes"));
            }
            let name = self.string()?;
            let name_span = self.span(from, self.at);
            if !self.eat(':') {
                return Err(self.error("expected `:` after the key"));
            }
            members.push(Member { name, name_span, value: self.value(left - 1)? });
            if self.eat('}') {
                return Ok(members);
            }
            if !self.eat(',') {
                return Err(self.error("expected `,` or `}`"));
            }
        }
    }

    fn array(&mut self, left: usize) -> Result<Vec<Json>, ParseError> {
        self.at += 1;
        let mut values = vec![];
        if self.eat(']') {
            return Ok(values);
        }
        loop {
            values.push(self.value(left - 1)?);
            if self.eat(']') {
                return Ok(values);
            }
            if !self.eat(',') {
                return Err(self.error("expected `,` or `]`"));
            }
        }
    }

    fn word(&mut self) -> Result<Kind, ParseError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let words = [("true", Kind::Bool(true)), ("false", Kind::Bool(false)), ("null", Kind::Null)];
        for (word, kind) in words {
            let after = rest.strip_prefix(word);
            if after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')) {
                self.at += word.len();
                return Ok(kind);
            }
        }
        Err(self.error("expected a value: strings must be in double quotes"))
    }

    fn number(&mut self) -> Result<String, ParseError> {
        let from = self.at;
        if self.peek() == Some('-') {
            self.at += 1;
        }
        let leads_with_zero = self.peek() == Some('0');
        let whole = self.digits()?;
        if leads_with_zero && whole > 1 {
            self.at = from;
            return Err(self.error("a number does not begin with 0"));
        }
        if self.peek() == Some('.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            self.at += 1;
            if matches!(self.peek(), Some('+' | '-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.text.get(from..self.at).unwrap_or_default().to_string())
    }

    /// At least one digit; how many.
    fn digits(&mut self) -> Result<usize, ParseError> {
        let from = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        match self.at - from {
            0 => Err(self.error("expected a digit")),
            count => Ok(count),
        }
    }

    fn string(&mut self) -> Result<String, ParseError> {
        let from = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some('\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(c) if c >= ' ' => {
                    self.at += c.len_utf8();
                    out.push(c);
                }
                _ => {
                    self.at = from;
                    return Err(self.error("the string does not end"));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, ParseError> {
        let c = match self.peek() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                self.at += 1;
                return self.code_point();
            }
            _ => return Err(self.error("unknown escape sequence")),
        };
        self.at += 1;
        Ok(c)
    }

    /// Four digits; twice for a pair of surrogates.
    fn code_point(&mut self) -> Result<char, ParseError> {
        let first = self.unit()?;
        let both = match first {
            0xd800..0xdc00 if self.text.get(self.at..).is_some_and(|rest| rest.starts_with("\\u")) => {
                self.at += 2;
                let second = self.unit()?;
                char::decode_utf16([first, second]).next()
            }
            _ => char::decode_utf16([first]).next(),
        };
        both.and_then(Result::ok).ok_or_else(|| self.error("half of a surrogate pair"))
    }

    fn unit(&mut self) -> Result<u16, ParseError> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.error("expected four hexadecimal digits"))?;
        self.at += 4;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        fn show(json: &Json) -> String {
            match &json.kind {
                Kind::Null => "null".to_string(),
                Kind::Bool(value) => value.to_string(),
                Kind::Number(number) => number.clone(),
                Kind::String(text) => format!("{text:?}"),
                Kind::Array(all) => format!("[{}]", all.iter().map(show).collect::<Vec<_>>().join(",")),
                Kind::Object(all) => {
                    let member = |m: &Member| format!("{}:{}", m.name, show(&m.value));
                    format!("{{{}}}", all.iter().map(member).collect::<Vec<_>>().join(","))
                }
            }
        }
        match parse(text, 1) {
            Ok(json) => show(&json),
            Err(error) => format!("{} at {:?}", error.message, error.span),
        }
    }

    #[test]
    fn values_are_read() {
        for (text, means) in [
            ("\u{feff} null ", "null"),
            ("[true, false]", "[true,false]"),
            ("-0.5e+3", "-0.5e+3"),
            (r#"{"a": {}, "b": [], "a": [1, "x"]}"#, r#"{a:{},b:[],a:[1,"x"]}"#),
            (r#""\"\\\/\b\f\n\r\t\u0041\ud83d\ude00ä""#, r#""\"\\/\u{8}\u{c}\n\r\tA😀ä""#),
        ] {
            assert_eq!(check(text), means, "{text}");
        }
    }

    #[test]
    fn mistakes_have_places() {
        for (text, means) in [
            ("", "the file ends before the value at 1..1"),
            ("{\"a\": 1,}", "expected a key in double quotes at 9..10"),
            ("{\"a\" 1}", "expected `:` after the key at 6..7"),
            ("[1 2]", "expected `,` or `]` at 4..5"),
            ("'x'", "strings must be in double quotes at 1..2"),
            ("nul", "expected a value: strings must be in double quotes at 1..2"),
            ("trueish", "expected a value: strings must be in double quotes at 1..2"),
            ("01", "a number does not begin with 0 at 1..2"),
            ("1.", "expected a digit at 3..3"),
            ("\"a\n\"", "the string does not end at 1..2"),
            ("\"\\x\"", "unknown escape sequence at 3..4"),
            ("\"\\ud800\"", "half of a surrogate pair at 8..9"),
            ("\"\\uäb\"", "expected four hexadecimal digits at 4..6"),
            ("1 1", "expected the end of the file at 3..4"),
        ] {
            assert_eq!(check(text), means, "{text}");
        }
        assert!(check(&"[".repeat(1000)).starts_with("nested deeper than 128"));
    }
}
