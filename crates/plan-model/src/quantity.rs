//! Numbers with units, as integers: nothing of a plan depends on how floats round.
//!
//! A quantity is a number of its unit's smallest steps: picoseconds, thousandths of a bit per second. A factor has twelve
//! decimals.

use std::fmt;

/// Unit of a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Unit {
    /// Steps of a picosecond.
    Seconds,
    /// Steps of a thousandth of a bit per second.
    BitsPerSecond,
    /// Steps of a thousandth of a byte.
    Bytes,
    /// Steps of a bit.
    Bits,
    /// Steps of a microwatt.
    Watts,
    /// Steps of a millionth of a percent.
    Percent,
    /// Steps of a millionth.
    #[default]
    Plain,
}

/// The words of each unit, as powers of ten of the unit.
type Words = &'static [(&'static str, i32)];

impl Unit {
    /// Decimals of the smallest step.
    fn decimals(self) -> i32 {
        match self {
            Unit::Seconds => 12,
            Unit::BitsPerSecond | Unit::Bytes => 3,
            Unit::Bits => 0,
            Unit::Watts | Unit::Percent | Unit::Plain => 6,
        }
    }

    /// The first word of these is the unit itself; printed is the largest that leaves a digit before the point.
    pub fn words(self) -> Words {
        match self {
            Unit::Seconds => &[("s", 0), ("ms", -3), ("us", -6), ("ns", -9), ("ps", -12)],
            Unit::BitsPerSecond => {
                &[("bit/s", 0), ("Tbit/s", 12), ("Gbit/s", 9), ("Mbit/s", 6), ("kbit/s", 3)]
            }
            Unit::Bytes => &[("B", 0), ("MB", 6), ("kB", 3)],
            Unit::Bits => &[("bit", 0)],
            Unit::Watts => &[("W", 0), ("kW", 3), ("mW", -3)],
            Unit::Percent => &[("%", 0)],
            Unit::Plain => &[("", 0)],
        }
    }

    /// The unit that has this word.
    pub fn of_word(word: &str) -> Option<Unit> {
        const ALL: [Unit; 7] = [
            Unit::Seconds,
            Unit::BitsPerSecond,
            Unit::Bytes,
            Unit::Bits,
            Unit::Watts,
            Unit::Percent,
            Unit::Plain,
        ];
        ALL.into_iter().find(|unit| unit.words().iter().any(|(known, _)| *known == word))
    }

    /// Reads `6.44us`, `9.5 Gbit/s`, or a number in the unit itself. The error describes the mistake.
    pub fn parse(self, text: &str) -> Result<i64, String> {
        let text = text.trim();
        let end = number_end(text);
        let (number, word) = (&text[..end], text[end..].trim());
        let power = match self.words().iter().find(|(known, _)| *known == word) {
            Some((_, power)) => *power,
            None if word.is_empty() => 0,
            None => {
                let known: Vec<&str> =
                    self.words().iter().map(|(w, _)| *w).filter(|w| !w.is_empty()).collect();
                return Err(match known.is_empty() {
                    true => format!("a plain number is expected here, without `{word}`"),
                    false => format!("`{word}` is not a unit here: use {}", known.join(", ")),
                });
            }
        };
        decimal(number, power + self.decimals())
            .ok_or_else(|| format!("`{}` is not a valid number here", number.escape_debug()))
    }

    /// As people read it: `6.44us`, `9.5Gbit/s`.
    pub fn show(self, value: i64) -> String {
        let decimals = self.decimals();
        let (unit, _) = self.words()[0];
        let fits =
            |power: i32| value.unsigned_abs() >= 10u64.saturating_pow((power + decimals).max(0) as u32);
        let mut words: Vec<_> = self.words().to_vec();
        words.sort_by_key(|(_, power)| std::cmp::Reverse(*power));
        let (word, power) = match value {
            0 => (unit, 0),
            _ => words.into_iter().find(|(_, power)| fits(*power)).unwrap_or((unit, 0)),
        };
        format!("{}{word}", Decimal(value, decimals + power))
    }
}

/// Length in bytes of the decimal number at the start of `text`, exponent included.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(|c| c.is_ascii_digit() || *c == b'.' || *c == b'_') {
            at += 1;
        }
        at
    };
    let start = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let end = digits(start);
    if end > start && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        if bytes.get(sign).is_some_and(u8::is_ascii_digit) {
            return digits(sign);
        }
    }
    end
}

