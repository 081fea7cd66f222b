//! The trace shows a packet's path.

use crate::common;

use base_bits::Bits;
use base_diag::SourceMap;
use base_time::Time;
use common::Test;
use control_writes::Match;
use device::{Event, EventKind, Options, Session, Shown, Switch};
use expect_test::{Expect, expect};

const INGRESS: &str = "
    action to(PortId_t port) { sm.egress_spec = port; hdr.data.a[7:0] = 1; }
    action drop() { mark_to_drop(sm); }
    table routes { key = { hdr.data.port: exact; } actions = { to; drop; } default_action = drop(); }
    apply { if (hdr.data.a == 9) { clone(CloneType.I2E, 5); exit; } routes.apply(); }";

fn test() -> (Test, Switch) {
    let params = "inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm";
    let text = format!(
        "#include \"common.p4\"\ncontrol I({params}) {{ {INGRESS} }}\n\
         V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;\n"
    );
    let test = Test::inline(&text);
    let mut switch = test.switch(Options::default()).expect("a device");
    let port = |n| Bits::new(9, n);
    switch.table_add("routes", &[Match::Exact(Bits::new(8, 4))], "to", &[port(6)], None).expect("an entry");
    switch.clone_session_set(5, Some(Session { port: Some(7), ..Session::default() }));
    switch.set_trace(true);
    (test, switch)
}

fn check(frame: &[u8], expect: Expect) {
    let (test, mut switch) = test();
    switch.process(2, frame, Time::ZERO);
    let lines: Vec<String> = switch.take_trace().iter().map(|e| line(&test.map, e)).collect();
    expect.assert_eq(&(lines.join("\n") + "\n"));
    switch.set_trace(false);
    switch.process(2, frame, Time::ZERO);
    assert_eq!(switch.take_trace(), [], "the trace is off");
}

fn line(map: &SourceMap, event: &Event) -> String {
    let list = |values: &[(ir::Name, Shown)]| {
        values.iter().map(|(n, v)| format!("{n} = {}", v.text())).collect::<Vec<_>>().join(", ")
    };
    let text = match &event.kind {
        EventKind::Stage { stage, enter: true } => format!("{stage}:"),
        EventKind::Stage { stage, enter: false } => format!("{stage} ends"),
        EventKind::State { parser, state } => format!("  state {parser}.{state}"),
        EventKind::Transition { next, keys, case, .. } => {
            let keys: Vec<_> = keys.iter().map(|(_, v)| v.text()).collect();
            format!("  -> {next} {keys:?} {:?}", case.map(|c| map.text(c)))
        }
        EventKind::Extract { header, bits, fields } => {
            format!("  extract {header}, {bits} bits: {}", list(fields))
        }
        EventKind::Table { table, keys, hit, action } => {
            let keys: Vec<_> = keys.iter().map(|k| format!("{} = {}", k.name, k.value.text())).collect();
            format!("  table {table} {keys:?}: {:?} {action}", hit.as_ref().map(|h| h.handle))
        }
        EventKind::Action { action, args } => format!("  action {action} {}", list(args)),
        EventKind::Branch { taken } => format!("  if {}: {taken}", map.text(event.span)),
        EventKind::Write { place, old, new } => {
            format!("  {place}: {} -> {}", old.as_ref().map_or("".into(), Shown::text), new.text())
        }
        EventKind::Emit { header, ty, bits, .. } => format!("  emit {header}, a {ty} of {bits} bits"),
        EventKind::Effect { effect, target } => format!("  -> {effect} {target}"),
        other => format!("  {other:?}"),
    };
    format!("{} {text}", event.packet.0)
}

