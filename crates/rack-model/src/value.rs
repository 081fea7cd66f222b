//! Single values: their text forms, and errors for other text.

use crate::section::{Item, Reader, quoted};
use crate::{Mac, Network, Probability, Spanned};
use base_diag::Diagnostic;
use base_diag::codes::rack;
use base_time::{Duration, Rate, Time, scaled_decimal};
use std::ops::RangeInclusive;
use toml::de::DeValue;

/// A string that is not empty.
pub(crate) fn string(r: &mut Reader, item: Item<'_>) -> Option<String> {
    match item.value {
        DeValue::String(text) if text.trim().is_empty() => {
            r.bad_value(item.span, "empty string", "needs some text");
            None
        }
        DeValue::String(text) => Some(text.to_string()),
        _ => {
            r.wrong_type(item, "a string", "");
            None
        }
    }
}

/// A name of something of ours: letters, digits, `_`, `-`, `.`.
pub(crate) fn name(r: &mut Reader, item: Item<'_>) -> Option<String> {
    let text = string(r, item)?;
    is_name(&text).then_some(text).or_else(|| {
        r.bad_value(item.span, "not a name", "names consist of letters, digits, `_`, `-` and `.`");
        None
    })
}

/// True for names of devices, hosts and apps.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// An integer in `range`.
pub(crate) fn integer(r: &mut Reader, item: Item<'_>, range: RangeInclusive<u64>) -> Option<u64> {
    let DeValue::Integer(integer) = item.value else {
        r.wrong_type(item, "an integer", "");
        return None;
    };
    let value = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
    value.filter(|v| range.contains(v)).or_else(|| {
        let why = format!("allowed are {} to {}", range.start(), range.end());
        r.bad_value(item.span, "number out of range", why);
        None
    })
}

/// As [`integer`], for ranges below 2^32.
pub(crate) fn small(r: &mut Reader, item: Item<'_>, range: RangeInclusive<u32>) -> Option<u32> {
    let value = integer(r, item, u64::from(*range.start())..=u64::from(*range.end()))?;
    u32::try_from(value).ok()
}

pub(crate) fn boolean(r: &mut Reader, item: Item<'_>) -> Option<bool> {
    item.value.as_bool().or_else(|| {
        r.wrong_type(item, "a boolean", "true");
        None
    })
}

pub(crate) fn duration(r: &mut Reader, item: Item<'_>) -> Option<Duration> {
    match text_of(r, item, "a duration", "\"10us\"")?.parse() {
        Ok(duration) => Some(duration),
        Err(error) => {
            r.bad_value(item.span, "not a duration", format!("{error}"));
            None
        }
    }
}

/// A duration that is not zero.
pub(crate) fn interval(r: &mut Reader, item: Item<'_>) -> Option<Duration> {
    let duration = duration(r, item)?;
    (!duration.is_zero()).then_some(duration).or_else(|| {
        r.bad_value(item.span, "a duration of zero", "must be more than 0");
        None
    })
}

pub(crate) fn time(r: &mut Reader, item: Item<'_>) -> Option<Time> {
    Some(Time::ZERO + duration(r, item)?)
}

/// A data rate that is not zero.
pub(crate) fn rate(r: &mut Reader, item: Item<'_>) -> Option<Rate> {
    let error = match text_of(r, item, "a data rate", "\"10Gbit/s\"")?.parse::<Rate>() {
        Ok(rate) if rate.bits_per_s() > 0 => return Some(rate),
        Ok(_) => "must be more than 0".to_string(),
        Err(error) => error.to_string(),
    };
    r.bad_value(item.span, "not a data rate", error);
    None
}

