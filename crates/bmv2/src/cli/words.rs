//! The words of a command: names, values, keys.

use super::program::{Action, Key, Program, Table, resolve};
use crate::catalog::KeyKind;
use crate::value::{number, ones, padded};
use crate::wire::{Type, Value};
use base_bits::num_bigint::BigUint;
use base_diag::did_you_mean;
use p4_entries::{Match, parse_match, parse_number};

/// A command's words, with the program that they are about.
pub struct Line<'l> {
    pub words: &'l [&'l str],
    pub form: &'static str,
    pub name: &'l str,
    pub program: &'l Program,
}

type Read<T> = Result<T, String>;

impl<'l> Line<'l> {
    pub fn usage<T>(&self) -> Read<T> {
        Err(format!("usage: {} {}", self.name, self.form).trim_end().to_string())
    }

    /// The next word.
    pub fn word(&mut self) -> Read<&'l str> {
        let Some((first, rest)) = self.words.split_first() else { return self.usage() };
        self.words = rest;
        Ok(first)
    }

    pub fn finish(&self) -> Read<()> {
        if self.words.is_empty() { Ok(()) } else { self.usage() }
    }

    /// A number of 31 bits: a handle, index, port or time.
    pub fn int(&mut self) -> Read<i32> {
        let word = self.word()?;
        word.parse().ok().filter(|number| *number >= 0).ok_or_else(|| format!("`{word}` is not a number"))
    }

    pub fn long(&mut self) -> Read<i64> {
        let word = self.word()?;
        let number = parse_number(word).ok().and_then(|number| u64::try_from(number).ok());
        match (number, word.parse::<i64>()) {
            (_, Ok(number)) => Ok(number),
            (Some(number), _) => Ok(number as i64),
            (None, Err(_)) => Err(format!("`{word}` is not a number of 64 bits")),
        }
    }

    pub fn table(&mut self) -> Read<&'l Table> {
        let program = self.program;
        let name = self.name_among("table", program.tables.iter().map(|table| table.name.as_str()))?;
        program.tables.iter().find(|table| table.name == name).map_or_else(|| self.usage(), Ok)
    }

    /// The name of an object, as it is in the program.
    pub fn name_among(&mut self, kind: &str, all: impl Iterator<Item = &'l str> + Clone) -> Read<&'l str> {
        let word = self.word()?;
        if let Some(name) = resolve(all.clone(), word) {
            return Ok(name);
        }
        let last = |name: &'l str| name.rsplit('.').next().unwrap_or(name);
        Err(match did_you_mean(word, all.clone().chain(all.clone().map(last))) {
            Some(near) => format!("there is no {kind} `{word}`; did you mean `{near}`?"),
            None if all.clone().next().is_none() => format!("the program has no {kind}"),
            None => format!("there is no {kind} `{word}`; there are: {}", all.collect::<Vec<_>>().join(", ")),
        })
    }

    pub fn action(&mut self, among: &'l [String]) -> Read<&'l Action> {
        let program = self.program;
        let name = self.name_among("action here", among.iter().map(String::as_str))?;
        program.action(among, name).map_or_else(|| self.usage(), Ok)
    }

    /// The words before `=>`, and after them the rest.
    pub fn until_arrow(&mut self) -> Read<&'l [&'l str]> {
        let Some(at) = self.words.iter().position(|word| *word == "=>") else { return self.usage() };
        let (before, after) = (&self.words[..at], &self.words[at + 1..]);
        self.words = after;
        Ok(before)
    }

    /// The data of an action, all words that are left.
    pub fn data(&mut self, action: &Action) -> Read<Value> {
        if let [first, rest @ ..] = self.words
            && *first == "=>"
        {
            self.words = rest;
        }
        let words = std::mem::take(&mut self.words);
        if words.len() != action.params.len() {
            let params: Vec<String> =
                action.params.iter().map(|(name, bits)| format!("{name} ({bits} bits)")).collect();
            return Err(format!(
                "`{}` takes {} values: {}; {} are given",
                action.name,
                params.len(),
                params.join(", "),
                words.len()
            ));
        }
        let value = |(word, (name, bits)): (&&str, &(String, i32))| {
            parse_number(word)
                .map_err(|why| format!("{name}: {why}"))
                .and_then(|number| sized(number, *bits, name))
        };
        let all: Read<Vec<Value>> = words.iter().zip(&action.params).map(value).collect();
        Ok(Value::List(Type::String, all?))
    }

    /// The last word is the priority of entries that have one.
    pub fn priority(&mut self, table: &Table) -> Read<Value> {
        let priority = match (table.is_ranked, self.words.split_last()) {
            (false, _) => 0,
            (true, Some((last, rest))) => {
                self.words = rest;
                let number = last.parse::<i32>().ok().filter(|number| *number >= 0);
                number.ok_or_else(|| {
                    format!(
                        "`{}` needs a priority as its last word, not `{last}`; the lowest wins",
                        table.name
                    )
                })?
            }
            (true, None) => return self.usage(),
        };
        Ok(Value::Struct(vec![(1, Value::I32(priority))]))
    }

    /// The keys of an entry.
    pub fn keys(&self, table: &Table, words: &[&str]) -> Read<Value> {
        if words.len() != table.keys.len() {
            let keys: Vec<String> =
                table.keys.iter().map(|key| format!("{} ({})", key.name, key.kind.name())).collect();
            return Err(format!(
                "`{}` has {} keys: {}; {} are given",
                table.name,
                keys.len(),
                keys.join(", "),
                words.len()
            ));
        }
        let all: Read<Vec<Value>> =
            table.keys.iter().zip(words).map(|(key, word)| key_value(key, word)).collect();
        Ok(Value::List(Type::Struct, all?))
    }
}

