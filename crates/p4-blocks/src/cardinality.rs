//! Number of distinct keys, known for every packet: a bitmap, and HyperLogLog with a running sum.
//!
//! Neither reads its cells to estimate. A packet knows how its own cell changed, and register arrays of one cell keep what the estimate depends
//! on: the number of occupied cells, and the sum of 2^-rank.
//!
//! The estimate of HyperLogLog is Ertl's (2017, "New cardinality estimation algorithms for HyperLogLog sketches", algorithm 6): one formula for any
//! number of keys, where the original one is biased between linear counting and the harmonic mean, near 3 keys for each cell. Its bias with few cells,
//! 3.5 % for 32, is divided out.

use crate::count_min::{KEY, keyed_register};
use crate::fixed::{FRACTION, exp2, log2};
use crate::parameters::Kind;
use crate::{Access, Block, Body, Cost, Entries, Hash, Model, Parameter, Port, Values, hash};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;

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
    about: "leading bits of a value that are used to look up the estimate, including the leading one",
    default: 8,
    range: (4, 12),
    kind: Kind::Any,
};

const GROUPS: Parameter = Parameter {
    name: "groups",
    about: "groups whose keys are counted apart, each in its part of the cells; 1: no groups",
    default: 1,
    range: (1, 4096),
    kind: Kind::PowerOfTwo,
};

const WINDOW: Parameter = Parameter {
    name: "window",
    about: "bits of the window number that a cell stores; 0: no windows, the count never restarts",
    default: 0,
    range: (0, 8),
    kind: Kind::Any,
};

/// The error of HyperLogLog is larger than that of a coarse look-up.
const COARSE: Parameter = Parameter { default: 6, ..MANTISSA };

/// Linear counting (Whang, Vander-Zanden and Taylor 1990).
pub(crate) static BITMAP: Block = Block {
    name: "bitmap",
    control: "Bitmap",
    about: "number of distinct keys, up to about twice the number of cells",
    error: "standard error sqrt(e^t - t - 1) / (t sqrt(cells)) for t = keys / cells (Whang, Vander-Zanden and Taylor 1990). Measured: at most 0.4 % with 8 KB and 100 to 50,000 keys \
            (`p4rack reproduce flexswitch fig2`). The estimate never falls within a window. With windows, a cell that no key touched for 2^window windows counts once more.",
    parameters: &[CELLS, MANTISSA, KEY, WINDOW, GROUPS],
    check: |values| check(values, &CELLS),
    ports,
    p4: bitmap,
    exact: distinct,
    model: |values| Box::new(BitmapModel::new(values)),
    cost: |values| Cost {
        state_bits: values.get("cells") * (1 + values.get("window"))
            + values.get("groups") * (32 + values.get("window")),
        hashes: 1,
        tables: vec![Entries {
            table: "estimates",
            ternary: true,
            entries: bitmap_rows(values).len() as u64,
        }],
        stages: 4,
    },
    not_for_tna: None,
};

/// HyperLogLog (Flajolet, Fusy, Gandouet and Meunier 2007) with Ertl's estimate.
pub(crate) static HYPERLOGLOG: Block = Block {
    name: "hyperloglog",
    control: "HyperLogLog",
    about: "number of distinct keys, without an upper limit",
    error: "standard error at most 1.04 / sqrt(cells) (Flajolet, Fusy, Gandouet and Meunier 2007), for any number of keys (Ertl 2017). Measured: mean error at most 0.87 / sqrt(cells) \
            (`cargo test -p p4-blocks --test it paper::`). With windows, a cell that no key touched for 2^window windows counts once more.",
    parameters: &[BUCKETS, COARSE, KEY, WINDOW, GROUPS],
    check: |values| check(values, &BUCKETS),
    ports,
    p4: hyperloglog,
    exact: distinct,
    model: |values| Box::new(HyperLogLogModel::new(values)),
    cost: |values| {
        let (bits, window) = (u64::from(rank_bits(values)), values.get("window"));
        let table = |table, ternary, entries| Entries { table, ternary, entries };
        Cost {
            state_bits: values.get("cells") * (8 + window)
                + values.get("groups") * (u64::from(SUM) + 32 + 2 * window),
            hashes: 1,
            tables: vec![
                table("ranks", true, bits + 1),
                table("old_shares", false, bits + 2),
                table("new_shares", false, bits + 2),
                table("starts", true, start_rows(values).len() as u64),
                table("estimates", true, estimate_rows(values).len() as u64),
            ],
            stages: 7,
        }
    },
    not_for_tna: Some("its running sum has 56 bits, and a stateful ALU adds 32; use `bitmap`"),
};

