//! Texts of jobs: what they mean, and what is said about mistakes.

use aggregate::{Layout, Op};
use base_diag::{Diagnostic, SourceMap, Span, Style, render};
use base_time::Rng;
use reduce_jobs::job::{Column, Function, KeyKind, ValueKind};
use reduce_jobs::plan::operators;
use reduce_jobs::{Job, check};

fn read(text: &str) -> (Option<Job>, String) {
    let mut map = SourceMap::new();
    let file = map.add_file("a.job", text, Span::NONE).expect("it is small");
    let first = map.file(file).expect("it was added").base();
    let mut problems: Vec<Diagnostic> = vec![];
    let job = check(text, first, &mut problems);
    (job, problems.iter().map(|problem| render(problem, &map, Style::Plain)).collect())
}

fn job(text: &str) -> Job {
    let (job, problems) = read(text);
    job.unwrap_or_else(|| panic!("{problems}"))
}

const START: &str =
    "dataset d1 = \"h1:part1\"\ndataset d2 = \"h2:part2\"\nmapper m1 = words(d1)\nmapper m2 = words(d2)\n";

#[test]
fn a_job_is_read() {
    let text = "\
# Flow statistics.
dataset d1 = \"10.0.1.1:/data/part1\"   # a directory
dataset d2 = \"h2:flows.csv\"
dataset d3 = \"here/only\"
mapper m1 = pairs(d1, key = \"flow\", value = packets, value = 4)
mapper m2 = run(d2, d3, command = \"./map.py --flows\",)
reducer flows = sum(
    m1, m2,            # both
    at = \"10.0.0.1\", value = u64, values = 2, rounds = 8, rows = 256, number = 7,
)
reducer more = add(m1, profile = software, window = 16)
";
    let job = job(text);
    assert_eq!(job.datasets[1].host.as_deref(), Some("h2"));
    assert_eq!((job.datasets[2].host.as_deref(), job.datasets[2].path.as_str()), (None, "here/only"));
    let values = vec![Column::Name("packets".into()), Column::Number(4)];
    assert_eq!(job.mappers[0].function, Function::Pairs { key: Column::Name("flow".into()), values });
    assert_eq!(job.mappers[1].datasets, [1, 2]);
    let flows = &job.reducers[0];
    assert_eq!((flows.op, flows.number, flows.values, flows.value), (Op::Add, 7, 2, ValueKind::U64));
    assert_eq!((flows.chunks(), flows.layout), (6, Layout { index_bits: 8, ..Layout::PIPELINE }));
    assert!(!job.is_group(flows));
    let more = &job.reducers[1];
    assert_eq!((more.number, more.key, more.values), (1, KeyKind::Hashed, 2));
    assert_eq!(more.layout, Layout { window: 16, ..Layout::SOFTWARE });
}

#[test]
fn programs_are_a_group_by_the_operators_that_its_calls_may_have() {
    let job = job(
        "mapper w1 = program(at = h1)\nmapper w2 = program(at = \"10.0.0.2\")\nreducer r = max(w1, w2)\n",
    );
    let hosts: Vec<_> =
        job.mappers.iter().filter_map(|mapper| Some(mapper.at.as_ref()?.value.as_str())).collect();
    assert_eq!(hosts, ["h1", "10.0.0.2"]);
    assert!(job.is_group(&job.reducers[0]));
    assert_eq!(operators(&job, &job.reducers[0]), [Op::Max, Op::Add, Op::Min]);
    let arrays = self::job(
        "dataset d1 = \"h1:a\"\nmapper m1 = array(d1)\nreducer r = add(m1, profile = arrays, value = u64, elements = 50000)\n",
    );
    let reducer = &arrays.reducers[0];
    // Three chunks of each element; 65,536 places in a round.
    assert_eq!((reducer.key, reducer.rounds, reducer.elements()), (KeyKind::Number, 3, Some(50_000)));
    assert_eq!((reducer.keys, reducer.better_rounds(50_000, 50_000, 0)), (Some((50_000, 50_000)), None));
    let arrays = self::job("mapper w1 = program(at = h1)\nreducer r = max(w1, profile = arrays)\n");
    assert_eq!(arrays.reducers[0].layout, aggregate::Layout::DENSE);
    assert_eq!(operators(&arrays, &arrays.reducers[0]), [Op::Max, Op::Add, Op::Or]);
}

#[test]
fn rounds_follow_the_estimates_unless_they_are_given() {
    let rounds = |settings: &str| {
        job(&format!("{START}reducer r = add(m1, m2, rows = 256{settings})\n")).reducers[0].rounds
    };
    assert_eq!(rounds(""), 1);
    let keys = ", keys = 2000000, distinct = 2500000";
    let found = rounds(keys);
    assert!((100..2000).contains(&found), "{found}");
    assert_eq!(rounds(&format!("{keys}, rounds = 3")), 3);
    assert_eq!(rounds(&format!("{keys}, profile = software")), 1, "pairs evict each other");
    assert_eq!(rounds(&format!("{keys}, by = hosts")), 1);
    let reducer =
        &job(&format!("{START}reducer r = add(m1, m2, rows = 256, rounds = {found})\n")).reducers[0];
    assert_eq!(reducer.better_rounds(4_000_000, 2_500_000, 0), None);
    assert!(reducer.better_rounds(4_000, 2_500, 0).is_some_and(|better| better < 4));
    // The rows of each round of a switch behind another one are packets.
    assert!(reducer.better_rounds(4_000_000, 2_500_000, 1).is_some_and(|better| better < found / 2));
    // Mappers with the same keys: their links are the busier ones, and more rounds save bytes on the reducer's.
    let programs: String = (1..=6).map(|at| format!("mapper w{at} = program(at = h{at})\n")).collect();
    let reducer =
        &job(&format!("{programs}reducer r = add(w1, w2, w3, w4, w5, w6, rows = 8192)\n")).reducers[0];
    assert_eq!((reducer.rounds, reducer.better_rounds(393_216, 65_536, 0)), (1, Some(2)));
}

/// The text after the common start, the code, and a piece of what is said.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("reducer r = add(m1", "P4R1601", "expected `)`"),
    ("reduce r = add(m1)", "P4R1601", "did you mean `reducer`?"),
    ("reducer r add(m1)", "P4R1601", "expected `=`"),
    ("reducer r = add(m1) more", "P4R1601", "expected the end of the line"),
    ("dataset d3 = \"h1:x", "P4R1601", "a text has no end"),
    ("reducer r = add(m1); ", "P4R1601", "`;` has no meaning here"),
    ("mapper m3 = words(d9)\nreducer r = add(m3)", "P4R1602", "there is no dataset `d9`"),
    ("reducer r = add(d1)", "P4R1602", "`d1` is a dataset, not a mapper"),
    ("reducer r = add(m1, m1)", "P4R1602", "`m1` is named twice"),
    ("mapper m1 = words(d2)\nreducer r = add(m1)", "P4R1602", "`m1` is declared twice"),
    ("mapper m3 = wrods(d1)\nreducer r = add(m3)", "P4R1602", "did you mean `words`?"),
    ("", "P4R1602", "the job has no reducer"),
    ("reducer r = mean(m1)", "P4R1603", "a mean of means is not the mean of all"),
    ("reducer r = sub(m1)", "P4R1603", "not associative"),
    ("reducer r = concat(m1)", "P4R1603", "not commutative"),
    ("reducer r = mox(m1)", "P4R1603", "did you mean `max`?"),
    ("reducer r = max(m1, value = u64)", "P4R1604", "wider than a slot"),
    ("reducer r = add(m1, key = text, profile = pipeline)", "P4R1605", "whole keys do not fit"),
    ("reducer r = add(m1, number = 3)\nreducer s = add(m2, number = 3)", "P4R1607", "have the number 3"),
    ("reducer r = add(m1, rows = 1000)", "P4R1608", "use 512 or 1024"),
    ("reducer r = add(m1, rouns = 2)", "P4R1608", "did you mean `rounds`?"),
    ("reducer r = add(m1, rounds = 2, rounds = 3)", "P4R1608", "`rounds` is given twice"),
    ("reducer r = add(m1, rounds = 0)", "P4R1608", "a number from 1 to 32768"),
    ("reducer r = add(m1, values = 2)", "P4R1608", "a mapper gives 1 values, not 2"),
    ("reducer r = add(m1)\nreducer s = max(m1)", "P4R1608", "`m1` is reduced by two operators"),
    ("mapper m3 = words(d1, d2)\nreducer r = add(m3)", "P4R1608", "is on several hosts"),
    ("mapper m3 = pairs(d1, key = 0, value = 1)\nreducer r = add(m3)", "P4R1608", "numbered from 1"),
    ("mapper m3 = count(d1)\nreducer r = add(m3)", "P4R1608", "`count` needs `key`"),
    ("mapper m3 = program()\nreducer r = add(m3)", "P4R1608", "the program has no host"),
    ("mapper m3 = program(d1, at = h1)\nreducer r = add(m3)", "P4R1608", "a program has its data itself"),
    ("mapper m3 = program(at = 3)\nreducer r = add(m3)", "P4R1608", "`at` is a host"),
    ("mapper m3 = program(at = h1, rows = 4)\nreducer r = add(m3)", "P4R1608", "`program` takes no `rows`"),
    ("mapper m3 = program(at = h1)\nreducer r = add(m1, m3)", "P4R1608", "some mappers of `r` are programs"),
    ("reducer r = add(m1, profile = arrays)", "P4R1608", "is for mappers whose data are arrays"),
    ("reducer r = add(m1, elements = 7)", "P4R1608", "use `profile = arrays`"),
    ("mapper m3 = array(d1)\nreducer r = add(m3, profile = arrays)", "P4R1608", "how long its arrays are"),
    ("mapper m3 = array(d1, value = 0)\nreducer r = add(m3)", "P4R1608", "numbered from 1"),
    ("mapper m3 = array(d1, key = 1)\nreducer r = add(m3)", "P4R1608", "`array` takes no `key`"),
    (
        "mapper m3 = array(d1)\nreducer r = add(m3, profile = arrays, rows = 64, elements = 1000000000)",
        "P4R1608",
        "1000000000 elements take 122071 rounds",
    ),
    (
        "mapper m3 = program(at = h1)\nreducer r = add(m3, profile = arrays, elements = 7)",
        "P4R1608",
        "`elements` is for arrays in data",
    ),
    (
        "mapper m3 = program(at = h1)\nreducer r = min(m3, profile = arrays)",
        "P4R1608",
        "cannot reduce by `min`",
    ),
    (
        "mapper m3 = program(at = h1)\nreducer r = add(m3, profile = arrays, rounds = 2)",
        "P4R1608",
        "neither `key` nor `rounds`",
    ),
    (
        "mapper m3 = program(at = h1)\nreducer r = add(m3, profile = arrays, rows = 32768)",
        "P4R1608",
        "at most 16384 rows",
    ),
    ("reducer r = add(m1, key = number, profile = software)", "P4R1608", "use `profile = pipeline`"),
];

#[test]
fn mistakes_have_a_code_a_place_and_advice() {
    for (text, code, what) in MISTAKES {
        let (job, problems) = read(&format!("{START}{text}\n"));
        assert!(job.is_none(), "{text}");
        assert!(problems.contains(code) && problems.contains(what), "{text}\n{problems}");
        assert!(problems.contains("a.job:"), "{text}\n{problems}");
        assert_eq!(problems.matches("error[").count(), 1, "{text}\n{problems}");
    }
}

#[test]
fn several_mistakes_are_reported_at_once() {
    let (_, problems) = read(&format!("{START}reducer r = mean(m1)\nreducer s = add(m9)\nfoo\n"));
    assert_eq!(problems.matches("error[").count(), 3, "{problems}");
}

#[test]
fn any_text_is_read_or_refused() {
    let pieces = [
        "dataset",
        "mapper",
        "reducer",
        "d1",
        "m1",
        "=",
        "(",
        ")",
        ",",
        "\n",
        "\"h:p\"",
        "\"",
        "words",
        "add",
        "7",
        "rows",
        "value",
        "u64",
        "number",
        "#",
        "é",
        "99999999999999999999",
        "key",
        "text",
        "by",
        "hosts",
    ];
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        let text: String =
            (0..rng.below(60)).map(|_| format!("{} ", rng.pick(&pieces).expect("some"))).collect();
        let start = if rng.next_bool() { START } else { "" };
        let (job, problems) = read(&format!("{start}{text}"));
        assert_eq!(job.is_none(), !problems.is_empty(), "{text}");
    }
}