#[test]
fn a_hit() {
    check(
        &[0, 4, 0, 0, 0, 0, 0, 0],
        expect![[r#"
            1   Begin { from: PacketId(0), cause: Received, port: Some(2), bytes: 8 }
            1 parser:
            1   state P.start
            1   extract hdr.data, 64 bits: op = 0x00, port = 0x04, a = 0x0000, b = 0x00000000
            1   -> accept [] None
            1 parser ends
            1 verify_checksum:
            1 verify_checksum ends
            1 ingress:
            1   if hdr.data.a == 9: false
            1   table I.routes ["hdr.data.port = 0x04"]: Some(0) I.to
            1   action I.to port = 0x006
            1   sm.egress_spec: 0x000 -> 0x006
            1   hdr.data.a[7:0]: 0x00 -> 0x01
            1   Block { block: "I.to", enter: false }
            1 ingress ends
            1   -> unicast 6
            1 egress:
            1 egress ends
            1 compute_checksum:
            1 compute_checksum ends
            1 deparser:
            1   emit hdr.data, a data_t of 64 bits
            1 deparser ends
            1   Transmit { port: 6, frame: [0, 4, 0, 1, 0, 0, 0, 0] }
        "#]],
    );
}

#[test]
fn a_miss() {
    check(
        &[0, 5, 0, 0, 0, 0, 0, 0],
        expect![[r#"
            1   Begin { from: PacketId(0), cause: Received, port: Some(2), bytes: 8 }
            1 parser:
            1   state P.start
            1   extract hdr.data, 64 bits: op = 0x00, port = 0x05, a = 0x0000, b = 0x00000000
            1   -> accept [] None
            1 parser ends
            1 verify_checksum:
            1 verify_checksum ends
            1 ingress:
            1   if hdr.data.a == 9: false
            1   table I.routes ["hdr.data.port = 0x05"]: None I.drop
            1   action I.drop 
            1   Extern { instance: None, name: "mark_to_drop" }
            1   sm.egress_spec: 0x000 -> 0x1ff
            1   Block { block: "I.drop", enter: false }
            1 ingress ends
            1   Drop { reason: Ingress }
        "#]],
    );
}

#[test]
fn a_short_packet() {
    check(
        &[0, 4],
        expect![[r#"
            1   Begin { from: PacketId(0), cause: Received, port: Some(2), bytes: 2 }
            1 parser:
            1   state P.start
            1   ParserError { error: "PacketTooShort" }
            1 parser ends
            1 verify_checksum:
            1 verify_checksum ends
            1 ingress:
            1   if hdr.data.a == 9: false
            1   table I.routes ["hdr.data.port = 0x00"]: None I.drop
            1   action I.drop 
            1   Extern { instance: None, name: "mark_to_drop" }
            1   sm.egress_spec: 0x000 -> 0x1ff
            1   Block { block: "I.drop", enter: false }
            1 ingress ends
            1   Drop { reason: Ingress }
        "#]],
    );
}

#[test]
fn a_clone() {
    check(
        &[0, 4, 0, 9, 0, 0, 0, 0],
        expect![[r#"
            1   Begin { from: PacketId(0), cause: Received, port: Some(2), bytes: 8 }
            1 parser:
            1   state P.start
            1   extract hdr.data, 64 bits: op = 0x00, port = 0x04, a = 0x0009, b = 0x00000000
            1   -> accept [] None
            1 parser ends
            1 verify_checksum:
            1 verify_checksum ends
            1 ingress:
            1   if hdr.data.a == 9: true
            1   Extern { instance: None, name: "clone" }
            1   Exit
            1 ingress ends
            1   -> clone 5
            2   Begin { from: PacketId(1), cause: IngressClone { session: 5 }, port: Some(7), bytes: 8 }
            2 parser:
            2   state P.start
            2   extract hdr.data, 64 bits: op = 0x00, port = 0x04, a = 0x0009, b = 0x00000000
            2   -> accept [] None
            2 parser ends
            1   -> unicast 0
            2 egress:
            2 egress ends
            2 compute_checksum:
            2 compute_checksum ends
            2 deparser:
            2   emit hdr.data, a data_t of 64 bits
            2 deparser ends
            2   Transmit { port: 7, frame: [0, 4, 0, 9, 0, 0, 0, 0] }
            1 egress:
            1 egress ends
            1 compute_checksum:
            1 compute_checksum ends
            1 deparser:
            1   emit hdr.data, a data_t of 64 bits
            1 deparser ends
            1   Transmit { port: 0, frame: [0, 4, 0, 9, 0, 0, 0, 0] }
        "#]],
    );
}
