//! Classes as text.
//!
//! ```text
//! class      = conjunction ("||" conjunction)*
//! conjunction= term ("&&" term)*
//! term       = "!" term | "(" class ")" | "any" | header | field comparison
//! comparison = ("==" | "!=" | "<" | "<=" | ">" | ">=") value | ["not"] "in" set
//! set        = item | "{" item ("," item)* "}"
//! item       = value | value ".." value | value "/" length
//! ```
//!
//! `and`, `or` and `not` may be written for `&&`, `||` and `!`.

use crate::address;
use crate::{Field, Header, Predicate};
use std::fmt;
use std::ops::Range;

/// Reason why a text is not a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassError {
    /// Bytes of the text that are wrong.
    pub at: Range<usize>,
    /// In a few words.
    pub title: String,
    /// The text that is allowed there.
    pub help: String,
}

impl fmt::Display for ClassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.title, self.help)
    }
}

/// Deepest nesting of parentheses and `!`.
const DEPTH: u32 = 64;
/// Longest text.
const LENGTH: usize = 4096;

pub(crate) fn predicate(text: &str) -> Result<Predicate, ClassError> {
    if text.len() > LENGTH {
        return Err(error(0..LENGTH, "the class is too long", format!("at most {LENGTH} bytes")));
    }
    let mut reader = Reader { text, words: words(text), next: 0 };
    let predicate = reader.any_of(0)?;
    match reader.peek() {
        None => Ok(predicate),
        Some(word) => Err(error(
            word.clone(),
            format!("`{}` continues nothing", &text[word]),
            "`&&` and `||` join conditions",
        )),
    }
}

struct Reader<'t> {
    text: &'t str,
    words: Vec<Range<usize>>,
    next: usize,
}

/// Operators, brackets, and words between them.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = vec![];
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if let Some(op) =
            ["&&", "||", "==", "!=", "<=", ">=", ".."].into_iter().find(|op| rest.starts_with(op))
        {
            op.len()
        } else if is_word(c) {
            // A word ends before `..`, the dots inside of it are those of names and addresses.
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            rest[..end].find("..").unwrap_or(end)
        } else {
            c.len_utf8()
        };
        found.push(at..at + length);
        at += length;
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | ':')
}

