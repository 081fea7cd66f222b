//! Port balancing: by weights, and by the lower load of two random ports.

use crate::block::any;
use crate::count_min::KEY;
use crate::parameters::Kind;
use crate::rates::{CELLS, index};
use crate::{Access, Block, Body, Cost, Entries, Hash, Model, Parameter, Port, Values, hash};
use std::fmt::Write;

const SLOTS: Parameter = Parameter {
    name: "slots",
    about: "rows of the port table",
    default: 64,
    range: (2, 4096),
    kind: Kind::PowerOfTwo,
};

macro_rules! weight {
    ($name:literal, $default:literal) => {
        Parameter {
            name: $name,
            about: "weight of this port",
            default: $default,
            range: (0, 1000),
            kind: Kind::Any,
        }
    };
}

/// Weighted cost multipath (Zhou et al. 2014): ports have slots by their weights.
pub(crate) static WCMP: Block = Block {
    name: "wcmp",
    control: "Wcmp",
    about: "one of up to 8 ports for a key, in proportion to their weights",
    error: "the share of a port exceeds its weight by at most a factor of 1 + 1 / (slots x share), and by no more than in any other division of the slots; with few keys, the hash adds a deviation.",
    parameters: &[
        SLOTS,
        weight!("w0", 1),
        weight!("w1", 1),
        weight!("w2", 1),
        weight!("w3", 1),
        weight!("w4", 0),
        weight!("w5", 0),
        weight!("w6", 0),
        weight!("w7", 0),
        KEY,
    ],
    check: |values| {
        let used = weights(values).iter().filter(|weight| **weight > 0).count() as u64;
        match used {
            0 => Err("all weights are 0: one has to be greater".to_string()),
            _ if used > values.get("slots") => {
                Err(format!("{used} ports need {used} slots: the nearest is {}", used.next_power_of_two()))
            }
            _ => Ok(()),
        }
    },
    ports: |values| vec![Port::input("item", values.small("key")), Port::output("port", 3)],
    p4: wcmp,
    exact: wcmp,
    model: |values| Box::new(Wcmp { slots: slots(values), key: values.small("key") }),
    cost: |values| Cost {
        state_bits: 0,
        hashes: 1,
        tables: vec![Entries { table: "ports", ternary: false, entries: values.get("slots") }],
        stages: 2,
    },
    not_for_tna: None,
};

/// The power of two choices (Mitzenmacher 2001).
pub(crate) static TWO_CHOICES: Block = Block {
    name: "two-choices",
    control: "TwoChoices",
    about: "the less loaded of two random ports; a packet with `writes` sets the load of a port instead",
    error: "with loads that are known at once, n packets on n ports give a port at most ln ln n / ln 2 + O(1) of them (Mitzenmacher 2001). Loads come by packets or from the control plane, and \
            packets between two of them go by old loads.",
    parameters: &[CELLS, KEY],
    check: any,
    ports: |values| {
        let index = index(values);
        vec![
            Port::input("item", values.small("key")),
            Port::input("writes", 1),
            Port::input("of_port", index),
            Port::input("load", 32),
            Port::output("port", index),
        ]
    },
    p4: two_choices,
    exact: two_choices,
    model: |values| {
        Box::new(TwoChoices { loads: vec![0; values.get("cells") as usize], key: values.small("key") })
    },
    cost: |values| Cost { state_bits: 2 * 32 * values.get("cells"), hashes: 2, tables: vec![], stages: 5 },
    not_for_tna: None,
};

fn weights(values: &Values) -> [u64; 8] {
    ["w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"].map(|name| values.get(name))
}

/// The port of each slot.
fn slots(values: &Values) -> Vec<u64> {
    let shares = shares(&weights(values), values.get("slots"));
    shares.iter().zip(0..).flat_map(|(share, port)| std::iter::repeat_n(port, *share as usize)).collect()
}

/// Slots of each port: one for each port with a weight, and each further slot to the port that has the least for its weight with it. No other
/// division of the slots has a lower oversubscription (as D'Hondt's method minimises the most seats for a vote).
fn shares(weights: &[u64], slots: u64) -> Vec<u64> {
    let mut shares: Vec<u64> = weights.iter().map(|weight| u64::from(*weight > 0)).collect();
    for _ in shares.iter().sum::<u64>()..slots {
        let used = (0..weights.len()).filter(|port| weights[*port] > 0);
        // (share + 1) / weight, compared by products.
        let next = used.reduce(|best, port| {
            let less = (shares[port] + 1) * weights[best] < (shares[best] + 1) * weights[port];
            if less { port } else { best }
        });
        next.into_iter().for_each(|port| shares[port] += 1);
    }
    shares
}

/// The most that a port has above its share, relative to the share.
fn oversubscription_of(weights: &[u64], shares: &[u64]) -> f64 {
    let (sum, slots): (u64, u64) = (weights.iter().sum(), shares.iter().sum());
    let of = |(weight, share): (&u64, &u64)| {
        (*share as f64 / slots.max(1) as f64) / (*weight as f64 / sum as f64) - 1.0
    };
    weights.iter().zip(shares).filter(|(weight, _)| **weight > 0).map(of).fold(0.0, f64::max)
}

/// Weights with the smallest sum with which no port gets more than `error` above its share, relative to the share, and the most that one gets: the
/// reduction of a group of paths (Zhou et al. 2014, section 4). `None` if all weights are 0 or one is above 1,000.
pub fn reduce_weights(weights: &[u64], error: f64) -> Option<(Vec<u64>, f64)> {
    let used = weights.iter().filter(|weight| **weight > 0).count() as u64;
    if used == 0 || weights.len() > 64 || weights.iter().any(|weight| *weight > 1000) {
        return None;
    }
    (used..=weights.iter().sum()).find_map(|slots| {
        let shares = shares(weights, slots);
        let most = oversubscription_of(weights, &shares);
        (most <= error + 1e-12).then_some((shares, most))
    })
}

