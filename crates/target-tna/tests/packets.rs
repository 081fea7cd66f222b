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
use target_tna::{Options as Way, convert};

#[path = "packets/accesses.rs"]
mod accesses;
#[path = "packets/limits.rs"]
mod limits;

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

/// Copies that pass egress, which counts and changes them.
fn copies(more: &str) -> String {
    whole(
        "apply {
        if (hdr.first.op < 4) { std.mcast_grp = (bit<16>)hdr.first.op; } else { std.egress_spec = 3; }
        if (hdr.first.at == 1) { hdr.added.setValid(); hdr.added.more = 16w0xabcd; }
        if (hdr.first.at == 6) { mark_to_drop(std); }
        meta.sum = (bit<32>)hdr.first.value + 7;
        meta.odd = hdr.first.at == 2;
        meta.few = (bit<3>)hdr.first.op[2:0];
    }",
        &format!(
            "counter(8, CounterType.packets_and_bytes) seen;
    direct_counter(CounterType.packets_and_bytes) hits;
    action leave() {{ hdr.first.value = meta.sum[15:0]; }}
    table ports {{ key = {{ std.egress_port : exact; }} actions = {{ leave; NoAction; }} counters = hits; default_action = NoAction(); }}
    apply {{
        seen.count((bit<32>)(bit<3>)std.egress_port[2:0]);
        ports.apply();
        if (std.egress_port == std.ingress_port) {{ mark_to_drop(std); }}
        if (meta.odd) {{ hdr.first.at = 0x40 + meta.mark; }}
        if (std.instance_type == 5) {{ hdr.first.op = std.egress_rid[4:0] ++ meta.few; }}
        {more}
    }}"
        ),
    )
    .replace("struct meta_t { bit<8> mark;", "struct meta_t { bool odd; bit<8> mark; bit<3> few;")
}

#[test]
fn copies_pass_egress() {
    let update = "update_checksum(hdr.added.isValid(), { hdr.first.op, hdr.first.at, hdr.first.value, meta.sum }, hdr.added.more, HashAlgorithm.csum16);";
    let sums = copies("").replace(
        "control Compute(inout headers_t hdr, inout meta_t meta) { apply { } }",
        &format!("control Compute(inout headers_t hdr, inout meta_t meta) {{ apply {{ {update} }} }}"),
    );
    let length = copies("if (std.packet_length > 70) { hdr.first.at = std.packet_length[7:0]; }");
    let start = copies("hdr.added.setValid();")
        .replace("seen.count(", "hdr.first.value = std.packet_length[15:0]; seen.count(");
    let resizes =
        copies("if (hdr.first.op == 4) { hdr.next.setValid(); hdr.next.more = 5; hdr.added.setInvalid(); }");
    let same_length = copies("").replace("hdr.added.setValid();", "");
    // A header that ends in ingress.
    let unsent = copies("").replace(" packet.emit(hdr.next);", "");
    assert_ne!(unsent, copies(""));
    for (text, counts_bytes) in [
        (copies(""), false),
        (same_length, true),
        (sums, false),
        (length, false),
        (start, false),
        (resizes, false),
        (unsent, false),
    ] {
        let (converted, mut first, mut second) = both(&text);
        for switch in [&mut first, &mut second] {
            for group in 1..4 {
                switch.multicast_group_set(group, vec![(4, 1), (5, 3), (1, 6)]);
            }
            for port in [3, 5] {
                let keys = [Match::Exact(Bits::new(9, port))];
                switch.table_add("MyEgress.ports", &keys, "leave", &[], None).expect("an entry");
            }
        }
        let mut sent = 0;
        for (at, frame) in frames(1000, 60).into_iter().enumerate() {
            let now = Time::ZERO + Duration::from_us(3 * at as u64);
            let port = 1 + at as dataplane_api::Port % 4;
            let outputs = [&mut first, &mut second].map(|s| sorted(s.process(port, &frame, now)));
            sent += outputs[0].len();
            assert_eq!(outputs[0], outputs[1], "port {port}: {frame:02x?}\n{converted}");
        }
        assert!(sent > 1000, "{sent}");
        for (counter, at) in (0..8).map(|cell| ("seen", cell)).chain([("hits", 0), ("hits", 1)]) {
            let read = |s: &Switch| s.counter_read(&format!("MyEgress.{counter}"), at).expect("a cell");
            let counts = [&first, &second].map(read);
            assert_eq!(counts[0].packets, counts[1].packets, "{counter} {at}");
            assert!(!counts_bytes || counts[0].bytes == counts[1].bytes, "{counter} {at}: {counts:?}");
        }
    }
}

