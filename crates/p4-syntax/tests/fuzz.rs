//! Broken input of every kind: no panic, no hang, no unbounded memory, and whatever is accepted comes back.
//!
//! Each target runs `P4_FUZZ_CASES` cases (150 unless set), from `P4_FUZZ_SEED` on.

use crate::common;
use crate::generate;

use common::{parse_text, shape};
use features::setting;
use p4_syntax::print;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn each_case(run: impl Fn(&mut Pcg64Mcg, u64)) {
    let first = setting("P4_FUZZ_SEED", 0);
    for seed in first..first + setting("P4_FUZZ_CASES", 150) {
        run(&mut Pcg64Mcg::seed_from_u64(seed), seed);
    }
}

/// A program to start from.
fn origin(rng: &mut Pcg64Mcg, seed: u64) -> String {
    if rng.random_range(0..4) == 0 {
        return include_str!("../testdata/everything.p4").to_string();
    }
    generate::program(seed)
}

/// Parses; if nothing is wrong, prints and parses again.
fn survives(text: &str) {
    let (first, map) = parse_text(text);
    for diagnostic in first.diagnostics.iter() {
        base_diag::render(diagnostic, &map, Default::default());
    }
    let printed = print(&first.program);
    if first.diagnostics.has_errors() {
        parse_text(&printed);
        return;
    }
    let (second, _) = parse_text(&printed);
    assert!(!second.diagnostics.has_errors(), "--- printed ---\n{printed}\n--- from ---\n{text}");
    assert_eq!(
        shape(&first.program),
        shape(&second.program),
        "--- printed ---\n{printed}\n--- from ---\n{text}"
    );
}

#[test]
fn text() {
    const ODD: &[&str] = &[
        "\"",
        "/*",
        "*/",
        "\\\n",
        "#",
        "\n#if 1\n",
        "\n#define a a b\n",
        "\u{fffd}",
        "\0",
        "é",
        "8w",
        "{#}",
    ];
    each_case(|rng, seed| {
        let mut bytes = origin(rng, seed).into_bytes();
        for _ in 0..rng.random_range(1..6) {
            let at = rng.random_range(0..=bytes.len());
            match rng.random_range(0..4) {
                0 => bytes.truncate(at),
                1 if at < bytes.len() => bytes[at] = rng.random_range(0..128) as u8,
                2 => {
                    let end = (at + rng.random_range(0..40)).min(bytes.len());
                    bytes.drain(at..end);
                }
                _ => {
                    let odd = ODD[rng.random_range(0..ODD.len())];
                    bytes.splice(at..at, odd.bytes());
                }
            }
        }
        survives(&String::from_utf8_lossy(&bytes));
    });
}

#[test]
fn tokens() {
    each_case(|rng, seed| {
        let text = origin(rng, seed);
        let mut words: Vec<&str> =
            text.split_inclusive([' ', '\n', '(', ')', '{', '}', ';', '<', '>', ',']).collect();
        for _ in 0..rng.random_range(1..8) {
            if words.is_empty() {
                break;
            }
            let (at, other) = (rng.random_range(0..words.len()), rng.random_range(0..words.len()));
            match rng.random_range(0..4) {
                0 => drop(words.remove(at)),
                1 => words.swap(at, other),
                2 => words.insert(at, words[other]),
                _ => words[at] = words[other],
            }
        }
        survives(&words.concat());
    });
}

#[test]
fn directives() {
    const LINES: &[&str] = &[
        "#define A A B C(A)",
        "#define B A A",
        "#define C(x) x x #x x##x",
        "#define D(x, ...) C(x) __VA_ARGS__ D",
        "#if A",
        "#ifdef B",
        "#else",
        "#elif C(1) > 2",
        "#endif",
        "#undef A",
        "A B",
        "C(A) D(1, 2",
        ")",
        "D(B, C(",
        "))",
        "#include \"main.p4\"",
        "# 7 \"x\"",
        "#line",
        "#define",
        "const int x = __LINE__;",
        "#if 1 ? (2 : 3",
        "\"",
        "/*",
        "*/",
        "\\",
        "#define C C (",
        "__COUNTER__ ## x",
    ];
    each_case(|rng, _| {
        let lines: Vec<&str> =
            (0..rng.random_range(1..30)).map(|_| LINES[rng.random_range(0..LINES.len())]).collect();
        survives(&lines.join("\n"));
    });
}

/// Text that nests without end: the repeated text on the left, the text around it on the right.
#[test]
fn deep_nesting() {
    let around = [
        ("(", "const int x = {};"),
        ("{", "const int x = {};"),
        ("-", "const int x = {};"),
        ("(T) ", "typedef int T; const int x = {} 1;"),
        ("a + (", "const int x = {};"),
        ("a + ", "const int x = {} 1;"),
        ("a ? b : ", "const int x = {} c;"),
        ("a ? ", "const int x = {};"),
        ("a[", "const int x = {};"),
        ("f(", "const int x = {};"),
        ("a.", "const int x = {} b;"),
        ("[1]", "const int x = a{};"),
        ("(1)", "const int x = a{};"),
        ("f<bit<(", "const int x = {};"),
        ("tuple<", "const {} x = 1;"),
        ("[1]", "const int{} x = 1;"),
        ("[1]", "struct s { int x{}; }"),
        ("{ ", "control c() { apply { {} } }"),
        ("if (a) ", "control c() { apply { {} ; } }"),
        ("if (a) ; else ", "control c() { apply { {} ; } }"),
        ("for (T i in a) ", "control c() { apply { {} ; } }"),
        ("switch (a) { a: { ", "control c() { apply { {} } }"),
        ("@a[", "{} const int x = 1;"),
        ("@a(", "{} const int x = 1;"),
        ("E() x = { ", "{}"),
        ("a < b < ", "const int x = {};"),
        ("a<", "const int x = {};"),
        ("tuple<a, ", "control c() { apply { {} } }"),
        ("parser p() { state s { ", "{}"),
        ("typedef struct s { ", "{}"),
    ];
    for (open, frame) in around {
        for times in [100, 1_000, 100_000] {
            survives(&frame.replace("{}", &open.repeat(times)));
        }
    }
}

#[test]
fn long_programs_take_linear_time() {
    for piece in [
        "const int x = 1;\n",
        "struct s { bit<8> f; }\n",
        "@a(1) @b[2]\nconst int x = f<T>(a, b) < c;\n",
        "; ",
        "( ",
        "} ",
    ] {
        survives_quietly(&piece.repeat(200_000 / piece.len()));
    }
}

/// As `survives`, without comparing trees.
fn survives_quietly(text: &str) {
    let (parsed, _) = parse_text(text);
    print(&parsed.program);
}
