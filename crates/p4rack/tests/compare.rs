//! Programs with blocks against the same programs with exact twins.

use base_diag::SourceMap;
use base_time::Rng;
use p4_blocks::{Request, find};
use p4_syntax::Options;
use p4rack::compare::{Comparison, compare, compile_pair};
use p4rack::run::feed::Feed;
use p4rack::run::spec::HexPacket;
use std::path::Path;

fn request(block: &str, sizes: &str) -> Request {
    find(block).expect("a block").read(sizes).expect("possible sizes")
}

/// A block's example program on packets with these inputs.
fn compared(block: &str, sizes: &str, packets: impl Iterator<Item = Vec<u8>>) -> Comparison {
    let text = p4_blocks::example(find(block).expect("a block"), &request(block, sizes));
    compared_text(block, &text, packets)
}

fn compared_text(name: &str, text: &str, packets: impl Iterator<Item = Vec<u8>>) -> Comparison {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("compare-{name}.p4"));
    std::fs::write(&path, text).expect("it is written");
    let mut map = SourceMap::new();
    let pair = compile_pair(&path.to_string_lossy(), &Options::default(), &mut map);
    let pair = pair.unwrap_or_else(|found| panic!("{found:#?}"));
    let packets: Vec<Vec<u8>> = packets.collect();
    let feed = || {
        let mut feed = Feed::new(None);
        packets.iter().for_each(|bytes| feed.packet(HexPacket { port: 1, bytes: bytes.clone() }));
        feed
    };
    compare(&pair, |_| Ok(vec![]), [feed(), feed()]).unwrap_or_else(|found| panic!("{found:#?}"))
}

#[test]
fn a_small_sketch_counts_too_much_and_an_estimate_is_paired_with_its_own_packet() {
    let mut rng = Rng::new(1);
    let packets = (0..600).map(|_| [rng.below(200) as u32, 1].map(u32::to_be_bytes).concat());
    let comparison = compared("count-min", "rows=2,columns=64", packets);
    assert_eq!((comparison.packets, comparison.unpaired), (600, 0));
    let errors = &comparison.outputs["CountMin.estimate"];
    assert_eq!(errors.count(), 600);
    assert!(errors.equal() > 0.02 && errors.equal() < 0.9 && errors.bias() > 0.1, "{errors:?}");
    assert!(comparison.leave_otherwise > 60 && comparison.leave_otherwise < 588);
    assert!(comparison.text().contains("CountMin.estimate"), "{}", comparison.text());
    assert!(comparison.page("sketch.p4").contains("<svg"));
    assert_eq!(comparison.json()["outputs"][0]["values"], 600);
}

/// Keys of different lengths: each twin declares a register for its own.
#[test]
fn two_blocks_of_a_program_may_be_exact() {
    let text = p4_blocks::example(find("count-min").expect("a block"), &request("count-min", ""));
    let include = "#include <p4rack/blocks/count-min";
    assert!(text.contains(include));
    let text = text.replace(include, &format!("#include <p4rack/blocks/bitmap/key=64.p4>\n{include}"));
    let packets = (0..10u32).map(|item| [item, 1].map(u32::to_be_bytes).concat());
    let comparison = compared_text("exact", &text, packets);
    assert_eq!((comparison.packets, comparison.leave_otherwise), (10, 0));
}

#[test]
fn quotients_are_close_to_exact_ones() {
    let mut rng = Rng::new(2);
    let packets = (0..300)
        .map(|_| [rng.below(1 << 31) as u32, 1 + rng.below(1000) as u32].map(u32::to_be_bytes).concat());
    let comparison = compared("divide-normalised", "", packets);
    let [mean, .., most] = comparison.outputs["DivideNormalised.quotient"].summary();
    assert!(mean > 0.0 && mean < 0.008 && most < 0.05, "{}", comparison.text());
}

/// Two twins with cells of different widths, in one program; one of the blocks runs only if the other's estimate is small.
#[test]
fn values_without_counterpart_are_counted() {
    let text =
        p4_blocks::example(find("count-min").expect("a block"), &request("count-min", "rows=1,columns=2"));
    let text = text
        .replace("header inputs_h", "#include <p4rack/blocks/min-timestamp.p4>\nheader inputs_h")
        .replace("CountMin() block;", "CountMin() block;\n    MinTimestamp() times;")
        .replace(
            "sm.egress_spec = 1;",
            "if (hdr.outputs.estimate < 4) { times.apply(hdr.inputs.item, 32w5, hdr.outputs.estimate); }\nsm.egress_spec = 1;",
        );
    // Ten keys, thrice: their exact sums stay below 4, and those of two cells do not.
    let packets = (0..30u32).map(|packet| [packet % 10, 1].map(u32::to_be_bytes).concat());
    let comparison = compared_text("two-blocks", &text, packets);
    let paired = comparison.outputs["MinTimestamp.age"].count();
    assert_eq!(comparison.outputs["CountMin.estimate"].count(), 30);
    assert!(paired > 0 && paired <= 6, "{paired}");
    assert_eq!(comparison.unpaired, 30 - paired);
    let said = comparison.text();
    assert!(said.contains(&format!("{} values have no counterpart", 30 - paired)), "{said}");
}

/// The first quotient is about 10^6, and the second 0. Each second packet is dropped.
#[test]
fn the_values_of_a_packet_are_paired_in_their_order() {
    let text =
        p4_blocks::example(find("divide-normalised").expect("a block"), &request("divide-normalised", ""));
    let text = text.replace(
        "sm.egress_spec = 1;",
        "block.apply(hdr.inputs.b, hdr.inputs.a, hdr.outputs.quotient);
        sm.egress_spec = 1;
        if (hdr.inputs.a[0:0] == 1) { mark_to_drop(sm); }",
    );
    let packets = (0..20u32).map(|packet| [1_000_000 + packet, 1].map(u32::to_be_bytes).concat());
    let comparison = compared_text("in-order", &text, packets);
    let errors = &comparison.outputs["DivideNormalised.quotient"];
    assert_eq!((comparison.packets, comparison.unpaired, errors.count()), (20, 0, 40));
    let [.., most] = errors.summary();
    assert!(most < 0.05, "{}", comparison.text());
}

#[test]
fn packets_that_reach_no_block_are_said() {
    let text = p4_blocks::example(find("wcmp").expect("a block"), &request("wcmp", ""));
    let comparison = compared_text("no-packets", &text, std::iter::empty());
    assert!(
        comparison.text().ends_with("none: no packet reached a block in both programs\n"),
        "{}",
        comparison.text()
    );
}

/// The twin of port balancing is the block itself.
#[test]
fn equal_programs_have_no_errors() {
    let comparison = compared("wcmp", "", (0..100u32).map(|key| key.to_be_bytes().to_vec()));
    let errors = &comparison.outputs["Wcmp.port"];
    assert_eq!((errors.equal(), errors.summary(), comparison.leave_otherwise), (1.0, [0.0; 5], 0));
}

#[test]
fn a_program_without_blocks_is_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slice/slice.p4");
    let found = compile_pair(&path.to_string_lossy(), &Options::default(), &mut SourceMap::new());
    let found = found.err().expect("it is refused");
    assert!(found[0].title.ends_with("slice.p4` includes no block"), "{found:?}");
}
