//! Averages, rates and queues: one cell for each port, queue or class.

use crate::block::any;
use crate::parameters::Kind;
use crate::{Block, Body, Cost, Model, Parameter, Port, Values};

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
    cost: |values| state(values, 96 - values.get("interval"), 2),
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
    cost: |values| state(values, 96 - values.get("interval"), 2),
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
    cost: |values| state(values, 32 - values.get("interval"), 1),
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

/// A cell has the number of its interval and the sum; a second one what was published.
fn interval(values: &Values) -> Body {
    let (interval, cells) = (values.small("interval"), values.get("cells"));
    let number = 32 - interval;
    let cell = number + 32;
    Body {
        members: format!(
            "P4RACK_REGISTER(bit<{cell}>, {cells}) sums;\nP4RACK_REGISTER(bit<32>, {cells}) published;\n"
        ),
        apply: format!(
            "bit<{number}> current = now[31:{interval}];
bit<{cell}> cell;
sums.read(cell, (bit<32>)index);
bit<{number}> known = cell[{}:32];
bit<32> sum = cell[31:0];
bit<32> last = 0;
if (current - known == 1) {{ last = sum; }}
if (current != known) {{ sum = 0; }}
sums.write((bit<32>)index, current ++ (sum |+| amount));
published.read(rate, (bit<32>)index);
if (current != known) {{ rate = last; published.write((bit<32>)index, rate); }}
",
            cell - 1
        ),
        ..Body::default()
    }
}

fn queue(values: &Values) -> Body {
    let (interval, cells) = (values.small("interval"), values.get("cells"));
    let number = 32 - interval;
    let cell = number + 32;
    Body {
        members: format!(
            "P4RACK_REGISTER(bit<{cell}>, {cells}) depths;\nP4RACK_REGISTER(bit<32>, {cells}) published;\n"
        ),
        apply: format!(
            "bit<{number}> current = now[31:{interval}];
bit<{cell}> cell;
depths.read(cell, (bit<32>)index);
bit<{number}> known = cell[{}:32];
least = cell[31:0];
bit<32> last = 0;
if (current - known == 1) {{ last = least; }}
if (current != known || depth < least) {{ least = depth; }}
depths.write((bit<32>)index, current ++ least);
published.read(last_least, (bit<32>)index);
if (current != known) {{ last_least = last; published.write((bit<32>)index, last_least); }}
",
            cell - 1
        ),
        ..Body::default()
    }
}

fn periodic(values: &Values) -> Body {
    let (interval, cells) = (values.small("interval"), values.get("cells"));
    let number = 32 - interval;
    Body {
        members: format!("P4RACK_REGISTER(bit<{number}>, {cells}) numbers;\n"),
        apply: format!(
            "bit<{number}> known;
numbers.read(known, (bit<32>)index);
numbers.write((bit<32>)index, now[31:{interval}]);
ended = (bit<32>)(now[31:{interval}] - known);
due = 0;
if (ended != 0) {{ due = 1; }}
"
        ),
        ..Body::default()
    }
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
