//! Mappers: functions of data.

use super::{Arguments, Checker};
use crate::job::{Column, Dataset, Function, Mapper};
use crate::syntax::{At, Plain, Sort, Statement, Value};
use aggregate::Op;
use base_diag::Diagnostic;
use base_diag::codes::job as codes;
use std::collections::BTreeSet;

impl Checker<'_> {
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
            "array" => {
                let given = arguments.take("value");
                let is_given = given.is_some();
                let value = given.and_then(|value| self.column(value));
                ((value.is_some() == is_given).then_some(Function::Array { value }), &["value"])
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
                let known = ["words", "lines", "count", "pairs", "array", "run", "program"];
                let problem =
                    Diagnostic::error(codes::JOB_NAME, format!("there is no mapper's function `{word}`"));
                self.problems.push(problem.at(span, "").suggest_or(&word, known, |problem| {
                    problem
                        .help("use `words`, `lines`, `count`, `pairs`, `array`, a command of your own: `run(d1, command = \"...\")`, or a program: `program(at = HOST)`")
                }));
                return None;
            }
        };
        self.leftovers(arguments, known);
        function
    }

    /// A mapper that is a program of the user's.
    fn program(&mut self, name: &At<String>, arguments: &mut Arguments) -> Option<Mapper> {
        let span = arguments.function.span;
        let help = "write its host: `program(at = \"10.0.1.1\")`";
        if let Some(data) = arguments.rest.iter().find(|argument| argument.key.is_none()) {
            self.error(codes::JOB_SETTING, data.value.span, "a program has its data itself", help);
            return None;
        }
        let at = match arguments.take("at") {
            Some(At { value: Plain::Text(value) | Plain::Word(value), span }) => Some(At { value, span }),
            Some(At { span, .. }) => {
                self.error(codes::JOB_SETTING, span, "`at` is a host", help);
                None
            }
            None => {
                self.error(codes::JOB_SETTING, span, "the program has no host", help);
                None
            }
        };
        self.leftovers(arguments, &["at"]);
        let (name, function) = (name.clone(), Function::Program);
        at.map(|at| Mapper { name, function, datasets: vec![], at: Some(at), op: Op::Add })
    }

    pub(super) fn mappers(&mut self, statements: &[Statement], datasets: &[Dataset]) -> Vec<Mapper> {
        let mut mappers = vec![];
        for Statement { name, value, .. } in statements.iter().filter(|one| one.sort == Sort::Mapper) {
            let Value::Call(function, rest) = value else {
                let help = "`mapper m1 = words(d1)`";
                self.error(codes::JOB_SYNTAX, name.span, "a mapper is a function of data sets", help);
                continue;
            };
            let mut arguments = Arguments { function: function.clone(), rest: rest.clone() };
            if function.value == "program" {
                mappers.extend(self.program(name, &mut arguments));
                continue;
            }
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
            mappers.push(Mapper { name: name.clone(), function, datasets: members, at: None, op: Op::Add });
        }
        mappers
    }
}
