//! Integer literals (P4-16 §6.4.3.2).

use base_diag::codes::syntax;
use num_bigint::BigUint;

use super::Parser;
use crate::ast::{IntLit, LitWidth, Radix};

/// Digits that a literal may have: reading more takes quadratic time.
const MAX_DIGITS: usize = 10_000;
/// Bits that a width prefix may say.
const MAX_WIDTH: u32 = 1 << 20;

impl Parser<'_> {
    /// The integer that is the next token.
    pub(super) fn int(&mut self) -> IntLit {
        let text = self.text();
        let (prefix, number) = split_width(text);
        let width = prefix.and_then(|(digits, signed)| self.prefix_width(digits, signed));
        let (radix, digits) = split_radix(number);
        let value = match value(digits, radix) {
            Some(value) => value,
            None => {
                let why = if digits.len() > MAX_DIGITS {
                    format!("has more than {MAX_DIGITS} digits")
                } else if digits.bytes().all(|b| b == b'_') {
                    "has no digits".into()
                } else {
                    format!("has characters that are not digits of base {}", base(radix))
                };
                let shown: String = text.chars().take(40).collect();
                let title = format!("malformed number `{shown}`");
                self.error(syntax::MALFORMED_NUMBER, title, self.span(), why);
                BigUint::ZERO
            }
        };
        self.bump();
        IntLit { value, width, radix }
    }

    fn prefix_width(&mut self, digits: &str, signed: bool) -> Option<LitWidth> {
        let bits = digits.parse::<u32>().ok().filter(|bits| *bits <= MAX_WIDTH);
        if signed && bits == Some(0) {
            let title = "a signed literal has at least 1 bit";
            self.error(syntax::LITERAL_WIDTH, title, self.span(), "0 bits hold no sign");
        }
        if bits.is_none() {
            let label = format!("at most {MAX_WIDTH} bits");
            self.error(syntax::LITERAL_WIDTH, "the width of this literal is too large", self.span(), label);
        }
        bits.map(|bits| LitWidth { bits, signed })
    }
}

/// `8w5` to `(8, unsigned)` and `5`.
fn split_width(text: &str) -> (Option<(&str, bool)>, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (width, rest) = text.split_at(digits);
    match rest.as_bytes().first() {
        Some(b'w') => (Some((width, false)), &rest[1..]),
        Some(b's') => (Some((width, true)), &rest[1..]),
        _ => (None, text),
    }
}

fn split_radix(number: &str) -> (Radix, &str) {
    let radix = match number.as_bytes() {
        [b'0', b'x' | b'X', ..] => Radix::Hex,
        [b'0', b'o' | b'O', ..] => Radix::Oct,
        [b'0', b'b' | b'B', ..] => Radix::Bin,
        [b'0', b'd' | b'D', ..] => Radix::Dec,
        _ => return (Radix::Dec, number),
    };
    (radix, &number[2..])
}

fn base(radix: Radix) -> u32 {
    match radix {
        Radix::Bin => 2,
        Radix::Oct => 8,
        Radix::Dec => 10,
        Radix::Hex => 16,
    }
}

fn value(digits: &str, radix: Radix) -> Option<BigUint> {
    if digits.len() <= 15 && !digits.contains('_') {
        return u64::from_str_radix(digits, base(radix)).ok().map(BigUint::from);
    }
    let bytes: Vec<u8> = digits.bytes().filter(|b| *b != b'_').collect();
    if bytes.is_empty() || bytes.len() > MAX_DIGITS || !bytes.is_ascii() {
        return None;
    }
    BigUint::parse_bytes(&bytes, base(radix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        fn read(text: &str) -> (Option<(&str, bool)>, Option<String>) {
            let (width, number) = split_width(text);
            let (radix, digits) = split_radix(number);
            (width, value(digits, radix).map(|v| v.to_string()))
        }
        let some = |s: &str| Some(s.to_string());
        assert_eq!(read("10"), (None, some("10")));
        assert_eq!(read("0x_Ff"), (None, some("255")));
        assert_eq!(read("0b1_01"), (None, some("5")));
        assert_eq!(read("0o17"), (None, some("15")));
        assert_eq!(read("0d09"), (None, some("9")));
        assert_eq!(read("8w255"), (Some(("8", false)), some("255")));
        assert_eq!(read("4s0b1010"), (Some(("4", true)), some("10")));
        assert_eq!(read("128w0xFFFFFFFFFFFFFFFFFFFFFFFF").1, some("79228162514264337593543950335"));
        for bad in ["8w", "0x", "0b12", "12ab", "0x_", "3s8w1"] {
            assert_eq!(read(bad).1, None, "{bad}");
        }
    }
}
