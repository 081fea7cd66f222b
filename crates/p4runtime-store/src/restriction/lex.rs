//! Words of the language.

use base_bits::num_bigint::BigInt;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    Name(String),
    Int(BigInt),
    Mark(&'static str),
}

/// Longer ones first.
const MARKS: [&str; 16] =
    ["->", "&&", "||", "==", "!=", "<=", ">=", "::", "<", ">", "!", "-", "(", ")", ";", "."];

/// The words with the places where each begins and ends.
pub(super) fn words(text: &str) -> Result<Vec<(Token, usize, usize)>, String> {
    let mut all = vec![];
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = |wanted: fn(char) -> bool| rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        let skipped = match () {
            () if rest.starts_with(char::is_whitespace) => length(char::is_whitespace),
            () if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            () if rest.starts_with("/*") => rest.find("*/").ok_or("a comment is not closed")? + 2,
            () => 0,
        };
        if skipped > 0 {
            at += skipped;
            continue;
        }
        let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark));
        let (token, length) = match (mark, rest.starts_with(|c: char| c.is_ascii_digit())) {
            (Some(mark), _) => (Token::Mark(mark), mark.len()),
            (None, true) => {
                let length = length(|c| c.is_ascii_alphanumeric() || c == '_');
                (Token::Int(int(&rest[..length])?), length)
            }
            (None, false) => {
                let length = length(|c| c.is_alphanumeric() || "_$.[]".contains(c));
                match &rest[..length] {
                    "" => {
                        return Err(format!(
                            "`{}` has no meaning in a restriction",
                            rest.chars().next().unwrap_or(' ')
                        ));
                    }
                    name => (Token::Name(name.to_string()), length),
                }
            }
        };
        all.push((token, at, at + length));
        at += length;
    }
    Ok(all)
}

/// Decimal, or with the prefix of another base.
fn int(text: &str) -> Result<BigInt, String> {
    let lower = text.to_ascii_lowercase();
    let (base, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        _ => (10, &lower[..]),
    };
    BigInt::parse_bytes(digits.as_bytes(), base).ok_or_else(|| format!("`{text}` is not a number"))
}