/// Groups have as many cells each as the least number of them for a block without groups, or more.
fn check(values: &Values, cells: &Parameter) -> Result<(), String> {
    let (all, groups, (least, _)) = (values.get("cells"), values.get("groups"), cells.range);
    if all / groups >= least {
        return Ok(());
    }
    Err(format!(
        "{groups} groups share {all} cells, and each needs {least}: the nearest number of groups is {}",
        all / least
    ))
}

/// Cells of a group, or all without groups.
pub(crate) fn cells_of_a_group(values: &Values) -> u64 {
    values.get("cells") / values.get("groups")
}

/// The index of what each group has once.
fn group(values: &Values) -> &'static str {
    if values.get("groups") > 1 { "(bit<32>)group" } else { "0" }
}

fn ports(values: &Values) -> Vec<Port> {
    let groups = values.get("groups");
    let group = Some(groups.ilog2()).filter(|bits| *bits > 0).map(|bits| Port::input("group", bits));
    let epoch = Some(values.small("window")).filter(|bits| *bits > 0).map(|bits| Port::input("epoch", bits));
    let (key, result) = (Port::input("item", values.small("key")), Port::output("cardinality", 32));
    group.into_iter().chain([key]).chain(epoch).chain([result]).collect()
}

/// Reads a cell into the variable `name` of `bits` bits; a cell of another window reads 0.
fn read(register: &str, index: &str, name: &str, bits: u32, window: u32) -> String {
    match window {
        0 => format!("{register}.read({name}, {index});\n"),
        _ => format!(
            "bit<{0}> {register}_cell;\n{register}.read({register}_cell, {index});\n{name} = 0;
if ({register}_cell[{1}:{bits}] == epoch) {{ {name} = {register}_cell[{2}:0]; }}\n",
            bits + window,
            bits + window - 1,
            bits - 1
        ),
    }
}

/// Writes a cell of the current window.
fn write(register: &str, index: &str, value: &str, window: u32) -> String {
    let value = if window == 0 { value.to_string() } else { format!("epoch ++ {value}") };
    format!("{register}.write({index}, {value});")
}

/// The group, the key and the number of the window, of the inputs of a packet.
fn inputs_of(inputs: &[u128], groups: usize) -> (usize, u128, u128) {
    let (group, rest) = inputs.split_at(usize::from(groups > 1));
    (group.first().map_or(0, |group| *group as usize), rest[0], rest.get(1).copied().unwrap_or(0))
}

/// A value of a window: 0 in any other one.
#[derive(Clone, Copy, Default)]
struct Windowed<T> {
    epoch: u128,
    value: T,
}

impl<T: Default> Windowed<T> {
    /// The value in a window, to change.
    fn in_window(&mut self, epoch: u128) -> &mut T {
        if self.epoch != epoch {
            *self = Windowed { epoch, value: T::default() };
        }
        &mut self.value
    }
}

/// The values that a group has once, and its cells.
type Groups<T, C> = Vec<(Windowed<T>, Vec<Windowed<C>>)>;

fn groups<T: Clone + Default, C: Clone + Default>(values: &Values) -> Groups<T, C> {
    let cells = vec![Windowed::default(); cells_of_a_group(values) as usize];
    vec![(Windowed::default(), cells); values.get("groups") as usize]
}

/// A row of a ternary table of estimates.
pub(crate) struct Row {
    value: u64,
    mask: u64,
    estimate: u64,
}

