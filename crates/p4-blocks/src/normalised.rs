//! Products and quotients of normalised operands: exponent and mantissa apart, so that tables grow with the mantissa alone.
//!
//! ```text
//! shapes_of_a   ternary, one row for each bit   position of the leading one, and the `mantissa` bits after it
//! logs_of_a     exact, 2^mantissa rows          logarithm of 1.mantissa, with GUARD more bits
//! sum           additions                       exponent ++ logarithm, of both
//! powers        exact, 2^mantissa rows          1.mantissa of the result
//! places        exact, one row for each bit     that shifted to its place
//! ```
//!
//! Logarithms are those of the middles of what a mantissa stands for. An operand of at most `mantissa` bits after its leading one has no middle: its
//! exponent is CORRECTION steps lower, which costs no row.

use crate::fixed::{FRACTION, Memo, exp2, log2};
use crate::log_exp::{BITS, POINT, check_point, exact_product, exact_quotient, operands};
use crate::parameters::Kind;
use crate::{Block, Body, Cost, Entries, Model, Parameter, Values};
use std::fmt::Write;

const MANTISSA: Parameter = Parameter {
    name: "mantissa",
    about: "bits after the leading one that are used",
    default: 6,
    range: (2, 12),
    kind: Kind::Any,
};

/// Bits of a logarithm beyond those that `powers` looks up.
pub(crate) const GUARD: u32 = 3;
/// Half of what a mantissa stands for, as a logarithm: GUARD steps times 1/2 log2(e), by measurement.
const CORRECTION: u64 = 5;

/// Products.
pub(crate) static MULTIPLY: Block = Block {
    name: "multiply-normalised",
    control: "MultiplyNormalised",
    about: "product of two values; the largest value if the product does not fit",
    error: "mean error with 6 bits of mantissa 0.35 % for 16 bits, 0.43 % for 32, 0.46 % for 64, of operands that are log-uniform and whose product fits; halved with each further \
            bit. Measured: `p4rack reproduce flexswitch table2`.",
    parameters: &[BITS, MANTISSA],
    check,
    ports: |values| operands(values, "product"),
    p4: |values| text(values, "product"),
    exact: exact_product,
    model: |values| Box::new(Normalised::new(values, false)),
    cost,
    not_for_tna: None,
};

/// Quotients.
pub(crate) static DIVIDE: Block = Block {
    name: "divide-normalised",
    control: "DivideNormalised",
    about: "quotient of two values, 0 below half of the smallest step; the largest value for division by 0",
    error: "the error of `multiply-normalised`, plus half a step of the result: small quotients need bits after the binary point",
    parameters: &[BITS, MANTISSA, POINT],
    check,
    ports: |values| operands(values, "quotient"),
    p4: |values| text(values, "quotient"),
    exact: exact_quotient,
    model: |values| Box::new(Normalised::new(values, true)),
    cost,
    not_for_tna: None,
};

fn check(values: &Values) -> Result<(), String> {
    let (bits, mantissa) = (values.get("bits"), values.get("mantissa"));
    if mantissa + 2 > bits {
        return Err(format!(
            "mantissa is {mantissa}, and operands have {bits} bits: the nearest is {}",
            bits - 2
        ));
    }
    check_point(values)
}

fn cost(values: &Values) -> Cost {
    let (bits, rows) = (values.get("bits"), 1 << values.small("mantissa"));
    let table = |table, ternary, entries| Entries { table, ternary, entries };
    let tables = vec![
        table("shapes_of_a", true, bits),
        table("shapes_of_b", true, bits),
        table("logs_of_a", false, rows),
        table("logs_of_b", false, rows),
        table("powers", false, rows),
        table("places", false, bits + 1),
    ];
    Cost { state_bits: 0, hashes: 0, tables, stages: 6 }
}

/// The logarithm of the middle of 1.mantissa, in steps of 2^-(mantissa + GUARD).
fn log_of(mantissa: u64, bits: u32) -> u64 {
    let twice = (u128::from(mantissa) + (1 << bits)) * 2 + 1;
    let log = log2(twice) - (u128::from(bits + 1) << FRACTION);
    let open = FRACTION - bits - GUARD;
    ((log + (1 << (open - 1))) >> open) as u64
}

/// 1.mantissa of the middle of a logarithm, with one more bit after the point: from 2^(bits + 1) to 2^(bits + 2).
fn power_of(log: u64, bits: u32) -> u64 {
    // The middle of 2^GUARD steps, less half a step.
    let middle = (u128::from(log) << (GUARD + 1)) + (1 << GUARD) - 1;
    exp2((middle << (FRACTION - bits - GUARD - 1)) + (u128::from(bits + 1) << FRACTION)) as u64
}

/// The steps of a leading one at `top`.
fn exponent(top: u32, mantissa: u32) -> u64 {
    let exact = if top <= mantissa { CORRECTION } else { 0 };
    // The least logarithm of a mantissa is above CORRECTION: a sum is never negative.
    (u64::from(top) << (mantissa + GUARD)).wrapping_sub(exact)
}

