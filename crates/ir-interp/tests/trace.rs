//! The trace shows a packet's way.

mod common;

use base_bits::Bits;
use base_time::Time;
use common::Test;
use expect_test::{Expect, expect};
use ir_interp::{Event, KeyMatch, Options, Switch};

const INGRESS: &str = "
    action to(PortId_t port) { sm.egress_spec = port; hdr.data.a[7:0] = 1; }
    action drop() { mark_to_drop(sm); }
    table routes { key = { hdr.data.port: exact; } actions = { to; drop; } default_action = drop(); }
    apply { routes.apply(); }";

fn switch() -> Switch {
    let params = "inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm";
    let text = format!(
        "#include \"common.p4\"\ncontrol I({params}) {{ {INGRESS} }}\n\
         V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;\n"
    );
    let mut switch = Test::inline(&text).switch(Options::default()).expect("a device");
    let port = |n| Bits::new(9, n);
    switch
        .table_add("routes", &[KeyMatch::Exact(Bits::new(8, 4))], "to", &[port(6)], None)
        .expect("an entry");
    switch.set_trace(true);
    switch
}

fn check(frame: &[u8], expect: Expect) {
    let mut switch = switch();
    switch.process(2, frame, Time::ZERO);
    let lines: Vec<String> = switch.take_trace().iter().map(line).collect();
    expect.assert_eq(&(lines.join("\n") + "\n"));
    switch.set_trace(false);
    switch.process(2, frame, Time::ZERO);
    assert_eq!(switch.take_trace(), [], "the trace is off");
}

fn line(event: &Event) -> String {
    match event {
        Event::Stage { stage } => format!("{stage}:"),
        Event::State { parser, state } => format!("  state {parser}.{state}"),
        Event::Extract { header, bits } => format!("  extract {header}, {bits} bits"),
        Event::ParserError { error } => format!("  error {error}"),
        Event::Table { table, key, entry, action } => format!("  table {table} {key:?}: {entry:?} {action}"),
        Event::Action { action, args } => format!("  action {action} {args:?}"),
        Event::Assign { place, value } => format!("  {place} = {value}"),
        Event::Effect { effect, target } => format!("  -> {effect} {target}"),
    }
}

#[test]
fn a_hit() {
    check(
        &[0, 4, 0, 0, 0, 0, 0, 0],
        expect![[r#"
        parser:
          state P.start
          extract hdr.data, 64 bits
        verify_checksum:
        ingress:
          table I.routes [8w0x4]: Some(0) I.to
          action I.to [("port", "9w0x6")]
          sm.egress_spec = 9w0x6
          hdr.data.a[7:0] = 8w0x1
          -> unicast 6
        egress:
        compute_checksum:
        deparser:
          -> send 6
    "#]],
    );
}

#[test]
fn a_miss() {
    check(
        &[0, 5, 0, 0, 0, 0, 0, 0],
        expect![[r#"
        parser:
          state P.start
          extract hdr.data, 64 bits
        verify_checksum:
        ingress:
          table I.routes [8w0x5]: None I.drop
          action I.drop []
          -> drop ingress
    "#]],
    );
}

#[test]
fn a_short_packet() {
    check(
        &[0, 4],
        expect![[r#"
        parser:
          state P.start
          error PacketTooShort
        verify_checksum:
        ingress:
          table I.routes [8w0x0]: None I.drop
          action I.drop []
          -> drop ingress
    "#]],
    );
}
