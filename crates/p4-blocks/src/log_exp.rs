//! Products and quotients by tables of logarithms and powers (FlexSwitch, section 3.2).
//!
//! ```text
//! a * b = 2^(log a + log b)        log: ternary, by the leading `mantissa` bits; power: exact, 2^`fraction` rows
//! ```
//!
//! A row of the first table stands for the numbers with the same leading one and the same `mantissa - 1` bits after it, and gives the logarithm of their
//! mean: 2^`fraction` steps for 0 to `bits`.

use crate::fixed::{FRACTION, Memo, exp2, log2};
use crate::parameters::Kind;
use crate::{Block, Body, Cost, Entries, Model, Parameter, Port, Values};
use std::fmt::Write;

pub(crate) const BITS: Parameter = Parameter {
    name: "bits",
    about: "bits of the operands and of the result",
    default: 32,
    range: (8, 64),
    kind: Kind::Any,
};
const MANTISSA: Parameter = Parameter {
    name: "mantissa",
    about: "leading bits of an operand that are used, including the leading one",
    default: 6,
    range: (1, 10),
    kind: Kind::Any,
};
const STEPS: Parameter = Parameter {
    name: "fraction",
    about: "bits of a logarithm: 2^fraction rows of powers",
    default: 10,
    range: (3, 14),
    kind: Kind::Any,
};
pub(crate) const POINT: Parameter = Parameter {
    name: "point",
    about: "bits of the quotient after the binary point",
    default: 0,
    range: (0, 32),
    kind: Kind::Any,
};

/// Products.
pub(crate) static MULTIPLY: Block = Block {
    name: "multiply",
    control: "Multiply",
    about: "product of two values; the largest value if the product does not fit",
    error: "mean error with 32 bits 9.6 % for mantissa 3 and fraction 7, 3.5 % for 4 and 8, 0.85 % for 6 and 10, of operands that are log-uniform and whose product fits. \
            Measured: `p4rack reproduce flexswitch table2`. The product is biased upwards: in a loop, approximate only the small term.",
    parameters: &[BITS, MANTISSA, STEPS],
    check,
    ports: |values| operands(values, "product"),
    p4: multiply,
    exact: exact_product,
    model: |values| Box::new(LogExp::new(values, false)),
    cost,
    not_for_tna: None,
};

/// Quotients.
pub(crate) static DIVIDE: Block = Block {
    name: "divide",
    control: "Divide",
    about: "quotient of two values, 0 below the smallest step; the largest value for division by 0",
    error: "the error of `multiply`, plus half a step of the result: small quotients need bits after the binary point",
    parameters: &[BITS, MANTISSA, STEPS, POINT],
    check,
    ports: |values| operands(values, "quotient"),
    p4: divide,
    exact: exact_quotient,
    model: |values| Box::new(LogExp::new(values, true)),
    cost,
    not_for_tna: None,
};

fn check(values: &Values) -> Result<(), String> {
    let (bits, steps) = (values.get("bits"), values.small("fraction"));
    if 1 << steps < bits {
        let least = bits.next_power_of_two().ilog2();
        return Err(format!(
            "fraction is {steps}: 2^{steps} steps are less than one for each of {bits} bits; the nearest is {least}"
        ));
    }
    check_point(values)
}

/// The bits after the point are bits of the result.
pub(crate) fn check_point(values: &Values) -> Result<(), String> {
    let (bits, point) = (values.get("bits"), values.get("point"));
    if point >= bits {
        return Err(format!("point is {point}, and the result has {bits} bits: the nearest is {}", bits - 1));
    }
    Ok(())
}

pub(crate) fn operands(values: &Values, result: &'static str) -> Vec<Port> {
    let bits = values.small("bits");
    vec![Port::input("a", bits), Port::input("b", bits), Port::output(result, bits)]
}

fn cost(values: &Values) -> Cost {
    let logs = log_count(values.small("bits"), values.small("mantissa"));
    let log = |table| Entries { table, ternary: true, entries: logs };
    let powers = Entries { table: "powers", ternary: false, entries: 1 << values.small("fraction") };
    Cost { state_bits: 0, hashes: 0, tables: vec![log("logs_of_a"), log("logs_of_b"), powers], stages: 3 }
}

/// A row of the table of logarithms.
struct LogRow {
    value: u64,
    mask: u64,
    log: u64,
}

