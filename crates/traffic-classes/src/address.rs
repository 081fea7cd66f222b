//! Values as classes write them: numbers, and addresses of Ethernet, IPv4 and IPv6.

use crate::Field;
use crate::field::Notation;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The value as a class would write it.
pub(crate) fn shown(field: Field, value: u128) -> String {
    match field.notation() {
        Notation::Number if field == Field::EthernetType => format!("{value:#06x}"),
        Notation::Number => value.to_string(),
        Notation::Mac => {
            let bytes = value.to_be_bytes();
            bytes[10..].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
        }
        Notation::Ipv4 => Ipv4Addr::from(value as u32).to_string(),
        Notation::Ipv6 => Ipv6Addr::from(value).to_string(),
    }
}

/// Reads a value of `field`: an address in its notation, or a number; `None` if it is neither, or too large.
pub(crate) fn read(field: Field, text: &str) -> Option<u128> {
    let value = match field.notation() {
        Notation::Mac if text.contains(':') => mac(text)?,
        Notation::Ipv4 if text.contains('.') => u128::from(u32::from(text.parse::<Ipv4Addr>().ok()?)),
        Notation::Ipv6 if text.contains(':') => u128::from(text.parse::<Ipv6Addr>().ok()?),
        _ => number(text)?,
    };
    (value <= field.max()).then_some(value)
}

/// Decimal, or hexadecimal after `0x`.
pub(crate) fn number(text: &str) -> Option<u128> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => {
            u128::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None if text.starts_with(|c: char| c.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

fn mac(text: &str) -> Option<u128> {
    let bytes: Vec<&str> = text.split(':').collect();
    if bytes.len() != 6 {
        return None;
    }
    bytes.iter().try_fold(0u128, |value, byte| {
        let is_byte = (1..=2).contains(&byte.len()) && byte.chars().all(|c| c.is_ascii_hexdigit());
        let byte = is_byte.then(|| u128::from_str_radix(byte, 16).ok())??;
        Some(value << 8 | byte)
    })
}

/// Example of a value of `field`, for messages.
pub(crate) fn example(field: Field) -> &'static str {
    match field.notation() {
        Notation::Number => "a number, such as `80` or `0x50`",
        Notation::Mac => "an address, such as `02:00:00:00:00:01`",
        Notation::Ipv4 => "an address, such as `10.0.0.1`",
        Notation::Ipv6 => "an address, such as `fd00::1`",
    }
}