fn text(values: &Values, result: &str) -> Body {
    let (bits, mantissa) = (values.small("bits"), values.small("mantissa"));
    let (steps, wide, most) = (mantissa + GUARD, wide(bits, mantissa), u64::MAX >> (64 - bits));
    // Place 0 is a half, so the exponent of the first operand is greater by 1.
    let add = (1 + values.get("point") as i64) << steps;
    let members = [
        log_tables("a", bits, mantissa, wide, add),
        log_tables("b", bits, mantissa, wide, 0),
        power_tables(result, "", bits, mantissa, wide),
    ];
    let sign = if result == "product" { "+" } else { "-" };
    let by_zero = match result {
        "product" => format!("if (a_is_zero || b_is_zero) {{ {result} = 0; }}"),
        _ => {
            format!("if (b_is_zero) {{ {result} = {bits}w{most}; }} else if (a_is_zero) {{ {result} = 0; }}")
        }
    };
    let apply = format!(
        "{result} = 0;
{}{}sum = log_a {sign} log_b;
{by_zero}
else {{
{}}}
",
        log_of_operand("a"),
        log_of_operand("b"),
        power_of_sum("", mantissa, wide),
    );
    Body { members: members.concat(), apply, ..Body::default() }
}

/// Bits of a logarithm: room for the sum of two exponents, and a sign.
pub(crate) fn wide(bits: u32, mantissa: u32) -> u32 {
    mantissa + GUARD + bits.next_power_of_two().ilog2() + 3
}

/// Statements that find the logarithm of an operand.
pub(crate) fn log_of_operand(operand: &str) -> String {
    format!(
        "shapes_of_{operand}.apply();\nlogs_of_{operand}.apply();\nlog_{operand} = exponent_{operand} + log_{operand};\n"
    )
}

/// Statements that set the result by its logarithm `sum`, with the tag.
pub(crate) fn power_of_sum(tag: &str, mantissa: u32, wide: u32) -> String {
    let (steps, top) = (mantissa + GUARD, wide - 1);
    format!(
        "power{tag} = sum{tag}[{}:{GUARD}];
place{tag} = sum{tag}[{top}:{steps}];
if (sum{tag}[{top}:{top}] == 0) {{ powers{tag}.apply(); places{tag}.apply(); }}
",
        steps - 1
    )
}

