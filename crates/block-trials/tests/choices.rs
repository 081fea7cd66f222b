//! The choice among several blocks, by error and resources.

use block_trials::{choose, tofino_cost};
use p4_blocks::{Arch, Form, PURPOSES, Purpose, Wanted, find, include};
use rmt_fit::Device;

fn purpose(name: &str) -> &'static Purpose {
    PURPOSES.iter().find(|purpose| purpose.name == name).expect("a purpose")
}

fn tofino() -> Device {
    Device::built_in("tofino1").expect("a device")
}

/// Names of the blocks, the best first; those that are out of the question with the reason.
fn order(name: &str, given: &[(&str, u64)], flows: u32, error: f64, device: Option<&Device>) -> Vec<String> {
    let arch = if device.is_some() { Arch::Tna } else { Arch::V1Model };
    let given = given.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    let wanted = Wanted { error, flows, given, control: "Chosen".to_string(), arch };
    let all = choose(purpose(name), &wanted, device);
    let line = |variant: block_trials::Placed| match variant.found {
        Ok(found) => {
            assert!(found.error <= error, "{}: {}", variant.block.name, found.error);
            variant.block.name.to_string()
        }
        Err(why) => format!("{}: {why}", variant.block.name),
    };
    all.into_iter().map(line).collect()
}

#[test]
fn a_finer_product_takes_the_other_form() {
    // Logarithms of whole operands take fewer stages; with so few bits they do not reach the error.
    assert_eq!(order("product", &[], 1, 0.05, None), ["multiply", "multiply-normalised"]);
    let fine = order("product", &[("mantissa", 4)], 1, 0.02, None);
    assert_eq!(fine[0], "multiply-normalised");
    assert!(fine[1].starts_with("multiply: no size reaches the error: the nearest has 2."), "{fine:?}");
}

#[test]
fn a_device_may_have_room_for_one_form_only() {
    let found = order("number-of-keys", &[], 50_000, 0.05, Some(&tofino()));
    assert_eq!(found[0], "bitmap");
    assert!(found[1].starts_with("hyperloglog: no form for TNA: its running sum has 56 bits"), "{found:?}");
}

#[test]
fn an_error_that_no_form_reaches_is_said_with_the_nearest() {
    let found = order("product", &[("mantissa", 2)], 1, 0.001, None);
    assert!(
        found.iter().all(|line| line.contains("no size reaches the error: the nearest has ")),
        "{found:?}"
    );
}

#[test]
fn more_cells_take_more_memory_and_nothing_else() {
    let block = find("count-min").expect("a block");
    let cost =
        |sizes: &str| tofino_cost(block, &block.read(sizes).expect("possible"), &tofino()).expect("it fits");
    let (small, large) = (cost("rows=2,columns=4096"), cost("rows=2,columns=65536"));
    assert!(small.sram > 0 && large.sram > small.sram, "{small:?} {large:?}");
    assert_eq!((small.stages, small.tcam), (large.stages, large.tcam));
    // A stateful ALU and a hash for each row.
    let more = cost("rows=3,columns=4096");
    assert!(more.hash_bits > small.hash_bits && more.alus > small.alus, "{small:?} {more:?}");
    let why = tofino_cost(block, &block.read("rows=4,columns=4194304").expect("possible"), &tofino()).err();
    assert!(
        why.as_ref().is_some_and(|why| why.contains("can hold `code at")),
        "{why:?}: no stage holds such a register"
    );
}

#[test]
fn an_include_by_purpose_is_the_block_that_is_chosen() {
    let text = |name: &str| include(&format!("p4rack/blocks/{name}.p4"), Form::Approximate).expect("a block");
    let chosen = text("number-of-keys/error=5%,flows=50000,as=Senders");
    assert_eq!(chosen, text("bitmap/cells=8192,as=Senders"));
    assert!(
        text("product/error=4%").contains("control Product(in bit<32> a, in bit<32> b, out bit<32> product)")
    );
    let fine = text("product/error=2%,mantissa=4,as=Price");
    assert_eq!(fine, text("multiply-normalised/mantissa=4,as=Price"));
    // An operation that one form of an architecture lacks may exist in another.
    assert!(text("number-of-keys/error=5%,flows=50000,for=tna").contains("RegisterAction"));
    for (wrong, why) in [
        ("product", "product: an error is wanted, as `error=1%`"),
        ("product/error=0%", "product: a percentage above 0 is wanted, as `5%`"),
        (
            "product/error=1%,mantisa=3",
            "product: no block has a parameter `mantisa`: did you mean `mantissa`?",
        ),
        ("product/error=1%,for=psa", "product: `for=psa` is no architecture: `v1model` or `tna`"),
        (
            "product/error=0.1%,mantissa=2",
            "no block for `product` is possible: multiply: no size reaches the error: the nearest has ",
        ),
    ] {
        assert!(text(wrong).starts_with(&format!("#error \"{why}")), "{}", text(wrong));
    }
}
