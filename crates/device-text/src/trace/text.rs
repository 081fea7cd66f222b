//! A packet's path as text: one line for each step, indented, with the source's lines.

use super::{cause_word, colour_word, drop_word, keys_text, position, source};
use base_diag::{SourceMap, Span};
use device::{Cause, Event, EventKind, PacketId, Shown};
use std::fmt::Write;

/// The column in which places stand, if there is room.
const PLACES: usize = 72;

/// The steps of a packet and of all that came of it.
pub fn trace(events: &[Event], map: &SourceMap) -> String {
    let mut page = Page { out: String::new(), map, depth: 0, packet: PacketId(0), in_state: false };
    events.iter().for_each(|event| page.event(event));
    page.out
}

struct Page<'m> {
    out: String,
    map: &'m SourceMap,
    depth: usize,
    packet: PacketId,
    /// In a parser state: what follows stands deeper.
    in_state: bool,
}

impl Page<'_> {
    fn line(&mut self, depth: usize, text: &str, span: Span) {
        let mut line = format!("{:indent$}{text}", "", indent = 2 * depth);
        if let Some(place) = position(self.map, span) {
            let name = place.file.rsplit('/').next().unwrap_or_default().to_string();
            let _ = write!(
                line,
                "{:pad$}  {name}:{}",
                "",
                place.line,
                pad = PLACES.saturating_sub(line.chars().count())
            );
        }
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    fn event(&mut self, event: &Event) {
        let begins = matches!(event.kind, EventKind::Begin { .. });
        if event.packet != self.packet && !begins {
            self.packet = event.packet;
            (self.depth, self.in_state) = (1, false);
            let again = format!("packet {} continues", event.packet.0);
            self.line(0, &again, Span::NONE);
        }
        let span = event.span;
        let deep = self.depth + usize::from(self.in_state);
        match &event.kind {
            EventKind::Begin { from, cause, port, bytes } => {
                self.packet = event.packet;
                (self.depth, self.in_state) = (1, false);
                let text = begin_text(event.packet, *from, cause, *port, *bytes);
                self.line(0, &text, Span::NONE);
            }
            EventKind::Stage { stage, enter: true } => {
                (self.depth, self.in_state) = (2, false);
                self.line(1, stage, Span::NONE);
            }
            EventKind::Stage { enter: false, .. } => (self.depth, self.in_state) = (1, false),
            EventKind::Block { block, enter: true } => {
                self.line(deep, block, span);
                self.depth += 1;
            }
            EventKind::Block { enter: false, .. } => self.depth = self.depth.saturating_sub(1).max(1),
            EventKind::State { parser, state } => {
                self.line(self.depth, &format!("state {parser}.{state}"), span);
                self.in_state = true;
            }
            EventKind::Transition { next, keys, case, .. } => {
                let text = transition_text(self.map, next, keys, *case);
                self.line(deep, &text, case.unwrap_or(Span::NONE));
                self.in_state = false;
            }
            EventKind::Table { table, keys, hit, action } => {
                let outcome = if hit.is_some() { "hit" } else { "miss" };
                self.line(deep, &format!("table {table}: {outcome}, {action}"), span);
                for key in keys {
                    let kind = format!("{:?}", key.kind).to_lowercase();
                    self.line(
                        deep + 1,
                        &format!("key {} = {} ({kind})", key.name, key.value.text()),
                        Span::NONE,
                    );
                }
                if let Some(hit) = hit {
                    let priority = hit.priority.map_or(String::new(), |p| format!(", priority {p}"));
                    let through = hit.through.as_ref().map_or(String::new(), |t| format!(", {t}"));
                    let text = format!("entry {}: {}{priority}{through}", hit.handle, keys_text(&hit.keys));
                    self.line(deep + 1, &text, Span::NONE);
                }
            }
            EventKind::Action { action, args } => {
                let args: Vec<_> = args.iter().map(|(name, v)| format!("{name} = {}", v.text())).collect();
                self.line(deep, &format!("action {action}({})", args.join(", ")), Span::NONE);
                self.depth += 1;
            }
            other => {
                let text = simple_text(other, self.map, span);
                self.line(deep, &text, span);
            }
        }
    }
}

