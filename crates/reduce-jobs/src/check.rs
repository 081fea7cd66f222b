//! Statements to a job.

use crate::job::{Column, Dataset, Function, Job, KeyKind, Mapper, Reducer, ValueKind};
use crate::syntax::{Argument, At, Plain, Sort, Statement, Value, read};
use aggregate::{Layout, Op};
use base_diag::codes::job as codes;
use base_diag::{Code, Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Limit on mappers of a reducer, and on data sets.
pub const MOST_MAPPERS: usize = 1 << 12;

/// Limit on the values of a key.
const MOST_VALUES: u64 = 1 << 16;

/// Operators that people write and that do not reduce on the way: why, and what to do.
const UNREDUCIBLE: &[(&[&str], &str, &str)] = &[
    (
        &["mean", "avg", "average"],
        "a mean of means is not the mean of all",
        "reduce sums and counts with `add`, and divide the results",
    ),
    (
        &["sub", "subtract", "minus", "div", "divide"],
        "it is not associative: (a - b) - c is not a - (b - c)",
        "map negative contributions to a separate key and reduce both with `add`",
    ),
    (
        &["first", "last", "concat", "join"],
        "it is not commutative: pairs arrive in any order",
        "map the position into the key",
    ),
    (
        &["median", "quantile", "distinct", "unique"],
        "it needs all values of a key at once",
        "reduce a histogram: map the value into the key, and reduce with `add`",
    ),
    (&["xor", "mul", "product"], "switches have no such operator", "use `add`, `max`, `min` or `or`"),
];

/// Reads a text whose first byte has the number `first`, and checks it. None where there are errors.
pub fn check(text: &str, first: u32, problems: &mut Vec<Diagnostic>) -> Option<Job> {
    let before = problems.len();
    let statements = read(text, first, problems);
    let mut checker = Checker { problems, names: BTreeMap::new() };
    checker.declare(&statements);
    let datasets = checker.datasets(&statements);
    let mut mappers = checker.mappers(&statements, &datasets);
    let reducers = checker.reducers(&statements, &mut mappers);
    if problems.len() == before && reducers.is_empty() {
        let title = "the job has no reducer";
        let end = Span { lo: first + text.len() as u32, hi: first + text.len() as u32, ..Span::NONE };
        let help = "declare one: `reducer counts = add(m1)`";
        problems.push(Diagnostic::error(codes::JOB_NAME, title).at(end, "").help(help));
    }
    (problems.len() == before).then_some(Job { datasets, mappers, reducers })
}

struct Checker<'p> {
    problems: &'p mut Vec<Diagnostic>,
    names: BTreeMap<String, (Sort, Span)>,
}

/// Arguments of a function, taken by name.
struct Arguments {
    function: At<String>,
    rest: Vec<Argument>,
}

impl Arguments {
    fn take(&mut self, key: &str) -> Option<At<Plain>> {
        let is_it = |argument: &Argument| argument.key.as_ref().is_some_and(|known| known.value == key);
        let at = self.rest.iter().position(is_it)?;
        Some(self.rest.remove(at).value)
    }
}

