//! `p4rack profile-app` of the example apps.

use base_diag::SourceMap;
use experiments::app_profile::{Profile, profile};
use std::path::Path;

fn of(app: &str, flows: &[u64], measure: bool) -> Profile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/apps/{app}.p4"));
    let (mut map, mut warnings) = (SourceMap::new(), vec![]);
    let options = p4_syntax::Options::default();
    let program =
        p4rack::rack::compile_program(&path.display().to_string(), &options, &mut map, &mut warnings);
    let program = program.unwrap_or_else(|found| panic!("{app}: {found:#?}"));
    profile(&program, flows, measure, &map).unwrap_or_else(|found| panic!("{app}: {found:#?}"))
}

#[test]
fn memory_grows_with_the_flows_and_ends_to_fit() {
    let found = of("firewall", &[1000, 10_000, 1_000_000], false);
    assert_eq!(found.growing, ["FirewallIngress.inbound", "FirewallIngress.outbound"]);
    assert!(found.obstacles.is_empty() && found.speed.is_none(), "{found:#?}");
    let bits: Vec<u64> = found.quanta.iter().map(|quantum| quantum.entry_bits).collect();
    // Two entries for each flow, with 104 bits of key and the choice of the action.
    let of_flow = (bits[1] - bits[0]) / 9000;
    assert!((208..=220).contains(&of_flow) && bits[2] - bits[1] == of_flow * 990_000, "{bits:?}");
    let tofino1: Vec<_> = found.quanta.iter().map(|quantum| &quantum.tofinos[0]).collect();
    assert!(tofino1.iter().all(|fitted| fitted.device == "tofino1"), "{tofino1:?}");
    let last = tofino1[2];
    assert!(last.stages.is_none() && !last.why_not.is_empty(), "a million flows do not fit: {last:?}");
    // More flows never take less.
    let sram: Vec<u32> =
        tofino1.iter().filter(|fitted| fitted.stages.is_some()).map(|fitted| fitted.used[0]).collect();
    assert!(sram.is_sorted(), "{sram:?}");
}

#[test]
fn classes_that_cannot_run_a_program_have_a_reason() {
    let found = of("netcache", &[1000], false);
    assert!(!found.obstacles.is_empty(), "packets read what others have written");
    let why =
        |class: &str| &found.classes.iter().find(|one| one.class == class).expect("it is listed").why_not;
    // Cells of 128 bits are too wide for a Tofino, and a register array is accessed once a pass.
    assert!(!why("tofino1").is_empty() && why("smartnic").is_empty(), "{:#?}", found.classes);
}

#[test]
fn packets_of_the_measurement_hit_entries() {
    for app in ["firewall", "nat", "vm-nat", "univmon"] {
        let speed = of(app, &[2000], true).speed.expect("it was measured");
        assert!(speed.hits_percent >= 50 && speed.packets_per_s > 0, "{app}: {speed:?}");
        assert!(speed.fast_ns <= speed.median_ns, "{app}: {speed:?}");
    }
}