/// Number of [`log_rows`].
fn log_count(bits: u32, mantissa: u32) -> u64 {
    (0..bits).map(|top| 1 << top.min(mantissa - 1)).sum()
}

/// One for each leading one and what follows it.
fn log_rows(bits: u32, mantissa: u32, steps: u32) -> Vec<LogRow> {
    let mut rows = vec![];
    for top in (0..bits).rev() {
        let open = top.saturating_sub(mantissa - 1);
        for low in (1u64 << (top - open))..(2 << (top - open)) {
            let value = low << open;
            let mask = u64::MAX >> (64 - bits) >> open << open;
            rows.push(LogRow { value, mask, log: log_of(value.into(), open, bits, steps) });
        }
    }
    rows
}

/// The logarithm of the mean of the 2^open numbers from `low`, in steps.
fn log_of(low: u128, open: u32, bits: u32, steps: u32) -> u64 {
    let twice_mean = 2 * low + (1 << open) - 1;
    let log = (log2(twice_mean) - (1 << FRACTION)) << steps;
    let unit = u128::from(bits) << FRACTION;
    ((log + unit / 2) / unit).min((1 << steps) - 1) as u64
}

/// 2 to a number of steps.
fn power_of(at: u64, bits: u32, steps: u32) -> u64 {
    let log = ((u128::from(at) * u128::from(bits)) << FRACTION) >> steps;
    exp2(log).min(u128::from(u64::MAX >> (64 - bits))) as u64
}

