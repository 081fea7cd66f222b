//! Problems of many apps and flows, for tests and `benches/large.rs`.

use app_allocation::{Affinity, App, Class, Distribution, Object, Place, Problem, Quantum, Row};

/// Apps with entries of several sizes and their memories at the switch; 1 row is SRAM alone.
pub fn apps(count: u64, flows: u64, rows: usize) -> Problem {
    let one = |at: u64| App {
        name: format!("app{at}"),
        weight: 1 + at % 7,
        packet_bits: 12_720,
        own_bits: 12_000,
        affinity: Affinity::Medium,
        flows: Distribution::zipf(flows, [900, 950, 990][at as usize % 3]).unwrap(),
        quantum: Quantum::Auto,
        replicas: 1,
        at_switch: Ok(Place {
            latency: 300_000 + 10_000 * at,
            stays: false,
            fixed: vec![at % 3; rows],
            objects: (0..rows)
                .map(|row| Object {
                    name: "table".into(),
                    row,
                    per_flow: (1 + (at + row as u64) % 3, 1),
                    most: None,
                    block: [1024, 2048, 512][row % 3],
                    units: 1,
                })
                .collect(),
        }),
        at_classes: vec![Ok(Place { latency: 5_500_000 + 50_000 * (at % 5), ..Place::default() })],
    };
    let nics = Class {
        name: "nic".into(),
        count: 16,
        spare: 1,
        memory: vec![],
        bits: None,
        packets: None,
        imbalance: 30_000,
    };
    let capacity = [960, 576, 1800];
    Problem {
        apps: (0..count).map(one).collect(),
        switch: (0..rows).map(|row| Row { name: format!("row{row}"), capacity: capacity[row] }).collect(),
        classes: vec![nics],
        traffic: None,
    }
}
