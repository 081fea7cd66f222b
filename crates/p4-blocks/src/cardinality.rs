//! How many different keys there were, known for every packet: a bitmap, and HyperLogLog with a running sum.
//!
//! Neither reads its cells to estimate. A packet knows how its own cell changed, and a second register array of one cell keeps what the estimate depends
//! on: the number of occupied cells, or the sum of 2^-rank.

use crate::block::any;
use crate::count_min::{KEY, keyed_register};
use crate::fixed::{FRACTION, exp2, log2};
use crate::parameters::Kind;
use crate::{Block, Body, Cost, Entries, Model, Parameter, Port, Values, hash};
use std::fmt::Write;

const CELLS: Parameter = Parameter {
    name: "cells",
    about: "bits of the bitmap",
    default: 65_536,
    range: (8, 1 << 20),
    kind: Kind::PowerOfTwo,
};
const BUCKETS: Parameter = Parameter {
    name: "cells",
    about: "buckets of 8 bits",
    default: 1024,
    range: (16, 1 << 16),
    kind: Kind::PowerOfTwo,
};
const MANTISSA: Parameter = Parameter {
    name: "mantissa",
    about: "leading bits of a value that count when the estimate is looked up, the first one included",
    default: 8,
    range: (4, 12),
    kind: Kind::Any,
};

/// The error of HyperLogLog is larger than that of a coarse look-up.
const COARSE: Parameter = Parameter { default: 6, ..MANTISSA };

/// Linear counting (Whang, Vander-Zanden and Taylor 1990).
pub(crate) static BITMAP: Block = Block {
    name: "bitmap",
    control: "Bitmap",
    about: "number of different keys up to about twice the number of cells",
    error: "standard error sqrt(e^t - t - 1) / (t sqrt(cells)) for t = keys / cells (Whang, Vander-Zanden and Taylor 1990). Measured: at most 0.4 % with 8 KB and 100 to 50,000 keys \
            (`p4rack reproduce flexswitch fig2`). The estimate never falls.",
    parameters: &[CELLS, MANTISSA, KEY],
    check: any,
    ports,
    p4: bitmap,
    exact: distinct,
    model: |values| Box::new(BitmapModel::new(values)),
    cost: |values| Cost {
        state_bits: values.get("cells") + 32,
        hashes: 1,
        tables: vec![Entries {
            table: "estimates",
            ternary: true,
            entries: bitmap_rows(values).len() as u64,
        }],
        stages: 4,
    },
};

/// HyperLogLog (Flajolet, Fusy, Gandouet and Meunier 2007).
pub(crate) static HYPERLOGLOG: Block = Block {
    name: "hyperloglog",
    control: "HyperLogLog",
    about: "number of different keys, of any size",
    error: "standard error 1.04 / sqrt(cells) (Flajolet, Fusy, Gandouet and Meunier 2007); below 3 keys for each cell that of the bitmap. Measured: mean error up to 0.95 / sqrt(cells), more near 3 keys for each cell \
            (`p4rack reproduce flexswitch fig2`).",
    parameters: &[BUCKETS, COARSE, KEY],
    check: any,
    ports,
    p4: hyperloglog,
    exact: distinct,
    model: |values| Box::new(HyperLogLogModel::new(values)),
    cost: |values| {
        let bits = u64::from(rank_bits(values));
        let table = |table, ternary, entries| Entries { table, ternary, entries };
        Cost {
            state_bits: values.get("cells") * 8 + u64::from(SUM) + 32,
            hashes: 1,
            tables: vec![
                table("ranks", true, bits + 1),
                table("old_shares", false, bits + 2),
                table("new_shares", false, bits + 2),
                table("few", true, few_rows(values).len() as u64),
                table("many", true, many_rows(values).len() as u64),
            ],
            stages: 6,
        }
    },
};

fn ports(values: &Values) -> Vec<Port> {
    vec![Port::input("key", values.small("key")), Port::output("cardinality", 32)]
}

