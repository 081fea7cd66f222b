//! Loads and outcomes as the peers read and write them: see `examples/bench/c/peer.c`.

use crate::Packet;
use base_bits::num_bigint::BigUint;
use p4_entries::{Args, Keys, Match, Run, Statement};
use std::fmt::Write;

/// Output for a load's packets.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// For each packet that came in: port and bytes of those that went out.
    pub sent: Vec<Vec<(u16, Vec<u8>)>>,
    /// The bytes of what the controller was text, in order.
    pub reports: Vec<Vec<u8>>,
}

/// A line for each entry: `TABLE ACTION PRIORITY KEYS ARGS key... arg...`, numbers in hex, a key as `V`, `V/LENGTH`,
/// `V&MASK` or `*`. Other statements have no line.
pub fn entries_text(entries: &[Statement]) -> String {
    let mut text = String::new();
    for statement in entries {
        let Statement::Entry { table, keys: Keys::InOrder(keys), run, priority, .. } = statement else {
            continue;
        };
        let Run::Action(action, Args::InOrder(args)) = run else { continue };
        let _ = write!(text, "{} {} {}", table.text, action.text, priority.unwrap_or(0));
        let _ = write!(text, " {} {}", keys.len(), args.len());
        keys.iter().for_each(|key| text.push_str(&format!(" {}", match_text(&key.value))));
        args.iter().for_each(|arg| text.push_str(&format!(" {:x}", arg.value)));
        text.push('\n');
    }
    text
}

fn match_text(key: &Match) -> String {
    match key {
        Match::Exact(number) => format!("{number:x}"),
        Match::Prefix(number, length) => format!("{number:x}/{length}"),
        Match::Mask(number, mask) => format!("{number:x}&{mask:x}"),
        Match::Range(low, high) if low == high => format!("{low:x}"),
        // No load has these.
        Match::Range(..) | Match::Any | Match::Pair(..) => "*".to_string(),
    }
}

/// For each packet port and length, 32 bits each with the low byte first, and its bytes.
pub fn packets_bytes(packets: &[Packet]) -> Vec<u8> {
    let mut bytes = vec![];
    for packet in packets {
        bytes.extend_from_slice(&u32::from(packet.port).to_le_bytes());
        bytes.extend_from_slice(&(packet.bytes.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&packet.bytes);
    }
    bytes
}

/// Reads what a peer wrote: packets in the same form, one for each that came in, with port 0xffff for a dropped one and
/// 0xffffffff for a report. `None` if it is cut.
pub fn read_outcome(mut bytes: &[u8]) -> Option<Outcome> {
    let mut outcome = Outcome::default();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at_checked(8)?;
        let port = u32::from_le_bytes(head[..4].try_into().ok()?);
        let length = u32::from_le_bytes(head[4..].try_into().ok()?);
        let (frame, rest) = rest.split_at_checked(length as usize)?;
        bytes = rest;
        match port {
            u32::MAX => outcome.reports.push(frame.to_vec()),
            0xffff => outcome.sent.push(vec![]),
            _ => outcome.sent.push(vec![(port as u16, frame.to_vec())]),
        }
    }
    Some(outcome)
}

/// Values one after the other, with their widths, as bytes: what a report looks like.
pub fn report_bytes(values: impl IntoIterator<Item = (u32, BigUint)>) -> Vec<u8> {
    let (mut bits, mut all) = (0, BigUint::ZERO);
    for (width, value) in values {
        bits += u64::from(width);
        all = (all << width) | value;
    }
    let length = bits.div_ceil(8) as usize;
    let digits = all.to_bytes_be();
    let mut bytes = vec![0; length.saturating_sub(digits.len())];
    bytes.extend(digits);
    bytes.truncate(length);
    bytes
}

/// First difference between wanted and found output, as text for people.
pub fn difference(wanted: &Outcome, found: &Outcome) -> Option<String> {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let text = |sent: &[(u16, Vec<u8>)]| match sent {
        [] => "nothing".to_string(),
        _ => {
            sent.iter().map(|(port, bytes)| format!("{port}: {}", hex(bytes))).collect::<Vec<_>>().join(", ")
        }
    };
    if wanted.sent.len() != found.sent.len() {
        return Some(format!("{} packets instead of {}", found.sent.len(), wanted.sent.len()));
    }
    for (number, (wanted, found)) in (1..).zip(wanted.sent.iter().zip(&found.sent)) {
        if wanted != found {
            return Some(format!(
                "packet {number} became\n  {}\ninstead of\n  {}",
                text(found),
                text(wanted)
            ));
        }
    }
    if wanted.reports == found.reports {
        return None;
    }
    Some(match wanted.reports.iter().zip(&found.reports).find(|(w, f)| w != f) {
        Some((wanted, found)) => format!("reported\n  {}\ninstead of\n  {}", hex(found), hex(wanted)),
        None => format!("{} reports instead of {}", found.reports.len(), wanted.reports.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{any, begins, is, like, ranked};

    #[test]
    fn an_entry_is_a_line() {
        let keys = vec![is(5u8), begins(0x0a00_0000u32, 8), like(0x12u8, 0xf0u8), any()];
        let text = entries_text(&[ranked("t", 7, keys, "a", &[16, 1])]);
        assert_eq!(text, "t a 7 4 2 5 a000000/8 10&f0 * 10 1\n");
    }

    #[test]
    fn outcomes_are_read() {
        let mut bytes =
            packets_bytes(&[Packet { port: 3, bytes: vec![1, 2] }, Packet { port: 0xffff, bytes: vec![] }]);
        bytes.extend([255, 255, 255, 255, 1, 0, 0, 0, 9]);
        let outcome = read_outcome(&bytes).unwrap();
        assert_eq!(outcome.sent, [vec![(3, vec![1, 2])], vec![]]);
        assert_eq!(outcome.reports, [[9]]);
        assert_eq!(read_outcome(&bytes[..5]), None);
    }

    #[test]
    fn what_differs_is_reported() {
        let one = Outcome { sent: vec![vec![(1, vec![2])]], reports: vec![] };
        let other = Outcome { sent: vec![vec![]], reports: vec![] };
        assert_eq!(difference(&one, &one), None);
        assert_eq!(difference(&one, &other).unwrap(), "packet 1 became\n  nothing\ninstead of\n  1: 02");
    }

    #[test]
    fn a_report_is_its_values() {
        let bytes = report_bytes([(4, BigUint::from(0u8)), (12, BigUint::from(0x123u16))]);
        assert_eq!(bytes, [0x01, 0x23]);
    }
}
