//! The packets, registers and counters of a converted program are those of the original one.

use base_bits::Bits;
use base_diag::{Diagnostic, SourceMap, Style, render};
use base_time::{Duration, Rng, Time};
use compiler::{Until, compile};
use control_writes::Match;
use dataplane_api::Output;
use device::{Options, Switch};
use p4_arch::Texts;
use std::sync::Arc;
use target_tna::convert;

const HEADERS: &str = "#include <core.p4>
#include <v1model.p4>
header first_t { bit<8> op; bit<8> at; bit<16> value; }
header next_t { bit<16> more; }
struct headers_t { first_t first; next_t next; next_t added; }
struct meta_t { bit<8> mark; bit<32> sum; }
parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.first); meta.mark = 3; transition select(hdr.first.op) { 7: next; default: accept; } }
    state next { packet.extract(hdr.next); transition accept; }
}
control Verify(inout headers_t hdr, inout meta_t meta) { apply { } }
control Compute(inout headers_t hdr, inout meta_t meta) { apply { } }
control MyDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.first); packet.emit(hdr.added); packet.emit(hdr.next); } }
";
const MAIN: &str = "V1Switch(MyParser(), Verify(), MyIngress(), MyEgress(), Compute(), MyDeparser()) main;\n";

fn whole(ingress: &str, egress: &str) -> String {
    let params = "inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std";
    format!(
        "{HEADERS}control MyIngress({params}) {{\n{ingress}\n}}\ncontrol MyEgress({params}) {{\n{egress}\n}}\n{MAIN}"
    )
}

/// Tables, counters and registers, and an egress that changes and drops packets.
fn all() -> String {
    whole(
        "register<bit<32>>(16) sums;
    counter(16, CounterType.packets_and_bytes) seen;
    action drop() { mark_to_drop(std); }
    action send(bit<9> port) { std.egress_spec = port; }
    action mark(bit<9> port, bit<8> value) { std.egress_spec = port; meta.mark = value; hdr.added.setValid(); hdr.added.more = 16w0xabcd; }
    table route { key = { hdr.first.at : exact; } actions = { send; mark; drop; NoAction; } default_action = send(2); }
    action leave() { std.egress_spec = 4; exit; }
    apply {
        if (hdr.first.isValid()) {
            if (hdr.first.op == 3) { leave(); }
            if (route.apply().hit) { meta.mark = meta.mark + 1; }
            seen.count((bit<32>)hdr.first.at & 15);
            if (hdr.first.op == 7) {
                sums.read(meta.sum, (bit<32>)hdr.first.at & 15);
                meta.sum = meta.sum + (bit<32>)hdr.first.value;
                sums.write((bit<32>)hdr.first.at & 15, meta.sum);
                hdr.next.more = meta.sum[15:0];
            } else if (hdr.first.op == 6) {
                std.egress_spec = std.ingress_port;
            }
        }
    }",
        "apply {
        if (std.egress_port == 2) { hdr.first.value = (bit<16>)meta.mark; }
        if (hdr.first.op == 5) { mark_to_drop(std); }
        if (hdr.first.op == 4) { hdr.first.value = (bit<16>)std.egress_spec; }
    }",
    )
}

/// Copies to a group, with an egress without code.
fn groups() -> String {
    whole(
        "apply { if (hdr.first.op < 4) { std.mcast_grp = (bit<16>)hdr.first.op; } else { std.egress_spec = 3; }
        if (hdr.first.at == 1) { mark_to_drop(std); } }",
        "apply { }",
    )
}

/// Checksums: one is verified without effect, one is computed.
fn sums() -> String {
    let control =
        |name: &str| format!("control {name}(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}");
    let with = |name: &str, call: &str| control(name).replace("apply { }", &format!("apply {{ {call} }}"));
    let verify = "verify_checksum(true, { hdr.first.value }, hdr.next.more, HashAlgorithm.csum16);";
    let update =
        "update_checksum(hdr.next.isValid(), { hdr.first.op, hdr.first.at, hdr.first.value, meta.sum },
        hdr.next.more, HashAlgorithm.csum16);";
    all()
        .replace(&control("Verify"), &with("Verify", verify))
        .replace(&control("Compute"), &with("Compute", update))
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

fn both(text: &str) -> (String, Switch, Switch) {
    let (original, map) = program(text);
    let converted = convert(&original).unwrap_or_else(|found| panic!("{}", rendered(&found, &map)));
    let mut map = SourceMap::new();
    let second = compiler::reparse("converted.p4", &converted.text, &mut map)
        .unwrap_or_else(|found| panic!("{}\n{}", converted.text, rendered(&found, &map)));
    let switch =
        |program: Arc<ir::Program>| ir_interp::switch(program, Options::default()).expect("a device");
    (converted.text, switch(original), switch(second))
}

