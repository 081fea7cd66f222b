//! Mutated programs are parsed and checked without panic, hang or unbounded memory.
//!
//! Most mutated programs still parse, so that names, types and the late checks meet unusual code. `P4_FUZZ_CASES` cases
//! (60 unless set), from `P4_FUZZ_SEED` on.

use features::setting;

use base_diag::{SourceMap, render};
use p4_arch::Texts;
use p4_syntax::{Options, parse};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const PROGRAMS: &[&str] = &[
    include_str!("../../../examples/slice/slice.p4"),
    include_str!("../testdata/switch.p4"),
    include_str!("../testdata/own.p4"),
    include_str!("../../p4-syntax/testdata/everything.p4"),
];

/// Text that is inserted, or replaces other text.
const WORDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "255",
    "8w3",
    "4s7",
    "1 << 70",
    "true",
    "x",
    "{}",
    "{ 1, 2 }",
    "{ x = 1 }",
    "{ ... }",
    "...",
    "_",
    "default",
    "bit<8>",
    "bit<0>",
    "bit<(1 + W)>",
    "int",
    "int<8>",
    "varbit<32>",
    "string",
    "void",
    "error",
    "tuple<>",
    "tuple<bit<8>>",
    "list<bit<8>>",
    "this",
    "return;",
    "exit;",
    "break;",
    "continue;",
    "accept",
    "reject",
    "start",
    "apply",
    "isValid()",
    "setValid()",
    ".apply()",
    "[0]",
    "[7:0]",
    "[+:4]",
    "++",
    "<<",
    "/",
    "%",
    "&&&",
    "..",
    "?",
    ":",
    "(",
    ")",
    "in",
    "out",
    "inout",
    "const",
    "@hidden",
    "@name(\"a\")",
    "@optional",
    "abstract",
    "NoAction",
    "main",
    "error.NoError",
    "#undef W\n",
    "priority = 3",
    "for (bit<8> i in 0 .. 3)",
    "if (true)",
    "switch (x)",
];

/// Splits into identifiers, numbers, blanks and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut out = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| match first {
            _ if first.is_alphanumeric() || first == '_' => c.is_alphanumeric() || c == '_',
            _ if first.is_whitespace() => c.is_whitespace(),
            _ => false,
        };
        let end = rest.char_indices().skip(1).find(|(_, c)| !same(*c)).map_or(rest.len(), |(i, _)| i);
        let (token, after) = rest.split_at(end);
        out.push(token);
        rest = after;
    }
    out
}

/// A place that holds a token, preferably a word.
fn place(tokens: &[&str], rng: &mut Pcg64Mcg) -> usize {
    for _ in 0..8 {
        let at = rng.random_range(0..tokens.len());
        if tokens[at].starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return at;
        }
    }
    rng.random_range(0..tokens.len())
}

fn mutant(rng: &mut Pcg64Mcg) -> String {
    let mut list = tokens(PROGRAMS[rng.random_range(0..PROGRAMS.len())]);
    for _ in 0..rng.random_range(1..6) {
        let (at, other) = (place(&list, rng), place(&list, rng));
        match rng.random_range(0..8) {
            0 => list[at] = "",
            1 | 2 => list[at] = list[other],
            3 => list.swap(at, other),
            4 => list[at] = WORDS[rng.random_range(0..WORDS.len())],
            5 => list.insert(at, WORDS[rng.random_range(0..WORDS.len())]),
            6 => {
                let end = (at + rng.random_range(1..40)).min(list.len());
                list.drain(at..end);
            }
            _ => {
                let end = (at + rng.random_range(1..40)).min(list.len());
                let copy: Vec<&str> = list[at..end].to_vec();
                let to = rng.random_range(0..=list.len());
                list.splice(to..to, copy);
            }
        }
        if list.is_empty() {
            list.push("");
        }
    }
    list.concat()
}

#[test]
fn mutated_programs() {
    let first = setting("P4_FUZZ_SEED", 0);
    for seed in first..first + setting("P4_FUZZ_CASES", 60) {
        let text = mutant(&mut Pcg64Mcg::seed_from_u64(seed));
        let mut map = SourceMap::new();
        let parsed = parse("t.p4", &Texts(&[("t.p4", text.as_str())]), &Options::default(), &mut map);
        let (program, diagnostics) = p4_check::check(&parsed.program);
        for diagnostic in parsed.diagnostics.iter().chain(&diagnostics) {
            render(diagnostic, &map, Default::default());
        }
        if diagnostics.is_empty() {
            p4_check::print::print(&program);
        }
    }
}

/// The originals of the mutants are correct.
#[test]
fn originals() {
    for text in &PROGRAMS[..3] {
        let mut map = SourceMap::new();
        let parsed = parse("t.p4", &Texts(&[("t.p4", *text)]), &Options::default(), &mut map);
        let (_, diagnostics) = p4_check::check(&parsed.program);
        let all: Vec<String> = parsed
            .diagnostics
            .iter()
            .chain(&diagnostics)
            .map(|d| render(d, &map, Default::default()))
            .collect();
        assert!(all.iter().all(|d| !d.starts_with("error")), "{}", all.join("\n"));
    }
}