/// The tables, and the variables that they set; `done` is what `powers` sets. Variables have `wide` bits; `more` is added to logarithms of `b`, and
/// `key` gives the key of a power.
fn tables(values: &Values, done: &str, wide: u32, more: u64, key: &dyn Fn(u64) -> u64) -> String {
    let (bits, steps) = (values.small("bits"), values.small("fraction"));
    let logs = log_rows(bits, values.small("mantissa"), steps);
    let mut out = format!(
        "bit<{wide}> log_a = 0;\nbit<{wide}> log_b = 0;\nbit<{wide}> sum = 0;\nbool a_is_zero = false;\nbool b_is_zero = false;\n"
    );
    for (operand, more) in [("a", 0), ("b", more)] {
        let _ = write!(
            out,
            "action {operand}_has_log(bit<{wide}> log) {{ log_{operand} = log; }}
action {operand}_has_none() {{ {operand}_is_zero = true; }}
table logs_of_{operand} {{
    key = {{ {operand}: ternary; }}
    actions = {{ {operand}_has_log; {operand}_has_none; }}
    const default_action = {operand}_has_none();
    const entries = {{
"
        );
        for LogRow { value, mask, log } in &logs {
            let _ = writeln!(out, "        {value:#x} &&& {mask:#x}: {operand}_has_log({});", log + more);
        }
        out += "    }\n}\n";
    }
    let _ = write!(
        out,
        "action is_power(bit<{bits}> value) {{ {done} = value; }}
table powers {{
    key = {{ sum: exact; }}
    actions = {{ is_power; NoAction; }}
    const default_action = NoAction();
    const entries = {{
"
    );
    for at in 0..1 << steps {
        let _ = writeln!(out, "        {}: is_power({:#x});", key(at), power_of(at, bits, steps));
    }
    out + "    }\n}\n"
}

fn multiply(values: &Values) -> Body {
    let apply = "product = 0;
logs_of_a.apply();
logs_of_b.apply();
sum = log_a |+| log_b;
if (!a_is_zero && !b_is_zero) { powers.apply(); }
";
    let members = tables(values, "product", values.small("fraction"), 0, &|at| at);
    Body { members, apply: apply.to_string(), ..Body::default() }
}

/// The steps of the quotient's point, and of the greatest power.
fn point_steps(values: &Values) -> u64 {
    (values.get("point") << values.small("fraction")) / values.get("bits")
}

/// The logarithm of the quotient is `most - (log b + most - point - log a)`: a difference that saturates at 0 makes the largest power of a quotient above
/// it, and one above `most` has no power.
fn divide(values: &Values) -> Body {
    let (bits, steps) = (values.small("bits"), values.small("fraction"));
    let most = (1u64 << steps) - 1;
    let members = tables(values, "quotient", steps + 1, most - point_steps(values), &|at| most - at);
    let apply = format!(
        "quotient = 0;
logs_of_a.apply();
logs_of_b.apply();
sum = log_b |-| log_a;
if (b_is_zero) {{ quotient = {bits}w{}; }}
else if (!a_is_zero) {{ powers.apply(); }}
",
        u64::MAX >> (64 - bits),
    );
    Body { members, apply, ..Body::default() }
}

pub(crate) fn exact_product(values: &Values) -> Body {
    let bits = values.small("bits");
    let wide = 2 * bits;
    let apply = format!(
        "bit<{wide}> whole = (bit<{wide}>)a * (bit<{wide}>)b;
product = whole[{}:0];
if (whole[{}:{bits}] != 0) {{ product = {bits}w{}; }}
",
        bits - 1,
        wide - 1,
        u64::MAX >> (64 - bits),
    );
    Body { apply, ..Body::default() }
}

/// Long division: a compare and a subtraction for each bit.
pub(crate) fn exact_quotient(values: &Values) -> Body {
    let (bits, point) = (values.small("bits"), values.small("point"));
    let (wide, most) = (bits + 1, u64::MAX >> (64 - bits));
    let whole = bits + point;
    let mut apply = format!("bit<{wide}> rest = 0;\nbit<{whole}> digits = 0;\n");
    for bit in (0..whole).rev() {
        let next = if bit >= point { format!("a[{0}:{0}]", bit - point) } else { "1w0".to_string() };
        let _ = writeln!(
            apply,
            "rest = rest[{}:0] ++ {next};\nif (rest >= (bit<{wide}>)b) {{ rest = rest - (bit<{wide}>)b; digits[{bit}:{bit}] = 1; }}",
            bits - 1
        );
    }
    let _ = writeln!(apply, "quotient = digits[{}:0];", bits - 1);
    if point > 0 {
        let _ = writeln!(apply, "if (digits[{}:{bits}] != 0) {{ quotient = {bits}w{most}; }}", whole - 1);
    }
    let _ = writeln!(apply, "if (b == 0) {{ quotient = {bits}w{most}; }}");
    Body { apply, ..Body::default() }
}

/// Both tables of a model.
struct Tables {
    bits: u32,
    mantissa: u32,
    steps: u32,
    /// By position of the leading one and leading bits.
    logs: Memo,
    powers: Memo,
}

impl Tables {
    fn new(values: &Values) -> Tables {
        let [bits, mantissa, steps] = ["bits", "mantissa", "fraction"].map(|name| values.small(name));
        let (logs, powers) = (Memo::new((bits as usize) << mantissa), Memo::new(1 << steps));
        Tables { bits, mantissa, steps, logs, powers }
    }

    fn log(&mut self, value: u128) -> u64 {
        let top = value.ilog2();
        let open = top.saturating_sub(self.mantissa - 1);
        let (bits, steps, leading) = (self.bits, self.steps, (value >> open) as u64);
        let row = (u64::from(top) << self.mantissa) + leading;
        self.logs.of(row, || log_of(u128::from(leading) << open, open, bits, steps))
    }

    fn power(&mut self, sum: u64) -> u64 {
        let (bits, steps, row) = (self.bits, self.steps, sum.min((1 << self.steps) - 1));
        self.powers.of(row, || power_of(row, bits, steps))
    }
}

/// The model of both.
struct LogExp {
    tables: Tables,
    /// Steps of the point, for quotients.
    divides: Option<u64>,
}

impl LogExp {
    fn new(values: &Values, divides: bool) -> LogExp {
        LogExp { tables: Tables::new(values), divides: divides.then(|| point_steps(values)) }
    }
}

impl Model for LogExp {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let tables = &mut self.tables;
        let sum = match (inputs[0], inputs[1], self.divides) {
            (_, 0, Some(_)) => return vec![u128::MAX >> (128 - tables.bits)],
            (0, ..) | (_, 0, _) => return vec![0],
            (a, b, None) => Some(tables.log(a) + tables.log(b)),
            (a, b, Some(point)) => (tables.log(a) + point).checked_sub(tables.log(b)),
        };
        vec![sum.map_or(0, |sum| tables.power(sum)).into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_without_their_logarithms() {
        for (bits, mantissa) in [(8, 1), (16, 3), (32, 6), (64, 10)] {
            assert_eq!(log_count(bits, mantissa), log_rows(bits, mantissa, 4).len() as u64);
        }
    }
}
