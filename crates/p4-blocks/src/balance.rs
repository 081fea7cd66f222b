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
    error: "the share of a port exceeds its weight by at most a factor of 1 + 1 / (slots x share), because shares are rounded to whole slots by the largest remainder; with few keys, the hash adds a deviation.",
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
    cost: |values| Cost { state_bits: 2 * 32 * values.get("cells"), hashes: 2, tables: vec![], stages: 3 },
    not_for_tna: None,
};

fn weights(values: &Values) -> [u64; 8] {
    ["w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"].map(|name| values.get(name))
}

/// The port of each slot: shares rounded down, at least one slot for each port, and the rest to the largest remainders.
fn slots(values: &Values) -> Vec<u64> {
    let (weights, slots) = (weights(values), values.get("slots"));
    let sum: u64 = weights.iter().sum();
    let mut shares = weights.map(|weight| if weight == 0 { 0 } else { (weight * slots / sum.max(1)).max(1) });
    // How much a port lacks, or has too much, in units of 1 / sum of a slot.
    let lacks = |shares: &[u64; 8], port: usize| (weights[port] * slots) as i64 - (shares[port] * sum) as i64;
    let used = || (0..8).filter(|port| weights[*port] > 0);
    while shares.iter().sum::<u64>() < slots {
        let Some(port) = used().max_by_key(|port| (lacks(&shares, *port), 8 - port)) else { break };
        shares[port] += 1;
    }
    while shares.iter().sum::<u64>() > slots {
        let many = used().filter(|port| shares[*port] > 1);
        let Some(port) = many.min_by_key(|port| (lacks(&shares, *port), *port)) else { break };
        shares[port] -= 1;
    }
    shares.iter().zip(0..).flat_map(|(share, port)| std::iter::repeat_n(port, *share as usize)).collect()
}

/// The most that a port has above its share, relative to the share.
pub(crate) fn oversubscription(values: &Values) -> f64 {
    let (weights, slots) = (weights(values), slots(values));
    let sum: u64 = weights.iter().sum();
    let above = |port: usize| {
        let own = slots.iter().filter(|of| **of == port as u64).count() as f64 / slots.len() as f64;
        own / (weights[port] as f64 / sum as f64) - 1.0
    };
    (0..8).filter(|port| weights[*port] > 0).map(above).fold(0.0, f64::max)
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
