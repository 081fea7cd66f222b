//! Requests of operators.

use crate::setup::{Bench, both, both_bare, device, info, maker, racked, splitter};
use base_time::Duration;
use controller::{PlanChange, Planner, RegionMap, Rollout, Steer, TableSizes};
use device_control::{Event, Splitter};
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, SetForwardingPipelineConfigRequest, Uint128};
use p4runtime_proto::p4rack::v1::show_response::State;

const FRAME: &str = "0a0000000001 0b0000000002 0800 aa";

/// A frame leaves by the port that it came by.
const ROUTE: &str = r#"INSERT table_entry { table_id: $MyIngress.route match { field_id: 1 lpm { value: "\n\000\000\000\000\000" prefix_len: 8 } } action { action { action_id: $MyIngress.forward params { param_id: 1 value: "\002" } } } }"#;

const CELL: &str = "register_entry { register_id: $MyIngress.cells index { index: 1 } }";
const ROUTES: &str = "table_entry { table_id: $MyIngress.route }";
const COUNT: &str = "counter_entry { counter_id: $MyIngress.packets index { index: 1 } }";

fn map(regions: &[(&str, &str)]) -> Steer {
    let region = |(region, device): &(&str, &str)| (region.to_string(), device.to_string());
    Steer::Replace(regions.iter().map(region).collect::<RegionMap>())
}

#[test]
fn frames_wait_until_they_are_let_in() {
    both(|mut bench| {
        assert_eq!(bench.write(&[ROUTE]), "OK\n");
        assert_eq!(bench.steer(Steer::Hold { open: vec![], lease: None }), "OK\n");
        assert_eq!(bench.show().state(), State::Held);
        assert_eq!(bench.packet(1, FRAME), "");
        // Other holds and releases leave the operator's stop in place.
        assert_eq!(bench.steer(Steer::Reset), "OK\n");
        assert_eq!(bench.packet(1, FRAME), "");
        let events = bench.steered(Steer::Release);
        assert_eq!(
            events.iter().filter(|event| matches!(event, Event::Frame(2, _))).count(),
            2,
            "{events:?}"
        );
        assert_eq!(bench.show().state(), State::Running);
        assert_eq!(bench.packet(1, FRAME), "2: 0a00000000010b00000000020800aa\n");
    });
}

/// A program that is saved and holds nothing.
fn save(bench: &mut Bench, action: Action) -> String {
    let config = ForwardingPipelineConfig { p4info: Some(info()), ..ForwardingPipelineConfig::default() };
    bench.set_config(SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(Uint128 { high: 0, low: 1 }),
        action: action as i32,
        config: (action != Action::Commit).then_some(config),
        ..SetForwardingPipelineConfigRequest::default()
    })
}

