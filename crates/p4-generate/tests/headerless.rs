//! Random programs handed over without a header: what the splitter accepts does what the whole program does.

use ir_prove::{Case, Effort, Tried, prove};
use ir_split::{Part, RuntimeName};
use p4_generate::merged::program;
use p4_generate::split::cut;
use p4_generate::{Config, generate};
use std::collections::BTreeMap;
use std::sync::Arc;

mod support;

use support::with_stack;

/// Links between each two devices: enough for any program here.
const LINKS: u64 = 24;

/// The program of a case without a header, its parts printed and compiled again; the first code and title of a refusal.
fn without_a_header(case: &Case) -> Result<Case, String> {
    let mut placement = case.placement.clone();
    placement.runtime = RuntimeName::Headerless;
    let pairs: Vec<_> = placement.ports.keys().copied().collect();
    let first = |(from, to): (ir_split::DeviceIndex, ir_split::DeviceIndex)| {
        u64::from(300 + 24 * to.0 + if to.0 > from.0 { 0 } else { 24 })
    };
    placement.ports = pairs.iter().map(|&pair| (pair, first(pair))).collect();
    let all = |pair| (first(pair)..first(pair) + LINKS).collect();
    placement.more_ports = pairs.iter().map(|&pair| (pair, all(pair))).collect();
    let split = ir_split::split(&case.whole, &placement).map_err(|found| {
        found.first().map_or(String::new(), |first| format!("{} {}", first.code, first.title))
    })?;
    let mut parts = vec![];
    for device in &split.devices {
        parts.push(device.as_ref().map(|device| {
            let compiled = program(&target_p4::print(&device.program)).unwrap_or_else(|why| panic!("{why}"));
            Part { program: Arc::new(compiled), linkage: device.linkage.clone() }
        }));
    }
    Ok(Case { parts, placement, ..case.clone() })
}

/// `P4RACK_HEADERLESS_SEEDS` says how many programs.
#[test]
fn what_is_accepted_is_exact() {
    with_stack(|| {
        let seeds = features::setting("P4RACK_HEADERLESS_SEEDS", 400);
        let (mut accepted, mut all) = (0, Tried::default());
        let mut refused: BTreeMap<String, u64> = BTreeMap::new();
        for seed in 1..=seeds {
            let source = generate(seed, &Config::default()).source;
            let Ok(Ok(made)) = cut(&source, seed) else { continue };
            match without_a_header(&made.case) {
                Err(why) => *refused.entry(why.split('`').step_by(2).collect()).or_default() += 1,
                Ok(case) => {
                    let effort = Effort { packets: 60, packets_per_round: 60, draws: 2, ..Effort::default() };
                    match prove(&case, &effort) {
                        Ok(tried) => all.add(&tried),
                        Err(failure) => panic!("seed {seed}: {}\n{}", failure.describe(), made.source),
                    }
                    accepted += 1;
                }
            }
        }
        println!("{accepted} of {seeds} programs: {all:?}\nrefused: {refused:#?}");
        assert!(accepted > 0 && all.hops > 0, "{accepted}: {all:?}");
    });
}
