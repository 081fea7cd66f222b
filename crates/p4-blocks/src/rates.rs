//! Averages, rates and queues: one cell for each port, queue or class.

use crate::block::any;
use crate::parameters::Kind;
use crate::{Access, Block, Body, Cost, Model, Parameter, Port, Values};

pub(crate) const CELLS: Parameter = Parameter {
    name: "cells",
    about: "ports, queues or classes",
    default: 64,
    range: (2, 65_536),
    kind: Kind::PowerOfTwo,
};
const SHIFT: Parameter = Parameter {
    name: "shift",
    about: "the weight of a sample is 2^-shift",
    default: 3,
    range: (1, 16),
    kind: Kind::Any,
};
const INTERVAL: Parameter = Parameter {
    name: "interval",
    about: "an interval has 2^interval units of `now`",
    default: 10,
    range: (1, 30),
    kind: Kind::Any,
};

/// Exponentially weighted average.
pub(crate) static EWMA: Block = Block {
    name: "ewma",
    control: "Ewma",
    about: "exponentially weighted moving average of samples, for each cell; its initial value is 0",
    error: "at most 1: the cell has `shift` bits after the binary point, so that small differences count; each step rounds by less than 2^-shift, and the sum of these, weighted as the samples \
            are, is less than 1.",
    parameters: &[SHIFT, CELLS],
    check: any,
    ports: |values| {
        vec![Port::input("index", index(values)), Port::input("sample", 32), Port::output("average", 32)]
    },
    p4: |values| ewma(values, 0),
    // 32 bits more after the point.
    exact: |values| ewma(values, 32),
    model: |values| {
        Box::new(Averages { cells: vec![0; values.get("cells") as usize], shift: values.small("shift") })
    },
    cost: |values| state(values, 32 + values.get("shift"), 1),
    not_for_tna: Some("a stateful ALU cannot shift its cell; use TNA's `Lpf`"),
};

/// Amount counted in the last whole interval.
pub(crate) static RATE_INTERVAL: Block = Block {
    name: "rate-interval",
    control: "RateInterval",
    about: "sum of the amounts in the last complete interval, for each cell",
    error: "exact for the last complete interval, if `now` does not wrap around between two packets of a cell: the first packet of an interval publishes the sum, and an interval without packets is 0.",
    parameters: &[INTERVAL, CELLS],
    check: any,
    ports: |values| {
        vec![
            Port::input("index", index(values)),
            Port::input("now", 32),
            Port::input("amount", 32),
            Port::output("rate", 32),
        ]
    },
    p4: interval,
    exact: interval,
    model: |values| {
        Box::new(Intervals {
            cells: vec![(0, 0, 0); values.get("cells") as usize],
            interval: values.small("interval"),
        })
    },
    cost: |values| state(values, 96 - values.get("interval"), 5),
    not_for_tna: None,
};

/// The least depth of a queue in an interval.
pub(crate) static QUEUE_METER: Block = Block {
    name: "queue-meter",
    control: "QueueMeter",
    about: "minimum depth seen by packets in the current interval, and in the last one, for each queue; 0 for an interval without packets and for interval 0",
    error: "exact for the packets of the interval; the depth between packets is not measured. A register array belongs to ingress or to egress: on a switch whose queue depth is known in \
            egress, the result is there.",
    parameters: &[INTERVAL, CELLS],
    check: any,
    ports: |values| {
        vec![
            Port::input("index", index(values)),
            Port::input("now", 32),
            Port::input("depth", 32),
            Port::output("least", 32),
            Port::output("last_least", 32),
        ]
    },
    p4: queue,
    exact: queue,
    model: |values| {
        Box::new(Queues {
            cells: vec![(0, 0, 0); values.get("cells") as usize],
            interval: values.small("interval"),
        })
    },
    cost: |values| state(values, 96 - values.get("interval"), 5),
    not_for_tna: None,
};

/// Work that is due once a period, done by packets.
pub(crate) static PERIODIC: Block = Block {
    name: "periodic",
    control: "Periodic",
    about: "1 for the first packet of each interval, and the number of intervals that have ended since the cell's last packet, for each cell",
    error: "late by the time until the next packet; the work must then be done for all intervals that have ended. Counts modulo 2^(32 - interval).",
    parameters: &[INTERVAL, CELLS],
    check: any,
    ports: |values| {
        vec![
            Port::input("index", index(values)),
            Port::input("now", 32),
            Port::output("due", 1),
            Port::output("ended", 32),
        ]
    },
    p4: periodic,
    exact: periodic,
    model: |values| {
        Box::new(Periods { cells: vec![0; values.get("cells") as usize], interval: values.small("interval") })
    },
    cost: |values| state(values, 32 - values.get("interval"), 2),
    not_for_tna: None,
};

pub(crate) fn index(values: &Values) -> u32 {
    values.get("cells").ilog2()
}

fn state(values: &Values, bits: u64, stages: u32) -> Cost {
    Cost { state_bits: values.get("cells") * bits, hashes: 0, tables: vec![], stages }
}

