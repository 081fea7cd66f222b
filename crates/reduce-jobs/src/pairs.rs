//! Data to pairs, equal keys combined.

use crate::job::{Column, Function};
use aggregate::Op;
use std::collections::BTreeMap;
use std::fmt;

/// Longest key, in bytes.
pub const MOST_KEY: usize = 1 << 12;

/// Combined pairs of a mapper: key and values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Combined {
    op: Op,
    values: usize,
    /// Largest value.
    most: u64,
    pairs: BTreeMap<Vec<u8>, Vec<u64>>,
    /// Elements of an array that are read.
    elements: u64,
}

/// Data that gives no pairs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataError {
    /// Line of the file, from 1.
    pub line: u64,
    /// In a few words.
    pub title: String,
    /// The remedy.
    pub help: String,
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} ({})", self.line, self.title, self.help)
    }
}

fn wrong<T>(line: u64, title: impl Into<String>, help: impl Into<String>) -> Result<T, DataError> {
    Err(DataError { line, title: title.into(), help: help.into() })
}

impl Combined {
    /// No pairs, of so many values up to `most` each.
    pub fn new(op: Op, values: usize, most: u64) -> Combined {
        Combined { op, values, most, pairs: BTreeMap::new(), elements: 0 }
    }

    /// Distinct keys.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// In the order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u64])> {
        self.pairs.iter().map(|(key, values)| (key.as_slice(), values.as_slice()))
    }

    /// Folds a pair.
    pub fn add(&mut self, line: u64, key: &[u8], values: &[u64]) -> Result<(), DataError> {
        if key.len() > MOST_KEY {
            let title = format!("a key of {} bytes", key.len());
            return wrong(line, title, format!("keys have at most {MOST_KEY}"));
        }
        if values.len() != self.values {
            let title = format!("{} values for a key", values.len());
            return wrong(line, title, format!("the job has {}", self.values));
        }
        let (op, most) = (self.op, self.most);
        let fits = |values: &[u64]| values.iter().all(|value| *value <= most);
        let held = match self.pairs.get_mut(key) {
            None => self.pairs.entry(key.to_vec()).or_insert_with(|| values.to_vec()),
            Some(held) => {
                held.iter_mut().zip(values).for_each(|(held, value)| *held = op.fold_wide(*held, *value));
                held
            }
        };
        if fits(held) {
            return Ok(());
        }
        let what = String::from_utf8_lossy(key).into_owned();
        let help =
            if most == u64::MAX { "use a coarser unit" } else { "use `value = u64`, or a coarser unit" };
        wrong(line, format!("the value of `{what}` is wider than the job's"), help)
    }

    /// Reads a file of text for a function that is no command; `None`: the function is a command.
    pub fn read(&mut self, function: &Function, text: &[u8]) -> Result<(), DataError> {
        let lines = || (1..).zip(text.split(|byte| *byte == b'\n').map(trim));
        match function {
            Function::Words => {
                for (line, text) in lines() {
                    for word in String::from_utf8_lossy(text).split(|c: char| !c.is_alphanumeric()) {
                        if !word.is_empty() {
                            self.add(line, word.to_lowercase().as_bytes(), &[1])?;
                        }
                    }
                }
                Ok(())
            }
            Function::Lines => lines()
                .filter(|(_, text)| !text.is_empty())
                .try_for_each(|(line, text)| self.add(line, text, &[1])),
            Function::Count { key } => self.columns(text, Some(key), &[]),
            Function::Pairs { key, values } => self.columns(text, Some(key), values),
            Function::Array { value: Some(value) } => self.columns(text, None, std::slice::from_ref(value)),
            Function::Array { value: None } => lines()
                .filter(|(_, text)| !text.is_empty())
                .try_for_each(|(line, text)| self.element(line, number(line, text)?)),
            Function::Run { .. } => self.tabs(text),
            Function::Program => Ok(()),
        }
    }

    /// Lines `key TAB value [TAB value ...]`.
    fn tabs(&mut self, text: &[u8]) -> Result<(), DataError> {
        for (line, text) in (1..).zip(text.split(|byte| *byte == b'\n').map(trim)) {
            if text.is_empty() {
                continue;
            }
            let mut parts = text.split(|byte| *byte == b'\t');
            let key = parts.next().unwrap_or_default();
            let values: Result<Vec<u64>, DataError> = parts.map(|part| number(line, part)).collect();
            self.add(line, key, &values?)?;
        }
        Ok(())
    }

    /// The next element of an array.
    fn element(&mut self, line: u64, value: u64) -> Result<(), DataError> {
        let element = self.elements.to_string();
        self.elements += 1;
        self.add(line, element.as_bytes(), &[value])
    }

    /// Columns of CSV. Without a key, the value of a record is the next element of an array.
    fn columns(&mut self, text: &[u8], key: Option<&Column>, values: &[Column]) -> Result<(), DataError> {
        let mut records = records(text);
        let is_named = key.into_iter().chain(values).any(|column| matches!(column, Column::Name(_)));
        let header = match is_named {
            true => records.next().transpose()?.map_or(vec![], |(_, fields)| fields),
            false => vec![],
        };
        let place = |column: &Column| match column {
            Column::Number(number) => Ok(number - 1),
            Column::Name(name) => match header.iter().position(|field| field == name.as_bytes()) {
                Some(at) => Ok(at),
                None => {
                    let names: Vec<_> = header.iter().map(|name| String::from_utf8_lossy(name)).collect();
                    wrong(
                        1,
                        format!("there is no column `{name}`"),
                        format!("there are `{}`", names.join("`, `")),
                    )
                }
            },
        };
        let key = key.map(place).transpose()?;
        let places: Vec<usize> = values.iter().map(place).collect::<Result<_, _>>()?;
        for record in records {
            let (line, fields) = record?;
            let field = |at: usize| match fields.get(at) {
                Some(field) => Ok(field.as_slice()),
                None => wrong(line, format!("there is no column {}", at + 1), "the line is too short"),
            };
            let values: Vec<u64> = match places.as_slice() {
                [] => vec![1],
                places => places.iter().map(|at| number(line, field(*at)?)).collect::<Result<_, _>>()?,
            };
            match key {
                Some(key) => self.add(line, field(key)?, &values)?,
                None => values.iter().try_for_each(|value| self.element(line, *value))?,
            }
        }
        Ok(())
    }
}