/// A row of a ternary table of estimates.
pub(crate) struct Row {
    value: u64,
    mask: u64,
    estimate: u64,
}

/// The rows for 1 to `most`: one for the numbers with the same `mantissa` leading bits, each with the estimate of their mean.
fn rows(most: u64, mantissa: u32, estimate: impl Fn(u128) -> u64) -> Vec<Row> {
    let bits = most.ilog2() + 1;
    let mut out = vec![];
    for top in (0..bits).rev() {
        let open = top.saturating_sub(mantissa - 1);
        for low in (1u64 << (top - open))..(2 << (top - open)) {
            let value = low << open;
            if value <= most {
                let mask = u64::MAX >> (64 - bits) >> open << open;
                out.push(Row { value, mask, estimate: estimate(2 * u128::from(value) + (1 << open) - 1) });
            }
        }
    }
    out
}

/// The estimate of a number by its leading bits: what [`rows`] says, without the rows.
fn looked_up(number: u64, mantissa: u32, estimate: impl Fn(u128) -> u64) -> u64 {
    let Some(top) = number.checked_ilog2() else { return 0 };
    let open = top.saturating_sub(mantissa - 1);
    estimate(2 * u128::from(number >> open << open) + (1 << open) - 1)
}

/// cells * ln(cells / empty) for twice the number of occupied cells; with all occupied, as if half a cell were empty.
fn linear(cells: u64, twice_occupied: u128) -> u64 {
    let twice_empty = (2 * u128::from(cells)).saturating_sub(twice_occupied).max(1);
    let log = log2(2 * u128::from(cells)) - log2(twice_empty);
    // ln 2 with 32 bits after the point.
    const LN2: u128 = 2_977_044_472;
    let scaled = (log >> 20) * LN2 * u128::from(cells);
    ((scaled + (1 << 63)) >> 64) as u64
}

fn bitmap_rows(values: &Values) -> Vec<Row> {
    let cells = values.get("cells");
    rows(cells, values.small("mantissa"), |twice| linear(cells, twice))
}

