//! Tables of logarithms: the rows and errors of FlexSwitch's Table 2.

use p4_blocks::{Block, Form, Request, find};

fn block(name: &str) -> &'static Block {
    find(name).unwrap_or_else(|| panic!("no block {name}"))
}

#[test]
fn rows_are_those_of_the_paper() {
    let paper = [
        (16, [(3, 6, 59), (4, 7, 111), (6, 9, 383)]),
        (32, [(3, 7, 123), (4, 8, 239), (6, 10, 895)]),
        (64, [(3, 9, 251), (4, 9, 495), (6, 11, 1919)]),
    ];
    for (bits, rows) in paper {
        for (mantissa, fraction, ternary) in rows {
            let multiply = block("multiply");
            let values = multiply.with(&[("bits", bits), ("mantissa", mantissa), ("fraction", fraction)]);
            let cost = (multiply.cost)(&values.expect("possible sizes"));
            let entries: Vec<u64> = cost.tables.iter().map(|table| table.entries).collect();
            assert_eq!(entries, [ternary, ternary, 1 << fraction], "{bits} {mantissa} {fraction}");
        }
    }
}

#[test]
fn wrong_sizes_are_refused_with_the_nearest() {
    let refused = |name: &str, text: &str| block(name).read(text).expect_err("refused");
    assert_eq!(
        refused("count-min", "columns=1000"),
        "count-min: columns is 1000, which is not a power of two: the nearest is 512 or 1024"
    );
    assert_eq!(refused("count-min", "rows=9"), "count-min: rows is 9, and can be 1 to 8: the nearest is 8");
    assert_eq!(
        refused("multiply", "bits=64,fraction=5"),
        "multiply: fraction is 5: 2^5 steps are less than one for each of 64 bits; the nearest is 6"
    );
    assert_eq!(
        refused("divide-normalised", "bits=8,point=8"),
        "divide-normalised: point is 8, and the result has 8 bits: the nearest is 7"
    );
    assert_eq!(refused("wcmp", "slots=2"), "wcmp: 4 ports need 4 slots: the nearest is 4");
    assert_eq!(refused("wcmp", "w0=0,w1=0,w2=0,w3=0"), "wcmp: all weights are 0: one has to be greater");
    assert_eq!(
        refused("count-min", "key=12"),
        "count-min: key is 12, which is not a multiple of 8: the nearest is 8 or 16"
    );
    assert_eq!(
        refused("bitmap", "cells=64,groups=16"),
        "bitmap: 16 groups share 64 cells, and each needs 8: the nearest number of groups is 8"
    );
    assert_eq!(refused("count-min", "row=3"), "count-min has no parameter `row`: did you mean `rows`?");
    assert_eq!(refused("count-min", "rows=2,rows=3"), "count-min: `rows` is given twice");
    assert_eq!(refused("count-min", "as=3x"), "count-min: `as=3x` is no name of a control");
}

/// p4c takes a table's properties for declarations, and refuses one that hides a parameter.
#[test]
fn no_parameter_is_named_like_a_property_of_tables() {
    let properties = ["key", "actions", "entries", "default_action", "size", "implementation"];
    for block in p4_blocks::BLOCKS {
        for port in (block.ports)(&block.defaults()) {
            assert!(!properties.contains(&port.name), "{}: {}", block.name, port.name);
        }
    }
}

#[test]
fn an_include_has_one_text_by_its_path() {
    let request = block("count-min").read("columns=64,as=Small").expect("possible sizes");
    let path = p4_blocks::path(block("count-min"), &request);
    assert_eq!(path, "p4rack/blocks/count-min/columns=64,as=Small.p4");
    let text = p4_blocks::include(&path, Form::Approximate).expect("a block");
    assert!(
        text.contains("control Small(in bit<32> item, in bit<32> amount, out bit<32> estimate)"),
        "{text}"
    );
    let wrong = p4_blocks::include("p4rack/blocks/count-min/columns=65.p4", Form::Approximate);
    assert_eq!(
        wrong.as_deref(),
        Some("#error \"count-min: columns is 65, which is not a power of two: the nearest is 64 or 128\"\n")
    );
    assert_eq!(p4_blocks::include("p4rack/blocks/count-mi.p4", Form::Approximate), None);
    let Request { values, .. } = block("count-min").read("").expect("the defaults");
    assert_eq!(values, block("count-min").defaults());
}
