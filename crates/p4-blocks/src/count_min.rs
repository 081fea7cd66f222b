//! Count-min sketches: how much was counted for a key, never less than the truth.
//!
//! `rows` arrays of `columns` cells. Each row adds to the cell that a hash of the key chooses; the least of the cells is the estimate.

use crate::block::any;
use crate::hash::Rows;
use crate::parameters::Kind;
use crate::{Access, Block, Body, Cost, Hash, Model, Parameter, Port, Values, hash};
use std::fmt::Write;

const ROWS: Parameter = Parameter {
    name: "rows",
    about: "number of hashes of the key, each with a row of cells",
    default: 3,
    range: (1, 8),
    kind: Kind::Any,
};
const COLUMNS: Parameter = Parameter {
    name: "columns",
    about: "cells of a row",
    default: 2048,
    range: (2, 1 << 24),
    kind: Kind::PowerOfTwo,
};
pub(crate) const KEY: Parameter = Parameter {
    name: "key",
    about: "bits of the key",
    default: 32,
    range: (8, 128),
    kind: Kind::MultipleOf8,
};
const HALVINGS: Parameter = Parameter {
    name: "epoch",
    about: "bits of the epoch number that a cell stores",
    default: 8,
    range: (4, 16),
    kind: Kind::Any,
};

/// The plain sketch (Cormode and Muthukrishnan 2005).
pub(crate) static PLAIN: Block = Block {
    name: "count-min",
    control: "CountMin",
    about: "adds an amount to the sum for a key, and estimates the sum",
    error: "never below the true sum; for all but a share e^-rows of the keys, above it by at most 2.72 / columns of the total of all amounts (Cormode and Muthukrishnan 2005). \
            Measured: `p4rack reproduce flexswitch table1`.",
    parameters: &[ROWS, COLUMNS, KEY],
    check: any,
    ports,
    p4: |values| rows(values, PLAIN_ROW),
    exact: |values| keyed(values, "sum = known |+| amount;"),
    model: |values| Box::new(Plain(Rows::new(values, values.small("rows")))),
    cost,
    not_for_tna: None,
};

/// The sketch with conservative updates in one pass.
pub(crate) static CONSERVATIVE: Block = Block {
    name: "count-min-conservative",
    control: "CountMinConservative",
    about: "count-min in which a row never exceeds the estimate of the rows before it (conservative update)",
    error: "never below the true sum, by induction: the estimate of the rows before, and cell plus amount, are both at least the truth, and the lesser of them is \
            stored. Never more than plain count-min. Measured: false positives at most half of plain count-min's with 3 rows or more (`p4rack reproduce flexswitch table1`). \
            Counts cannot be taken back, and sketches of two devices cannot be added.",
    parameters: &[ROWS, COLUMNS, KEY],
    check: any,
    ports,
    p4: |values| rows(values, CONSERVATIVE_ROW),
    exact: |values| keyed(values, "sum = known |+| amount;"),
    model: |values| Box::new(Conservative(Rows::new(values, values.small("rows")))),
    // A row needs the estimate of the rows before it.
    cost: |values| Cost { stages: 1 + 2 * values.small("rows"), ..cost(values) },
    not_for_tna: None,
};

/// The sketch whose counts are halved with each epoch.
pub(crate) static DECAY: Block = Block {
    name: "count-min-decay",
    control: "CountMinDecay",
    about: "count-min whose cells are halved for each new epoch, at the next packet of the cell",
    error: "never less than the sum that is halved (rounding down) with each epoch, by the same halvings of the sum and of a cell that is at least the sum. After 2^epoch epochs \
            without a packet, a cell counts as younger than it is: let epochs be long.",
    parameters: &[ROWS, COLUMNS, KEY, HALVINGS],
    check: any,
    ports: |values| {
        let mut ports = ports(values);
        ports.insert(2, Port::input("epoch", values.small("epoch")));
        ports
    },
    p4: decay,
    exact: exact_decay,
    model: |values| {
        let [rows, epoch_bits] = ["rows", "epoch"].map(|name| values.small(name));
        Box::new(Decay { rows: Rows::new(values, rows), epoch_bits })
    },
    cost: |values| {
        let plain = cost(values);
        let cells = values.get("rows") * values.get("columns");
        Cost { state_bits: plain.state_bits + cells * values.get("epoch"), ..plain }
    },
    not_for_tna: Some(
        "a stateful ALU cannot shift a cell by the number of epochs; use `count-min` and clear it by the control plane",
    ),
};

fn ports(values: &Values) -> Vec<Port> {
    vec![Port::input("item", values.small("key")), Port::input("amount", 32), Port::output("estimate", 32)]
}

fn cost(values: &Values) -> Cost {
    let rows = values.small("rows");
    Cost {
        state_bits: u64::from(rows) * values.get("columns") * 32,
        hashes: rows,
        tables: vec![],
        // Hash, rows at once, and a tree of minima.
        stages: 2 + rows.next_power_of_two().ilog2(),
    }
}

/// Body of a plain row: adds the amount and returns the estimate.
const PLAIN_ROW: &str = "cell = cell |+| amount;\n$ = cell;\n";
const CONSERVATIVE_ROW: &str = "bit<32> more = cell |+| amount;
if (more < estimate) { cell = more; $ = more; }
else {
    if (cell < estimate) { cell = estimate; }
    $ = estimate;
}
";

