//! Delays and bandwidths as Mininet takes them.

use base_json::{Json, Kind, Reader};
use base_time::{Duration, Rate};
use rack_model::Probability;

/// A delay: `"5ms"`, `"0"`; a number is of milliseconds.
pub(crate) fn delay(reader: &mut Reader, json: &Json) -> Option<Duration> {
    let text = reader.scalar(json, "a delay", "\"5ms\"")?;
    let found = match &json.kind {
        Kind::String(_) if !text.chars().all(|c| c.is_ascii_digit() || c == '.') => text.parse().ok(),
        // tc takes a number without a unit for microseconds.
        Kind::String(_) => decimal(text, 6).map(Duration::from_ps),
        _ => decimal(text, 9).map(Duration::from_ps),
    };
    if found.is_none() {
        let label = "a number of milliseconds, or a number with its unit in quotes, is expected";
        reader.wrong_but(json.span, "this is not a delay", label, "for example: \"5ms\"");
    }
    found
}

/// A bandwidth in Mbit/s: `0.5`, `"0.5"`, `"10Mbps"`.
pub(crate) fn bandwidth(reader: &mut Reader, json: &Json) -> Option<Rate> {
    let text = reader.scalar(json, "a bandwidth in Mbit/s", "0.5")?;
    let rate = decimal(text, 6).map(Rate::from_bits_per_s).or_else(|| text.parse().ok());
    let rate = rate.filter(|rate: &Rate| rate.bits_per_s() > 0);
    if rate.is_none() {
        let label = "a number of Mbit/s greater than 0 is expected";
        reader.wrong_but(json.span, "this is not a bandwidth", label, "for example: 0.5");
    }
    rate
}

/// A loss in percent.
pub(crate) fn loss(reader: &mut Reader, json: &Json) -> Option<Probability> {
    let text = reader.scalar(json, "a loss in percent", "1")?;
    let percent = text.strip_suffix('%').unwrap_or(text).trim_end();
    let loss = Probability::parse(&format!("{percent}%")).ok();
    if loss.is_none() {
        reader.wrong(json.span, "this is not a loss", "a number of percent from 0 to 100 is expected");
    }
    loss
}

/// A number without sign times 10^`decimals`; further digits are cut off.
fn decimal(text: &str, decimals: usize) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && part.is_empty() || !whole.chars().chain(part.chars()).all(|c| c.is_ascii_digit()) {
        return None;
    }
    let part: String = part.chars().chain(std::iter::repeat('0')).take(decimals).collect();
    format!("{whole}{part}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_diag::Code;

    fn check<T: std::fmt::Display>(read: fn(&mut Reader, &Json) -> Option<T>, text: &str) -> String {
        let json = base_json::parse(text, 1).unwrap();
        let mut reader = Reader::new(Code(901));
        let found = read(&mut reader, &json);
        assert_eq!(found.is_none(), reader.has_errors());
        found.map_or("wrong".to_string(), |found| found.to_string())
    }

    #[test]
    fn quantities_are_read_as_mininet_does() {
        for (text, means) in [
            ("\"0\"", "0s"),
            ("\"5ms\"", "5ms"),
            ("2", "2ms"),
            ("0.25", "250us"),
            ("\"10\"", "10us"),
            ("\"x\"", "wrong"),
        ] {
            assert_eq!(check(delay, text), means, "{text}");
        }
        for (text, means) in
            [("0.5", "500kbit/s"), ("\"10\"", "10Mbit/s"), ("\"1Gbit/s\"", "1Gbit/s"), ("0", "wrong")]
        {
            assert_eq!(check(bandwidth, text), means, "{text}");
        }
        for (text, means) in [("1", "1%"), ("\"0.5%\"", "0.5%"), ("101", "wrong")] {
            assert_eq!(check(loss, text), means, "{text}");
        }
    }
}