/// The tables that find the logarithm of an operand, plus `add` steps; zero has none.
pub(crate) fn log_tables(operand: &str, bits: u32, mantissa: u32, wide: u32, add: i64) -> String {
    let most = u64::MAX >> (64 - bits);
    let mut out = format!(
        "bit<{wide}> exponent_{operand} = 0;\nbit<{wide}> log_{operand} = 0;\nbit<{mantissa}> mantissa_{operand} = 0;\nbool {operand}_is_zero = false;\naction {operand}_has_none() {{ {operand}_is_zero = true; }}\n"
    );
    for top in 0..bits {
        let fraction = match top {
            0 => format!("{mantissa}w0"),
            _ if top >= mantissa => format!("{operand}[{}:{}]", top - 1, top - mantissa),
            _ => format!("{operand}[{}:0] ++ {}w0", top - 1, mantissa - top),
        };
        let exponent = exponent(top, mantissa).wrapping_add(add as u64) & (u64::MAX >> (64 - wide));
        let _ = writeln!(
            out,
            "action {operand}_leads_at_{top}() {{ exponent_{operand} = {wide}w{exponent}; mantissa_{operand} = {fraction}; }}"
        );
    }
    let actions: String = (0..bits).map(|top| format!(" {operand}_leads_at_{top};")).collect();
    let _ = write!(
        out,
        "table shapes_of_{operand} {{
    key = {{ {operand}: ternary; }}
    actions = {{{actions} {operand}_has_none; }}
    const default_action = {operand}_has_none();
    const entries = {{
"
    );
    for top in (0..bits).rev() {
        let (value, mask) = (1u64 << top, most >> top << top);
        let _ = writeln!(out, "        {value:#x} &&& {mask:#x}: {operand}_leads_at_{top}();");
    }
    let _ = write!(
        out,
        "    }}
}}
action {operand}_has_log(bit<{wide}> log) {{ log_{operand} = log; }}
table logs_of_{operand} {{
    key = {{ mantissa_{operand}: exact; }}
    actions = {{ {operand}_has_log; NoAction; }}
    const default_action = NoAction();
    const entries = {{
"
    );
    for at in 0..1u64 << mantissa {
        let _ = writeln!(out, "        {at}: {operand}_has_log({});", log_of(at, mantissa));
    }
    out + "    }\n}\n"
}

/// The tables that find the result of a logarithm; `tag` distinguishes them from those of another result.
pub(crate) fn power_tables(result: &str, tag: &str, bits: u32, mantissa: u32, wide: u32) -> String {
    let most = u64::MAX >> (64 - bits);
    let (leading, place) = (mantissa + 2, wide - mantissa - GUARD);
    let mut out = format!(
        "bit<{wide}> sum{tag} = 0;
bit<{mantissa}> power{tag} = 0;
bit<{leading}> leading{tag} = 0;
bit<{place}> place{tag} = 0;
action leads_with{tag}(bit<{leading}> value) {{ leading{tag} = value; }}
table powers{tag} {{
    key = {{ power{tag}: exact; }}
    actions = {{ leads_with{tag}; NoAction; }}
    const default_action = NoAction();
    const entries = {{
"
    );
    for at in 0..1u64 << mantissa {
        let _ = writeln!(out, "        {at}: leads_with{tag}({});", power_of(at, mantissa));
    }
    out += "    }\n}\n";
    for at in 0..=bits {
        let value = placed(&format!("leading{tag}"), at, mantissa, bits);
        let _ = writeln!(out, "action is_at_{at}{tag}() {{ {result} = {value}; }}");
    }
    let actions: String = (0..=bits).map(|at| format!(" is_at_{at}{tag};")).collect();
    let _ = write!(
        out,
        "action is_too_large{tag}() {{ {result} = {bits}w{most}; }}
table places{tag} {{
    key = {{ place{tag}: exact; }}
    actions = {{{actions} is_too_large{tag}; }}
    const default_action = is_too_large{tag}();
    const entries = {{
"
    );
    for at in 0..=bits {
        let _ = writeln!(out, "        {at}: is_at_{at}{tag}();");
    }
    out + "    }\n}\n"
}

/// The leading bits, shifted to place `at` less one, and rounded.
fn placed(leading: &str, at: u32, mantissa: u32, bits: u32) -> String {
    let own = mantissa + 2;
    // It has mantissa + 1 bits after the point; the result has `at - 1` of them before it.
    let after = mantissa + 1;
    if at > after {
        let by = at - 1 - after;
        let wide = bits.max(own + by);
        return format!("((bit<{wide}>){leading} << {by})[{}:0]", bits - 1);
    }
    let drop = after + 1 - at;
    let wide = bits.max(own + 1);
    format!("(((bit<{wide}>){leading} + {wide}w{}) >> {drop})[{}:0]", 1u64 << (drop - 1), bits - 1)
}

/// The tables of a model.
pub(crate) struct Logs {
    mantissa: u32,
    logs: Memo,
    powers: Memo,
}

impl Logs {
    pub(crate) fn new(mantissa: u32) -> Logs {
        let [logs, powers] = [(); 2].map(|()| Memo::new(1 << mantissa));
        Logs { mantissa, logs, powers }
    }

    /// An operand times 2 to a number of steps; 0 for 0.
    pub(crate) fn scaled(&mut self, value: u128, by: i64, bits: u32) -> u64 {
        if value == 0 {
            return 0;
        }
        let sum = self.steps(value) + (1 << (self.mantissa + GUARD)) + by;
        self.value(sum, bits)
    }

    /// The logarithm of an operand, in steps.
    fn steps(&mut self, value: u128) -> i64 {
        let (top, mantissa) = (value.ilog2(), self.mantissa);
        let fraction = ((value ^ 1 << top) << mantissa >> top) as u64;
        let log = self.logs.of(fraction, || log_of(fraction, mantissa));
        exponent(top, mantissa).wrapping_add(log) as i64
    }

    /// The result of a logarithm in steps, of which place 0 is a half.
    fn value(&mut self, sum: i64, bits: u32) -> u64 {
        let (most, mantissa) = (u64::MAX >> (64 - bits), self.mantissa);
        let place = match sum >> (mantissa + GUARD) {
            ..0 => return 0,
            place if place > i64::from(bits) => return most,
            place => place,
        };
        let power = sum as u64 >> GUARD & ((1 << mantissa) - 1);
        let leading = self.powers.of(power, || power_of(power, mantissa));
        // Twice the result is exact; a half rounds up.
        ((((u128::from(leading) << place) >> (mantissa + 1)).div_ceil(2)) as u64) & most
    }
}

/// The model of both.
struct Normalised {
    bits: u32,
    mantissa: u32,
    logs: Logs,
    point: u64,
    divides: bool,
}

impl Normalised {
    fn new(values: &Values, divides: bool) -> Normalised {
        let [bits, mantissa] = ["bits", "mantissa"].map(|name| values.small(name));
        Normalised { bits, mantissa, logs: Logs::new(mantissa), point: values.get("point"), divides }
    }
}

impl Model for Normalised {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let steps = self.mantissa + GUARD;
        match (inputs[0], inputs[1], self.divides) {
            (_, 0, true) => return vec![u128::MAX >> (128 - self.bits)],
            (0, ..) | (_, 0, _) => return vec![0],
            _ => {}
        }
        let [a, b] = [inputs[0], inputs[1]].map(|operand| self.logs.steps(operand));
        let sum = if self.divides { a - b + ((self.point as i64) << steps) } else { a + b };
        vec![self.logs.value(sum + (1 << steps), self.bits).into()]
    }
}
