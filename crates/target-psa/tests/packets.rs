//! Programs for PNA run as programs for PSA: packets in, packets out.

use base_diag::{Diagnostic, SourceMap, Style, render};
use base_time::Time;
use compiler::{Until, compile};
use device::{Options, Switch};
use p4_arch::Texts;
use std::sync::Arc;
use target_psa::convert;

const HEADERS: &str = "#include <core.p4>
#include <pna.p4>
header first_t { bit<8> op; bit<8> at; }
struct headers_t { first_t first; }
struct meta_t { bit<8> mark; }
parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start { packet.extract(hdr.first); meta.mark = (bit<8>)(bit<3>)istd.pass; transition accept; }
}
control MyDeparser(packet_out packet, in headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) {
    apply { packet.emit(hdr.first); }
}
";
const MAIN: &str = "PNA_NIC(MyParser(), MyPre(), MyControl(), MyDeparser()) main;\n";

fn whole(pre: &str, declared: &str, control: &str) -> String {
    format!(
        "{HEADERS}control MyPre(in headers_t hdr, inout meta_t meta, in pna_pre_input_metadata_t istd,
    inout pna_pre_output_metadata_t ostd) {{ {pre} }}
{declared}
control MyControl(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd) {{ {control} }}
{MAIN}"
    )
}

fn rendered(found: &[Diagnostic], map: &SourceMap) -> String {
    found.iter().map(|one| render(one, map, Style::Plain)).collect()
}

fn program(text: &str) -> (Arc<ir::Program>, SourceMap) {
    let mut map = SourceMap::new();
    let options = p4_syntax::Options::default();
    let compiled = compile("main.p4", &Texts(&[("main.p4", text)]), &options, Until::Elaborated, &mut map);
    match compiled.program {
        Some(program) => (program, map),
        None => panic!("{}", rendered(&compiled.diagnostics, &map)),
    }
}

fn switch(text: &str) -> Switch {
    let (original, map) = program(text);
    let converted = convert(&original).unwrap_or_else(|found| panic!("{}", rendered(&found, &map)));
    let mut map = SourceMap::new();
    let second = compiler::reparse("converted.p4", &converted, &mut map)
        .unwrap_or_else(|found| panic!("{converted}\n{}", rendered(&found, &map)));
    ir_interp::switch(second, Options::default()).expect("a device")
}

/// Packets out for a packet in at port 3, as `port: bytes`.
fn outputs(switch: &mut Switch, frame: &[u8]) -> Vec<String> {
    let outputs = switch.process(3, frame, Time::ZERO);
    outputs.iter().map(|output| format!("{}: {:02x?}", output.port, output.frame)).collect()
}

#[test]
fn destinations_tables_and_registers() {
    let control = "
    Register<bit<8>, bit<8>>(4) seen;
    Counter<bit<32>, bit<8>>(4, PNA_CounterType_t.PACKETS) counted;
    Hash<bit<16>>(PNA_HashAlgorithm_t.TARGET_DEFAULT) hash;
    action send(PortId_t port) { send_to_port(port); }
    action stop() { drop_packet(); }
    table route { key = { hdr.first.at: exact; } actions = { send; stop; } default_action = stop();
        const entries = { 1: send((PortId_t)7); 2: send((PortId_t)8); } }
    apply {
        send_to_port((PortId_t)5);
        if (hdr.first.op == 1) { route.apply(); }
        if (hdr.first.op == 2) { drop_packet(); send_to_port((PortId_t)4); }
        if (hdr.first.op == 3) { drop_packet(); exit; }
        hdr.first.op = seen.read(0) + 1;
        seen.write(0, hdr.first.op);
        counted.count(hdr.first.at);
    }";
    let mut switch = switch(&whole("apply { }", "", control));
    let mut out = |frame: &[u8]| outputs(&mut switch, frame);
    assert_eq!(out(&[0, 9, 0xaa]), ["5: [01, 09, aa]"]);
    assert_eq!(out(&[1, 2, 0xaa]), ["8: [02, 02, aa]"]);
    assert!(out(&[1, 3, 0xaa]).is_empty());
    assert_eq!(out(&[2, 0]), ["4: [04, 00]"]);
    assert!(out(&[3, 0]).is_empty());
    assert_eq!(out(&[1, 1]), ["7: [05, 01]"]);
}

#[test]
fn a_packet_without_a_destination_is_dropped() {
    assert!(outputs(&mut switch(&whole("apply { }", "", "apply { }")), &[0, 0]).is_empty());
}