fn rows(values: &Values, update: &str) -> Body {
    let (count, columns, key) = (values.small("rows"), values.get("columns"), values.small("key"));
    let mut body = Body { apply: "estimate = 0xffffffff;\n".to_string(), ..Body::default() };
    for row in 0..count {
        let data = hash::expression("item", key, row, count);
        body.hashes.push(Hash { name: format!("index{row}"), data, bits: columns.ilog2() });
        body.accesses.push(Access {
            register: format!("row{row}"),
            cells: columns,
            bits: 32,
            index: format!("index{row}"),
            result: format!("sum{row}"),
            result_bits: 32,
            code: update.to_string(),
        });
        let _ = writeln!(
            body.apply,
            "@index{row}\n@row{row}\nif (sum{row} < estimate) {{ estimate = sum{row}; }}"
        );
    }
    body
}

/// A cell is `count ++ epoch`: halved as often as the epochs differ.
fn decay(values: &Values) -> Body {
    let (count, columns, key) = (values.small("rows"), values.get("columns"), values.small("key"));
    let epoch = values.small("epoch");
    let cell = 32 + epoch;
    let halvings = halvings("sum#", "age#", epoch);
    let mut body = Body { apply: "estimate = 0xffffffff;\n".to_string(), ..Body::default() };
    for row in 0..count {
        let data = hash::expression("item", key, row, count);
        let _ = writeln!(body.members, "P4RACK_REGISTER(bit<{cell}>, {columns}) row{row};");
        let text = format!(
            "bit<32> index#;
hash(index#, HashAlgorithm.crc32, 32w0, {data}, 32w{columns});
bit<{cell}> cell#;
row#.read(cell#, index#);
bit<32> sum# = cell#[{}:{epoch}];
bit<{epoch}> age# = epoch - cell#[{}:0];
{halvings}sum# = sum# |+| amount;
row#.write(index#, sum# ++ epoch);
if (sum# < estimate) {{ estimate = sum#; }}
",
            cell - 1,
            epoch - 1
        );
        body.apply += &text.replace('#', &row.to_string());
    }
    body
}

/// Shifts `sum` to the right by `age` with shifts by constants.
pub(crate) fn halvings(sum: &str, age: &str, bits: u32) -> String {
    let mut out = String::new();
    for bit in 0..bits.min(5) {
        let _ = writeln!(out, "if ({age}[{bit}:{bit}] == 1) {{ {sum} = {sum} >> {}; }}", 1 << bit);
    }
    if bits > 5 {
        let _ = writeln!(out, "if ({age}[{}:5] != 0) {{ {sum} = 0; }}", bits - 1);
    }
    out
}

/// The exact sum for each key.
fn keyed(values: &Values, update: &str) -> Body {
    Body {
        before: keyed_register(values.small("key"), 32),
        members: "KeyedRegister(1048576) sums;\n".to_string(),
        apply: format!(
            "bit<32> known = sums.read(item);\nbit<32> sum;\n{update}\nsums.write(item, sum);\nestimate = sum;\n"
        ),
        ..Body::default()
    }
}

/// The declaration of a register with keys in the place of indices, which software devices offer.
pub(crate) fn keyed_register(key: u32, cell: u32) -> String {
    format!(
        "@value_extern(\"keyed-register\")
extern KeyedRegister {{
    KeyedRegister(bit<32> size);
    @noSideEffects bit<{cell}> read(in bit<{key}> key);
    void write(in bit<{key}> key, in bit<{cell}> value);
}}
"
    )
}

fn exact_decay(values: &Values) -> Body {
    let epoch = values.small("epoch");
    let cell = 32 + epoch;
    Body {
        before: keyed_register(values.small("key"), cell),
        members: "KeyedRegister(1048576) sums;\n".to_string(),
        apply: format!(
            "bit<{cell}> known = sums.read(item);
bit<32> sum = known[{}:{epoch}];
bit<{epoch}> age = epoch - known[{}:0];
{}sum = sum |+| amount;
sums.write(item, sum ++ epoch);
estimate = sum;
",
            cell - 1,
            epoch - 1,
            halvings("sum", "age", epoch)
        ),
        ..Body::default()
    }
}

struct Plain(Rows<u32>);

impl Model for Plain {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let sums = self.0.cells(inputs[0]).map(|sum| {
            *sum = sum.saturating_add(inputs[1] as u32);
            *sum
        });
        vec![sums.min().unwrap_or(0).into()]
    }
}

struct Conservative(Rows<u32>);

impl Model for Conservative {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let estimate = self.0.cells(inputs[0]).fold(u32::MAX, |estimate, sum| {
            let least = estimate.min(sum.saturating_add(inputs[1] as u32));
            *sum = least.max(*sum);
            least
        });
        vec![estimate.into()]
    }
}

struct Decay {
    /// Count and epoch.
    rows: Rows<(u32, u32)>,
    epoch_bits: u32,
}

impl Model for Decay {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let [key, amount, now] = *inputs else { return vec![] };
        let (amount, now, epochs) = (amount as u32, now as u32, (1 << self.epoch_bits) - 1);
        let sums = self.rows.cells(key).map(|(sum, epoch)| {
            let age = now.wrapping_sub(*epoch) & epochs;
            *sum = sum.checked_shr(age).unwrap_or(0).saturating_add(amount);
            *epoch = now;
            *sum
        });
        vec![sums.min().unwrap_or(0).into()]
    }
}