fn trim(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn number(line: u64, field: &[u8]) -> Result<u64, DataError> {
    let text = String::from_utf8_lossy(field);
    match text.trim().parse() {
        Ok(number) => Ok(number),
        Err(_) => wrong(line, format!("`{text}` is not a whole number"), "values are from 0 to 2^64 - 1"),
    }
}

/// The records of CSV (RFC 4180) with the lines at which they begin; empty lines are none.
fn records(text: &[u8]) -> impl Iterator<Item = Result<(u64, Vec<Vec<u8>>), DataError>> {
    let (mut at, mut line) = (0, 1);
    std::iter::from_fn(move || {
        loop {
            if at >= text.len() {
                return None;
            }
            let first = line;
            match record(text, &mut at, &mut line) {
                Ok(fields) if fields.len() == 1 && fields[0].is_empty() => {}
                Ok(fields) => return Some(Ok((first, fields))),
                Err(problem) => {
                    at = text.len();
                    return Some(Err(problem));
                }
            }
        }
    })
}

/// One record; `at` moves to the next one.
fn record(text: &[u8], at: &mut usize, line: &mut u64) -> Result<Vec<Vec<u8>>, DataError> {
    let first = *line;
    let mut fields = vec![];
    loop {
        let mut field = vec![];
        if text.get(*at) == Some(&b'"') {
            *at += 1;
            loop {
                match (text.get(*at), text.get(*at + 1)) {
                    // RFC 4180: a quote in a quoted field is doubled.
                    (Some(b'"'), Some(b'"')) => {
                        field.push(b'"');
                        *at += 2;
                    }
                    (Some(b'"'), _) => {
                        *at += 1;
                        break;
                    }
                    (Some(byte), _) => {
                        *line += u64::from(*byte == b'\n');
                        field.push(*byte);
                        *at += 1;
                    }
                    (None, _) => return wrong(first, "a quoted field has no end", "close it by `\"`"),
                }
            }
        }
        while let Some(byte) = text.get(*at).filter(|byte| !matches!(byte, b',' | b'\n')) {
            field.push(*byte);
            *at += 1;
        }
        let end = text.get(*at).copied();
        *at += 1;
        if end != Some(b',') {
            // Lines may end in CR LF.
            if field.last() == Some(&b'\r') {
                field.pop();
            }
            fields.push(field);
            *line += u64::from(end.is_some());
            return Ok(fields);
        }
        fields.push(field);
    }
}
