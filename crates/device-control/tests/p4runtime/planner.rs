//! The planner of a rack: parts that were made before are not made again.

use crate::setup::own_splitter;
use base_diag::SourceMap;
use compiler::make_parts;
use controller::{Planner, Rollout};
use p4runtime_proto::p4::v1::ForwardingPipelineConfig;

/// A line that no printer writes.
const MARK: &str = "// made before\n";

#[test]
fn the_first_plan_has_the_parts_that_were_made_before() {
    let (whole, splitter) = own_splitter();
    let (_, parts, texts) = make_parts(&whole, &splitter.placement, &mut SourceMap::new()).unwrap();
    let marked = texts.into_iter().map(|text| text.map(|text| text + MARK)).collect();
    let splitter = splitter.with_parts(&whole, (parts, marked)).unwrap();
    let is_marked = |rollout: Rollout| {
        let text = rollout.parts[0].as_ref().unwrap().config.p4_device_config.clone();
        String::from_utf8(text.to_vec()).unwrap().ends_with(MARK)
    };
    let plan = |epoch| splitter.plan(&ForwardingPipelineConfig::default(), epoch).unwrap();
    assert!(is_marked(plan(1)));
    assert!(!is_marked(plan(2)));
}