impl Checker<'_> {
    fn error(&mut self, code: Code, span: Span, title: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Diagnostic::error(code, title).at(span, "").help(help));
    }

    fn declare(&mut self, statements: &[Statement]) {
        for Statement { sort, name, .. } in statements {
            match self.names.get(&name.value) {
                None => {
                    self.names.insert(name.value.clone(), (*sort, name.span));
                }
                Some((_, before)) => {
                    let title = format!("`{}` is declared twice", name.value);
                    let problem = Diagnostic::error(codes::JOB_NAME, title).at(name.span, "");
                    self.problems.push(problem.at(*before, "first here"));
                }
            }
        }
    }

    fn datasets(&mut self, statements: &[Statement]) -> Vec<Dataset> {
        let mut datasets = vec![];
        for Statement { name, value, .. } in statements.iter().filter(|one| one.sort == Sort::Dataset) {
            let Value::Text(At { value, span }) = value else {
                let help = "`dataset d1 = \"10.0.1.1:/data/part1\"`";
                self.error(codes::JOB_SYNTAX, name.span, "a data set is a text: host and path", help);
                continue;
            };
            let (host, path) = match value.split_once(':') {
                Some((host, path)) if !host.is_empty() && !host.contains('/') => (Some(host), path),
                _ => (None, value.as_str()),
            };
            if path.is_empty() {
                let help = "`\"HOST:PATH\"`, or `\"PATH\"` for any host";
                self.error(codes::JOB_SETTING, *span, "the data set has no path", help);
                continue;
            }
            let host = host.map(String::from);
            datasets.push(Dataset { name: name.clone(), host, path: path.into(), span: *span });
        }
        datasets
    }

    /// The things of one sort that unnamed arguments name.
    fn members<T>(
        &mut self,
        arguments: &mut Arguments,
        sort: Sort,
        known: &[T],
        name_of: impl Fn(&T) -> &At<String>,
    ) -> Vec<usize> {
        let (members, rest): (Vec<Argument>, Vec<Argument>) =
            std::mem::take(&mut arguments.rest).into_iter().partition(|argument| argument.key.is_none());
        arguments.rest = rest;
        let mut found = vec![];
        let what = sort.word();
        if members.is_empty() {
            let title = format!("`{}` names no {what}", arguments.function.value);
            let help = format!("name one: `{}({}1)`", arguments.function.value, &what[..1]);
            self.error(codes::JOB_NAME, arguments.function.span, title, help);
        }
        for Argument { value: At { value, span }, .. } in members {
            let Plain::Word(word) = &value else {
                let title = format!("{} is no {what}", value.in_words());
                self.error(codes::JOB_NAME, span, title, format!("declare a {what} and write its name"));
                continue;
            };
            let Some(at) = known.iter().position(|one| name_of(one).value == *word) else {
                // One that has mistakes of its own was reported.
                if self.names.get(word).is_some_and(|(known, _)| *known == sort) {
                    continue;
                }
                let title = match self.names.get(word) {
                    Some((other, _)) => format!("`{word}` is a {}, not a {what}", other.word()),
                    None => format!("there is no {what} `{word}`"),
                };
                let known = known.iter().map(|one| name_of(one).value.as_str());
                let problem = Diagnostic::error(codes::JOB_NAME, title).at(span, "");
                self.problems.push(problem.suggest_or(word, known, |problem| {
                    problem.help(format!("declare it: `{what} {word} = ...`"))
                }));
                continue;
            };
            if found.contains(&at) {
                let title = format!("`{word}` is named twice");
                self.error(codes::JOB_NAME, span, title, "its pairs would be counted twice");
                continue;
            }
            found.push(at);
        }
        found
    }

    fn leftovers(&mut self, arguments: &Arguments, known: &[&str]) {
        for Argument { key, value } in &arguments.rest {
            let Some(key) = key else { continue };
            let is_known = known.contains(&key.value.as_str());
            let function = &arguments.function.value;
            let title = match is_known {
                true => format!("`{}` is given twice", key.value),
                false => format!("`{function}` takes no `{}`", key.value),
            };
            let problem = Diagnostic::error(codes::JOB_SETTING, title).at(key.span.to(value.span), "");
            self.problems.push(match is_known {
                true => problem,
                false => problem.suggest_or(&key.value, known.iter().copied(), |problem| match known {
                    [] => problem.help(format!("`{function}` takes data sets only")),
                    _ => problem.help(format!("it takes `{}`", known.join("`, `"))),
                }),
            });
        }
    }

    fn column(&mut self, value: At<Plain>) -> Option<Column> {
        match value.value {
            Plain::Text(name) | Plain::Word(name) => Some(Column::Name(name)),
            Plain::Number(number) if (1..=1 << 16).contains(&number) => Some(Column::Number(number as usize)),
            Plain::Number(_) => {
                let title = "columns are numbered from 1 to 65536";
                self.error(codes::JOB_SETTING, value.span, title, "or write a column's name");
                None
            }
        }
    }

    fn function(&mut self, arguments: &mut Arguments) -> Option<Function> {
        let At { value: word, span } = arguments.function.clone();
        let mut needed = |checker: &mut Self, key: &str, example: &str| {
            let value = arguments.take(key);
            if value.is_none() {
                checker.error(codes::JOB_SETTING, span, format!("`{word}` needs `{key}`"), example);
            }
            value
        };
        let (function, known): (_, &[&str]) = match word.as_str() {
            "words" => (Some(Function::Words), &[]),
            "lines" => (Some(Function::Lines), &[]),
            "count" => {
                let key = needed(self, "key", "`count(d1, key = \"user\")`").and_then(|key| self.column(key));
                (key.map(|key| Function::Count { key }), &["key"])
            }
            "pairs" => {
                let example = "`pairs(d1, key = \"user\", value = \"bytes\")`";
                let key = needed(self, "key", example).and_then(|key| self.column(key));
                let first = needed(self, "value", example).and_then(|value| self.column(value));
                let mut values: Vec<Column> = first.into_iter().collect();
                while let Some(value) = arguments.take("value") {
                    values.extend(self.column(value));
                }
                let has_values = !values.is_empty();
                (key.filter(|_| has_values).map(|key| Function::Pairs { key, values }), &["key", "value"])
            }
            "run" => match needed(self, "command", "`run(d1, command = \"./map.py\")`") {
                Some(At { value: Plain::Text(command), .. }) => {
                    (Some(Function::Run { command }), &["command"])
                }
                Some(At { span, .. }) => {
                    self.error(codes::JOB_SETTING, span, "a command is a text", "`command = \"./map.py\"`");
                    (None, &["command"])
                }
                None => (None, &["command"]),
            },
            _ => {
                let known = ["words", "lines", "count", "pairs", "run"];
                let problem =
                    Diagnostic::error(codes::JOB_NAME, format!("there is no mapper's function `{word}`"));
                self.problems.push(problem.at(span, "").suggest_or(&word, known, |problem| {
                    problem
                        .help("use `words`, `lines`, `count`, `pairs`, or a command of your own: `run(d1, command = \"...\")`")
                }));
                return None;
            }
        };
        self.leftovers(arguments, known);
        function
    }

    fn mappers(&mut self, statements: &[Statement], datasets: &[Dataset]) -> Vec<Mapper> {
        let mut mappers = vec![];
        for Statement { name, value, .. } in statements.iter().filter(|one| one.sort == Sort::Mapper) {
            let Value::Call(function, rest) = value else {
                let help = "`mapper m1 = words(d1)`";
                self.error(codes::JOB_SYNTAX, name.span, "a mapper is a function of data sets", help);
                continue;
            };
            let mut arguments = Arguments { function: function.clone(), rest: rest.clone() };
            let members = self.members(&mut arguments, Sort::Dataset, datasets, |one| &one.name);
            let Some(function) = self.function(&mut arguments) else { continue };
            let hosts: BTreeSet<_> = members.iter().filter_map(|at| datasets[*at].host.as_ref()).collect();
            if hosts.len() > 1 {
                let hosts: Vec<&str> = hosts.iter().map(|host| host.as_str()).collect();
                let title = format!("the data of `{}` is on several hosts", name.value);
                let problem = Diagnostic::error(codes::JOB_SETTING, title).at(name.span, "");
                let problem = problem.note(format!("they are {}", hosts.join(", ")));
                self.problems.push(problem.help("declare a mapper for each host"));
                continue;
            }
            mappers.push(Mapper { name: name.clone(), function, datasets: members, op: Op::Add });
        }
        mappers
    }

    fn operator(&mut self, function: &At<String>) -> Option<Op> {
        let word = function.value.as_str();
        let op = if word == "sum" { Ok(Op::Add) } else { word.parse() };
        if let Ok(op) = op {
            return Some(op);
        }
        let unreducible = UNREDUCIBLE.iter().find(|(words, ..)| words.contains(&word));
        if let Some((_, why, help)) = unreducible {
            let title = format!("`{word}` cannot be reduced by switches");
            let problem = Diagnostic::error(codes::NOT_REDUCIBLE, title).at(function.span, *why);
            self.problems.push(problem.help(*help));
            return None;
        }
        let problem = Diagnostic::error(codes::NOT_REDUCIBLE, format!("there is no operator `{word}`"));
        self.problems.push(problem.at(function.span, "").suggest_or(
            word,
            Op::ALL.map(Op::word),
            |problem| problem.help("operators are `add`, `max`, `min`, `or`"),
        ));
        None
    }

    fn reducers(&mut self, statements: &[Statement], mappers: &mut [Mapper]) -> Vec<Reducer> {
        let mut reducers: Vec<Reducer> = vec![];
        let mut uses: BTreeMap<usize, (Op, Span)> = BTreeMap::new();
        let mut unnumbered = vec![];
        for Statement { name, value, .. } in statements.iter().filter(|one| one.sort == Sort::Reducer) {
            let Value::Call(function, rest) = value else {
                let help = "`reducer counts = add(m1)`";
                self.error(codes::JOB_SYNTAX, name.span, "a reducer is an operator of mappers", help);
                continue;
            };
            let op = self.operator(function);
            let mut arguments = Arguments { function: function.clone(), rest: rest.clone() };
            let members = self.members(&mut arguments, Sort::Mapper, mappers, |one| &one.name);
            if members.len() > MOST_MAPPERS {
                let title = format!("`{}` has {} mappers", name.value, members.len());
                self.error(codes::JOB_SETTING, name.span, title, format!("{MOST_MAPPERS} are the most"));
                continue;
            }
            let reducer = self.reducer(name, op.unwrap_or(Op::Add), members, &mut arguments, mappers);
            let (Some(op), Some((reducer, is_numbered))) = (op, reducer) else { continue };
            for at in &reducer.mappers {
                let (before, span) = *uses.entry(*at).or_insert((op, function.span));
                if before != op {
                    let title = format!("`{}` is reduced by two operators", mappers[*at].name.value);
                    let problem = Diagnostic::error(codes::JOB_SETTING, title).at(function.span, "");
                    let problem = problem.at(span, "and here by another one");
                    let help =
                        "a mapper combines equal keys by its reducer's operator: declare another mapper";
                    self.problems.push(problem.help(help));
                }
                mappers[*at].op = op;
            }
            if !is_numbered {
                unnumbered.push(reducers.len());
            } else if let Some(other) = reducers
                .iter()
                .zip(0..)
                .find(|(other, at)| other.number == reducer.number && !unnumbered.contains(at))
            {
                self.problems.push(same_number(&reducer, other.0));
            }
            reducers.push(reducer);
        }
        for at in unnumbered {
            let taken: BTreeSet<u16> = reducers.iter().map(|reducer| reducer.number).collect();
            reducers[at].number = (1..=u16::MAX).find(|number| !taken.contains(number)).unwrap_or(u16::MAX);
        }
        reducers
    }

    /// A reducer, and whether its number was given.
    fn reducer(
        &mut self,
        name: &At<String>,
        op: Op,
        members: Vec<usize>,
        arguments: &mut Arguments,
        mappers: &[Mapper],
    ) -> Option<(Reducer, bool)> {
        let before = self.problems.len();
        const KEYS: &[&str] = &[
            "key", "value", "values", "at", "number", "by", "profile", "rows", "rounds", "window", "seed",
            "port", "keys", "distinct",
        ];
        let word = |checker: &mut Self, arguments: &mut Arguments, key: &str, known: &[&str]| {
            let given = arguments.take(key)?;
            if let Plain::Word(word) | Plain::Text(word) = &given.value
                && let Some(at) = known.iter().position(|known| known == word)
            {
                return Some((at, given.span));
            }
            let title = format!("`{key}` is not {}", given.value.in_words());
            let help = format!("it is `{}`", known.join("` or `"));
            checker.error(codes::JOB_SETTING, given.span, title, help);
            None
        };
        let number = |checker: &mut Self, arguments: &mut Arguments, key: &str, least: u64, most: u64| {
            let given = arguments.take(key)?;
            if let Plain::Number(number) = given.value
                && (least..=most).contains(&number)
            {
                return Some((number, given.span));
            }
            let title = format!("`{key}` is not {}", given.value.in_words());
            checker.error(codes::JOB_SETTING, given.span, title, format!("a number from {least} to {most}"));
            None
        };
        let kinds = KeyKind::ALL.map(|(word, _)| word);
        let key = word(self, arguments, "key", &kinds);
        let value = word(self, arguments, "value", &["u32", "u64", "u16", "u8"]);
        let values = number(self, arguments, "values", 1, MOST_VALUES);
        let by = word(self, arguments, "by", &["switch", "hosts"]);
        let profile = word(self, arguments, "profile", &["pipeline", "software"]);
        let rows = number(self, arguments, "rows", 1, 1 << 16);
        let rounds = number(self, arguments, "rounds", 1, 1 << 15);
        let window = number(self, arguments, "window", 1, Layout::MOST_WINDOW.into());
        let seed = number(self, arguments, "seed", 0, u64::MAX);
        let port = number(self, arguments, "port", 1, 0xffff);
        let own = number(self, arguments, "number", 1, 0xffff);
        let keys = number(self, arguments, "keys", 1, 1 << 48);
        let distinct = number(self, arguments, "distinct", 1, 1 << 48);
        let at = arguments.take("at").map(|at| At { value: at.value.clone(), span: at.span });
        let at = match at {
            Some(At { value: Plain::Text(value) | Plain::Word(value), span }) => Some(At { value, span }),
            Some(At { span, .. }) => {
                self.error(codes::JOB_SETTING, span, "`at` is a host", "`at = \"10.0.0.1\"`");
                None
            }
            None => None,
        };
        self.leftovers(arguments, KEYS);
        for (setting, what) in [(rows, "rows"), (window, "window")] {
            if let Some((number, span)) = setting.filter(|(number, _)| !number.is_power_of_two()) {
                let (low, high) = (number.next_power_of_two() / 2, number.next_power_of_two());
                let title = format!("`{what}` is a power of two, not {number}");
                self.error(codes::JOB_SETTING, span, title, format!("use {low} or {high}"));
            }
        }
        let key_kind = key.map_or(KeyKind::Hashed, |(at, _)| KeyKind::ALL[at].1);
        let is_software = match profile {
            Some((at, _)) => at == 1,
            None => key_kind == KeyKind::Text,
        };
        let base = if is_software { Layout::SOFTWARE } else { Layout::PIPELINE };
        let index_bits = rows.map_or(base.index_bits, |(rows, _)| rows.trailing_zeros() as u8);
        let window = window.map_or(base.window, |(window, _)| window as u32);
        let layout = Layout { index_bits, window, ..base };
        match (key_kind, key) {
            (KeyKind::Text, Some((_, span))) if !is_software => {
                let title = "whole keys do not fit the tags of profile `pipeline`";
                let problem = Diagnostic::error(codes::KEY_TOO_LONG, title).at(span, "");
                let problem = problem.note("a tag has 32 bits; a whole key has up to 16 bytes");
                self.problems.push(problem.help("use `key = hashed`, or `profile = software`"));
            }
            (KeyKind::Number, Some((_, span))) if is_software => {
                let title = "profile `software` carries whole keys or hashes";
                self.error(codes::JOB_SETTING, span, title, "use `profile = pipeline` for numbers");
            }
            _ => {}
        }
        let value_kind = match value {
            Some((1, _)) => ValueKind::U64,
            _ => ValueKind::U32,
        };
        if let (ValueKind::U64, Op::Max | Op::Min, Some((_, span))) = (value_kind, op, value) {
            let title = format!("`{op}` of 64-bit values is wider than a slot");
            let problem = Diagnostic::error(codes::VALUE_TOO_WIDE, title).at(span, "");
            let problem = problem
                .note("a slot holds 32 bits; sums and `or` are reduced in parts, `max` and `min` cannot");
            self.problems.push(problem.help("use `value = u32`, or a coarser unit"));
        }
        let said: BTreeSet<usize> = members.iter().filter_map(|at| mappers[*at].function.values()).collect();
        let values = match (values, said.first()) {
            (Some((values, span)), Some(said)) if values != *said as u64 => {
                let title = format!("a mapper gives {said} values, not {values}");
                self.error(codes::JOB_SETTING, span, title, "leave `values` out");
                1
            }
            (Some((values, _)), _) => values as u32,
            (None, said) => said.map_or(1, |said| *said as u32),
        };
        if said.len() > 1 {
            let title = "the mappers give different numbers of values";
            self.error(codes::JOB_SETTING, name.span, title, "name as many columns in each");
        }
        if let Err(problem) = layout.check() {
            self.error(codes::JOB_SETTING, name.span, problem.to_string(), "choose other sizes");
        }
        let mut reducer = Reducer {
            name: name.clone(),
            mappers: members,
            op,
            key: key_kind,
            value: value_kind,
            values,
            at,
            number: own.map_or(0, |(number, _)| number as u16),
            number_span: own.map_or(name.span, |(_, span)| span),
            layout,
            rounds: rounds.map_or(1, |(rounds, _)| rounds as u32),
            seed: seed.map_or(1, |(seed, _)| seed),
            is_switched: by.is_none_or(|(at, _)| at == 0),
            port: port.map_or(aggregate::packet::PORT, |(port, _)| port as u16),
            keys: match (keys, distinct) {
                (Some((keys, _)), distinct) => Some((keys, distinct.map_or(keys, |(distinct, _)| distinct))),
                (None, _) => None,
            },
        };
        if let Some((keys, distinct)) = reducer.keys.filter(|_| rounds.is_none()) {
            let pairs = keys.saturating_mul(reducer.mappers.len() as u64);
            reducer.rounds = reducer.better_rounds(pairs, distinct).unwrap_or(1);
        }
        (self.problems.len() == before).then_some((reducer, own.is_some()))
    }
}

/// The error for two reducers with one number.
pub fn same_number(one: &Reducer, other: &Reducer) -> Diagnostic {
    let title =
        format!("reducers `{}` and `{}` have the number {}", other.name.value, one.name.value, one.number);
    Diagnostic::error(codes::SAME_JOB_NUMBER, title)
        .at(one.number_span, "")
        .at(other.number_span, "the other one")
        .note("a switch would fold the pairs of each into those of the other")
        .help("give one of them another `number`")
}
