//! Every block: bit-equal to its model on every engine, and within the limits of a limited switch.

use block_trials::{Inputs, Trial, compile};
use device_classes::DeviceClass;
use p4_blocks::{Arch, BLOCKS, Block, Form, Request};

/// Sizes that a block is tried with, beside its defaults: small ones, so that cells collide, and odd ones.
fn sizes(block: &str) -> &'static [&'static str] {
    match block {
        "count-min" | "count-min-conservative" => {
            &["", "rows=4,columns=16,key=104", "rows=1,columns=2,key=8"]
        }
        "count-min-decay" => &["columns=16", "rows=2,columns=8,epoch=4"],
        "bitmap" => {
            &["", "cells=64,mantissa=4,key=64", "cells=64,window=2", "cells=64,groups=4,window=2,key=128"]
        }
        "hyperloglog" => &["", "cells=16,mantissa=5,key=64", "cells=16,window=3", "cells=128,groups=8"],
        "ewma" => &["", "shift=1,cells=2"],
        "rate-interval" | "queue-meter" | "periodic" => &["interval=6,cells=4", "interval=12,cells=2"],
        "rate-continuous" => &["cells=4", "interval=16,mantissa=4,cells=2", "interval=4,cells=2"],
        "min-timestamp" => &["columns=16", "rows=3,columns=8,key=104"],
        "flowlet" => &["columns=16", "columns=8,routes=2,timeout=50", "columns=32,routes=256,key=104"],
        "wcmp" => &["", "slots=16,w0=5,w1=3,w2=0,w3=0,w7=2"],
        "two-choices" => &["", "cells=4"],
        "multiply" => {
            &["", "bits=16,mantissa=3,fraction=6", "bits=64,mantissa=3,fraction=9", "bits=11,fraction=8"]
        }
        "divide" => &["", "bits=16,mantissa=3,fraction=6,point=4", "bits=64,mantissa=3,fraction=9"],
        "multiply-normalised" => {
            &["", "bits=16,mantissa=5", "bits=64", "bits=9,mantissa=7", "bits=21,mantissa=2"]
        }
        "divide-normalised" => &["", "bits=16,mantissa=5,point=8", "bits=64,mantissa=4", "bits=9,mantissa=7"],
        _ => &[""],
    }
}

/// Runs a block on every engine, beside its model. In the long form, a million packets, in all sizes together.
fn run(block: &str, form: Form, arch: Arch) {
    let block = p4_blocks::find(&block.replace('_', "-")).expect("a block");
    if arch == Arch::Tna && block.not_for_tna.is_some() {
        return;
    }
    let sizes = sizes(block.name);
    let packets = match features::setting("P4RACK_ALL", 0) {
        0 => 2_000,
        _ => 1_000_000u64.div_ceil(sizes.len() as u64),
    };
    for text in sizes {
        let request = Request { arch, ..block.read(text).expect("possible sizes") };
        let mut inputs = Inputs::new(&(block.ports)(&request.values), 7);
        if let Err(why) = Trial::new(block, &request, form).run(&mut inputs, packets) {
            panic!("{text}: {why}");
        }
    }
}

/// A test for each block and form: `cargo test -p block-trials --test it wcmp` runs those of one block.
macro_rules! trials {
    ($($block:ident)*) => {
        const TRIED: &[&str] = &[$(stringify!($block)),*];

        mod every_engine_gives_what_the_model_gives {
            $(#[test]
            fn $block() {
                super::run(stringify!($block), super::Form::Approximate, super::Arch::V1Model);
            })*
        }

        mod every_engine_gives_the_same_for_a_tofino {
            $(#[test]
            fn $block() {
                super::run(stringify!($block), super::Form::Approximate, super::Arch::Tna);
            })*
        }

        mod every_engine_gives_what_the_exact_twin_is_to_give {
            $(#[test]
            fn $block() {
                super::run(stringify!($block), super::Form::Exact, super::Arch::V1Model);
            })*
        }
    };
}

trials! {
    bitmap
    hyperloglog
    count_min
    count_min_conservative
    count_min_decay
    multiply
    divide
    multiply_normalised
    divide_normalised
    ewma
    rate_interval
    rate_continuous
    queue_meter
    periodic
    min_timestamp
    flowlet
    wcmp
    two_choices
}

#[test]
fn every_block_is_tried() {
    let mut tried: Vec<String> = TRIED.iter().map(|name| name.replace('_', "-")).collect();
    let mut all = BLOCKS.map(|block| block.name);
    tried.sort_unstable();
    all.sort_unstable();
    assert_eq!(tried, all);
}

fn blocks_for(arch: Arch) -> impl Iterator<Item = &'static Block> {
    BLOCKS.into_iter().filter(move |block| arch == Arch::V1Model || block.not_for_tna.is_none())
}

#[test]
fn every_block_for_a_tofino_is_within_its_limits() {
    for block in blocks_for(Arch::Tna) {
        for text in sizes(block.name) {
            let request = Request { arch: Arch::Tna, ..block.read(text).expect("possible sizes") };
            let (program, _) = compile(block, &request, Form::Approximate);
            let found = ir_limits::check(&program, DeviceClass::Tofino1);
            assert!(found.is_empty(), "{} {text}: {found:#?}", block.name);
        }
    }
}

#[test]
fn every_block_runs_on_a_limited_switch() {
    for block in BLOCKS {
        for text in sizes(block.name) {
            let request = block.read(text).expect("possible sizes");
            let (program, _) = compile(block, &request, Form::Approximate);
            let found = ir_limits::check(&program, DeviceClass::FlexSwitch);
            assert!(found.is_empty(), "{} {text}: {found:#?}", block.name);
        }
    }
}

/// A gap of the timeout itself is within the burst: the inputs above hardly meet it.
#[test]
fn a_burst_ends_after_the_timeout_and_not_at_it() {
    let flowlet = p4_blocks::find("flowlet").expect("a block");
    for form in [Form::Approximate, Form::Exact] {
        let request = flowlet.read("timeout=500").expect("possible sizes");
        let Trial { devices, mut model } = Trial::new(flowlet, &request, form);
        let packets = [[7, 1000, 1], [7, 1500, 2], [7, 2001, 3], [7, 2501, 0]];
        let wanted = [[1, 1], [1, 0], [3, 1], [3, 0]];
        assert_eq!(packets.map(|packet| model.apply(&packet)), wanted.map(Vec::from), "the model");
        for (name, mut device) in devices {
            assert_eq!(
                packets.map(|packet| device.apply(&packet)),
                wanted.map(Vec::from),
                "{form:?}, {name}"
            );
        }
    }
}

/// The less loaded port is taken, and the first of two equal ones.
#[test]
fn two_equal_loads_give_the_first_port() {
    let choices = p4_blocks::find("two-choices").expect("a block");
    let request = choices.read("cells=4").expect("possible sizes");
    let Trial { devices, mut model } = Trial::new(choices, &request, Form::Approximate);
    let items = (0..40u128).map(|item| [item, 0, 0, 0]);
    let wanted: Vec<Vec<u128>> = items.clone().map(|inputs| model.apply(&inputs)).collect();
    for (name, mut device) in devices {
        let given: Vec<Vec<u128>> = items.clone().map(|inputs| device.apply(&inputs)).collect();
        assert_eq!(given, wanted, "{name}");
    }
}