fn sized(number: BigUint, bits: i32, name: &str) -> Read<Value> {
    match number <= ones(bits) {
        true => Ok(Value::String(padded(&crate::value::shortest(&number.to_bytes_be()), bits))),
        false => Err(format!("{name}: {number:#x} needs more than {bits} bits")),
    }
}

fn key_value(key: &Key, word: &str) -> Read<Value> {
    let found = parse_match(word).map_err(|why| format!("{}: {why}", key.name))?;
    let value = |number| sized(number, key.bits, &key.name);
    let zero = || number(&[]);
    let expected = |form: &str| {
        Err(format!("{}: a key of kind {} is written {form}, not `{word}`", key.name, key.kind.name()))
    };
    let (id, fields) = match (key.kind, found) {
        (KeyKind::Exact, Match::Exact(number)) => (2, vec![(1, value(number)?)]),
        (KeyKind::Exact, _) => return expected("VALUE"),
        (KeyKind::Lpm, Match::Prefix(number, length)) => {
            (3, vec![(1, value(number)?), (2, Value::I32(length.min(1 << 16) as i32))])
        }
        (KeyKind::Lpm, Match::Any) => (3, vec![(1, value(zero())?), (2, Value::I32(0))]),
        (KeyKind::Lpm, _) => return expected("VALUE/LENGTH"),
        (KeyKind::Ternary, Match::Mask(number, mask)) => (4, vec![(1, value(number)?), (2, value(mask)?)]),
        (KeyKind::Ternary, Match::Any) => (4, vec![(1, value(zero())?), (2, value(zero())?)]),
        (KeyKind::Ternary, _) => return expected("VALUE&&&MASK"),
        (KeyKind::Range, Match::Range(low, high)) => (6, vec![(1, value(low)?), (2, value(high)?)]),
        (KeyKind::Range, Match::Any) => (6, vec![(1, value(zero())?), (2, value(ones(key.bits))?)]),
        (KeyKind::Range, _) => return expected("LOW->HIGH"),
    };
    Ok(Value::Struct(vec![(1, Value::I32(key.kind as i32)), (id, Value::Struct(fields))]))
}
