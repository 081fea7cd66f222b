//! The math unit of a stateful ALU: powers and reciprocals by a table of 16 values.
//!
//! ```text
//! x = m * 2^e, with the 4 bits m below the highest bit     (m = x >> (e - 3))
//! result = table[m] * 2^(scale + exponent)                 exponent = e, 2e or e/2, negated for reciprocals
//! ```
//!
//! For roots e is even, so m may have 3 bits only (4 to 7). Zero has m = 0 and e = 0. The tables are those that the open
//! compiler computes (`mau/stateful_alu.cpp` of its Tofino back end).

use ir::{Const, Expr, ExprKind, Type};

/// A math unit with its table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MathUnit {
    /// Reciprocal: the exponent is negated.
    invert: bool,
    power: Power,
    scale: i32,
    table: [u8; 16],
}

/// Change of the exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Power {
    Root,
    Same,
    Square,
}

/// Exponents that `scale` can have.
const SCALES: std::ops::RangeInclusive<i32> = -32..=31;

impl MathUnit {
    /// The unit of an instance with these constructor arguments; `None` if they are not known or not those of a unit.
    /// `operation` is the first, if it is a member of `MathOp_t`.
    pub(super) fn of(args: &[Expr], operation: Option<&str>) -> Option<MathUnit> {
        let [first, .., last] = args else { return None };
        if let ExprKind::Const(Const::Bool(invert)) = first.kind {
            let power = match signed(args.get(1)?)? {
                -1 => Power::Root,
                0 => Power::Same,
                1 => Power::Square,
                _ => return None,
            };
            let values = aggregate(last)?;
            let mut table = [0; 16];
            // The first value is that of 15.
            for (slot, value) in table.iter_mut().rev().zip(values) {
                *slot = bits(value)?;
            }
            return Some(MathUnit { invert, power, scale: signed(args.get(2)?)?, table });
        }
        let (power, invert) = match operation? {
            "MUL" => (Power::Same, false),
            "SQR" => (Power::Square, false),
            "SQRT" => (Power::Root, false),
            "DIV" => (Power::Same, true),
            "RSQR" => (Power::Square, true),
            "RSQRT" => (Power::Root, true),
            _ => return None,
        };
        let divisor = if args.len() > 2 { whole(&args[2])? } else { 1 };
        let factor = whole(&args[1])? as f64 / divisor as f64;
        (factor.is_finite() && factor > 0.0).then(|| MathUnit::times(factor, power, invert))
    }

    /// The unit for `factor` times the function: with the largest scale for which all values of the table are below 256.
    fn times(factor: f64, power: Power, invert: bool) -> MathUnit {
        let function = |x: f64| {
            let y = match power {
                Power::Root => x.sqrt(),
                Power::Same => x,
                Power::Square => x * x,
            };
            if invert { 1.0 / y } else { y }
        };
        let first: u8 = if power == Power::Root { 4 } else { 8 };
        let greatest = factor * if invert { function(f64::from(first) / 8.0) } else { function(15.0 / 8.0) };
        // 2^(scale + 7) <= greatest < 2^(scale + 8)
        let scale = SCALES.clone().rev().find(|scale| greatest >= 2f64.powi(scale + 7));
        let scale = scale.unwrap_or(*SCALES.start());
        let mut table = [0; 16];
        for (m, slot) in (0u8..).zip(&mut table).skip(first.into()) {
            let value = function(f64::from(m) / 8.0) * factor * 2f64.powi(-scale);
            *slot = value.round_ties_even().clamp(0.0, 255.0) as u8;
        }
        MathUnit { invert, power, scale, table }
    }

    /// The result for `x`; bits above those of its type are lost.
    pub fn compute(self, x: u64) -> u128 {
        let top = x.checked_ilog2().unwrap_or(0);
        let is_odd_root = self.power == Power::Root && top % 2 == 1;
        let (exponent, shown) = if is_odd_root { (top + 1, 2) } else { (top, 3) };
        let m = if top >= shown { x >> (top - shown) } else { x << (shown - top) };
        let exponent = match self.power {
            Power::Root => exponent / 2,
            Power::Same => exponent,
            Power::Square => 2 * exponent,
        } as i32;
        let exponent = self.scale + if self.invert { -exponent } else { exponent };
        let value = u128::from(self.table[m as usize & 15]);
        match u32::try_from(exponent) {
            Ok(left) => value.checked_shl(left).unwrap_or(0),
            Err(_) => value.checked_shr(exponent.unsigned_abs()).unwrap_or(0),
        }
    }
}

