//! Small random problems whose numbers divide without remainder.

use app_allocation::{Affinity, App, Class, Distribution, Object, Place, Problem, Quantum, Row};
use base_time::Rng;

pub const CLASSES: [&str; 3] = ["nic", "fpga", "cpu"];

/// Quanta of an app: their number of flows, and the weight of each, of 1000.
pub struct Quanta {
    pub flows: u64,
    pub weights: Vec<u64>,
}

pub struct Drawn {
    pub problem: Problem,
    pub quanta: Vec<Quanta>,
}

/// At most three apps, for which the switch is the fastest place,  of at most four quanta, two memories at the switch, two classes; three classes for fewer apps.
pub fn draw(seed: u64) -> Drawn {
    let mut rng = Rng::new(seed);
    let mut between = |low: u64, high: u64| low + rng.below(high - low + 1);
    let apps = between(1, 3);
    let rows = between(1, 2);
    let classes = between(1, if apps == 3 { 2 } else { 3 });
    let memories = between(0, 1);
    let weights: Vec<u64> = (0..apps).map(|_| between(1, 5)).collect();
    let total: u64 = weights.iter().sum();
    let mut quanta = vec![];
    let mut all = vec![];
    for (at, weight) in weights.into_iter().enumerate() {
        let mut place = |rows: u64, fixed: u64, latency: (u64, u64)| {
            let objects = (0..between(1, 2)).map(|number| Object {
                name: format!("table{number}"),
                row: between(0, rows - 1) as usize,
                per_flow: (between(1, 2), between(1, 2)),
                most: (between(0, 3) == 0).then(|| between(3, 12)),
                block: between(1, 4),
                units: between(1, 2),
            });
            let objects = if rows == 0 { vec![] } else { objects.collect() };
            let fixed = (0..rows).map(|_| between(0, fixed)).collect();
            Place { latency: between(latency.0, latency.1) * 1000, fixed, objects, stays: false }
        };
        let at_switch = place(rows, 2, (1, 4));
        let at_classes: Vec<Place> = (0..classes).map(|_| place(memories, 12, (4, 20))).collect();
        let mut some = |place: Place| match between(0, 11) {
            0 => Err("it has no loops".to_string()),
            _ => Ok(place),
        };
        let (at_switch, at_classes) = (some(at_switch), at_classes.into_iter().map(&mut some).collect());
        let count = between(1, 4);
        let mut weights: Vec<u64> = (0..count).map(|_| between(1, 400)).collect();
        let sum: u64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight = *weight * 1000 / sum);
        weights[0] += 1000 - weights.iter().sum::<u64>();
        weights.sort_by(|a, b| b.cmp(a));
        let flows = between(1, 7);
        let shares: Vec<(u64, u64)> = weights.iter().map(|weight| (flows, *weight)).collect();
        quanta.push(Quanta { flows, weights });
        all.push(App {
            name: format!("app{at}"),
            weight,
            packet_bits: 8 * between(100, 200),
            own_bits: 800,
            affinity: [Affinity::Medium, Affinity::Medium, Affinity::Medium, Affinity::High, Affinity::Low]
                [between(0, 4) as usize],
            flows: Distribution::classes(&shares).unwrap(),
            quantum: Quantum::Flows(flows),
            replicas: between(0, 1),
            at_switch,
            at_classes,
        });
    }
    let switch = (0..rows).map(|row| Row { name: format!("memory{row}"), capacity: between(2, 18) });
    let switch = switch.collect();
    let load = 1000 * total;
    let classes = CLASSES[..classes as usize].iter().map(|name| Class {
        name: name.to_string(),
        count: between(1, 2),
        spare: 0,
        memory: (0..memories)
            .map(|_| Row { name: "table memory".to_string(), capacity: between(20, 80) })
            .collect(),
        packets: (between(0, 2) > 0).then(|| between(load / 10, load / 2)),
        bits: (between(0, 2) == 0).then(|| between(load / 10, load / 2) * 1200),
        imbalance: between(0, 1) * 150_000,
    });
    let classes = classes.collect();
    Drawn { problem: Problem { apps: all, switch, classes, traffic: Some(load * 800) }, quanta }
}