fn ewma(values: &Values, more: u32) -> Body {
    let (shift, cells) = (values.small("shift"), values.get("cells"));
    let bits = 32 + shift + more;
    let sample =
        if more == 0 { format!("(bit<{bits}>)sample") } else { format!("((bit<{bits}>)sample << {more})") };
    Body {
        members: format!("P4RACK_REGISTER(bit<{bits}>, {cells}) averages;\n"),
        apply: format!(
            "bit<{bits}> sum;
averages.read(sum, (bit<32>)index);
sum = sum - (sum >> {shift}) + {sample};
averages.write((bit<32>)index, sum);
average = sum[{}:{}];
",
            bits - 1,
            shift + more
        ),
        ..Body::default()
    }
}

/// An access with the index of the block.
fn access(values: &Values, register: &str, bits: u32, result: &str, code: &str) -> Access {
    Access {
        register: register.to_string(),
        cells: values.get("cells"),
        bits,
        index: "(bit<32>)index".to_string(),
        result: result.to_string(),
        result_bits: bits,
        code: code.to_string(),
    }
}

/// The beginning of blocks with intervals: computes the number of the present one, and how many have ended since the cell's last packet.
fn begin(values: &Values) -> Body {
    let interval = values.small("interval");
    let number = 32 - interval;
    Body {
        members: format!("bit<{number}> current = 0;\nbit<{number}> passed = 0;\n"),
        accesses: vec![access(values, "numbers", number, "known", "$ = cell;\ncell = current;\n")],
        apply: format!("current = now[31:{interval}];\n@numbers\npassed = current - known;\n"),
        ..Body::default()
    }
}

/// A new interval publishes `last`.
const PUBLISH: &str = "if (passed != 0) { cell = last; }\n$ = cell;\n";

fn interval(values: &Values) -> Body {
    let mut body = begin(values);
    let sum = "$ = cell;\nif (passed == 0) { cell = cell |+| amount; } else { cell = amount; }\n";
    body.accesses.push(access(values, "sums", 32, "last", sum));
    body.accesses.push(access(values, "published", 32, "shown", PUBLISH));
    body.apply += "@sums\nif (passed != 1) { last = 0; }\n@published\nrate = shown;\n";
    body
}

fn queue(values: &Values) -> Body {
    let mut body = begin(values);
    let least = "if (passed != 0) { $ = cell; cell = depth; }
else {
    if (depth < cell) { cell = depth; }
    $ = cell;
}
";
    body.accesses.push(access(values, "depths", 32, "last", least));
    body.accesses.push(access(values, "published", 32, "shown", PUBLISH));
    body.apply += "@depths
least = depth;
if (passed == 0) { least = last; }
if (passed != 1) { last = 0; }
@published
last_least = shown;
";
    body
}

fn periodic(values: &Values) -> Body {
    let mut body = begin(values);
    body.apply += "ended = (bit<32>)passed;\ndue = 0;\nif (passed != 0) { due = 1; }\n";
    body
}

struct Averages {
    cells: Vec<u64>,
    shift: u32,
}

impl Model for Averages {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let cell = &mut self.cells[inputs[0] as usize];
        *cell = *cell - (*cell >> self.shift) + inputs[1] as u64;
        vec![(*cell >> self.shift).into()]
    }
}

struct Intervals {
    /// Number of the interval, its sum, and what was published.
    cells: Vec<(u32, u32, u32)>,
    interval: u32,
}

impl Model for Intervals {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let current = inputs[1] as u32 >> self.interval;
        let (known, sum, rate) = &mut self.cells[inputs[0] as usize];
        if current != *known {
            let follows = current.wrapping_sub(*known) & (u32::MAX >> self.interval) == 1;
            *rate = if follows { *sum } else { 0 };
            (*known, *sum) = (current, 0);
        }
        *sum = sum.saturating_add(inputs[2] as u32);
        vec![(*rate).into()]
    }
}

struct Queues {
    /// Number of the interval, the least depth in it, and in the last one.
    cells: Vec<(u32, u32, u32)>,
    interval: u32,
}

impl Model for Queues {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let (current, depth) = (inputs[1] as u32 >> self.interval, inputs[2] as u32);
        let (known, least, last) = &mut self.cells[inputs[0] as usize];
        if current != *known {
            let follows = current.wrapping_sub(*known) & (u32::MAX >> self.interval) == 1;
            *last = if follows { *least } else { 0 };
            (*known, *least) = (current, depth);
        }
        *least = depth.min(*least);
        vec![(*least).into(), (*last).into()]
    }
}

struct Periods {
    /// The number of the interval of the last packet.
    cells: Vec<u32>,
    interval: u32,
}

impl Model for Periods {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let current = inputs[1] as u32 >> self.interval;
        let known = std::mem::replace(&mut self.cells[inputs[0] as usize], current);
        let ended = current.wrapping_sub(known) & (u32::MAX >> self.interval);
        vec![u128::from(ended != 0), ended.into()]
    }
}
