//! Steps and summaries for people.

use super::step::{Sent, Step};
use dataplane_api::Counters;
use device_text::trace::drop_word;
use std::fmt::Write;

/// One line for the input packet and one for each output packet.
pub fn step(step: &Step, decode: bool) -> String {
    let mut out = String::new();
    if let Some((port, frame)) = &step.input {
        let _ = writeln!(out, "{:<4} in  {port:>3}: {}", step.number, hex(frame));
    }
    for sent in &step.sent {
        let kind = if sent.packet_in { "  (packet-in)" } else { "" };
        let _ = writeln!(out, "     out {:>3}: {}{kind}", sent.port, hex(&sent.frame));
        if decode {
            out.push_str(&decoded(sent));
        }
    }
    for (reason, count) in &step.dropped {
        let times = if *count > 1 { format!(" {count} times") } else { String::new() };
        let _ = writeln!(out, "     dropped{times}: {}", drop_word(*reason));
    }
    out + &messages(step)
}

/// Digests, log lines and idle entries alone.
pub fn messages(step: &Step) -> String {
    let mut out = String::new();
    for (name, data) in &step.digests {
        let _ = writeln!(out, "     digest {name}: {}", data.text());
    }
    for line in &step.log {
        let _ = writeln!(out, "     log: {line}");
    }
    for idle in &step.idle {
        let _ = writeln!(out, "     idle: {} {} at {}", idle.table, idle.key, idle.at);
    }
    out
}

fn decoded(sent: &Sent) -> String {
    let mut out = String::new();
    let mut bits = 0;
    for header in &sent.headers {
        bits += header.bits;
        let fields: Vec<_> = header.fields.iter().map(|(name, v)| format!("{name} = {}", v.text())).collect();
        let _ = writeln!(out, "              {}: {}", header.name, fields.join(", "));
    }
    let payload = (sent.frame.len() as u64).saturating_sub(bits.div_ceil(8));
    if payload > 0 {
        let _ = writeln!(out, "              payload: {payload} bytes");
    }
    out
}

/// `3 packets in, 2 out, 1 dropped (ingress 1)`
pub fn summary(counters: &Counters) -> String {
    let dropped: u64 = counters.dropped.values().sum();
    let mut out = format!("{} in, {} out, {dropped} dropped", packets(counters.received), counters.sent);
    if dropped > 0 {
        let each: Vec<_> =
            counters.dropped.iter().map(|(reason, n)| format!("{} {n}", drop_word(*reason))).collect();
        let _ = write!(out, " ({})", each.join(", "));
    }
    if counters.created > 0 {
        let _ = write!(out, "; {} created inside", counters.created);
    }
    out
}

fn packets(count: u64) -> String {
    format!("{count} packet{}", if count == 1 { "" } else { "s" })
}

/// Two digits a byte; `empty` for none.
pub fn hex(frame: &[u8]) -> String {
    if frame.is_empty() {
        return "empty".to_string();
    }
    frame.iter().map(|byte| format!("{byte:02x}")).collect()
}