fn error(at: Range<usize>, title: impl Into<String>, help: impl Into<String>) -> ClassError {
    ClassError { at, title: title.into(), help: help.into() }
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<Range<usize>> {
        self.words.get(self.next).cloned()
    }

    fn word(&self) -> &'t str {
        let text = self.text;
        self.peek().map_or("", |word| &text[word])
    }

    fn at(&self, place: &Range<usize>) -> &'t str {
        let text = self.text;
        &text[place.clone()]
    }

    fn take(&mut self, words: &[&str]) -> bool {
        let is_there = words.contains(&self.word());
        self.next += usize::from(is_there);
        is_there
    }

    /// The next word, or the place after the last one.
    fn next(&mut self, wanted: &str) -> Result<Range<usize>, ClassError> {
        let end = self.text.trim_end().len();
        let word = self.peek().ok_or_else(|| error(end..end, "the class ends too early", wanted))?;
        self.next += 1;
        Ok(word)
    }

    fn any_of(&mut self, depth: u32) -> Result<Predicate, ClassError> {
        let mut left = self.all_of(depth)?;
        while self.take(&["||", "or"]) {
            left = Predicate::Or(Box::new(left), Box::new(self.all_of(depth)?));
        }
        Ok(left)
    }

    fn all_of(&mut self, depth: u32) -> Result<Predicate, ClassError> {
        let mut left = self.term(depth)?;
        while self.take(&["&&", "and"]) {
            left = Predicate::And(Box::new(left), Box::new(self.term(depth)?));
        }
        Ok(left)
    }

    fn term(&mut self, depth: u32) -> Result<Predicate, ClassError> {
        let at = self.next("a field, a header or `any`")?;
        let word = self.at(&at);
        if depth > DEPTH {
            return Err(error(at, "the class is nested too deeply", format!("at most {DEPTH} levels")));
        }
        if let Some(field) = Field::ALL.into_iter().find(|field| field.name() == word) {
            return self.comparison(field);
        }
        if let Some(header) = Header::ALL.into_iter().find(|header| header.name() == word) {
            return Ok(Predicate::Has(header));
        }
        match word {
            "any" => Ok(Predicate::Any),
            "!" | "not" => Ok(Predicate::Not(Box::new(self.term(depth + 1)?))),
            "(" => {
                let inner = self.any_of(depth + 1)?;
                let close = self.next("`)`")?;
                match self.at(&close) {
                    ")" => Ok(inner),
                    other => {
                        Err(error(close, format!("`{other}` where `)` is missing"), "close the parenthesis"))
                    }
                }
            }
            _ => Err(error(at, format!("`{word}` is no field and no header"), names())),
        }
    }

    fn comparison(&mut self, field: Field) -> Result<Predicate, ClassError> {
        let comparisons = "`==`, `!=`, `<`, `<=`, `>`, `>=`, `in` or `not in` follows a field";
        let at = self.next(comparisons)?;
        let operator = self.at(&at);
        let max = field.max();
        let negated = operator == "not" && self.take(&["in"]);
        if negated || operator == "in" {
            let ranges = self.set(field)?;
            return Ok(if negated { Predicate::NotIn(field, ranges) } else { Predicate::In(field, ranges) });
        }
        if !["==", "!=", "<", "<=", ">", ">="].contains(&operator) {
            return Err(error(at, format!("`{operator}` does not compare"), comparisons));
        }
        let (value, _) = self.value(field)?;
        let ranges = match operator {
            "<" => value.checked_sub(1).map(|hi| (0, hi)),
            "<=" => Some((0, value)),
            ">" => (value < max).then(|| (value + 1, max)),
            ">=" => Some((value, max)),
            _ => Some((value, value)),
        };
        let ranges: Vec<(u128, u128)> = ranges.into_iter().collect();
        Ok(if operator == "!=" { Predicate::NotIn(field, ranges) } else { Predicate::In(field, ranges) })
    }

    fn set(&mut self, field: Field) -> Result<Vec<(u128, u128)>, ClassError> {
        if !self.take(&["{"]) {
            return Ok(vec![self.item(field)?]);
        }
        let mut items = vec![self.item(field)?];
        loop {
            let at = self.next("`}`")?;
            match self.at(&at) {
                "}" => return Ok(items),
                "," => items.push(self.item(field)?),
                other => return Err(error(at, format!("`{other}` in a set"), "`,` or `}` follows")),
            }
        }
    }

    /// A value, a range, or a prefix.
    fn item(&mut self, field: Field) -> Result<(u128, u128), ClassError> {
        let (lo, at) = self.value(field)?;
        if self.take(&[".."]) {
            let (hi, end) = self.value(field)?;
            if hi < lo {
                return Err(error(at.start..end.end, "the range is empty", "write the smaller value first"));
            }
            return Ok((lo, hi));
        }
        if !self.take(&["/"]) {
            return Ok((lo, lo));
        }
        let end = self.next("the length of the prefix")?;
        let width = field.width();
        let length = address::number(self.at(&end)).and_then(|n| u32::try_from(n).ok());
        let Some(length) = length.filter(|length| *length <= width) else {
            return Err(error(end, "not the length of a prefix", format!("0 to {width}")));
        };
        let host = if length == width { 0 } else { field.max() >> length };
        if lo & host != 0 {
            let help = format!("`{}/{length}`", address::shown(field, lo & !host));
            return Err(error(at.start..end.end, "the address has bits after its prefix", help));
        }
        Ok((lo, lo | host))
    }

    fn value(&mut self, field: Field) -> Result<(u128, Range<usize>), ClassError> {
        let wanted = address::example(field);
        let at = self.next(wanted)?;
        let word = self.at(&at);
        match address::read(field, word) {
            Some(value) => Ok((value, at)),
            None => {
                let title = format!("`{word}` is no value of `{}`", field.name());
                Err(error(at, title, format!("{wanted}, of {} bits", field.width())))
            }
        }
    }
}

fn names() -> String {
    let fields = Field::ALL.into_iter().map(Field::name);
    let headers = Header::ALL.into_iter().map(Header::name);
    format!("there are {}, and `any`", fields.chain(headers).collect::<Vec<_>>().join(", "))
}