fn begin_text(packet: PacketId, from: PacketId, cause: &Cause, port: Option<u32>, bytes: u64) -> String {
    let why = match cause {
        Cause::IngressClone { session } | Cause::EgressClone { session } => {
            format!("{} of packet {}, session {session}", cause_word(cause), from.0)
        }
        Cause::Replica { rid } => format!("replica of packet {}, rid {rid}", from.0),
        Cause::Received => "received".to_string(),
        _ if from.0 == 0 => cause_word(cause).to_string(),
        _ => format!("packet {} {}", from.0, cause_word(cause)),
    };
    let port = port.map_or(String::new(), |port| format!(", port {port}"));
    format!("packet {}: {why}{port}, {bytes} bytes", packet.0)
}

fn transition_text(map: &SourceMap, next: &str, keys: &[(Span, Shown)], case: Option<Span>) -> String {
    if keys.is_empty() {
        return format!("-> {next}");
    }
    let keys: Vec<_> = keys.iter().map(|(at, v)| format!("{} = {}", source(map, *at), v.text())).collect();
    let case = match case {
        Some(case) => format!("case {}", source(map, case).trim_end_matches(';')),
        None => "no case".to_string(),
    };
    format!("select {}: {case} -> {next}", keys.join(", "))
}

/// A step that is one line and changes no indent.
fn simple_text(kind: &EventKind, map: &SourceMap, span: Span) -> String {
    let fields = |fields: &[(ir::Name, Shown)]| {
        fields.iter().map(|(name, v)| format!("{name} = {}", v.text())).collect::<Vec<_>>().join(", ")
    };
    match kind {
        EventKind::Extract { header, bits, fields: all } => {
            format!("extract {header} ({bits} bits): {}", fields(all))
        }
        EventKind::Emit { header, bits, .. } => format!("emit {header} ({bits} bits)"),
        EventKind::Advance { bits } => format!("advance {bits} bits"),
        EventKind::ParserError { error } => format!("parser error {error}"),
        EventKind::Branch { taken } => format!("if ({}): {taken}", source(map, span)),
        EventKind::Switch { case: Some(case) } => {
            let text = source(map, *case);
            format!("switch: case {}", text.split(['{', ':']).next().unwrap_or_default().trim())
        }
        EventKind::Switch { case: None } => "switch: no case".to_string(),
        EventKind::Write { place, old: Some(old), new } if old == new => {
            format!("{place} = {} (as before)", new.text())
        }
        EventKind::Write { place, old: Some(old), new } => {
            format!("{place}: {} -> {}", old.text(), new.text())
        }
        EventKind::Write { place, old: None, new } => format!("{place} = {}", new.text()),
        EventKind::Validity { header, valid } => {
            format!("{header} becomes {}", if *valid { "valid" } else { "invalid" })
        }
        EventKind::Shift { stack, by } if *by < 0 => format!("pop {} of {stack}", -by),
        EventKind::Shift { stack, by } => format!("push {by} to {stack}"),
        EventKind::Extern { instance, name } => match instance {
            Some(instance) => format!("call {instance}.{name}: {}", source(map, span)),
            None => format!("call {name}: {}", source(map, span)),
        },
        EventKind::Count { counter, index, bytes } => format!("{counter}[{index}] counts {bytes} bytes"),
        EventKind::Meter { meter, index, colour } => {
            let index = index.map_or("default".to_string(), |index| index.to_string());
            format!("{meter}[{index}] says {}", colour_word(*colour))
        }
        EventKind::Log { line } => format!("log: {line}"),
        EventKind::Assert { passed } => {
            format!("assertion {}", if *passed { "holds" } else { "fails" })
        }
        EventKind::Digest { name, data } => format!("digest {name}: {}", data.text()),
        EventKind::Exit => "exit".to_string(),
        EventKind::Effect { effect, target } => format!("{effect} {target}").trim_end().to_string(),
        EventKind::Transmit { port, frame } => format!("sent by port {port}, {} bytes", frame.len()),
        EventKind::Drop { reason } => format!("dropped: {}", drop_word(*reason)),
        _ => String::new(),
    }
}
