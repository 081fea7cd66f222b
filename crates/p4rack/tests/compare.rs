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
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("compare-{block}.p4"));
    let text = p4_blocks::example(find(block).expect("a block"), &request(block, sizes));
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

#[test]
fn quotients_are_close_to_exact_ones() {
    let mut rng = Rng::new(2);
    let packets = (0..300)
        .map(|_| [rng.below(1 << 31) as u32, 1 + rng.below(1000) as u32].map(u32::to_be_bytes).concat());
    let comparison = compared("divide-normalised", "", packets);
    let [mean, .., most] = comparison.outputs["DivideNormalised.quotient"].summary();
    assert!(mean > 0.0 && mean < 0.008 && most < 0.05, "{}", comparison.text());
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
