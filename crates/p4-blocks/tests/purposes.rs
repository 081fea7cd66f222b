//! Choice among the blocks of a purpose: order, fixed parameters, architectures, errors out of reach.

use p4_blocks::{Alternative, Arch, Form, PURPOSES, Purpose, expected_error, find, rank, size};

fn purpose(name: &str) -> &'static Purpose {
    PURPOSES.iter().find(|purpose| purpose.name == name).unwrap_or_else(|| panic!("no purpose {name}"))
}

fn alternatives(name: &str, wanted: &str) -> Vec<Alternative> {
    let wanted = purpose(name).read(wanted).unwrap_or_else(|why| panic!("{why}"));
    purpose(name).alternatives(&wanted)
}

fn ranks(of: &[Alternative]) -> Vec<(u64, u64)> {
    let cost = |of: &Alternative| (find(of.block).expect("a block").cost)(&of.request.values);
    of.iter().map(|of| rank(&cost(of))).collect()
}

/// Each block with its cheapest sizes, other sizes, and the exact twin; both groups by stages, and then by memory.
#[test]
fn the_cheapest_sizes_of_each_block_come_first() {
    let all = alternatives("product", "error=1%,bits=32");
    let (last, others) = all.split_last().expect("alternatives");
    assert_eq!((last.form, last.error), (Form::Exact, 0.0));
    assert!(others.iter().all(|of| of.form == Form::Approximate && of.error > 0.0 && of.error <= 0.01));
    // `multiply` has 3 stages and more memory.
    assert_eq!([others[0].block, others[1].block], ["multiply", "multiply-normalised"]);
    for of in &others[..2] {
        let block = find(of.block).expect("a block");
        let cheapest = size(block, &block.defaults(), &["bits"], 10_000, 0.01).expect("sizes");
        assert_eq!(cheapest.expect("possible").values, of.request.values);
    }
}

/// Sketches have many sizes for an error: more rows, or more columns.
#[test]
fn other_sizes_follow_the_cheapest() {
    let all = alternatives("sum-of-key", "error=5%,flows=200");
    let others = &all[2..all.len() - 1];
    assert!(others.len() > 1 && ranks(others).is_sorted(), "{others:?}");
    assert_ne!(all[0].block, all[1].block);
    assert!(all[..all.len() - 1].iter().all(|of| of.error <= 0.05), "{all:?}");
}

/// Each block has its turn before a second size of any.
#[test]
fn other_sizes_of_one_block_follow_the_other_block() {
    let all = alternatives("product", "error=2.63%,bits=32");
    let blocks: Vec<&str> = all.iter().map(|of| of.block).collect();
    assert_eq!(blocks, ["multiply", "multiply-normalised", "multiply", "multiply"]);
    assert_eq!(all[2].form, Form::Approximate);
}

#[test]
fn a_block_that_is_out_of_the_question_comes_last() {
    let wanted = purpose("number-of-keys").read("error=5%,flows=100000000").expect("requirements");
    let all = purpose("number-of-keys").variants(&wanted);
    let found: Vec<(&str, bool)> = all.iter().map(|of| (of.block.name, of.found.is_ok())).collect();
    assert_eq!(found, [("hyperloglog", true), ("bitmap", false)]);
}

#[test]
fn given_parameters_are_kept() {
    for of in alternatives("product", "error=5%,bits=16,mantissa=7") {
        let values = &of.request.values;
        assert_eq!((values.get("bits"), values.get("mantissa")), (16, 7), "{of:?}");
    }
}

/// A Tofino runs no exact twin, and no block without a form for it.
#[test]
fn a_tofino_gets_its_forms_only() {
    let all = alternatives("number-of-keys", "error=5%,flows=2000,for=tna");
    assert!(!all.is_empty());
    for of in all {
        assert_eq!((of.block, of.form, of.request.arch), ("bitmap", Form::Approximate, Arch::Tna));
    }
}

#[test]
fn wrong_requirements_are_refused() {
    let refused = |text: &str| purpose("number-of-keys").read(text).expect_err("refused");
    assert_eq!(refused("flows=5"), "number-of-keys: an error is wanted, as `error=1%`");
    assert_eq!(refused("error=1%,flows=0"), "number-of-keys: flows is 0: the nearest is 1");
    for error in ["0", "0%", "-1%", "nan", "inf", ""] {
        let why = refused(&format!("error={error}"));
        assert_eq!(why, "number-of-keys: a percentage above 0 is wanted, as `5%`", "{error}");
    }
}

/// The nearest has the least error of all sizes; where no size has a bound, it is the largest.
#[test]
fn an_error_out_of_reach_gives_the_nearest_size() {
    let bitmap = find("bitmap").expect("a block");
    let nearest = |flows, wanted| {
        let sized = size(bitmap, &bitmap.defaults(), &[], flows, wanted).expect("sizes change it");
        sized.expect_err("out of reach")
    };
    let near = nearest(10_000, 1e-9);
    assert_eq!(near.values.get("cells"), 1 << 20);
    assert_eq!(Some(near.error), expected_error(bitmap, &near.values, 10_000));
    let near = nearest(100_000_000, 0.01);
    assert_eq!((near.values.get("cells"), near.error), (1 << 20, f64::INFINITY));
    let wanted = purpose("number-of-keys").read("error=1%,flows=100000000,for=tna").expect("requirements");
    let why = purpose("number-of-keys").best(&wanted).expect_err("out of reach");
    assert!(why.contains("bitmap: every size is too small for 100000000 flows"), "{why}");
    // So it is where all bursts are missed.
    let flowlet = find("flowlet").expect("a block");
    let near =
        size(flowlet, &flowlet.defaults(), &[], u32::MAX, 0.01).expect("sizes").expect_err("out of reach");
    assert_eq!((near.values.get("columns"), near.error), (1 << 20, 1.0));
    // Small tables are the nearest, if products have few bits: more memory gives no less.
    let multiply = find("multiply").expect("a block");
    let given = multiply.with(&[("mantissa", 2)]).expect("possible");
    let near = size(multiply, &given, &["mantissa"], 1, 1e-6).expect("sizes").expect_err("out of reach");
    for fraction in 5..=13 {
        let values = multiply.changed(&given, "fraction", fraction).expect("possible");
        assert!(expected_error(multiply, &values, 1).expect("an error") >= near.error, "fraction {fraction}");
    }
}
