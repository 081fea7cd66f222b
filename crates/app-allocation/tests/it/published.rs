//! Figures of the ExoPlane paper that follow from the model alone.

use app_allocation::{
    Affinity, App, Class, Distribution, Effort, More, ONE, Object, Objective, Place, Problem, Quantum, Row,
    WHOLE, allocate, margins,
};

/// Four equal apps of a million flows beside a Tofino, as in section 7.
fn gateway(nics: u64) -> Problem {
    let app = |name: &str| App {
        name: name.into(),
        weight: 1,
        packet_bits: 12_160,
        own_bits: 12_160,
        affinity: Affinity::Medium,
        flows: Distribution::zipf(1_000_000, 990).unwrap(),
        quantum: Quantum::Auto,
        replicas: 1,
        at_switch: Ok(Place {
            latency: 330_000,
            stays: false,
            fixed: vec![0],
            objects: vec![Object {
                name: "flow manager".into(),
                row: 0,
                per_flow: (1, 1),
                most: None,
                block: 1024,
                units: 1,
            }],
        }),
        at_classes: vec![Ok(Place { latency: 5_600_000, ..Place::default() })],
    };
    let class = Class {
        name: "nic".into(),
        count: nics,
        spare: 0,
        memory: vec![],
        bits: Some(39_470_000_000),
        packets: None,
        imbalance: 30_000,
    };
    Problem {
        apps: ["vpn", "nat", "acl", "firewall"].map(app).into(),
        switch: vec![Row { name: "SRAM".into(), capacity: 40 }],
        classes: vec![class],
        traffic: Some(394_000_000_000),
    }
}

#[test]
fn equal_apps_get_equal_shares() {
    let found = allocate(&gateway(4), Objective::Throughput, &Effort::EXACT).unwrap();
    let all: Vec<(u64, u64)> =
        found.apps.iter().map(|app| (app.flows, app.share.div_ceil(ONE / 1000))).collect();
    assert_eq!(all, [(10_240, 666); 4]);
    assert_eq!(found.throughput, [WHOLE]);
    // 0.6656 * 0.33 + 0.3344 * 5.6
    assert_eq!(found.latency / 10_000, 209);
}

#[test]
fn two_helpers_are_overloaded_and_a_third_is_worth_it() {
    let problem = gateway(2);
    assert!(allocate(&problem, Objective::Latency, &Effort::EXACT).is_err());
    let found = allocate(&problem, Objective::Throughput, &Effort::EXACT).unwrap();
    // 2 * 39.47 / 1.03 of 394 * 0.3338
    assert_eq!(found.throughput[0] / 10_000_000, 58);
    let gains = margins(&problem, Objective::Throughput, &Effort::EXACT, &found);
    let helper = gains.iter().find(|margin| margin.more == More::Helper(0)).unwrap();
    assert_eq!(helper.throughput / 10_000_000, 87);
    let blocks = gains.iter().find(|margin| margin.more == More::Units(0, 10)).unwrap();
    assert!(blocks.throughput > found.throughput[0] && blocks.latency < found.latency);
}
