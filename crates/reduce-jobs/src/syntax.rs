//! Text to statements.
//!
//! ```text
//! statement = ("dataset" | "mapper" | "reducer") name "=" (text | word "(" argument ("," argument)* [","] ")")
//! argument  = [word "="] (text | number | word)
//! ```
//!
//! A statement ends with its line, except inside of parentheses. `#` begins a comment.

use crate::lexer::{Token, tokens};
use base_diag::codes::job as codes;
use base_diag::{Diagnostic, Span};

/// Longest text of a job, in bytes.
pub const MOST_BYTES: usize = 1 << 22;

/// Something and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct At<T> {
    /// The thing.
    pub value: T,
    /// The place.
    pub span: Span,
}

/// The kind of declaration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// Data on a host.
    Dataset,
    /// Pairs of data sets.
    Mapper,
    /// The fold of mappers' pairs.
    Reducer,
}

impl Sort {
    /// All of them.
    pub const ALL: [Sort; 3] = [Sort::Dataset, Sort::Mapper, Sort::Reducer];

    /// The word at the start of the line.
    pub fn word(self) -> &'static str {
        match self {
            Sort::Dataset => "dataset",
            Sort::Mapper => "mapper",
            Sort::Reducer => "reducer",
        }
    }
}

/// A line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// The kind of declaration.
    pub sort: Sort,
    /// The name.
    pub name: At<String>,
    /// The value after `=`.
    pub value: Value,
}

/// The value after `=`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A text.
    Text(At<String>),
    /// `function(arguments)`
    Call(At<String>, Vec<Argument>),
}

/// An argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument {
    /// The word before `=`.
    pub key: Option<At<String>>,
    /// The value.
    pub value: At<Plain>,
}

/// The value of an argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Plain {
    /// `"text"`
    Text(String),
    /// `12`
    Number(u64),
    /// `m1`
    Word(String),
}

impl Plain {
    /// As it is written.
    pub fn in_words(&self) -> String {
        match self {
            Plain::Text(text) => format!("\"{text}\""),
            Plain::Number(number) => number.to_string(),
            Plain::Word(word) => word.clone(),
        }
    }
}

/// Reads a text whose first byte has the number `first`. Lines with mistakes are left out and reported.
pub fn read(text: &str, first: u32, problems: &mut Vec<Diagnostic>) -> Vec<Statement> {
    if text.len() > MOST_BYTES {
        problems.push(
            Diagnostic::error(codes::JOB_SYNTAX, "the text of the job is too long")
                .note(format!("it has {} bytes; {MOST_BYTES} are the most", text.len())),
        );
        return vec![];
    }
    let mut reader = Reader { tokens: tokens(text, first, problems), next: 0 };
    let mut statements = vec![];
    while !reader.is_at_end() {
        if reader.take(&Token::End) {
            continue;
        }
        match reader.statement() {
            Ok(statement) => statements.push(statement),
            Err(problem) => {
                problems.push(*problem);
                // The rest of the line is passed over: the next one may be right.
                while !reader.is_at_end() && !reader.take(&Token::End) {
                    reader.next += 1;
                }
            }
        }
    }
    statements
}

struct Reader {
    tokens: Vec<(Token, Span)>,
    next: usize,
}

type Read<T> = Result<T, Box<Diagnostic>>;

impl Reader {
    fn is_at_end(&self) -> bool {
        self.next >= self.tokens.len()
    }

    fn peek(&self) -> (Token, Span) {
        let last = self.tokens.last().map_or(Span::NONE, |(_, span)| *span);
        self.tokens.get(self.next).cloned().unwrap_or((Token::End, last))
    }

    fn take(&mut self, token: &Token) -> bool {
        let is_it = self.tokens.get(self.next).is_some_and(|(next, _)| next == token);
        self.next += usize::from(is_it);
        is_it
    }

    fn wanted<T>(&self, what: &str) -> Read<T> {
        let (token, span) = self.peek();
        let title = format!("expected {what}, found {}", token.in_words());
        Err(Box::new(Diagnostic::error(codes::JOB_SYNTAX, title).at(span, "")))
    }

    fn sign(&mut self, sign: char) -> Read<()> {
        if self.take(&Token::Sign(sign)) { Ok(()) } else { self.wanted(&format!("`{sign}`")) }
    }

    fn word(&mut self, what: &str) -> Read<At<String>> {
        match self.peek() {
            (Token::Word(value), span) => {
                self.next += 1;
                Ok(At { value, span })
            }
            _ => self.wanted(what),
        }
    }

    fn statement(&mut self) -> Read<Statement> {
        let first = self.word("`dataset`, `mapper` or `reducer`")?;
        let Some(sort) = Sort::ALL.into_iter().find(|sort| sort.word() == first.value) else {
            let title = format!("no statement begins with `{}`", first.value);
            let problem = Diagnostic::error(codes::JOB_SYNTAX, title).at(first.span, "");
            let known = Sort::ALL.map(Sort::word);
            return Err(Box::new(problem.suggest_or(&first.value, known, |problem| {
                problem.help("a line declares a `dataset`, a `mapper` or a `reducer`")
            })));
        };
        let name = self.word("a name")?;
        self.sign('=')?;
        let value = match self.peek() {
            (Token::Text(value), span) => {
                self.next += 1;
                Value::Text(At { value, span })
            }
            _ => {
                let function = self.word("a text or a function")?;
                Value::Call(function, self.arguments()?)
            }
        };
        if !self.take(&Token::End) {
            return self.wanted("the end of the line");
        }
        Ok(Statement { sort, name, value })
    }

    fn arguments(&mut self) -> Read<Vec<Argument>> {
        self.sign('(')?;
        let mut arguments = vec![];
        while !self.take(&Token::Sign(')')) {
            arguments.push(self.argument()?);
            if !self.take(&Token::Sign(',')) {
                self.sign(')')?;
                break;
            }
        }
        Ok(arguments)
    }

    fn argument(&mut self) -> Read<Argument> {
        let value = self.plain()?;
        if !self.take(&Token::Sign('=')) {
            return Ok(Argument { key: None, value });
        }
        let At { value: Plain::Word(key), span } = value else {
            let title = "an argument's name is a word";
            return Err(Box::new(Diagnostic::error(codes::JOB_SYNTAX, title).at(value.span, "")));
        };
        Ok(Argument { key: Some(At { value: key, span }), value: self.plain()? })
    }

    fn plain(&mut self) -> Read<At<Plain>> {
        let (token, span) = self.peek();
        let value = match token {
            Token::Word(word) => Plain::Word(word),
            Token::Number(number) => Plain::Number(number),
            Token::Text(text) => Plain::Text(text),
            Token::Sign(_) | Token::End => return self.wanted("a name or a value"),
        };
        self.next += 1;
        Ok(At { value, span })
    }
}