/// Checksums: one is verified without effect, one is computed.
fn sums() -> String {
    let control =
        |name: &str| format!("control {name}(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}");
    let with = |name: &str, call: &str| control(name).replace("apply { }", &format!("apply {{ {call} }}"));
    let verify = "verify_checksum(true, { hdr.first.value }, hdr.next.more, HashAlgorithm.csum16);";
    let update =
        "update_checksum(hdr.next.isValid() && hdr.first.at != 3, { hdr.first.op, hdr.first.at, hdr.first.value, meta.sum },
        hdr.next.more, HashAlgorithm.csum16);";
    all()
        .replace(&control("Verify"), &with("Verify", verify))
        .replace(&control("Compute"), &with("Compute", update))
}

/// Hashes of data that are no whole bytes, a direct counter, and lengths.
fn hashes() -> String {
    whole(
        "register<bit<32>>(64) cells;
    direct_counter(CounterType.packets_and_bytes) hits;
    action send(bit<9> port) { std.egress_spec = port; hits.count(); }
    action drop() { mark_to_drop(std); }
    action mark(bit<9> port, bit<8> value) { std.egress_spec = port; hdr.first.op = value; }
    table route { key = { hdr.first.at : exact; } actions = { send; mark; drop; NoAction; } counters = hits; default_action = NoAction(); }
    action part(bit<16> base) { hash(hdr.first.value, HashAlgorithm.crc16, base, { hdr.next.more, hdr.first.at[3:0], hdr.first.value[11:0], 5w3 }, 16w256); }
    table parts { key = { hdr.first.op : exact; } actions = { part; NoAction; } default_action = part(7); }
    action short() { if (std.packet_length < 60) { mark_to_drop(std); } }
    apply {
        short();
        bit<32> index;
        bit<8> low;
        std.egress_spec = 3;
        route.apply();
        hash(index, HashAlgorithm.crc32, 32w0, { hdr.first.at, hdr.first.value[10:0] ++ 1w1, meta.mark[6:0] }, 32w64);
        cells.read(meta.sum, index);
        cells.write(index, meta.sum + 1);
        hash(meta.sum, HashAlgorithm.crc32, 32w5, { hdr.first.op, { hdr.first.value } }, 64w0x100000000);
        hash(low, HashAlgorithm.xor16, meta.sum[7:0], hdr.first, 32w0x20000);
        parts.apply();
        hash(meta.mark, HashAlgorithm.crc32, 8w9, { hdr.first.op }, 8w1);
        hdr.added.setValid();
        hdr.added.more = meta.sum[31:16] ^ meta.sum[15:0] ^ (bit<16>)(low ++ meta.mark);
        if (std.packet_length < 60 || std.packet_length <= 59) { mark_to_drop(std); }
        if (std.packet_length >= 60 && std.packet_length > 40) { hdr.first.at = 0; }
    }",
        "apply { }",
    )
    .replace("select(hdr.first.op) { 7: next;", "select(hdr.first.op, std.packet_length) { (1, _): next; (7, 8 .. 0xffffffff): next;")
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
    both_by(text, Way::default())
}

fn both_by(text: &str, way: Way) -> (String, Switch, Switch) {
    let (original, map) = program(text);
    let converted = convert(&original, way).unwrap_or_else(|found| panic!("{}", rendered(&found, &map)));
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

/// Frames of at least so many bytes, of which most have small bytes.
fn frames(count: usize, least: u64) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(3);
    let mut frame = |_| {
        let length = rng.between(least, least + 24);
        (0..length).map(|at| if at < 2 { rng.between(0, 8) } else { rng.between(0, 255) } as u8).collect()
    };
    (0..count).map(&mut frame).collect()
}