/// A constant of type `int` that is not negative.
fn whole(arg: &Expr) -> Option<u64> {
    match &arg.kind {
        ExprKind::Const(Const::Int(number)) => u64::try_from(number).ok(),
        _ => None,
    }
}

fn bits(arg: &Expr) -> Option<u8> {
    match &arg.kind {
        ExprKind::Const(Const::Bits(bits)) => Some(bits.low_u128() as u8),
        _ => None,
    }
}

/// The elements of a tuple of constants.
fn aggregate(arg: &Expr) -> Option<&[Expr]> {
    match &arg.kind {
        ExprKind::Aggregate(elements) => Some(elements),
        _ => None,
    }
}

/// A constant of type `int<N>`.
fn signed(arg: &Expr) -> Option<i32> {
    match (&arg.kind, &arg.ty) {
        (ExprKind::Const(Const::Bits(bits)), Type::Int(width)) => {
            let number = bits.low_u128() as i32;
            let shift = 32u32.checked_sub(*width)?;
            Some(number << shift >> shift)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every unit is the function that it stands for, but for the bits below the fourth, the table's 8 bits, and the
    /// fraction that the result loses.
    #[test]
    fn units_are_near_their_functions() {
        type Function = fn(f64) -> f64;
        let functions: [(Power, bool, Function, f64); 6] = [
            (Power::Same, false, |x| x, 1.0),
            (Power::Square, false, |x| x * x, 2.0),
            (Power::Root, false, f64::sqrt, 0.5),
            (Power::Same, true, |x| 1.0 / x, 1.0),
            (Power::Square, true, |x| 1.0 / (x * x), 2.0),
            (Power::Root, true, |x| 1.0 / x.sqrt(), 0.5),
        ];
        for (power, invert, function, degree) in functions {
            for factor in [0.3, 1.0, 3.0, 1000.0, 65536.0] {
                let unit = MathUnit::times(factor, power, invert);
                for x in (1..5000).chain([1 << 20, (1 << 31) - 1, u64::from(u32::MAX)]) {
                    let exact = factor * function(x as f64);
                    let result = unit.compute(x) as f64;
                    // m stands for x within 1/8 (a root's within 1/4), and the table's value for f(m) within 1/128.
                    let of_mantissa = if power == Power::Root { 0.25 } else { 0.125 };
                    let bound = exact * (degree * of_mantissa * 1.15 + 1.0 / 128.0) + 1.0;
                    assert!(
                        (result - exact).abs() <= bound,
                        "{power:?} {invert} {factor} {x}: {result} {exact}"
                    );
                }
            }
        }
    }

    /// Worked out by hand: values whose highest four bits are all of them lose nothing but the table's rounding.
    #[test]
    fn known_values() {
        let double = MathUnit::times(2.0, Power::Same, false);
        assert_eq!(double.scale, -6);
        assert_eq!(double.table, [0, 0, 0, 0, 0, 0, 0, 0, 128, 144, 160, 176, 192, 208, 224, 240]);
        assert_eq!([0, 1, 3, 10, 17, 0xf000].map(|x| double.compute(x)), [0, 2, 6, 20, 32, 0x1_e000]);
        let square = MathUnit::times(1.0, Power::Square, false);
        assert_eq!([1, 4, 12, 15].map(|x| square.compute(x)), [1, 16, 144, 225]);
        let root = MathUnit::times(1.0, Power::Root, false);
        assert_eq!([1, 4, 16, 36, 64, 144, 1 << 30].map(|x| root.compute(x)), [1, 2, 4, 5, 8, 11, 1 << 15]);
        let inverse = MathUnit::times(1024.0, Power::Same, true);
        assert_eq!([1, 2, 8, 512, 1024, 2048].map(|x| inverse.compute(x)), [1024, 512, 128, 2, 1, 0]);
    }
}
