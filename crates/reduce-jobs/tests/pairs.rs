//! Data to pairs, pairs to packets, and results back.

use aggregate::reducer::Sums;
use aggregate::{Op, Place};
use base_diag::Diagnostic;
use base_time::Rng;
use reduce_jobs::check;
use reduce_jobs::job::{Column, Function, Reducer};
use reduce_jobs::network::{KeyError, Packed, rows};
use reduce_jobs::pairs::Combined;
use std::collections::BTreeMap;

fn combined(function: &Function, values: usize, text: &str) -> Result<Vec<(String, Vec<u64>)>, String> {
    let mut combined = Combined::new(Op::Add, values, u32::MAX.into());
    combined.read(function, text.as_bytes()).map_err(|problem| problem.to_string())?;
    let pair = |(key, values): (&[u8], &[u64])| (String::from_utf8_lossy(key).into_owned(), values.to_vec());
    Ok(combined.iter().map(pair).collect())
}

fn pairs(list: &[(&str, &[u64])]) -> Result<Vec<(String, Vec<u64>)>, String> {
    Ok(list.iter().map(|(key, values)| (key.to_string(), values.to_vec())).collect())
}

#[test]
fn functions_give_combined_pairs() {
    let text = "To be, or not to be\r\n\n\u{c4}rger";
    let wanted: &[(&str, &[u64])] =
        &[("be", &[2]), ("not", &[1]), ("or", &[1]), ("to", &[2]), ("\u{e4}rger", &[1])];
    assert_eq!(combined(&Function::Words, 1, text), pairs(wanted));
    assert_eq!(combined(&Function::Lines, 1, "b\r\na\nb\n\n"), pairs(&[("a", &[1]), ("b", &[2])]));
    let csv = "user,bytes,packets\n\"a,\"\"b\"\"\",7,1\nc,8,2\n\n\"a,\"\"b\"\"\",1,1\n";
    let function = Function::Pairs {
        key: Column::Name("user".into()),
        values: vec![Column::Name("bytes".into()), Column::Number(3)],
    };
    assert_eq!(combined(&function, 2, csv), pairs(&[("a,\"b\"", &[8, 2]), ("c", &[8, 2])]));
    let function = Function::Array { value: None };
    assert_eq!(combined(&function, 1, "7\n\n0\r\n9"), pairs(&[("0", &[7]), ("1", &[0]), ("2", &[9])]));
    let function = Function::Array { value: Some(Column::Name("bytes".into())) };
    assert_eq!(combined(&function, 1, csv), pairs(&[("0", &[7]), ("1", &[8]), ("2", &[1])]));
    let function = Function::Count { key: Column::Number(1) };
    assert_eq!(combined(&function, 1, "x,1\ny\nx\n"), pairs(&[("x", &[2]), ("y", &[1])]));
    let function = Function::Run { command: String::new() };
    assert_eq!(combined(&function, 2, "k\t1\t2\nk\t3\t4"), pairs(&[("k", &[4, 6])]));
}

#[test]
fn bad_data_is_named_by_its_line() {
    let function = |value: &str| Function::Pairs {
        key: Column::Number(1),
        values: vec![value.parse().map_or_else(|_| Column::Name(value.into()), Column::Number)],
    };
    let cases = [
        (function("2"), "a,1\nb\n", "line 2: there is no column 2"),
        (function("2"), "a,1\nb,x\n", "line 2: `x` is not a whole number"),
        (function("2"), "a,1\nb,-1\n", "line 2: `-1` is not a whole number"),
        (function("bytes"), "user,octets\n", "there are `user`, `octets`"),
        (function("2"), "a,4294967295\na,1\n", "line 2: the value of `a` is wider"),
        (function("2"), "a,\"1\n2", "line 1: a quoted field has no end"),
        (Function::Run { command: String::new() }, "k\t1\t2", "line 1: 2 values for a key"),
        (Function::Array { value: None }, "1\n2 3\n", "line 2: `2 3` is not a whole number"),
        (Function::Array { value: Some(Column::Number(2)) }, "1,1\n1\n", "line 2: there is no column 2"),
        (Function::Array { value: None }, "1\n4294967296\n", "line 2: the value of `1` is wider"),
    ];
    for (function, text, what) in cases {
        let found = combined(&function, 1, text).expect_err(what);
        assert!(found.contains(what), "{found}");
    }
    let long = "x".repeat(5000);
    assert!(combined(&Function::Lines, 1, &long).expect_err("it is long").contains("5000 bytes"));
}

fn reducer(settings: &str) -> Reducer {
    let text = format!("dataset d = \"h:p\"\nmapper m = run(d, command = \"x\")\nreducer r = {settings}");
    let mut problems: Vec<Diagnostic> = vec![];
    let job = check(&text, 1, &mut problems).unwrap_or_else(|| panic!("{problems:?}"));
    job.reducers.into_iter().next().expect("there is one")
}