#[test]
fn frames_that_are_kept_for_a_while_come_in_and_what_was_saved_for_it_does_not_run() {
    let mut bench = device();
    let lease = Duration::from_ms(100);
    let hold = || Steer::Hold { open: vec![], lease: Some(lease) };
    assert_eq!(bench.write(&[ROUTE]), "OK\n");
    assert_eq!(save(&mut bench, Action::VerifyAndSave), "OK\n");
    assert_eq!(bench.steer(hold()), "OK\n");
    assert_eq!(bench.packet(1, FRAME), "");
    // A client that holds frames extends the lease in time.
    assert_eq!(bench.wait(Duration::from_ms(98)), "");
    assert_eq!(bench.steer(Steer::ExtendHold(lease)), "OK\n");
    assert_eq!(bench.wait(Duration::from_ms(99)), "");
    assert_eq!(bench.wait(Duration::from_ms(1)), "2: 0a00000000010b00000000020800aa\n");
    assert_eq!(bench.show().state(), State::Running);
    assert_eq!(
        bench.steer(Steer::ExtendHold(lease)),
        "FAILED_PRECONDITION: frames have been admitted already\n"
    );
    // Writes are for the saved program and do not touch the running one.
    assert_eq!(
        bench.write(&[&format!("MODIFY {CELL}").replace(" } }", " } data { bitstring: \"\\007\" } }")]),
        "OK\n"
    );
    let answer = save(&mut bench, Action::Commit);
    assert!(answer.starts_with("ABORTED: frames were held for the saved config"), "{answer}");
    assert!(bench.read(CELL).contains(r#"bitstring: "\010\000""#), "{}", bench.read(CELL));
    assert_eq!(bench.packet(1, FRAME), "2: 0a00000000010b00000000020800aa\n");
    // One that is committed in time runs.
    assert_eq!(save(&mut bench, Action::VerifyAndSave), "OK\n");
    assert_eq!(bench.steer(hold()), "OK\n");
    assert_eq!(save(&mut bench, Action::Commit), "OK\n");
    assert!(bench.read(ROUTES).is_empty());
}

#[test]
fn a_lease_that_nobody_has_looked_at_is_over_all_the_same() {
    let mut bench = device();
    assert_eq!(save(&mut bench, Action::VerifyAndSave), "OK\n");
    assert_eq!(bench.steer(Steer::Hold { open: vec![], lease: Some(Duration::from_ms(100)) }), "OK\n");
    bench.now += Duration::from_ms(100);
    assert!(save(&mut bench, Action::Commit).starts_with("ABORTED: "));
    assert_eq!(bench.show().state(), State::Running);
}

#[test]
fn racks_are_stopped_without_a_lease() {
    let mut bench = racked();
    let answer = bench.steer(Steer::Hold { open: vec![], lease: Some(Duration::from_ms(100)) });
    assert!(answer.starts_with("INVALID_ARGUMENT: a rack holds frames until"), "{answer}");
    assert_eq!(bench.show().state(), State::Running);
}

#[test]
fn a_reset_forgets_what_data_planes_have_written() {
    both(|mut bench| {
        assert_eq!(bench.write(&[ROUTE]), "OK\n");
        bench.packet(1, FRAME);
        assert!(bench.read(CELL).contains(r#"bitstring: "\010\000""#));
        assert!(bench.read(COUNT).contains("packet_count: 1"));
        assert_eq!(bench.steer(Steer::Reset), "OK\n");
        assert!(bench.read(CELL).contains(r#"bitstring: "\000""#), "{}", bench.read(CELL));
        assert!(!bench.read(COUNT).contains("packet_count: 1"));
        assert_eq!(bench.packet(1, FRAME), "2: 0a00000000010b00000000020800aa\n");
    });
}

#[test]
fn without_a_program_nothing_is_reset() {
    both_bare(|mut bench| {
        assert_eq!(bench.show().state(), State::NoProgram);
        let answer = bench.steer(Steer::Reset);
        assert!(answer.starts_with("FAILED_PRECONDITION: there is no program yet"), "{answer}");
    });
}

#[test]
fn another_plan_has_what_the_old_one_had() {
    let mut bench = racked();
    assert_eq!(bench.write(&[ROUTE]), "OK\n");
    bench.packet(1, FRAME);
    for regions in [&[("Cells", "fpga"), ("Filter", "nic")][..], &[], &[("Known", "nic"), ("Cells", "nic")]] {
        assert_eq!(bench.steer(map(regions)), "OK\n");
        let mut placed: Vec<(String, String)> = vec![];
        for device in bench.show().devices {
            placed.extend(device.regions.iter().map(|region| (region.clone(), device.name.clone())));
        }
        placed.sort();
        let mut wanted: Vec<_> = regions.iter().map(|(r, d)| (r.to_string(), d.to_string())).collect();
        wanted.sort();
        assert_eq!(placed, wanted);
        assert!(bench.read(CELL).contains(r#"bitstring: "\010\000""#), "{}", bench.read(CELL));
        assert!(bench.read(COUNT).contains("packet_count: 1"), "{}", bench.read(COUNT));
    }
    assert_eq!(bench.packet(1, FRAME), "2: 0a00000000010b00000000020800aa\n");
    assert!(bench.read(COUNT).contains("packet_count: 2"), "{}", bench.read(COUNT));
}

#[test]
fn a_plan_that_cannot_be_leaves_the_one_that_runs() {
    let mut bench = racked();
    assert_eq!(bench.write(&[ROUTE]), "OK\n");
    let before = bench.show();
    let answer = bench.steer(map(&[("Cells", "moon")]));
    assert_eq!(
        answer,
        "NOT_FOUND: region `Cells`: there is no device `moon`; there are `tor`, `nic`, `fpga`\n"
    );
    let answer = bench.steer(map(&[("Nowhere", "nic")]));
    assert!(
        answer.starts_with("INVALID_ARGUMENT: the program cannot be split with this placement"),
        "{answer}"
    );
    assert_eq!(bench.show(), before);
    assert_eq!(bench.packet(1, FRAME), "2: 0a00000000010b00000000020800aa\n");
}

#[test]
fn one_device_has_no_plan() {
    both_bare(|bench| {
        let mut bench = bench.started();
        if bench.show().links.is_empty() {
            assert!(bench.steer(map(&[])).starts_with("UNIMPLEMENTED: this is a single device"));
        }
    });
}

/// The plan prepared ahead has the new map or sizes and is the one that runs: another would have another epoch.
#[test]
fn the_plan_that_was_made_ahead_is_the_one_that_runs() {
    let config = ForwardingPipelineConfig::default();
    let moved: RegionMap = [("Cells".to_string(), "fpga".to_string())].into();
    let sizes: TableSizes = [("MyIngress.route".to_string(), 7)].into();
    let texts = |rollout: Rollout| -> Vec<Option<Vec<u8>>> {
        rollout.parts.into_iter().map(|part| Some(part?.config.p4_device_config.to_vec())).collect()
    };
    for change in [PlanChange::Map(&moved), PlanChange::Sizes(&sizes)] {
        let takes_over = |planner: &mut Splitter| match change {
            PlanChange::Nothing => {}
            PlanChange::Map(map) => drop(planner.replace(map.clone()).unwrap()),
            PlanChange::Sizes(sizes) => drop(planner.resize(sizes.clone()).unwrap()),
        };
        let mut wanted = splitter(maker());
        takes_over(&mut wanted);
        let wanted = texts(wanted.plan(&config, 5).unwrap());
        let mut planner = splitter(maker());
        planner.ahead(&config, change, 5).unwrap()();
        // The old plan still runs.
        assert_ne!(texts(planner.plan(&config, 6).unwrap()), wanted);
        takes_over(&mut planner);
        assert_eq!(texts(planner.plan(&config, 7).unwrap()), wanted);
        assert_ne!(texts(planner.plan(&config, 8).unwrap()), wanted, "it is used once");
    }
}