/// The most that a port has above its share, relative to the share.
pub(crate) fn oversubscription(values: &Values) -> f64 {
    let weights = weights(values);
    oversubscription_of(&weights, &shares(&weights, values.get("slots")))
}

fn wcmp(values: &Values) -> Body {
    let slots = slots(values);
    let mut members = "action port_is(bit<3> value) { port = value; }
table ports {
    key = { slot: exact; }
    actions = { port_is; NoAction; }
    const default_action = NoAction();
    const entries = {
"
    .to_string();
    for (slot, port) in slots.iter().enumerate() {
        let _ = writeln!(members, "        {slot}: port_is({port});");
    }
    members += "    }\n}\n";
    let data = hash::expression("item", values.small("key"), 0, 1);
    let hashes = vec![Hash { name: "slot".to_string(), data, bits: slots.len().ilog2() }];
    Body { members, hashes, apply: "port = 0;\n@slot\nports.apply();\n".to_string(), ..Body::default() }
}

fn two_choices(values: &Values) -> Body {
    let (cells, key, bits) = (values.get("cells"), values.small("key"), index(values));
    let mut body = Body::default();
    for (side, row) in [("left", 0), ("right", 1)] {
        let data = hash::expression("item", key, row, 2);
        body.hashes.push(Hash { name: side.to_string(), data, bits });
        body.accesses.push(Access {
            register: format!("loads_{side}"),
            cells,
            bits: 32,
            index: side.to_string(),
            result: format!("load_{side}"),
            result_bits: 32,
            code: "if (writes == 1) { cell = load; }\n$ = cell;\n".to_string(),
        });
        let _ =
            writeln!(body.apply, "@{side}\nif (writes == 1) {{ {side} = (bit<32>)of_port; }}\n@loads_{side}");
    }
    let _ = writeln!(
        body.apply,
        "port = left[{0}:0];\nif (load_right < load_left) {{ port = right[{0}:0]; }}",
        bits - 1
    );
    body
}

struct Wcmp {
    slots: Vec<u64>,
    key: u32,
}

impl Model for Wcmp {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        vec![self.slots[hash::of(inputs[0], self.key, 0, 1) as usize % self.slots.len()].into()]
    }
}

struct TwoChoices {
    loads: Vec<u32>,
    key: u32,
}

impl Model for TwoChoices {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let [key, writes, of_port, load] = *inputs else { return vec![] };
        if writes == 1 {
            self.loads[of_port as usize] = load as u32;
            return vec![of_port];
        }
        let [left, right] = [0, 1].map(|row| hash::of(key, self.key, row, 2) as usize % self.loads.len());
        vec![if self.loads[right] < self.loads[left] { right } else { left } as u128]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_time::Rng;

    /// The lowest oversubscription of all divisions of so many slots.
    fn least(weights: &[u64], slots: u64) -> f64 {
        let (sum, all): (u64, u64) = (weights.iter().sum(), slots);
        fn search(weights: &[u64], left: u64, all: u64, sum: u64, most: f64) -> f64 {
            let Some((weight, rest)) = weights.split_first() else {
                return if left == 0 { most } else { f64::INFINITY };
            };
            let first = u64::from(*weight > 0);
            let last = if *weight > 0 { left } else { 0 };
            let with = |share: u64| {
                let own = if share == 0 {
                    0.0
                } else {
                    (share as f64 / all as f64) / (*weight as f64 / sum as f64) - 1.0
                };
                search(rest, left - share, all, sum, most.max(own))
            };
            (first..=last).map(with).fold(f64::INFINITY, f64::min)
        }
        search(weights, slots, all, sum, 0.0)
    }

    #[test]
    fn no_division_of_slots_is_better() {
        let mut rng = Rng::new(3);
        for round in 0..400 {
            let ports = 1 + rng.index(if round < 350 { 4 } else { 8 });
            let weights: Vec<u64> = (0..ports).map(|_| rng.below(12)).collect();
            let used = weights.iter().filter(|weight| **weight > 0).count() as u64;
            if used == 0 {
                continue;
            }
            let slots = used + rng.below(if ports > 4 { 6 } else { 16 });
            let found = oversubscription_of(&weights, &shares(&weights, slots));
            let wanted = least(&weights, slots);
            assert!((found - wanted).abs() < 1e-9, "{weights:?} in {slots} slots: {found} and {wanted}");
        }
    }

    #[test]
    fn no_smaller_group_has_the_error() {
        let mut rng = Rng::new(4);
        for _ in 0..200 {
            let weights: Vec<u64> = (0..2 + rng.index(3)).map(|_| 1 + rng.below(12)).collect();
            let error = [0.02, 0.1, 0.25, 0.6][rng.index(4)];
            let (reduced, most) = reduce_weights(&weights, error).expect("they are small");
            let slots: u64 = reduced.iter().sum();
            assert!(
                most <= error + 1e-9 && reduced.iter().all(|share| *share > 0),
                "{weights:?} {reduced:?}"
            );
            for fewer in weights.len() as u64..slots {
                assert!(least(&weights, fewer) > error, "{weights:?}: {fewer} slots and not {slots}");
            }
        }
        assert_eq!(reduce_weights(&[13, 3], 0.1).expect("small").0, [4, 1]);
        assert_eq!(reduce_weights(&[0, 0], 0.1), None);
    }
}