#[test]
fn results_are_the_serial_fold_for_all_kinds_of_keys_and_values() {
    let kinds = [
        "add(m)",
        "add(m, value = u64)",
        "or(m, value = u64, values = 3)",
        "max(m, values = 40)",
        "add(m, key = text)",
        "add(m, key = text, value = u64, values = 2)",
        "min(m, key = number)",
        "add(m, key = number, value = u64, values = 3)",
        "add(m, profile = software)",
    ];
    for settings in kinds {
        let reducer = reducer(settings);
        let most = if settings.contains("u64") { u64::MAX / 8 } else { u64::from(u32::MAX) / 8 };
        let mut rng = Rng::new(5);
        let mut wanted: BTreeMap<Vec<u8>, Vec<u64>> = BTreeMap::new();
        let (mut sums, mut names): (Sums, BTreeMap<Place, Vec<u8>>) = Default::default();
        for _ in 0..4 {
            let mut own = BTreeMap::new();
            for _ in 0..50 {
                let key = rng.below(80).to_string().into_bytes();
                let value = |_| if rng.chance(1, 4) { 0 } else { rng.below(most) };
                own.insert(key, (0..reducer.values).map(value).collect::<Vec<u64>>());
            }
            for (key, values) in &own {
                let held = wanted
                    .entry(key.clone())
                    .or_insert_with(|| vec![if reducer.op == Op::Min { u64::MAX } else { 0 }; values.len()]);
                held.iter_mut()
                    .zip(values)
                    .for_each(|(held, value)| *held = reducer.op.fold_wide(*held, *value));
            }
            let pairs = own.iter().map(|(key, values)| (key.as_slice(), values.as_slice()));
            let packed = Packed::new(&reducer, pairs).expect("it packs");
            for pair in packed.pairs {
                let value = u64::from(pair.value);
                sums.entry(pair.place)
                    .and_modify(|held| *held = reducer.op.fold_wide(*held, value))
                    .or_insert(value);
            }
            names.extend(packed.names);
        }
        let found = rows(&reducer, &sums, &names).expect("all keys are known");
        let found: BTreeMap<Vec<u8>, Vec<u64>> = found
            .into_iter()
            .map(|(key, values)| (key, values.into_iter().map(|value| value as u64).collect()))
            .collect();
        assert_eq!(found, wanted, "{settings}");
    }
}

#[test]
fn keys_that_no_packet_carries_are_refused() {
    let pack = |settings: &str, keys: &[&str]| {
        let reducer = reducer(settings);
        let values = vec![1; reducer.values as usize];
        Packed::new(&reducer, keys.iter().map(|key| (key.as_bytes(), values.as_slice()))).map(|_| ())
    };
    assert!(matches!(pack("add(m, key = text)", &["0123456789abcdefg"]), Err(KeyError::TooLong(_, 16))));
    assert!(matches!(pack("add(m, key = text)", &[""]), Err(KeyError::TooLong(..))));
    assert!(matches!(
        pack("add(m, key = text, values = 2)", &["0123456789abcdef"]),
        Err(KeyError::TooLong(_, 15))
    ));
    assert!(matches!(pack("add(m, key = number)", &["x"]), Err(KeyError::NoNumber(..))));
    assert!(matches!(pack("add(m, key = number)", &["281474976710656"]), Err(KeyError::NoNumber(..))));
    assert_eq!(pack("add(m, key = number)", &["0", "65535"]), Ok(()));
}

/// Elements of several files are one array. Elements that no mapper has are 0.
#[test]
fn arrays_of_data_come_back_in_their_order() {
    let text = "dataset d1 = \"h1:a\"\nmapper m1 = array(d1)\nmapper m2 = array(d1)\n\
                reducer r = add(m1, m2, profile = arrays, value = u64, elements = 103)\n";
    let job = check(text, 1, &mut vec![]).expect("it is a job");
    let reducer = &job.reducers[0];
    let mut all: Sums = Sums::new();
    let mut wanted = vec![0u128; 103];
    for (files, scale) in [(["0", "1"], 1u64), (["3", "2"], 1 << 40)] {
        let mut combined = Combined::new(Op::Add, 1, u64::MAX);
        for file in files {
            let lines: Vec<String> =
                (0..50).map(|at| (scale * (at + file.parse::<u64>().unwrap())).to_string()).collect();
            combined.read(&Function::Array { value: None }, lines.join("\n").as_bytes()).unwrap();
        }
        for (wanted, at) in wanted.iter_mut().zip(0..100) {
            let file: u64 = files[at / 50].parse().unwrap();
            *wanted += u128::from(scale * (at as u64 % 50 + file));
        }
        let packed = Packed::new(reducer, combined.iter()).expect("it has places");
        assert!(packed.names.is_empty());
        for pair in packed.pairs {
            *all.entry(pair.place).or_default() += u64::from(pair.value);
        }
    }
    let found = rows(reducer, &all, &BTreeMap::new()).expect("it has names");
    let found: Vec<(String, u128)> =
        found.into_iter().map(|(key, values)| (String::from_utf8(key).unwrap(), values[0])).collect();
    let wanted: Vec<(String, u128)> = (0..).map(|at: u32| at.to_string()).zip(wanted).collect();
    assert_eq!(found, wanted);
    let beyond = Packed::new(reducer, [(&b"103"[..], &[1u64][..])].into_iter());
    assert_eq!(beyond.err(), Some(KeyError::Beyond(103, 103)));
    assert!(KeyError::Beyond(103, 103).in_words().1.contains("elements = 104"));
}
