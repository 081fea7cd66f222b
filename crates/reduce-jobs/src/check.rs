//! Statements to a job.

mod mappers;
mod reducers;

use crate::job::{Dataset, Job};
use crate::syntax::{Argument, At, Plain, Sort, Statement, Value, read};
use base_diag::codes::job as codes;
use base_diag::{Code, Diagnostic, Span};
pub use reducers::same_number;
use std::collections::BTreeMap;

/// Limit on mappers of a reducer, and on data sets.
pub const MOST_MAPPERS: usize = 1 << 12;

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
                // A path may contain a colon; a host has no slash.
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
}
