//! Numbers and matches as text.

use base_bits::num_bigint::BigUint;
use std::fmt;

/// Match of an entry on a key; widths are not known yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Match {
    /// `5`, `0x0a`, `10.0.0.1`, `02:00:00:00:00:01`
    Exact(BigUint),
    /// `10.0.0.0/8`
    Prefix(BigUint, u32),
    /// `0x10 &&& 0xf0`
    Mask(BigUint, BigUint),
    /// `1..5` or `1->5`, both included
    Range(BigUint, BigUint),
    /// A value and, as the kind of the key says, its prefix length, its mask or the end of a range
    Pair(BigUint, BigUint),
    /// `*`
    Any,
}

/// Reason why a text is no number or match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchError(pub String);

impl fmt::Display for MatchError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The longest text of a number that is read: more than any width takes.
const LONGEST: usize = 1 << 16;

/// A number: decimal, `0x`, `0o`, `0b` with `_` between digits, a MAC, IPv4 or IPv6 address, `true`, `false`.
pub fn parse_number(text: &str) -> Result<BigUint, MatchError> {
    let text = text.trim();
    let wrong = || MatchError(format!("`{}` is not a number or address", shortened(text)));
    if text.len() > LONGEST {
        return Err(MatchError("this number is too long".to_string()));
    }
    match text {
        "true" => return Ok(BigUint::from(1u8)),
        "false" => return Ok(BigUint::from(0u8)),
        _ => {}
    }
    // Before IPv6 addresses, which have colons as well.
    if let Some(mac) = mac(text) {
        return Ok(mac);
    }
    if text.contains(':') {
        let address: std::net::Ipv6Addr = text.parse().map_err(|_| wrong())?;
        return Ok(BigUint::from(u128::from(address)));
    }
    if text.contains('.') {
        let address: std::net::Ipv4Addr = text.parse().map_err(|_| wrong())?;
        return Ok(BigUint::from(u32::from(address)));
    }
    let (radix, digits) = match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, text.get(2..)),
        Some("0o") => (8, text.get(2..)),
        Some("0b") => (2, text.get(2..)),
        _ => (10, Some(text)),
    };
    let digits: String = digits.unwrap_or_default().chars().filter(|c| *c != '_').collect();
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(wrong());
    }
    BigUint::parse_bytes(digits.as_bytes(), radix).ok_or_else(wrong)
}

/// Six bytes in hexadecimal with colons or dashes.
fn mac(text: &str) -> Option<BigUint> {
    let separator = if text.contains('-') { '-' } else { ':' };
    let parts: Vec<&str> = text.split(separator).collect();
    let byte = |part: &&str| (part.len() <= 2).then(|| u8::from_str_radix(part, 16).ok()).flatten();
    let bytes: Vec<u8> = parts.iter().map(byte).collect::<Option<_>>()?;
    (bytes.len() == 6 && !text.contains('+')).then(|| BigUint::from_bytes_be(&bytes))
}

/// A match: a number alone, with a prefix length, mask or end of a range, or `*`.
pub fn parse_match(text: &str) -> Result<Match, MatchError> {
    let text = text.trim();
    if text == "*" {
        return Ok(Match::Any);
    }
    if let Some((value, mask)) = text.split_once("&&&") {
        return Ok(Match::Mask(parse_number(value)?, parse_number(mask)?));
    }
    if let Some((value, length)) = text.split_once('/') {
        let length = length.trim();
        let length = length
            .parse()
            .map_err(|_| MatchError(format!("`{}` is not a prefix length", shortened(length))))?;
        return Ok(Match::Prefix(parse_number(value)?, length));
    }
    if let Some((lo, hi)) = text.split_once("->").or_else(|| text.split_once("..")) {
        return Ok(Match::Range(parse_number(lo)?, parse_number(hi)?));
    }
    parse_number(text).map(Match::Exact)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Match, parse_match};

    fn check(text: &str) -> String {
        match parse_match(text) {
            Ok(Match::Exact(n)) => format!("{n:x}"),
            Ok(Match::Prefix(n, length)) => format!("{n:x}/{length}"),
            Ok(Match::Mask(n, mask)) => format!("{n:x}&{mask:x}"),
            Ok(Match::Range(lo, hi)) => format!("{lo:x}..{hi:x}"),
            Ok(Match::Any) => "any".to_string(),
            Ok(Match::Pair(..)) => unreachable!(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn matches_as_people_write_them() {
        for (text, means) in [
            ("17", "11"),
            ("0x1_0", "10"),
            ("0b101", "5"),
            ("10.0.1.2", "a000102"),
            ("10.0.0.0/8", "a000000/8"),
            ("02:00:00:00:00:1f", "2000000001f"),
            ("2001:db8::1", "20010db8000000000000000000000001"),
            ("2001:db8::/32", "20010db8000000000000000000000000/32"),
            ("0x10 &&& 0xf0", "10&f0"),
            ("1..5", "1..5"),
            ("1->5", "1..5"),
            ("*", "any"),
            ("true", "1"),
            ("", "`` is not a number or address"),
            ("0x", "`0x` is not a number or address"),
            ("+5", "`+5` is not a number or address"),
            ("1.2.3", "`1.2.3` is not a number or address"),
            ("5/x", "`x` is not a prefix length"),
            ("-1", "`-1` is not a number or address"),
        ] {
            assert_eq!(check(text), means, "{text}");
        }
    }
}