/// A ternary table from `key` to the estimate.
fn table(name: &str, key: &str, rows: &[Row]) -> String {
    let mut out = format!(
        "table {name} {{
    key = {{ {key}: ternary; }}
    actions = {{ estimate_is; NoAction; }}
    const default_action = NoAction();
    const entries = {{
"
    );
    for Row { value, mask, estimate } in rows {
        let _ = writeln!(out, "        {value:#x} &&& {mask:#x}: estimate_is({estimate});");
    }
    out + "    }\n}\n"
}

fn bitmap(values: &Values) -> Body {
    let (cells, key) = (values.get("cells"), values.small("key"));
    let bits = cells.ilog2() + 1;
    let data = hash::expression("key", key, 0, 1);
    Body {
        members: format!(
            "P4RACK_REGISTER(bit<1>, {cells}) cells;
P4RACK_REGISTER(bit<32>, 1) occupied;
bit<{bits}> count = 0;
action estimate_is(bit<32> value) {{ cardinality = value; }}
{}",
            table("estimates", "count", &bitmap_rows(values))
        ),
        apply: format!(
            "cardinality = 0;
bit<32> index;
hash(index, HashAlgorithm.crc32, 32w0, {data}, 32w{cells});
bit<1> known;
cells.read(known, index);
cells.write(index, 1);
bit<32> sum;
occupied.read(sum, 0);
if (known == 0) {{ sum = sum + 1; }}
occupied.write(0, sum);
count = sum[{}:0];
estimates.apply();
",
            bits - 1
        ),
        ..Body::default()
    }
}

/// The exact number of keys.
fn distinct(values: &Values) -> Body {
    Body {
        before: keyed_register(values.small("key"), 1),
        members: "KeyedRegister(1048576) known;\nP4RACK_REGISTER(bit<32>, 1) count;\n".to_string(),
        apply: "bit<32> sum;
count.read(sum, 0);
if (known.read(key) == 0) { sum = sum + 1; }
known.write(key, 1);
count.write(0, sum);
cardinality = sum;
"
        .to_string(),
    }
}

struct BitmapModel {
    cells: Vec<bool>,
    occupied: u64,
    key: u32,
    mantissa: u32,
}

impl BitmapModel {
    fn new(values: &Values) -> BitmapModel {
        let cells = vec![false; values.get("cells") as usize];
        BitmapModel { cells, occupied: 0, key: values.small("key"), mantissa: values.small("mantissa") }
    }
}

impl Model for BitmapModel {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let count = self.cells.len();
        let index = hash::of(inputs[0], self.key, 0, 1) as usize % count;
        self.occupied += u64::from(!std::mem::replace(&mut self.cells[index], true));
        vec![looked_up(self.occupied, self.mantissa, |twice| linear(count as u64, twice)).into()]
    }
}

/// Bits of the sum of 2^-rank: 24 before the point, 32 after it.
const SUM: u32 = 56;
const POINT: u32 = 32;

/// Bits of the hash that give the rank: the others choose the bucket.
fn rank_bits(values: &Values) -> u32 {
    32 - values.get("cells").ilog2()
}

/// 2^-rank; rank 0 is that of an empty bucket.
fn share(rank: u32) -> u64 {
    1 << (POINT - rank)
}

/// Up to 3 keys for each cell, linear counting is better: these occupy cells (1 - e^-3).
fn few_up_to(cells: u64) -> u64 {
    cells * 95 / 100
}

/// The bias constant of the harmonic mean (Flajolet et al. 2007), in millionths.
fn alpha(cells: u64) -> u128 {
    match cells {
        ..=16 => 673_000,
        17..=32 => 697_000,
        33..=64 => 709_000,
        _ => 721_300 * u128::from(cells) * 1000 / (1000 * u128::from(cells) + 1079),
    }
}

/// alpha cells^2 / sum for twice the sum, which has POINT bits after the point; as a power of a logarithm, as a switch does it.
fn harmonic(cells: u64, twice_sum: u128) -> u64 {
    let cells = u128::from(cells);
    // alpha cells^2 in millionths has at least 27 bits, and the quotient at most 52.
    let log = log2(alpha(cells as u64) * cells * cells) + (u128::from(POINT + 1) << FRACTION);
    let log = log.saturating_sub(log2(twice_sum)).saturating_sub(log2(1_000_000));
    exp2(log.min(63 << FRACTION)).min(u32::MAX.into()) as u64
}

fn few_rows(values: &Values) -> Vec<Row> {
    let cells = values.get("cells");
    rows(few_up_to(cells), values.small("mantissa"), |twice| linear(cells, twice))
}

fn many_rows(values: &Values) -> Vec<Row> {
    let cells = values.get("cells");
    rows(cells << POINT, values.small("mantissa"), |twice| harmonic(cells, twice))
}

fn hyperloglog(values: &Values) -> Body {
    let (cells, key) = (values.get("cells"), values.small("key"));
    let (chosen, ranked) = (cells.ilog2(), rank_bits(values));
    let (few, many) = (few_up_to(cells).ilog2() + 1, chosen + POINT + 1);
    let data = hash::expression("key", key, 0, 1);
    let mut members = format!(
        "P4RACK_REGISTER(bit<8>, {cells}) buckets;
P4RACK_REGISTER(bit<{SUM}>, 1) sums;
P4RACK_REGISTER(bit<32>, 1) occupied;
bit<{ranked}> rest = 0;
bit<8> rank = 0;
bit<8> old_rank = 0;
bit<{SUM}> old_share = 0;
bit<{SUM}> new_share = 0;
bit<{few}> few_count = 0;
bit<{many}> many_sum = 0;
action estimate_is(bit<32> value) {{ cardinality = value; }}
action rank_is(bit<8> value) {{ rank = value; }}
table ranks {{
    key = {{ rest: ternary; }}
    actions = {{ rank_is; NoAction; }}
    const default_action = NoAction();
    const entries = {{
"
    );
    let all = u64::MAX >> (64 - ranked);
    for zeros in 0..ranked {
        let leading = 1u64 << (ranked - 1 - zeros);
        let mask = all >> leading.ilog2() << leading.ilog2();
        let _ = writeln!(members, "        {leading:#x} &&& {mask:#x}: rank_is({});", zeros + 1);
    }
    let _ = writeln!(members, "        0x0 &&& {all:#x}: rank_is({});\n    }}\n}}", ranked + 1);
    for name in ["old", "new"] {
        let rank = if name == "old" { "old_rank" } else { "rank" };
        let _ = write!(
            members,
            "action {name}_share_is(bit<{SUM}> value) {{ {name}_share = value; }}
table {name}_shares {{
    key = {{ {rank}: exact; }}
    actions = {{ {name}_share_is; NoAction; }}
    const default_action = NoAction();
    const entries = {{
"
        );
        for rank in 0..=ranked + 1 {
            let _ = writeln!(members, "        {rank}: {name}_share_is({});", share(rank));
        }
        members += "    }\n}\n";
    }
    members += &table("few", "few_count", &few_rows(values));
    members += &table("many", "many_sum", &many_rows(values));
    let apply = format!(
        "cardinality = 0;
bit<32> whole;
hash(whole, HashAlgorithm.crc32, 32w0, {data}, 64w0x100000000);
rest = whole[31:{chosen}];
ranks.apply();
bit<32> bucket = (bit<32>)whole[{}:0];
buckets.read(old_rank, bucket);
if (rank > old_rank) {{ buckets.write(bucket, rank); }}
old_shares.apply();
new_shares.apply();
// The sum is kept as what is missing from that of empty buckets, so that it starts at 0.
bit<{SUM}> missing;
sums.read(missing, 0);
if (rank > old_rank) {{ missing = missing + (old_share - new_share); }}
sums.write(0, missing);
bit<32> count;
occupied.read(count, 0);
if (old_rank == 0) {{ count = count + 1; }}
occupied.write(0, count);
few_count = count[{}:0];
many_sum = ({SUM}w{} - missing)[{}:0];
if (count <= {}) {{ few.apply(); }} else {{ many.apply(); }}
",
        chosen - 1,
        few - 1,
        cells << POINT,
        many - 1,
        few_up_to(cells),
    );
    Body { members, apply, ..Body::default() }
}

struct HyperLogLogModel {
    ranks: Vec<u32>,
    sum: u64,
    occupied: u64,
    key: u32,
    mantissa: u32,
}

impl HyperLogLogModel {
    fn new(values: &Values) -> HyperLogLogModel {
        let cells = values.get("cells");
        let [key, mantissa] = ["key", "mantissa"].map(|name| values.small(name));
        HyperLogLogModel { ranks: vec![0; cells as usize], sum: cells << POINT, occupied: 0, key, mantissa }
    }
}

impl Model for HyperLogLogModel {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let cells = self.ranks.len() as u64;
        let hash = hash::of(inputs[0], self.key, 0, 1);
        let rank = (hash >> cells.ilog2()).leading_zeros() - cells.ilog2() + 1;
        let known = &mut self.ranks[hash as usize % cells as usize];
        self.occupied += u64::from(*known == 0);
        if rank > *known {
            self.sum -= share(*known) - share(rank);
            *known = rank;
        }
        let estimate = if self.occupied <= few_up_to(cells) {
            looked_up(self.occupied, self.mantissa, |twice| linear(cells, twice))
        } else {
            looked_up(self.sum, self.mantissa, |twice| harmonic(cells, twice))
        };
        vec![estimate.into()]
    }
}