/// A number from 0 to 4 in thousandths: `1`, `0.99`.
pub(crate) fn thousandths(r: &mut Reader, item: Item<'_>) -> Option<u32> {
    let text = match item.value {
        DeValue::Float(number) => number.as_str(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
        _ => {
            r.wrong_type(item, "a number", "0.99");
            return None;
        }
    };
    let parsed = scaled_decimal(text, 3);
    match parsed {
        Ok(value @ 0..=4000) => Some(value as u32),
        Ok(_) => {
            r.bad_value(item.span, "number out of range", "allowed are 0 to 4");
            None
        }
        Err(why) => {
            let why = if why == "less than 0" { why } else { "allowed are 0 to 4, with three decimals" };
            r.bad_value(item.span, "not a number of thousandths", why);
            None
        }
    }
}

/// `0.01`, `0`, `"1%"`.
pub(crate) fn probability(r: &mut Reader, item: Item<'_>) -> Option<Probability> {
    let parsed = match item.value {
        DeValue::Float(number) => Probability::parse(number.as_str()),
        DeValue::Integer(number) if number.radix() == 10 => Probability::parse(number.as_str()),
        DeValue::String(text) => Probability::parse(text),
        _ => {
            r.wrong_type(item, "a probability", "\"1%\" or 0.01");
            return None;
        }
    };
    parsed
        .map_err(|why| r.bad_value(item.span, "not a probability", format!("{why}: write \"1%\" or 0.01")))
        .ok()
}

/// The address of one station.
pub(crate) fn station(r: &mut Reader, item: Item<'_>) -> Option<Mac> {
    let why = match Mac::parse(&text_of(r, item, "a MAC address", "\"02:00:00:00:00:01\"")?) {
        Some(mac) if !mac.is_group() => return Some(mac),
        Some(_) => "this is a multicast address: the first byte of a station address is even",
        None => "write six bytes: \"02:00:00:00:00:01\"",
    };
    r.bad_value(item.span, "not a station's MAC address", why);
    None
}

pub(crate) fn network(r: &mut Reader, item: Item<'_>) -> Option<Network> {
    let text = text_of(r, item, "an IP address", "\"10.0.1.1/24\"")?;
    match Network::parse(&text) {
        Ok(network) => Some(network),
        Err(why) => {
            let why = format!("{why}: write it like \"10.0.1.1/24\"");
            r.bad_value(item.span, "not an address with prefix", why);
            None
        }
    }
}

/// An array with elements read by `parse`; wrong elements are reported and left out.
pub(crate) fn list<'t, T>(
    r: &mut Reader,
    item: Item<'t>,
    mut parse: impl FnMut(&mut Reader, Item<'t>) -> Option<T>,
) -> Option<Vec<Spanned<T>>> {
    let DeValue::Array(array) = item.value else {
        r.wrong_type(item, "an array", "[\"a\", \"b\"]");
        return None;
    };
    let mut values = vec![];
    for element in array.iter() {
        let item = Item { value: element.get_ref(), span: r.span(element.span()) };
        values.extend(parse(r, item).map(|v| Spanned::new(v, item.span)));
    }
    Some(values)
}

/// One of several words. Those without a meaning are refused as not supported yet.
pub(crate) fn choice<T: Copy>(r: &mut Reader, item: Item<'_>, words: &[(&str, Option<T>)]) -> Option<T> {
    let text = string(r, item)?;
    let known: Vec<&str> = words.iter().filter(|w| w.1.is_some()).map(|w| w.0).collect();
    match words.iter().find(|(word, _)| *word == text) {
        Some((_, Some(value))) => return Some(*value),
        Some((word, None)) => {
            let words: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
            r.not_yet(item.span, &format!("`{word}` is"), format!("take {}", words.join(" or ")));
        }
        None => {
            let title = format!("unknown word `{}`", text.escape_debug());
            let diagnostic = Diagnostic::error(rack::UNKNOWN_NAME, title).at(item.span, "not known here");
            r.push(diagnostic.suggest_or(&text, known.iter().copied(), |d| {
                d.note(format!("known are {}", quoted(&known)))
            }));
        }
    }
    None
}

fn text_of(r: &mut Reader, item: Item<'_>, expected: &str, example: &str) -> Option<String> {
    match item.value {
        DeValue::String(text) => Some(text.to_string()),
        _ => {
            r.wrong_type(item, expected, example);
            None
        }
    }
}

/// Names with texts or integers, in the order of the file.
pub(crate) fn texts(
    r: &mut Reader,
    item: Item<'_>,
    example: &str,
) -> Option<Vec<(Spanned<String>, Spanned<String>)>> {
    let DeValue::Table(table) = item.value else {
        r.wrong_type(item, "a table", example);
        return None;
    };
    let mut texts = vec![];
    for entry in r.entries(table) {
        let text = match entry.item.value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Boolean(flag) => u8::from(*flag).to_string(),
            _ => {
                r.wrong_type(entry.item, "a string or an integer", "");
                continue;
            }
        };
        let name = Spanned::new(entry.key.to_string(), entry.key_span);
        texts.push((name, Spanned::new(text, entry.item.span)));
    }
    Some(texts)
}
