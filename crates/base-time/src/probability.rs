//! Probabilities in whole billionths.

use crate::Rng;
use std::fmt;

const ONE: u32 = 1_000_000_000;

/// A probability: billionths, 0 to 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Probability(u32);

impl Probability {
    /// Never.
    pub const ZERO: Probability = Probability(0);
    /// Always.
    pub const ONE: Probability = Probability(ONE);

    /// `n` billionths; more than all of them is [`Probability::ONE`].
    pub const fn from_ppb(n: u32) -> Probability {
        if n < ONE { Probability(n) } else { Probability::ONE }
    }

    /// In billionths.
    pub const fn ppb(self) -> u32 {
        self.0
    }

    /// Draws whether an event happens. A probability of zero draws nothing: a setting of zero changes no other's chance.
    #[inline]
    pub fn happens(self, rng: &mut Rng) -> bool {
        self.0 > 0 && rng.chance(self.0.into(), ONE.into())
    }

    /// Reads `0.01`, `1e-6`, `1%`, `0.5 %`. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Probability, &'static str> {
        let text = text.trim();
        match text.strip_suffix('%') {
            Some(percent) => scaled_decimal(percent.trim_end(), 7),
            None => scaled_decimal(text, 9),
        }
        .and_then(|ppb| match u32::try_from(ppb) {
            Ok(ppb) if ppb <= ONE => Ok(Probability(ppb)),
            _ => Err("more than 1"),
        })
    }
}

/// `1%`, `0.25%`.
impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / 10_000_000, self.0 % 10_000_000);
        if fraction == 0 {
            return f.pad(&format!("{whole}%"));
        }
        f.pad(&format!("{whole}.{}%", format!("{fraction:07}").trim_end_matches('0')))
    }
}

/// The decimal number `text`, with or without exponent, times 10^`decimals`; it must come out whole. The error says what is wrong.
pub fn scaled_decimal(text: &str, decimals: i32) -> Result<u64, &'static str> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| "not a number")?;
    let mantissa = mantissa.strip_prefix('+').unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = whole.chars().chain(fraction.chars()).filter(|c| *c != '_').collect();
    if mantissa.starts_with('-') {
        return Err("less than 0");
    }
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return Err("not a number");
    }
    let shift = exponent.saturating_add(decimals).saturating_sub(fraction.len() as i32);
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    let dropped = (digits.len() - digits.trim_end_matches('0').len()) as i32;
    if significant.is_empty() {
        return Ok(0);
    }
    let power = u32::try_from(shift.saturating_add(dropped)).map_err(|_| "finer than one billionth")?;
    let value = significant.parse::<u64>().ok();
    value.zip(10u64.checked_pow(power)).and_then(|(v, p)| v.checked_mul(p)).ok_or("more than 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_read_exactly() {
        let ppb = |text| Probability::parse(text).map(Probability::ppb);
        for (text, expected) in [
            ("0", 0),
            ("0.0", 0),
            ("1", 1_000_000_000),
            ("1.000", 1_000_000_000),
            ("0.01", 10_000_000),
            ("1%", 10_000_000),
            ("0.1 %", 1_000_000),
            ("100%", 1_000_000_000),
            ("1e-6", 1_000),
            ("2.5E-3", 2_500_000),
            ("0.000000001", 1),
            ("10e-1", 1_000_000_000),
            ("0.010000000000", 10_000_000),
        ] {
            assert_eq!(ppb(text), Ok(expected), "{text}");
        }
        for (text, error) in [
            ("1.1", "more than 1"),
            ("2e9", "more than 1"),
            ("1e99999", "more than 1"),
            ("1e99999999999", "not a number"),
            ("99999999999999999999", "more than 1"),
            ("101%", "more than 1"),
            ("-0.5", "less than 0"),
            ("1e-10", "finer than one billionth"),
            ("inf", "not a number"),
            ("nan", "not a number"),
            ("", "not a number"),
            ("%", "not a number"),
            (".", "not a number"),
            ("1x", "not a number"),
        ] {
            assert_eq!(ppb(text), Err(error), "{text}");
        }
    }

    #[test]
    fn probabilities_are_printed_as_they_can_be_read() {
        for (ppb, text) in [(0, "0%"), (10_000_000, "1%"), (2_500_000, "0.25%"), (1, "0.0000001%")] {
            assert_eq!(Probability::from_ppb(ppb).to_string(), text);
            assert_eq!(Probability::parse(text), Ok(Probability::from_ppb(ppb)));
        }
    }
}