fn sorted(mut outputs: Vec<Output>) -> Vec<Output> {
    outputs.sort();
    outputs
}

/// Frames of at least the length of all headers, of which most have small bytes.
fn frames(count: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(3);
    let mut frame = |_| {
        let length = rng.between(6, 30);
        (0..length).map(|at| if at < 2 { rng.between(0, 8) } else { rng.between(0, 255) } as u8).collect()
    };
    (0..count).map(&mut frame).collect()
}

#[test]
fn packets_registers_and_counters() {
    for (name, text) in [("all", all()), ("groups", groups()), ("sums", sums())] {
        let (converted, mut first, mut second) = both(&text);
        for switch in [&mut first, &mut second] {
            for group in 1..4 {
                switch.multicast_group_set(group, vec![(4, 1), (5, 3)]);
            }
            for at in 0..6u8 {
                let keys = [Match::Exact(Bits::new(8, at.into()))];
                let port = Bits::new(9, u128::from(at));
                let (action, data) = match at % 3 {
                    0 => ("send", vec![port]),
                    1 => ("mark", vec![port, Bits::new(8, 40)]),
                    _ => ("drop", vec![]),
                };
                let added = switch.table_add("MyIngress.route", &keys, action, &data, None);
                assert!(added.is_ok() || name == "groups", "{added:?}");
            }
        }
        let mut now = Time::ZERO;
        let mut sent = 0;
        for (at, frame) in frames(1500).into_iter().enumerate() {
            now += Duration::from_us(3);
            let port = 1 + at as dataplane_api::Port % 4;
            let outputs = [&mut first, &mut second].map(|s| sorted(s.process(port, &frame, now)));
            sent += outputs[0].len();
            assert_eq!(outputs[0], outputs[1], "{name}: {frame:02x?}\n{converted}");
        }
        assert!(sent > 500, "{name}: {sent}");
        if name != "groups" {
            for cell in 0..16 {
                let sums =
                    [&first, &second].map(|s| s.register_value("MyIngress.sums", cell).expect("a cell"));
                assert_eq!(sums[0], sums[1], "{cell}");
                let seen = [&first, &second].map(|s| s.counter_read("MyIngress.seen", cell).expect("a cell"));
                assert_eq!(seen[0], seen[1], "{cell}");
            }
        }
    }
}

/// A program that reads the result of a verification.
fn whole_with_error() -> String {
    sums().replace("if (hdr.first.isValid()) {", "if (hdr.first.isValid() && std.checksum_error == 0) {")
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
fn what_tna_does_not_have_is_refused_with_its_place() {
    let ingress = |body: &str| refusal(&whole(&format!("apply {{ {body} }}"), "apply { }"));
    let of = |what: &str, label: &str| format!("error[P4R1803]: {what} cannot be converted to TNA: {label}");
    let field = "TNA has no such metadata, or with another meaning";
    assert_eq!(ingress("meta.sum = std.packet_length;"), of("`packet_length`", field));
    assert_eq!(
        ingress("if (hdr.first.op == 1) { meta.sum = (bit<32>)std.deq_qdepth; }"),
        of("`deq_qdepth`", field)
    );
    assert_eq!(ingress("random(meta.sum, 0, 7);"), of("`random`", "a function of v1model"));
    assert_eq!(ingress("mark_to_drop();"), of("`mark_to_drop`", "a function of v1model"));
    let meter = whole("meter(4, MeterType.bytes) m; apply { m.execute_meter(0, meta.mark); }", "apply { }");
    assert_eq!(refusal(&meter), of("`meter`", "an object that TNA does not have in this form"));
    let sum = all().replace(
        "control Compute(inout headers_t hdr, inout meta_t meta) { apply { } }",
        "control Compute(inout headers_t hdr, inout meta_t meta) { apply { hdr.first.value = 0; } }",
    );
    let other = "no `update_checksum` with `HashAlgorithm.csum16`";
    assert_eq!(refusal(&sum), of("this", other));
    let read = whole_with_error();
    assert_eq!(refusal(&read), of("`checksum_error`", field));
    let copies = groups().replace("apply { }\n}\nV1Switch", "apply { hdr.first.value = 1; }\n}\nV1Switch");
    assert_eq!(refusal(&copies), of("egress after multicast", "each copy would pass egress"));
}