/// `text` times ten to the `power`, rounded to the nearest integer; none if it is no number or too large.
fn decimal(text: &str, power: i32) -> Option<i64> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> =
        whole.bytes().chain(fraction.bytes()).filter(|c| *c != b'_').map(|c| c.wrapping_sub(b'0')).collect();
    if digits.is_empty() || digits.iter().any(|d| *d > 9) {
        return None;
    }
    let fraction_digits = fraction.bytes().filter(|c| *c != b'_').count();
    // So many of the digits stand before the point of the result.
    let whole_digits = (digits.len() - fraction_digits) as i64 + i64::from(exponent) + i64::from(power);
    let mut value: i64 = 0;
    for at in 0..whole_digits.max(0) {
        let digit = usize::try_from(at).ok().and_then(|at| digits.get(at)).copied().unwrap_or(0);
        if value == 0 && digit == 0 && at >= digits.len() as i64 {
            break;
        }
        value = value.checked_mul(10)?.checked_add(i64::from(digit))?;
    }
    let next = usize::try_from(whole_digits).ok().and_then(|at| digits.get(at)).copied().unwrap_or(0);
    Some(sign * value.checked_add(i64::from(next >= 5))?)
}

/// A fixed-point number without the zeros at its end.
struct Decimal(i64, i32);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decimal(value, decimals) = *self;
        let sign = if value < 0 { "-" } else { "" };
        let decimals = decimals.max(0) as usize;
        let digits = format!("{:0>1$}", value.unsigned_abs(), decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        let fraction = fraction.trim_end_matches('0');
        match fraction {
            "" => write!(f, "{sign}{whole}"),
            _ => write!(f, "{sign}{whole}.{fraction}"),
        }
    }
}

/// A factor with twelve decimals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Factor(pub i64);

impl Factor {
    /// Changes nothing.
    pub const ONE: Factor = Factor(1_000_000_000_000);

    /// Reads a decimal number.
    pub fn parse(text: &str) -> Result<Factor, String> {
        let text = text.trim();
        let number = decimal(text, 12).filter(|value| *value >= 0);
        number.map(Factor).ok_or_else(|| format!("`{}` is not a valid factor", text.escape_debug()))
    }

    /// `value` times this, rounded to the nearest; the largest value if that is too large.
    pub fn of(self, value: i64) -> i64 {
        if self == Factor::ONE {
            return value;
        }
        let product = i128::from(value) * i128::from(self.0);
        let half = i128::from(Factor::ONE.0 / 2);
        let rounded = (product + half).div_euclid(i128::from(Factor::ONE.0));
        i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Decimal(self.0, 12).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_and_printed() {
        let shown = |unit: Unit, text: &str| unit.parse(text).map(|v| unit.show(v));
        let same =
            |unit: Unit, text: &str, printed: &str| assert_eq!(shown(unit, text).as_deref(), Ok(printed));
        same(Unit::Seconds, "0.00000644", "6.44us");
        same(Unit::Seconds, "6.44 us", "6.44us");
        same(Unit::Seconds, "1.5e-3", "1.5ms");
        same(Unit::Seconds, "0", "0s");
        same(Unit::BitsPerSecond, "100000000000.0", "100Gbit/s");
        same(Unit::BitsPerSecond, "9.5Gbit/s", "9.5Gbit/s");
        same(Unit::Percent, "24.4%", "24.4%");
        same(Unit::Plain, "-12", "-12");
        same(Unit::Plain, "0.5", "0.5");
    }

    #[test]
    fn what_is_no_quantity_is_said() {
        assert!(Unit::Seconds.parse("5W").unwrap_err().contains("use s, ms, us"));
        for text in ["", ".", "1.2.3", "-", "e5", "1e99", "99999999999999999999"] {
            assert!(Unit::Seconds.parse(text).is_err(), "{text}");
        }
        assert!(Factor::parse("-1").is_err());
    }

    #[test]
    fn factors_round_to_the_nearest() {
        assert_eq!(Factor::parse("0.830721003134796").unwrap().of(2_000_000_000_000), 1_661_442_006_270);
        assert_eq!(Factor::parse("0.5").unwrap().of(3), 2);
        assert_eq!(Factor::parse("1000").unwrap().of(i64::MAX), i64::MAX);
    }
}