#[test]
fn recirculated_packets_keep_their_port_and_count_passes() {
    let control = "apply {
        hdr.first.at = hdr.first.at + 1;
        if (meta.mark < 3) { recirculate(); } else if (istd.input_port == (PortId_t)3) { send_to_port((PortId_t)6); }
        hdr.first.op = (bit<8>)(bit<3>)istd.pass;
    }";
    let mut switch = switch(&whole("apply { }", "", control));
    assert_eq!(outputs(&mut switch, &[9, 0, 0xbb]), ["6: [03, 04, bb]"]);
}

#[test]
fn a_parser_selects_by_direction() {
    let text = whole("apply { }", "", "apply { if (meta.mark == 4) { send_to_port((PortId_t)4); } else { send_to_port((PortId_t)5); } }").replace(
        "meta.mark = (bit<8>)(bit<3>)istd.pass; transition accept; }",
        "meta.mark = 4; transition select(SelectByDirection<bit<8>>(istd.direction, hdr.first.op, hdr.first.at)) { 1: one; default: accept; } }
    state one { meta.mark = 5; transition accept; }",
    );
    let mut switch = switch(&text);
    assert_eq!(outputs(&mut switch, &[1, 2]), ["5: [01, 02]"]);
    assert_eq!(outputs(&mut switch, &[2, 1]), ["4: [02, 01]"]);
}

#[test]
fn functions_sub_controls_and_the_pre_control() {
    let declared = "control Inner(inout headers_t hdr) { apply {
        if (hdr.first.at == 1) { send_to_port((PortId_t)1); } else { send_to_port((PortId_t)2); } } }";
    let control = "Inner() inner; apply {
        inner.apply(hdr);
        hdr.first.op = SelectByDirection<bit<8>>(istd.direction, 8w0x11, 8w0x22) + meta.mark; }";
    let mut switch = switch(&whole("apply { meta.mark = hdr.first.op; }", declared, control));
    assert_eq!(outputs(&mut switch, &[3, 1]), ["1: [14, 01]"]);
    assert_eq!(outputs(&mut switch, &[4, 2]), ["2: [15, 02]"]);
}

/// The first diagnostic: title, and the text under the place.
fn refusal(text: &str) -> String {
    let (program, map) = program(text);
    let all = rendered(&convert(&program).expect_err("it is refused"), &map);
    let title = all.lines().next().unwrap_or_default();
    let label = all.lines().find(|line| line.contains('^')).unwrap_or_default();
    format!("{title}: {}", label.split('^').next_back().unwrap_or_default().trim())
}

#[test]
fn refusals_give_the_reason() {
    let of = |what: &str, why: &str| format!("error[P4R0401]: {what} cannot be run: {why}");
    let mirror = "apply { mirror_packet((MirrorSlotId_t)0, (MirrorSessionId_t)1); }";
    assert_eq!(
        refusal(&whole("apply { }", "", mirror)),
        of("`mirror_packet`", "PNA's architecture file does not say which bytes a mirror has")
    );
    let flow = "apply { FlowId_t id = allocate_flow_id(); hdr.first.op = (bit<8>)(FlowIdUint_t)id; }";
    assert_eq!(
        refusal(&whole("apply { }", "", flow)),
        of("`allocate_flow_id`", "it serves `add_entry`, which cannot be run")
    );
    let hash = "Hash<bit<16>>(PNA_HashAlgorithm_t.TOEPLITZ) h; apply { hdr.first.op = (bit<8>)h.get_hash({ hdr.first.at }); }";
    let toeplitz = whole("apply { }", "", hash).replace("<pna.p4>", "<dpdk/pna.p4>");
    assert_eq!(refusal(&toeplitz), of("`TOEPLITZ`", "PNA's architecture file does not give its key"));
    let decrypts = whole("apply { ostd.decrypt = true; }", "", "apply { }");
    assert_eq!(refusal(&decrypts), of("decryption", "PNA's architecture file does not describe the engine"));
    assert_eq!(
        refusal(&whole("apply { drop_packet(); }", "", "apply { }")),
        of("`drop_packet`", "only the main control gives packets a destination")
    );
    let other = whole("apply { meta.mark = 1; }", "struct other_t { bit<8> mark; }", "apply { }").replace(
        "control MyPre(in headers_t hdr, inout meta_t meta",
        "struct pre_t { bit<8> mark; }\ncontrol MyPre(in headers_t hdr, inout pre_t meta",
    );
    assert!(
        refusal(&other).starts_with("error[P4R0401]: this pre control cannot be run"),
        "{}",
        refusal(&other)
    );
}
