//! A rate at every packet, whose window decays with time.
//!
//! ```text
//! held      sum of amount x 2^(time of its packet / half-life), halved with each half-life     one register array
//! rate      held x 2^-(time within the half-life) x 4 ln 2                                     per interval of 4 half-lives
//! ```
//!
//! Amounts are weighted before they are added (forward decay, Cormode et al. 2009), and the rate is scaled after the cell was written. FlexSwitch's own form (section 3.3) multiplies the
//! cell by a factor from tables and writes the product back: this takes a second pass, and the error of the product adds up with each packet.

use crate::block::any;
use crate::count_min::halvings;
use crate::normalised::{GUARD, Logs, log_of_operand, log_tables, power_of_sum, power_tables, wide};
use crate::parameters::Kind;
use crate::rates::{CELLS, index};
use crate::{Block, Body, Cost, Entries, Model, Parameter, Port, Values};

const INTERVAL: Parameter = Parameter {
    name: "interval",
    about: "the rate is per 2^interval units of `now`; the half-life of counted amounts is a quarter of that",
    default: 10,
    range: (4, 30),
    kind: Kind::Any,
};
const MANTISSA: Parameter = Parameter {
    name: "mantissa",
    about: "bits after the leading one that tables use",
    default: 6,
    range: (2, 12),
    kind: Kind::Any,
};

/// Bits of a weighted amount after the point, and of all; bits of what is held.
const POINT: u32 = 8;
const WEIGHT: u32 = 41;
const HELD: u32 = 56;

/// The rate of amounts in a window that decays.
pub(crate) static RATE_CONTINUOUS: Block = Block {
    name: "rate-continuous",
    control: "RateContinuous",
    about: "amount per interval just before the packet, for each cell; older amounts have a lower weight",
    error: "mean within 5 % of the true rate for packets at random times, at any rate: errors of tables are not fed back. Measured: 1 to 10,000 events for each interval \
            (`cargo test -p p4-blocks --test it rates::`). 94 % of a step after one interval. Packets at regular times see less than the truth if there are few for each interval. 32 half-lives without a packet count as more if `now` wraps.",
    parameters: &[INTERVAL, MANTISSA, CELLS],
    check: any,
    ports: |values| {
        vec![
            Port::input("index", index(values)),
            Port::input("now", 32),
            Port::input("amount", 32),
            Port::output("rate", 32),
        ]
    },
    p4: |values| rate(values, values.small("mantissa")),
    // With logarithms of 12 bits.
    exact: |values| rate(values, 12),
    model: |values| Box::new(Rates::new(values)),
    cost: |values| {
        let rows = 1 << values.small("mantissa");
        let table = |table, ternary, entries| Entries { table, ternary, entries };
        Cost {
            state_bits: values.get("cells") * u64::from(HELD + 32 - half_life(values)),
            hashes: 0,
            tables: vec![
                table("shapes_of_amount", true, 32),
                table("logs_of_amount", false, rows),
                table("powers_weight", false, rows),
                table("places_weight", false, u64::from(WEIGHT) + 1),
                table("shapes_of_held", true, HELD.into()),
                table("logs_of_held", false, rows),
                table("powers_rate", false, rows),
                table("places_rate", false, 33),
            ],
            stages: 13,
        }
    },
    not_for_tna: Some("it holds 56 bits, and a stateful ALU adds 32; use `rate-interval`"),
};

/// A half-life has 2^this units of `now`.
fn half_life(values: &Values) -> u32 {
    values.small("interval") - 2
}

/// log2(4 ln 2) of the rate, in steps, without the bits after the point of what is held.
fn scale(mantissa: u32) -> i64 {
    let steps = mantissa + GUARD;
    ((1_471_234i64 << steps) + 500_000) / 1_000_000 - (i64::from(POINT) << steps)
}

fn rate(values: &Values, mantissa: u32) -> Body {
    let (half_life, cells, steps) = (half_life(values), values.get("cells"), mantissa + GUARD);
    let (epoch, wide) = (32 - half_life, wide(HELD, mantissa));
    let (cell, one) = (HELD + epoch, 1i64 << steps);
    let members = [
        format!(
            "P4RACK_REGISTER(bit<{cell}>, {cells}) sums;\nbit<{WEIGHT}> weight = 0;\nbit<{HELD}> held = 0;\n"
        ),
        log_tables("amount", 32, mantissa, wide, one * (1 + i64::from(POINT))),
        power_tables("weight", "_weight", WEIGHT, mantissa, wide),
        log_tables("held", HELD, mantissa, wide, one + scale(mantissa)),
        power_tables("rate", "_rate", 32, mantissa, wide),
    ];
    let turn = match half_life.checked_sub(steps) {
        Some(open) => format!("now[{}:{open}]", half_life - 1),
        None => format!("(now[{}:0] ++ {}w0)", half_life - 1, steps - half_life),
    };
    let apply = format!(
        "rate = 0;
bit<{wide}> turn = (bit<{wide}>){turn};
{}sum_weight = log_amount + turn;
if (!amount_is_zero) {{
{}}}
bit<{epoch}> current = now[31:{half_life}];
bit<{cell}> cell;
sums.read(cell, (bit<32>)index);
held = cell[{}:{epoch}];
bit<{epoch}> age = current - cell[{}:0];
{}sums.write((bit<32>)index, (held |+| (bit<{HELD}>)weight) ++ current);
{}sum_rate = log_held - turn;
if (!held_is_zero) {{
{}}}
",
        log_of_operand("amount"),
        power_of_sum("_weight", mantissa, wide),
        cell - 1,
        epoch - 1,
        halvings("held", "age", epoch),
        log_of_operand("held"),
        power_of_sum("_rate", mantissa, wide),
    );
    Body { members: members.concat(), apply, ..Body::default() }
}

struct Rates {
    /// The decayed sum of each cell, and the number of the half-life of its last update.
    cells: Vec<(u64, u32)>,
    half_life: u32,
    mantissa: u32,
    logs: Logs,
}

impl Rates {
    fn new(values: &Values) -> Rates {
        let cells = vec![(0, 0); values.get("cells") as usize];
        let mantissa = values.small("mantissa");
        Rates { cells, half_life: half_life(values), mantissa, logs: Logs::new(mantissa) }
    }
}

impl Model for Rates {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let (now, steps, mantissa) = (inputs[1] as u32, self.mantissa + GUARD, self.mantissa);
        let turn = (i64::from(now & ((1 << self.half_life) - 1)) << steps) >> self.half_life;
        let weight = self.logs.scaled(inputs[2], (i64::from(POINT) << steps) + turn, WEIGHT);
        let current = now >> self.half_life;
        let (held, known) = &mut self.cells[inputs[0] as usize];
        let age = current.wrapping_sub(*known) & (u32::MAX >> self.half_life);
        *held = if age < 32 { *held >> age } else { 0 };
        let rate = self.logs.scaled((*held).into(), scale(mantissa) - turn, 32);
        (*held, *known) = ((*held + weight).min(u64::MAX >> (64 - HELD)), current);
        vec![rate.into()]
    }
}