/// The rows for numbers of a range above 0: one for those with the same `mantissa` leading bits, each with the estimate of their mean.
fn rows(range: RangeInclusive<u64>, mantissa: u32, estimate: impl Fn(u128) -> u64) -> Vec<Row> {
    let (least, most) = range.into_inner();
    let bits = most.ilog2() + 1;
    let mut out = vec![];
    for top in (least.ilog2()..bits).rev() {
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

/// Estimates of numbers by their leading bits: what [`rows`] says, made as they are asked for.
struct LookUp {
    cells: u64,
    mantissa: u32,
    /// The estimate for a number of cells and twice the number that is looked up.
    estimate: fn(u64, u128) -> u64,
    known: BTreeMap<u64, u64>,
}

impl LookUp {
    fn new(values: &Values, estimate: fn(u64, u128) -> u64) -> LookUp {
        let (cells, mantissa) = (cells_of_a_group(values), values.small("mantissa"));
        LookUp { cells, mantissa, estimate, known: BTreeMap::new() }
    }

    fn get(&mut self, number: u64) -> u64 {
        let Some(top) = number.checked_ilog2() else { return 0 };
        let open = top.saturating_sub(self.mantissa - 1);
        let least = number >> open << open;
        let estimate = || (self.estimate)(self.cells, 2 * u128::from(least) + (1 << open) - 1);
        *self.known.entry(least).or_insert_with(estimate)
    }
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
    let cells = cells_of_a_group(values);
    rows(1..=cells, values.small("mantissa"), |twice| linear(cells, twice))
}

/// A ternary table from `key` to the argument of `action`.
fn table(name: &str, key: &str, action: &str, rows: &[Row]) -> String {
    let mut out = format!(
        "table {name} {{
    key = {{ {key}: ternary; }}
    actions = {{ {action}; NoAction; }}
    const default_action = NoAction();
    const entries = {{
"
    );
    for Row { value, mask, estimate } in rows {
        let _ = writeln!(out, "        {value:#x} &&& {mask:#x}: {action}({estimate});");
    }
    out + "    }\n}\n"
}

fn bitmap(values: &Values) -> Body {
    let (cells, key, window) = (values.get("cells"), values.small("key"), values.small("window"));
    let (groups, hashed) = (values.get("groups"), cells_of_a_group(values).ilog2());
    let bits = hashed + 1;
    // A group's cells follow one another.
    let place = match groups {
        1 => String::new(),
        _ => format!("index[{}:{hashed}] = group;\n", cells.ilog2() - 1),
    };
    let (mark, mut count) = match window {
        0 => ("$ = cell;\ncell = 1;\n", String::new()),
        _ => (
            "$ = 0;\nif (cell == epoch ++ 1w1) { $ = 1; }\ncell = epoch ++ 1w1;\n",
            format!("if (cell[{}:32] != epoch) {{ cell = epoch ++ 32w0; }}\n", 31 + window),
        ),
    };
    let sum = if window == 0 { "cell" } else { "cell[31:0]" };
    let _ = writeln!(count, "if (known == 0) {{ cell = cell + 1; }}\n$ = {sum};");
    let access =
        |register: &str, cells, bits, index: &str, (result, result_bits): (&str, u32), code: &str| Access {
            register: register.to_string(),
            cells,
            bits,
            index: index.to_string(),
            result: result.to_string(),
            result_bits,
            code: code.to_string(),
        };
    Body {
        members: format!(
            "bit<{bits}> count = 0;
action estimate_is(bit<32> value) {{ cardinality = value; }}
{}",
            table("estimates", "count", "estimate_is", &bitmap_rows(values))
        ),
        hashes: vec![Hash {
            name: "index".to_string(),
            data: hash::expression("item", key, 0, 1),
            bits: hashed,
        }],
        accesses: vec![
            access("cells", cells, 1 + window, "index", ("known", 1), mark),
            access("occupied", groups, 32 + window, group(values), ("sum", 32), &count),
        ],
        apply: format!(
            "cardinality = 0;\n@index\n{place}@cells\n@occupied\ncount = sum[{}:0];\nestimates.apply();\n",
            bits - 1
        ),
        ..Body::default()
    }
}

/// The exact number of keys.
fn distinct(values: &Values) -> Body {
    let (window, groups) = (values.small("window"), values.get("groups"));
    // A key of whole bytes, before it the group.
    let (item, front) = match groups {
        1 => ("item".to_string(), 0),
        _ => {
            let front = groups.ilog2().next_multiple_of(8);
            (format!("((bit<{front}>)group ++ item)"), front)
        }
    };
    let (known, note) = match window {
        0 => (format!("known.read({item}) == 1"), "1w1"),
        _ => (format!("known.read({item}) == epoch ++ 1w1"), "epoch ++ 1w1"),
    };
    Body {
        before: keyed_register(values.small("key") + front, 1 + window),
        members: format!(
            "KeyedRegister(1048576) known;\nP4RACK_REGISTER(bit<{}>, {groups}) count;\n",
            32 + window
        ),
        apply: format!(
            "bit<32> sum;
{}if (!({known})) {{ sum = sum + 1; }}
known.write({item}, {note});
{}
cardinality = sum;
",
            read("count", group(values), "sum", 32, window),
            write("count", group(values), "sum", window),
        ),
        ..Body::default()
    }
}

struct BitmapModel {
    /// Number of occupied cells, and cells.
    groups: Groups<u64, u64>,
    key: u32,
    estimates: LookUp,
}

impl BitmapModel {
    fn new(values: &Values) -> BitmapModel {
        let (key, estimates) = (values.small("key"), LookUp::new(values, linear));
        BitmapModel { groups: groups(values), key, estimates }
    }
}

impl Model for BitmapModel {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let (group, item, epoch) = inputs_of(inputs, self.groups.len());
        let (occupied, cells) = &mut self.groups[group];
        let index = hash::of(item, self.key, 0, 1) as usize % cells.len();
        let known = std::mem::replace(cells[index].in_window(epoch), 1);
        let occupied = occupied.in_window(epoch);
        *occupied += 1 - known;
        vec![self.estimates.get(*occupied).into()]
    }
}

/// Bits of the sum of 2^-rank: 24 before the point, 32 after it.
const SUM: u32 = 56;
const POINT: u32 = 32;

/// Bits of the hash that give the rank: the others choose the bucket.
fn rank_bits(values: &Values) -> u32 {
    32 - cells_of_a_group(values).ilog2()
}

/// 2^-rank; rank 0 is that of an empty bucket.
fn share(rank: u32) -> u64 {
    1 << (POINT - rank)
}

/// 1 / (2 ln 2), the bias constant of the harmonic mean for many cells, in units of 10^-9.
const ALPHA: u128 = 721_347_520;

/// With few cells, the harmonic mean is 1 + this / cells times too large (Flajolet, Fusy, Gandouet and Meunier 2007, Fig. 3); in units of 10^-3.
const EXCESS: u128 = 1_079;

/// The sum of 2^-rank from which a number of occupied cells makes the estimate: cells, if all ranks were 0, and Ertl's correction for empty cells:
/// cells (sigma(x) - x) for the share x of empty cells, where sigma(x) = x + the sum of x^(2^k) 2^(k - 1) over k >= 1. `POINT` bits after the point.
fn start(cells: u64, twice_occupied: u128) -> u64 {
    let twice_empty = (2 * u128::from(cells)).saturating_sub(twice_occupied);
    // With 64 bits after the point; at most 1 - 1 / cells.
    let mut power = (twice_empty << 63) / u128::from(cells);
    let (mut sum, mut doubled) = (0u128, 0);
    while power > 0 {
        power = (power * power) >> 64;
        sum += power << doubled;
        doubled += 1;
    }
    (cells << POINT) + ((sum * u128::from(cells)) >> (64 - POINT)) as u64
}

/// alpha cells^2 / ((1 + excess / cells) sum) for twice the sum, which has POINT bits after the point; as a power of a logarithm, as a switch does it.
fn harmonic(cells: u64, twice_sum: u128) -> u64 {
    let cells = u128::from(cells);
    // alpha cells^2 in units of 10^-9 has at least 37 bits, and the quotient at most 62.
    let log = log2(ALPHA * cells * cells) + log2(1000 * cells) - log2(1000 * cells + EXCESS);
    let log = log + (u128::from(POINT + 1) << FRACTION);
    let log = log.saturating_sub(log2(twice_sum)).saturating_sub(log2(1_000_000_000));
    exp2(log.min(63 << FRACTION)).min(u32::MAX.into()) as u64
}

fn start_rows(values: &Values) -> Vec<Row> {
    let cells = cells_of_a_group(values);
    rows(1..=cells, values.small("mantissa"), |twice| start(cells, twice))
}

/// Sums that can be: of highest ranks only, up to that of one key.
fn sums(values: &Values) -> RangeInclusive<u64> {
    let cells = cells_of_a_group(values);
    (cells << POINT >> (rank_bits(values) + 1))..=start(cells, 2)
}

fn estimate_rows(values: &Values) -> Vec<Row> {
    let cells = cells_of_a_group(values);
    rows(sums(values), values.small("mantissa"), |twice| harmonic(cells, twice))
}

fn hyperloglog(values: &Values) -> Body {
    let (cells, key, window) = (values.get("cells"), values.small("key"), values.small("window"));
    let (chosen, ranked) = (cells_of_a_group(values).ilog2(), rank_bits(values));
    let (groups, group) = (values.get("groups"), group(values));
    let part = if groups > 1 { "group ++ " } else { "" };
    let (counted, summed) = (chosen + 1, sums(values).end().ilog2() + 1);
    let data = hash::expression("item", key, 0, 1);
    let mut members = format!(
        "P4RACK_REGISTER(bit<{}>, {cells}) buckets;
P4RACK_REGISTER(bit<{}>, {groups}) sums;
P4RACK_REGISTER(bit<{}>, {groups}) occupied;
bit<{ranked}> rest = 0;
bit<8> rank = 0;
bit<8> old_rank = 0;
bit<{SUM}> old_share = 0;
bit<{SUM}> new_share = 0;
bit<{counted}> count = 0;
bit<64> start = 0;
bit<{summed}> sum = 0;
action start_is(bit<64> value) {{ start = value; }}
action estimate_is(bit<32> value) {{ cardinality = value; }}
action rank_is(bit<8> value) {{ rank = value; }}
table ranks {{
    key = {{ rest: ternary; }}
    actions = {{ rank_is; NoAction; }}
    const default_action = NoAction();
    const entries = {{
",
        8 + window,
        SUM + window,
        32 + window,
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
    members += &table("starts", "count", "start_is", &start_rows(values));
    members += &table("estimates", "sum", "estimate_is", &estimate_rows(values));
    let apply = format!(
        "cardinality = 0;
bit<32> whole;
hash(whole, HashAlgorithm.crc32, 32w0, {data}, 64w0x100000000);
rest = whole[31:{chosen}];
ranks.apply();
bit<32> bucket = (bit<32>)({part}whole[{}:0]);
{}if (rank > old_rank) {{ {} }}
old_shares.apply();
new_shares.apply();
// The sum is kept as what is missing from that of empty buckets, so that it starts at 0.
bit<{SUM}> missing;
{}if (rank > old_rank) {{ missing = missing + (old_share - new_share); }}
{}
bit<32> known;
{}if (old_rank == 0) {{ known = known + 1; }}
{}
count = known[{}:0];
starts.apply();
bit<64> left = start - (bit<64>)missing;
sum = left[{}:0];
// A window may begin with a cell that seems to be of it: then none is counted as occupied yet.
if (count != 0) {{ estimates.apply(); }}
",
        chosen - 1,
        read("buckets", "bucket", "old_rank", 8, window),
        write("buckets", "bucket", "rank", window),
        read("sums", group, "missing", SUM, window),
        write("sums", group, "missing", window),
        read("occupied", group, "known", 32, window),
        write("occupied", group, "known", window),
        counted - 1,
        summed - 1,
    );
    Body { members, apply, ..Body::default() }
}

struct HyperLogLogModel {
    /// Number of occupied cells, and difference of the sum of 2^-rank from its value when all ranks were 0; ranks.
    groups: Groups<(u64, u64), u32>,
    key: u32,
    starts: LookUp,
    estimates: LookUp,
}

impl HyperLogLogModel {
    fn new(values: &Values) -> HyperLogLogModel {
        let (starts, estimates) = (LookUp::new(values, start), LookUp::new(values, harmonic));
        HyperLogLogModel { groups: groups(values), key: values.small("key"), starts, estimates }
    }
}

impl Model for HyperLogLogModel {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let (group, item, epoch) = inputs_of(inputs, self.groups.len());
        let (totals, ranks) = &mut self.groups[group];
        let (hash, cells) = (hash::of(item, self.key, 0, 1), ranks.len());
        let rank = (hash >> cells.ilog2()).leading_zeros() - cells.ilog2() + 1;
        let known = ranks[hash as usize % cells].in_window(epoch);
        let (occupied, missing) = totals.in_window(epoch);
        *occupied += u64::from(*known == 0);
        if rank > *known {
            *missing += share(*known) - share(rank);
            *known = rank;
        }
        let is_empty = *occupied == 0;
        vec![if is_empty { 0 } else { self.estimates.get(self.starts.get(*occupied) - *missing).into() }]
    }
}
