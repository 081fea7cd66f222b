//! Reading: recursive descent with one file for each kind of thing.
//!
//! Names may be used before they are declared, so a first look collects the declarations of each kind (see
//! [`outline`]), and bodies are read when all of them are known.

mod block;
mod decl;
mod expr;
mod lex;
mod outline;
mod stmt;
mod table;

use super::names::{self, Names};
use crate::{Arch, Name, Package, Program, Var};
use lex::{Lexed, Token};
use std::fmt;

/// Maximum nesting depth of blocks and expressions.
pub(super) const MAX_DEPTH: u32 = 160;

/// Reason why a text is no program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Description of the error.
    pub message: String,
}

impl TextError {
    fn new(text: &str, at: usize, message: String) -> TextError {
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        TextError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message,
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for TextError {}

/// The program that `text` describes, with no spans. The text may be anything; the program is not verified.
pub fn read(text: &str) -> Result<Program, TextError> {
    let mut reader = Reader {
        text,
        tokens: lex::lex(text)?,
        at: 0,
        depth: 0,
        program: empty_program(),
        types: Names::default(),
        errors: Names::default(),
        externs: Names::default(),
        extern_functions: Names::default(),
        instances: Names::default(),
        functions: Names::default(),
        parsers: Names::default(),
        controls: Names::default(),
        scope: Scope::default(),
    };
    reader.read_program()?;
    Ok(reader.program)
}

fn empty_program() -> Program {
    Program {
        arch: Arch::V1Model(0),
        types: vec![],
        errors: vec![],
        externs: vec![],
        extern_functions: vec![],
        instances: vec![],
        functions: vec![],
        parsers: vec![],
        controls: vec![],
        stages: vec![],
        main: Package { name: Name::default(), args: vec![] },
        annotations: vec![],
    }
}

type Result<T, E = TextError> = std::result::Result<T, E>;

struct Reader<'t> {
    text: &'t str,
    tokens: Vec<Lexed>,
    at: usize,
    depth: u32,
    program: Program,
    types: Names,
    errors: Names,
    externs: Names,
    extern_functions: Names,
    instances: Names,
    functions: Names,
    parsers: Names,
    controls: Names,
    scope: Scope,
}

/// Declarations of the block that is being read.
#[derive(Default)]
struct Scope {
    vars: Vec<Var>,
    var_names: Names,
    actions: Names,
    tables: Names,
    /// The names of each table's action list.
    action_lists: Vec<Names>,
    states: Names,
    value_sets: Names,
}

/// A written reference: a name, or none for `?`, and an index if one stands after.
struct Reference {
    name: Option<String>,
    index: Option<usize>,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> &Token {
        // `End` stands last and is never passed.
        self.tokens.get(self.at + count).map_or(&Token::End, |lexed| &lexed.token)
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn here(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |lexed| lexed.at)
    }

    /// True if there is a blank before this token.
    fn stands_apart(&self) -> bool {
        self.text.get(..self.here()).is_some_and(|before| before.ends_with(char::is_whitespace))
    }

    fn error_at<T>(&self, at: usize, message: impl Into<String>) -> Result<T> {
        Err(TextError::new(self.text, at, message.into()))
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        self.error_at(self.here(), message)
    }

    /// "expected `what`", and the text found instead.
    fn expected<T>(&self, what: &str) -> Result<T> {
        let found = match self.peek() {
            Token::Word(word) => format!("`{word}`"),
            Token::Quoted(name) => format!("the name {}", names::backquoted(name)),
            Token::Builtin(word) => format!("`${word}`"),
            Token::Number(number) => format!("`{number}`"),
            Token::Str(_) => "a string".to_string(),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the text".to_string(),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    fn sees(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(s) if *s == sign)
    }

    fn sees_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if w == word)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.sees(sign);
        if found {
            self.advance();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.sees_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.eat(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    /// A name where no keyword may stand.
    fn name(&mut self) -> Result<Name> {
        match self.peek() {
            Token::Word(name) | Token::Quoted(name) => {
                let name = Name::from(name.as_str());
                self.advance();
                Ok(name)
            }
            _ => self.expected("a name"),
        }
    }

    fn string(&mut self) -> Result<String> {
        match self.peek() {
            Token::Str(text) => {
                let text = text.clone();
                self.advance();
                Ok(text)
            }
            _ => self.expected("a string"),
        }
    }

    /// A plain number.
    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let number = match self.peek() {
            Token::Number(text) => text.parse().ok(),
            _ => None,
        };
        match number {
            Some(number) => {
                self.advance();
                Ok(number)
            }
            None => self.expected("a plain number"),
        }
    }

    /// `name`, `name#7` or `?#7`.
    fn reference(&mut self) -> Result<Reference> {
        let at = self.here();
        let name = if self.eat("?") { None } else { Some(self.name()?.to_string()) };
        let index = if self.eat("#") { Some(self.number()?) } else { None };
        if name.is_none() && index.is_none() {
            return self.expected("`#` and an index");
        }
        Ok(Reference { name, index, at })
    }

    /// The index of a reference's target.
    fn resolve<I: From<usize>>(&self, names: &Names, what: &str, reference: &Reference) -> Result<I> {
        let index = match (&reference.name, reference.index) {
            (Some(name), index) => match names.resolve(what, name, index) {
                Ok(index) => index,
                Err(message) => return self.error_at(reference.at, message),
            },
            (None, index) => index.unwrap_or(usize::MAX),
        };
        match u32::try_from(index) {
            Ok(_) => Ok(I::from(index)),
            Err(_) => self.error_at(reference.at, "the index is too big"),
        }
    }

    /// Reads items separated by commas, up to and including `end`.
    fn list<T>(&mut self, end: &str, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![];
        while !self.eat(end) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// One level deeper, until [`leave`](Reader::leave).
    fn enter(&mut self) -> Result<()> {
        if self.depth >= MAX_DEPTH {
            return self.error("nested too deeply");
        }
        self.depth += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// `read` one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.enter()?;
        let result = read(self);
        self.leave();
        result
    }
}
