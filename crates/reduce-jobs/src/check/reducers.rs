//! Reducers: operators of mappers.

use super::{Arguments, Checker, MOST_MAPPERS};
use crate::job::{Function, KeyKind, Mapper, Reducer, ValueKind};
use crate::syntax::{At, Plain, Sort, Statement, Value};
use aggregate::{Layout, Op};
use base_diag::codes::job as codes;
use base_diag::{Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Limit on the elements of an array.
const MOST_ELEMENTS: u64 = 1 << 31;

/// Limit on the rounds of a job.
const MOST_ROUNDS: u64 = 1 << 15;

/// Limit on the values of a key.
const MOST_VALUES: u64 = 1 << 16;

/// Plausible operators that switches cannot reduce: the reason, and the remedy.
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

impl Checker<'_> {
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

    pub(super) fn reducers(&mut self, statements: &[Statement], mappers: &mut [Mapper]) -> Vec<Reducer> {
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
            let is_program = |at: &&usize| mappers[**at].function == Function::Program;
            let programs = members.iter().filter(is_program).count();
            if programs > 0 && programs < members.len() {
                let title = format!("some mappers of `{}` are programs, and others are not", name.value);
                let help = "programs join a group by themselves, and a master starts the others: declare two reducers";
                self.error(codes::JOB_SETTING, name.span, title, help);
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
        // Free numbers are known once all given ones are.
        for at in unnumbered {
            let taken: BTreeSet<u16> = reducers.iter().map(|reducer| reducer.number).collect();
            reducers[at].number = (1..=u16::MAX).find(|number| !taken.contains(number)).unwrap_or(u16::MAX);
        }
        reducers
    }

    /// The conditions of profile `arrays`. True if the arrays are in data, not in programs.
    fn arrays(&mut self, span: Span, op: Op, functions: &[&Function], is_keyed: bool) -> bool {
        let is_array = |function: &&&Function| matches!(function, Function::Program | Function::Array { .. });
        if functions.iter().any(|function| !is_array(&function)) {
            let title = "profile `arrays` is for mappers whose data are arrays";
            let help = "use mappers `array(d1)` or `program(at = HOST)`, or another profile";
            self.error(codes::JOB_SETTING, span, title, help);
        }
        if op == Op::Min {
            let title = "switches of profile `arrays` cannot reduce by `min`";
            let help = "name another operator; programs may use `min`, and its values travel to the reducer";
            self.error(codes::JOB_SETTING, span, title, help);
        }
        if is_keyed {
            let title = "profile `arrays` has neither `key` nor `rounds`";
            self.error(
                codes::JOB_SETTING,
                span,
                title,
                "leave them out: rounds follow from the length of an array",
            );
        }
        functions.iter().any(|function| matches!(function, Function::Array { .. }))
    }

    /// The length of arrays in data, and the rounds that they take.
    fn elements(
        &mut self,
        name: &At<String>,
        elements: Option<(u64, Span)>,
        chunks: u32,
        layout: &Layout,
    ) -> Option<(u64, u32)> {
        let Some((elements, span)) = elements else {
            let title = format!("`{}` does not say how long its arrays are", name.value);
            self.error(codes::JOB_SETTING, name.span, title, "add `elements = 65536`, or more");
            return None;
        };
        let rounds = (elements * u64::from(chunks)).div_ceil(layout.elements().max(1));
        if rounds > MOST_ROUNDS {
            let title = format!("{elements} elements take {rounds} rounds; {MOST_ROUNDS} are the most");
            self.error(codes::JOB_SETTING, span, title, "use more `rows`");
            return None;
        }
        Some((elements, rounds as u32))
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
            "port", "keys", "distinct", "elements",
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
        let profile = word(self, arguments, "profile", &["pipeline", "software", "arrays"]);
        let rows = number(self, arguments, "rows", 1, 1 << 16);
        let rounds = number(self, arguments, "rounds", 1, MOST_ROUNDS);
        let window = number(self, arguments, "window", 1, Layout::MOST_WINDOW.into());
        let seed = number(self, arguments, "seed", 0, u64::MAX);
        let port = number(self, arguments, "port", 1, 0xffff);
        let own = number(self, arguments, "number", 1, 0xffff);
        let keys = number(self, arguments, "keys", 1, 1 << 48);
        let distinct = number(self, arguments, "distinct", 1, 1 << 48);
        let elements = number(self, arguments, "elements", 1, MOST_ELEMENTS);
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
        let dense = profile.filter(|(at, _)| *at == 2).map(|(_, span)| span);
        let base = match () {
            () if is_software => Layout::SOFTWARE,
            () if dense.is_some() => Layout::DENSE,
            () => Layout::PIPELINE,
        };
        let functions: Vec<&Function> = members.iter().map(|at| &mappers[*at].function).collect();
        let is_array =
            dense.is_some_and(|span| self.arrays(span, op, &functions, key.is_some() || rounds.is_some()));
        if let Some((_, span)) = elements.filter(|_| !is_array) {
            let title = "`elements` is for arrays in data";
            self.error(codes::JOB_SETTING, span, title, "use `profile = arrays` and mappers `array(d1)`");
        }
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
            self.error(codes::JOB_SETTING, name.span, title, "name the same number of columns in each");
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
        if is_array {
            // Keys are the numbers of elements.
            reducer.key = KeyKind::Number;
            let found = self.elements(name, elements, reducer.chunks(), &layout);
            reducer.keys = found.map(|(elements, _)| (elements, elements));
            reducer.rounds = found.map_or(1, |(_, rounds)| rounds);
        }
        if let Some((keys, distinct)) = reducer.keys.filter(|_| rounds.is_none() && !layout.is_dense()) {
            let pairs = keys.saturating_mul(reducer.mappers.len() as u64);
            reducer.rounds = reducer.better_rounds(pairs, distinct, 0).unwrap_or(1);
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