#[test]
fn packets_registers_and_counters() {
    for (name, text) in [("all", all()), ("groups", groups()), ("sums", sums()), ("hashes", hashes())] {
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
            if name == "hashes" {
                let keys = [Match::Exact(Bits::new(8, 6))];
                switch.table_add("MyIngress.route", &keys, "NoAction", &[], None).expect("an entry");
            }
        }
        let mut now = Time::ZERO;
        let mut sent = 0;
        for (at, frame) in frames(1500, if name == "hashes" { 60 } else { 6 }).into_iter().enumerate() {
            now += Duration::from_us(3);
            let port = 1 + at as dataplane_api::Port % 4;
            let outputs = [&mut first, &mut second].map(|s| sorted(s.process(port, &frame, now)));
            sent += outputs[0].len();
            assert_eq!(outputs[0], outputs[1], "{name}: {frame:02x?}\n{converted}");
        }
        assert!(sent > 500, "{name}: {sent}");
        if name == "hashes" {
            for entry in 0..7 {
                let counts =
                    [&first, &second].map(|s| s.counter_read("MyIngress.hits", entry).expect("an entry"));
                assert_eq!(counts[0], counts[1], "{entry}");
                assert!(counts[0].packets > 50, "{entry}: {counts:?}");
            }
            for cell in 0..64 {
                let cells =
                    [&first, &second].map(|s| s.register_value("MyIngress.cells", cell).expect("a cell"));
                assert_eq!(cells[0], cells[1], "{cell}");
            }
        } else if name != "groups" {
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

/// Checksums of headers whose errors decide about the port: the sum of a whole header, and the sum of a header that is not in words of 16 bits.
fn verified() -> String {
    let sums = "verify_checksum(hdr.ip.ihl != 3, { hdr.ip.version, hdr.ip.ihl, hdr.ip.tos, hdr.ip.address }, hdr.ip.sum, HashAlgorithm.csum16);
        verify_checksum(hdr.odd.isValid() && hdr.first.at < 6, { hdr.odd.a, hdr.odd.b }, hdr.odd.sum, HashAlgorithm.csum16);";
    whole("apply { std.egress_spec = 3; if (std.checksum_error == 1) { std.egress_spec = 4; } }", "apply { }")
        .replace(
            "struct headers_t { first_t first;",
            "header ip_t { bit<4> version; bit<4> ihl; bit<8> tos; bit<16> sum; bit<32> address; }
header odd_t { bit<8> a; bit<16> sum; bit<8> b; }
struct headers_t { first_t first; ip_t ip; odd_t odd;",
        )
        .replace("{ 7: next; default: accept; }", "{ 7: next; 5: ip; 6: odd; default: accept; }")
        .replace(
            "    state next {",
            "    state ip { packet.extract(hdr.ip); transition select(hdr.ip.tos) { 1: odd; default: accept; } }
    state odd { packet.extract(hdr.odd); transition accept; }
    state next {",
        )
        .replace("packet.emit(hdr.first);", "packet.emit(hdr.first); packet.emit(hdr.ip); packet.emit(hdr.odd);")
        .replace(
            "control Verify(inout headers_t hdr, inout meta_t meta) { apply { } }",
            &format!("control Verify(inout headers_t hdr, inout meta_t meta) {{ apply {{ {sums} }} }}"),
        )
}

/// The Internet checksum of words (RFC 1071).
fn checksum(words: &[u16]) -> [u8; 2] {
    let sum: u32 = words.iter().map(|word| u32::from(*word)).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!(((sum & 0xffff) + (sum >> 16)) as u16)).to_be_bytes()
}

#[test]
fn the_parser_verifies_checksums() {
    let (converted, mut first, mut second) = both(&verified());
    assert!(converted.contains(".add(hdr.ip)"), "{converted}");
    let mut ports = [0, 0];
    let mut rng = Rng::new(5);
    for (at, mut frame) in frames(2000, 20).into_iter().enumerate() {
        let word = |frame: &[u8], at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        if frame[0] == 5 {
            frame[5] = rng.between(0, 2) as u8;
            match rng.between(0, 5) {
                0 => {}
                // Sums that are zero in ones' complement: 0 is right, and 0xffff is not.
                1 => frame[4..12].copy_from_slice(&[0x12, 1, 0, 0, 0xed, 0xfe, 0, 0]),
                2 => frame[4..12].copy_from_slice(&[0x12, 1, 0xff, 0xff, 0xed, 0xfe, 0, 0]),
                _ => {
                    let sum = checksum(&[word(&frame, 4), word(&frame, 8), word(&frame, 10)]);
                    frame[6..8].copy_from_slice(&sum);
                }
            }
        }
        let odd = if frame[0] == 5 { 12 } else { 4 };
        if rng.chance(3, 4) {
            let sum = checksum(&[u16::from_be_bytes([frame[odd], frame[odd + 3]])]);
            frame[odd + 1..odd + 3].copy_from_slice(&sum);
        }
        let now = Time::ZERO + Duration::from_us(3 * at as u64);
        let outputs = [&mut first, &mut second].map(|s| sorted(s.process(1, &frame, now)));
        assert_eq!(outputs[0], outputs[1], "{frame:02x?}\n{converted}");
        let headers = frame[0] == 5 || frame[0] == 6;
        outputs[0].iter().filter(|_| headers).for_each(|out| ports[usize::from(out.port == 4)] += 1);
    }
    assert!(ports[0] > 100 && ports[1] > 100, "{ports:?}");
}

#[test]
fn verifications_that_no_parser_can_do_are_refused() {
    let of = |label: &str| format!("error[P4R1803]: this verification cannot be converted to TNA: {label}");
    let call = "verify_checksum(hdr.odd.isValid() && hdr.first.at < 6, { hdr.odd.a, hdr.odd.b }, hdr.odd.sum, HashAlgorithm.csum16);";
    let other = |new: &str| {
        let text = verified();
        assert!(text.contains(call));
        refusal(&text.replace(call, new))
    };
    let data = of("the data are not fields of the checksum's header");
    assert_eq!(other(&call.replace("hdr.odd.b }", "hdr.first.op }")), data);
    assert_eq!(
        other(&call.replace("csum16", "crc16")),
        of("no `verify_checksum` with `HashAlgorithm.csum16`")
    );
    assert_eq!(other(&call.replace(", hdr.odd.b }", " }")), of("the data have no whole number of 16 bits"));
    let changed = verified().replace("packet.extract(hdr.odd);", "packet.extract(hdr.odd); hdr.odd.a = 1;");
    assert_eq!(refusal(&changed), of("a parser changes the header"));
    let again = verified().replace(
        "packet.extract(hdr.odd); transition accept;",
        "packet.extract(hdr.odd); transition select(hdr.odd.a) { 77: odd; default: accept; }",
    );
    assert_eq!(refusal(&again), of("a state extracts the header under a condition, or again"));
    let nothing = verified().replace("packet.extract(hdr.odd);", "");
    assert_eq!(refusal(&nothing), of("no parser extracts the header"));
}

/// A program that reads the result of a verification.
fn whole_with_error() -> String {
    sums().replace("if (hdr.first.isValid()) {", "if (hdr.first.isValid() && std.checksum_error == 0) {")
}

/// A table with a profile and one with a selector.
fn selectors() -> String {
    whole(
        "action to(bit<9> port) { std.egress_spec = port; }
    action mark(bit<16> value) { hdr.first.value = value; }
    action_profile(32w16) shared;
    table by_profile { key = { hdr.first.op : exact; } actions = { mark; NoAction; } default_action = NoAction(); implementation = shared; }
    action_selector(HashAlgorithm.crc16, 32w64, 32w16) paths;
    table by_selector { key = { hdr.first.at : exact; hdr.first.value : selector; hdr.next.more : selector; } actions = { to; NoAction; }
        default_action = NoAction(); implementation = paths; size = 8; }
    apply { std.egress_spec = 7; by_selector.apply(); by_profile.apply(); }",
        "apply { }",
    )
}

#[test]
fn groups_of_selectors_choose_the_same_members() {
    let (converted, mut first, mut second) = both(&selectors());
    assert!(
        converted.contains("ActionSelector(paths_members, paths_hash, SelectorMode_t.FAIR, "),
        "{converted}"
    );
    for switch in [&mut first, &mut second] {
        for value in 0..6u128 {
            let keys = [Match::Exact(Bits::new(8, value))];
            let marked =
                switch.member_add("MyIngress.by_profile", "mark", &[Bits::new(16, value)]).expect("a member");
            switch.table_add_member("MyIngress.by_profile", &keys, marked, None).expect("an entry");
            let members = [1, 2, 3].map(|port| {
                switch.member_add("MyIngress.by_selector", "to", &[Bits::new(9, port)]).expect("a member")
            });
            let group = switch.group_add("MyIngress.by_selector", &members).expect("a group");
            switch.table_add_group("MyIngress.by_selector", &keys, group, None).expect("an entry");
        }
    }
    let mut sent = [0; 8];
    for (at, frame) in frames(1000, 6).into_iter().enumerate() {
        let now = Time::ZERO + Duration::from_us(3 * at as u64);
        let outputs = [&mut first, &mut second].map(|s| sorted(s.process(2, &frame, now)));
        assert_eq!(outputs[0], outputs[1], "{frame:02x?}\n{converted}");
        outputs[0].iter().for_each(|out| sent[out.port as usize] += 1);
    }
    assert!([1, 2, 3, 7].iter().all(|port| sent[*port] > 50), "{sent:?}");
    let other = selectors().replace("HashAlgorithm.crc16", "HashAlgorithm.csum16");
    let label = "its hash is none of `identity`, `crc16`, `crc32`, `xor16`";
    assert_eq!(refusal(&other), format!("error[P4R1803]: this selector cannot be converted to TNA: {label}"));
}

/// Hashes modulo numbers that are no powers of two; the packet has the results.
fn remainders(algorithm: &str, max: &str) -> String {
    whole(
        &format!(
            "apply {{
        std.egress_spec = 3;
        hash(meta.sum, HashAlgorithm.{algorithm}, 32w7, {{ hdr.first.value, hdr.first.at, hdr.next }}, {max});
        hdr.added.setValid();
        hdr.added.more = meta.sum[15:0];
        hdr.first.value = meta.sum[31:16];
    }}"
        ),
        "apply { }",
    )
}

#[test]
fn hashes_have_remainders_by_any_constant() {
    let cases = [
        ("crc16", "32w1000"),
        ("crc16", "32w3"),
        ("crc16", "32w16383"),
        ("crc16", "32w16385"),
        ("crc16", "32w40000"),
        ("crc16", "32w100000"),
        ("xor16", "32w77"),
        ("crc32", "32w6"),
        ("crc32", "32w64"),
        ("crc32", "32w65"),
        ("crc32", "32w100"),
        ("crc32", "32w1073741823"),
        ("crc32", "32w0x55555555"),
        ("crc32", "32w0xfffffffe"),
    ];
    for (algorithm, max) in cases {
        let (converted, mut first, mut second) = both(&remainders(algorithm, max));
        for (at, frame) in frames(400, 20).into_iter().enumerate() {
            let now = Time::ZERO + Duration::from_us(3 * at as u64);
            let outputs = [&mut first, &mut second].map(|s| sorted(s.process(2, &frame, now)));
            assert_eq!(outputs[0], outputs[1], "{algorithm} {max}: {frame:02x?}\n{converted}");
            assert_eq!(outputs[0].len(), 1);
        }
    }
}

/// Times in a register, in a key and in a comparison, with the metadata that are 0.
fn times() -> String {
    whole(
        "register<bit<48>>(8) last;
    action late() { hdr.first.op = 77; }
    table window { key = { std.ingress_global_timestamp[9:8] : exact; } actions = { late; NoAction; } default_action = NoAction();
        const entries = { 2 : late(); } }
    apply {
        std.egress_spec = 3;
        bit<48> before;
        last.read(before, (bit<32>)hdr.first.at[2:0]);
        if (std.ingress_global_timestamp - before > 20) { std.egress_spec = 4; }
        last.write((bit<32>)hdr.first.at[2:0], std.ingress_global_timestamp);
        window.apply();
        if (std.parser_error != error.NoError || std.instance_type != 0 || std.egress_rid != 0) { std.egress_spec = 5; }
    }",
        "apply { hdr.first.value = std.ingress_global_timestamp[15:0]; }",
    )
}

/// The new program behaves after k steps of 1,024 ns as the original after k microseconds.
#[test]
fn times_count_steps_of_1024_nanoseconds() {
    let (converted, mut first, mut second) = both_by(&times(), Way { ticks: true });
    let (mut steps, mut sent) = (0, [0; 6]);
    let mut rng = Rng::new(9);
    for frame in frames(1000, 6) {
        steps += rng.between(0, 9);
        let outputs = [
            sorted(first.process(2, &frame, Time::ZERO + Duration::from_us(steps))),
            sorted(second.process(
                2,
                &frame,
                Time::ZERO + Duration::from_ns(1024 * steps + rng.between(0, 1023)),
            )),
        ];
        assert_eq!(outputs[0], outputs[1], "{steps}: {frame:02x?}\n{converted}");
        outputs[0].iter().for_each(|out| sent[out.port as usize] += 1);
    }
    assert!(sent[3] > 50 && sent[4] > 50, "{sent:?}");
    for cell in 0..8 {
        let cells = [&first, &second].map(|s| s.register_value("MyIngress.last", cell).expect("a cell"));
        assert_eq!(cells[0], cells[1], "{cell}");
    }
}

/// Digests of two types, of which a packet sends one: also packets that are dropped, and with data that change later.
fn digests() -> String {
    whole(
        "action seen(bit<16> extra) { digest<seen_t>(1, { hdr.first.at, hdr.first.value + extra, std.ingress_port }); }
    table watch { key = { hdr.first.at : exact; } actions = { seen; NoAction; } default_action = NoAction();
        const entries = { 1 : seen(5); 2 : seen(0x1234); } }
    heard_t heard;
    apply {
        std.egress_spec = 3;
        if (hdr.first.op == 4) {
            heard = { hdr.first.value, true };
            digest(1, heard);
            heard.value = 1;
            hdr.first.value = 2;
        } else if (hdr.first.op == 5) {
            digest<seen_t>(1, { hdr.first.at, 7, 1 });
        } else {
            watch.apply();
        }
        hdr.first.at = 9;
        if (hdr.first.op < 2) { mark_to_drop(std); }
    }",
        "apply { if (hdr.first.op == 6) { mark_to_drop(std); } }",
    )
    .replace(
        "struct meta_t {",
        "struct seen_t { bit<8> at; bit<16> value; bit<9> port; }
struct heard_t { bit<16> value; bool right; }
struct meta_t {",
    )
}

#[test]
fn digests_are_sent() {
    let (converted, mut first, mut second) = both(&digests());
    let mut sent = [0, 0];
    for (at, frame) in frames(1000, 6).into_iter().enumerate() {
        let now = Time::ZERO + Duration::from_us(3 * at as u64);
        let outputs = [&mut first, &mut second].map(|s| sorted(s.process(2, &frame, now)));
        assert_eq!(outputs[0], outputs[1], "{frame:02x?}\n{converted}");
        let [original, new] = [&mut first, &mut second].map(|s| s.take_digests());
        assert_eq!(original, new, "{frame:02x?}\n{converted}");
        original.iter().for_each(|digest| sent[usize::from(digest.name == "heard_t")] += 1);
    }
    assert!(sent[0] > 100 && sent[1] > 50, "{sent:?}");
}

#[test]
fn digests_that_a_tofino_does_not_have_are_refused() {
    let of = |label: &str| format!("error[P4R1803]: this digest cannot be converted to TNA: {label}");
    let several = digests().replace("heard.value = 1;", "digest(1, heard);");
    assert_eq!(refusal(&several), of("a packet may send several, and a Tofino sends one"));
    let table = digests().replace("hdr.first.at = 9;", "watch.apply();");
    assert_eq!(refusal(&table), of("a packet may send several, and a Tofino sends one"));
    let long = digests().replace("bit<16> value; bool right;", "bit<384> value; bool right;");
    let long = long.replace("heard = { hdr.first.value, true };", "heard.right = true;");
    let long = long.replace("heard.value = 1;", "heard.value = 384w1;");
    assert_eq!(refusal(&long), of("a digest of a Tofino has at most 48 bytes"));
    let header = digests().replace("digest(1, heard);", "digest(1, hdr.first);");
    assert_eq!(refusal(&header), of("its data are no struct of numbers"));
}

/// The first diagnostic: title, and the text under the place.
fn refusal(text: &str) -> String {
    let (program, map) = program(text);
    let all = rendered(&convert(&program, Way::default()).expect_err("it is refused"), &map);
    let title = all.lines().next().unwrap_or_default();
    let label = all.lines().find(|line| line.contains('^')).unwrap_or_default();
    format!("{title}: {}", label.split('^').next_back().unwrap_or_default().trim())
}

#[test]
fn what_tna_does_not_have_is_refused_with_its_place() {
    let ingress = |body: &str| refusal(&whole(&format!("apply {{ {body} }}"), "apply { }"));
    let of = |what: &str, label: &str| format!("error[P4R1803]: {what} cannot be converted to TNA: {label}");
    let field = "TNA has no such metadata, or with another meaning";
    let length = "the ingress of a Tofino does not have the length of a packet";
    for use_of in ["meta.sum = std.packet_length;", "if (std.packet_length < 61) { meta.mark = 1; }"] {
        assert_eq!(ingress(use_of), of("`packet_length`", length));
    }
    let selected = groups()
        .replace("select(hdr.first.op) { 7: next;", "select(std.packet_length) { 61 .. 0xffffffff: next;");
    assert_eq!(refusal(&selected), of("`packet_length`", length));
    let clock = "a Tofino cannot divide its nanoseconds: `--ticks` takes steps of 1,024 ns";
    assert_eq!(
        ingress("meta.sum = (bit<32>)std.ingress_global_timestamp;"),
        of("`ingress_global_timestamp`", clock)
    );
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
    let (before, update) =
        sums().split_once("update_checksum").map(|(a, b)| (a.to_string(), b.to_string())).expect("one");
    let algorithm = format!("{before}update_checksum{}", update.replacen("csum16", "crc16", 1));
    // The statement has several lines.
    assert_eq!(refusal(&algorithm), of("this", ""));
    let read = whole_with_error();
    assert_eq!(refusal(&read), of("this verification", "the data are not fields of the checksum's header"));
    let resized = copies("hdr.added.setInvalid(); if (std.packet_length > 99) { hdr.first.op = 99; }");
    assert_eq!(refusal(&resized), of("`packet_length`", length));
    let emits = "packet.emit(hdr.first); packet.emit(hdr.added); packet.emit(hdr.next);";
    let deparser = |new: &str| {
        let text = copies("");
        assert!(text.contains(emits));
        refusal(&text.replace(emits, new))
    };
    let condition =
        "packet.emit(hdr.first); if (hdr.first.isValid()) { packet.emit(hdr.added); } packet.emit(hdr.next);";
    let alone = "the deparser has to emit headers without conditions, and nothing else";
    assert_eq!(deparser(condition), of("egress after multicast", alone));
    assert_eq!(
        deparser(&format!("{emits} packet.emit(hdr.first);")),
        of("egress after multicast", "the deparser has to emit each header once")
    );
    let unsent = "the deparser does not emit this header";
    for use_of in [
        "hdr.next.setValid();",
        "if (hdr.next.isValid()) { hdr.first.op = 1; }",
        "meta.sum = (bit<32>)hdr.next.more;",
    ] {
        let text = copies(use_of).replace(" packet.emit(hdr.next);", "");
        assert_eq!(refusal(&text), of("egress after multicast", unsent), "{use_of}");
    }
    let update = "update_checksum(hdr.next.isValid(), { hdr.first.op, hdr.first.at }, hdr.added.more, HashAlgorithm.csum16);";
    let sum = copies("").replace(" packet.emit(hdr.next);", "").replace(
        "control Compute(inout headers_t hdr, inout meta_t meta) { apply { } }",
        &format!("control Compute(inout headers_t hdr, inout meta_t meta) {{ apply {{ {update} }} }}"),
    );
    assert_eq!(refusal(&sum), of("egress after multicast", unsent));
    let key = copies("").replace("key = { std.egress_port : exact; }", "key = { hdr.next.more : exact; }");
    assert_eq!(refusal(&key.replace(" packet.emit(hdr.next);", "")), of("egress after multicast", unsent));
}

#[test]
fn hashes_and_direct_counters_that_a_tofino_cannot_have_are_refused() {
    let of = |what: &str, label: &str| format!("error[P4R1803]: {what} cannot be converted to TNA: {label}");
    let hash = |algorithm: &str, max: &str| {
        let call = format!("hash(meta.sum, HashAlgorithm.{algorithm}, 32w0, {{ hdr.first.op }}, {max});");
        refusal(&whole(&format!("apply {{ {call} }}"), "apply { }"))
    };
    let divide = of("this `hash`", "a Tofino cannot divide: `max` has to be a constant");
    let in_action = whole(
        "action of() { hash(meta.sum, HashAlgorithm.crc32, 32w0, { hdr.first.op }, 32w100); }
    table all { actions = { of; } default_action = of(); }
    apply { all.apply(); }",
        "apply { }",
    );
    let power = "a Tofino cannot divide: in an action, `max` has to be a power of two";
    assert_eq!(refusal(&in_action), of("this `hash`", power));
    assert_eq!(hash("crc32", "(bit<32>)hdr.first.value"), divide);
    let algorithms = of("this `hash`", "TNA has `crc16`, `crc32` and `xor16`, without parameters set later");
    assert_eq!(hash("crc32_custom", "32w16"), algorithms);
    assert_eq!(hash("identity", "32w16"), algorithms);
    let odd = whole(
        "apply { hash(meta.sum, HashAlgorithm.crc32, 32w0, { hdr.next.more[10:0], 5w3 }, 32w16); }",
        "apply { }",
    );
    let bytes = "fields of one header are no whole bytes: without the header, other bits would be hashed";
    assert_eq!(refusal(&odd), of("this `hash`", bytes));
    let elsewhere = groups().replace(
        "control MyIngress(",
        "bit<32> of(in bit<8> op) { bit<32> sum; hash(sum, HashAlgorithm.crc32, 32w0, { op }, 32w16); return sum; }
control MyIngress(",
    );
    let elsewhere =
        elsewhere.replace("if (hdr.first.at == 1)", "meta.sum = of(hdr.first.op); if (hdr.first.at == 1)");
    assert_eq!(refusal(&elsewhere), of("this `hash`", "only controls can compute it"));

    let counted = |actions: &str, more: &str| {
        refusal(&whole(
            &format!(
                "direct_counter(CounterType.packets) hits; action send() {{ std.egress_spec = 1; }}
    table route {{ key = {{ hdr.first.op : exact; }} actions = {{ {actions} }} counters = hits; default_action = send(); }}
    {more}"
            ),
            "apply { }",
        ))
    };
    let all = groups().replace(
        "control MyIngress(",
        "action all(inout standard_metadata_t std) { std.egress_spec = 1; }\ncontrol MyIngress(",
    );
    let all = all.replace(
        "apply { if (hdr.first.op < 4)",
        "direct_counter(CounterType.packets) hits;
    table route { key = { hdr.first.op : exact; } actions = { all(std); } counters = hits; default_action = all(std); }
    apply { route.apply(); if (hdr.first.op < 4)",
    );
    assert_eq!(
        refusal(&all),
        of("the direct counter of `route` with action `all`", "controls share it, and it cannot count")
    );
    let shared =
        of("the direct counter of `route` with action `send`", "other tables or statements run it, too");
    assert_eq!(counted("send;", "apply { route.apply(); send(); }"), shared);
    let second =
        "table other { key = { hdr.first.at : exact; } actions = { send; } default_action = send(); }
    apply { route.apply(); other.apply(); }";
    assert_eq!(counted("send;", second), shared);
}
