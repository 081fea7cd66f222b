//! Tables that handlers in C look up: the same as packets find, on one device and in a rack.

use crate::groups::{load, variant};
use crate::support::text;
use base_bits::Bits;
use base_diag::SourceMap;
use base_time::{Rng, Time};
use control_writes::Match;
use device::{Options, Switch};
use handlers::Isolation;
use ir_prove::{Effort, prove};
use p4rack::{handlers as offers, proof, rack};
use std::path::PathBuf;
use std::sync::Arc;

/// Packets and the handler look up one table; KIND_A to KIND_C are match kinds.
const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header probe_t {
    bit<32> a; bit<12> b; bit<4> unused; int<8> c;
    bit<8> p4_hit; bit<8> p4_action; bit<72> p4_data; bit<8> c_hit; bit<8> c_action; bit<72> c_data;
}
struct headers_t { probe_t probe; }
struct metadata_t { }
struct request_t { bit<32> a; bit<12> b; int<8> c; }
struct response_t { bit<8> hit; bit<8> ran; bit<72> data; }
@remote(handler = "look", group = "nat", key = { q.a }, keeps = "0s")
extern void look(in request_t q, out response_t r);
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.probe); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    request_t q;
    response_t r;
    action wide(bit<72> data) { hdr.probe.p4_action = 1; hdr.probe.p4_data = data; }
    action two(int<5> low, bool flag, bit<16> high) {
        hdr.probe.p4_action = 2;
        hdr.probe.p4_data = 48w0 ++ high ++ (bit<8>)(bit<5>)low;
        if (flag) { hdr.probe.p4_data[71:71] = 1; }
    }
    action none() { hdr.probe.p4_action = 3; }
    @mirror("look") table t {
        key = { hdr.probe.a : KIND_A; hdr.probe.b : KIND_B @name("other"); hdr.probe.c : KIND_C; }
        actions = { none; two; wide; }
        default_action = two(-3, true, 7);
        size = 64;
    }
    apply {
        APPLY
        q.a = hdr.probe.a; q.b = hdr.probe.b; q.c = hdr.probe.c;
        look(q, r);
        hdr.probe.c_hit = r.hit; hdr.probe.c_action = r.ran; hdr.probe.c_data = r.data;
        std.egress_spec = 2;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.probe); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

const APPLY: &str = "if (t.apply().hit) { hdr.probe.p4_hit = 1; }";

const SOURCE: &str = r#"#include "look.h"
int look(p4r_ctx *ctx, const request_t *q, response_t *r) {
    t_key key;
    t_entry entry;
    uint8_t data[9] = { 0 };
    t_key_set_hdr_probe_a(&key, request_t_a(q));
    t_key_set_other(&key, request_t_b(q));
    t_key_set_hdr_probe_c(&key, request_t_c(q));
    response_t_set_hit(r, t_look_up(ctx, &key, &entry));
    switch (t_entry_action(&entry)) {
    case t_entry_action_wide:
        response_t_set_ran(r, 1);
        response_t_set_data(r, t_entry_wide_data(&entry));
        break;
    case t_entry_action_two:
        response_t_set_ran(r, 2);
        data[0] = t_entry_two_flag(&entry) ? 0x80 : 0;
        data[6] = (uint8_t)(t_entry_two_high(&entry) >> 8), data[7] = (uint8_t)t_entry_two_high(&entry);
        data[8] = (uint8_t)t_entry_two_low(&entry) & 0x1f;
        response_t_set_data(r, data);
        break;
    case t_entry_action_none:
        response_t_set_ran(r, 3);
        break;
    }
    return P4R_OK;
}
"#;

/// Writes program and handler to a directory of their own; gives the program's path.
fn written(name: &str, program: &str, source: &str) -> PathBuf {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("mirrors-{name}"));
    std::fs::create_dir_all(&place).expect("a directory");
    std::fs::write(place.join("look.p4"), program).expect("a file");
    std::fs::write(place.join("look.c"), source).expect("a file");
    place.join("look.p4")
}

fn with_kinds(kinds: [&str; 3], apply: &str) -> String {
    let names = ["KIND_A", "KIND_B", "KIND_C"];
    let program =
        names.into_iter().zip(kinds).fold(PROGRAM.to_string(), |text, (name, kind)| text.replace(name, kind));
    program.replace("APPLY", apply)
}

fn device(name: &str, program: &str, isolation: Isolation, native: bool) -> Switch {
    device_with(name, program, SOURCE, isolation, native)
}

fn device_with(name: &str, program: &str, source: &str, isolation: Isolation, native: bool) -> Switch {
    let [made] = devices_with(name, program, source, isolation, [native]);
    made
}

/// Devices with the same handler, which is compiled once: with machine code, or in the interpreter.
fn devices_with<const N: usize>(
    name: &str,
    program: &str,
    source: &str,
    isolation: Isolation,
    native: [bool; N],
) -> [Switch; N] {
    let file = written(name, program, source);
    let main = file.display().to_string();
    let mut map = SourceMap::new();
    let program = rack::compile_program(&main, &Default::default(), &mut map, &mut vec![]);
    let program = program.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let options =
        offers::Options { files: vec![file.with_extension("c")], isolation, seed: 5, ..Default::default() };
    let registry = offers::offers(&program, &main, &options, &mut map)
        .unwrap_or_else(|found| panic!("{}", text(&found, &map)))
        .registry;
    native.map(|native| {
        let options = Options { registry: registry.clone(), ..Options::default() };
        let made = match native {
            true => target_native::Engine::compile(&program, options).map(target_native::Engine::into_switch),
            false => ir_interp::switch(Arc::clone(&program), options),
        };
        made.unwrap_or_else(|found| panic!("{}", text(&found, &map)))
    })
}

fn probe(rng: &mut Rng) -> Vec<u8> {
    let (a, b, c) = (0x0a00_0000 + rng.below(8) as u32, rng.below(4) as u16, rng.below(4) as u8 ^ 0xfe);
    let mut frame = a.to_be_bytes().to_vec();
    frame.extend((b << 4).to_be_bytes());
    frame.push(c);
    frame.resize(7 + 2 * 11, 0);
    frame
}

/// A match of a small value: many entries fit a packet.
fn matched(kind: &str, width: u32, base: u128, rng: &mut Rng) -> Match {
    let bits = |value: u128| Bits::new(width, value);
    let value = base ^ rng.below(8) as u128;
    match kind {
        "exact" => Match::Exact(bits(value)),
        "lpm" => {
            let free = rng.below(4) as u32;
            Match::Lpm { value: bits(value >> free << free), prefix_len: width - free }
        }
        "ternary" => {
            let mask = bits(!u128::from(rng.below(8)));
            Match::Ternary { value: bits(value & mask.low_u128()), mask }
        }
        "range" => Match::Range { lo: bits(value), hi: bits(value.max(base ^ 5)) },
        _ => match rng.next_bool() {
            true => Match::Exact(bits(value)),
            false => Match::Any,
        },
    }
}

#[test]
fn a_handler_finds_what_packets_find() {
    let kinds = [
        ["exact", "exact", "exact"],
        ["lpm", "exact", "exact"],
        ["ternary", "exact", "exact"],
        ["range", "exact", "ternary"],
        ["optional", "ternary", "exact"],
        ["exact", "lpm", "exact"],
        ["ternary", "range", "optional"],
    ];
    for (number, kinds) in kinds.into_iter().enumerate() {
        let program = with_kinds(kinds, APPLY);
        let name = format!("kinds-{number}");
        let mut devices = Vec::from(devices_with(&name, &program, SOURCE, Isolation::Inline, [false, true]));
        if number % 3 == 0 {
            devices.push(device(&name, &program, Isolation::Process, true));
        }
        let mut rng = Rng::new(number as u64);
        let (mut hits, mut actions) = (0, [0; 4]);
        for round in 0..60 {
            // Entries come and go while packets pass.
            let keys: Vec<Match> = kinds
                .iter()
                .zip([(32, 0x0a00_0000), (12, 0), (8, 0xfe)])
                .map(|(kind, (width, base))| matched(kind, width, base, &mut rng))
                .collect();
            let (action, args) = match rng.below(3) {
                0 => ("I.wide", vec![Bits::from_be_bytes(72, &rng.bytes(9))]),
                1 => (
                    "I.two",
                    vec![
                        Bits::new(5, rng.next_u128()),
                        Bits::from_bool(rng.next_bool()),
                        Bits::new(16, rng.next_u128()),
                    ],
                ),
                _ => ("I.none", vec![]),
            };
            let has_priority = kinds.iter().any(|kind| ["ternary", "range", "optional"].contains(kind));
            let priority = has_priority.then(|| 1 + rng.below(20) as i64);
            let removes = round % 5 == 4;
            for device in &mut devices {
                // Some keys are there already.
                let _ = device.table_add("I.t", &keys, action, &args, priority);
                if removes {
                    device.table_delete("I.t", &keys, priority).expect("it is there");
                }
                if round % 20 == 10 {
                    device.table_set_default("I.t", action, &args).expect("it is set");
                }
            }
            for _ in 0..10 {
                let frame = probe(&mut rng);
                let outputs: Vec<_> =
                    devices.iter_mut().map(|device| device.process(1, &frame, Time::ZERO)).collect();
                assert!(outputs.windows(2).all(|two| two[0] == two[1]), "{kinds:?}");
                let [output] = outputs[0].as_slice() else { panic!("{kinds:?}: {outputs:?}") };
                let (p4, c) = output.frame[7..].split_at(11);
                assert_eq!(p4, c, "{kinds:?}: {:?}", output.frame);
                hits += u32::from(c[0]);
                actions[usize::from(c[1])] += 1;
            }
        }
        let all = actions[1..].iter().all(|count| *count > 5);
        assert!(hits > 10 && hits < 600 && all, "{kinds:?}: {hits} {actions:?}");
    }
}

/// A table that no packet looks up has entries, too.
#[test]
fn a_table_may_be_for_the_handler_alone() {
    let program = with_kinds(["exact"; 3], "");
    let mut device = device("alone", &program, Isolation::Inline, true);
    let keys =
        [(32, 0x0a00_0001), (12, 1), (8, 0xfe)].map(|(width, value)| Match::Exact(Bits::new(width, value)));
    device.table_add("I.t", &keys, "I.wide", &[Bits::new(72, 0x1234)], None).expect("it is added");
    let mut frame = [0x0a00_0001u32.to_be_bytes().as_slice(), &[0, 0x10, 0xfe], &[0; 22]].concat();
    let output = device.process(1, &frame, Time::ZERO).remove(0);
    assert_eq!(output.frame[18..], [1, 1, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34]);
    frame[6] = 0;
    let output = device.process(1, &frame, Time::ZERO).remove(0);
    assert_eq!(output.frame[18..], [0, 2, 0x80, 0, 0, 0, 0, 0, 0, 7, 0x1d]);
    let main = written("alone", &program, SOURCE).display().to_string();
    let mut map = SourceMap::new();
    let compiled =
        rack::compile_program(&main, &Default::default(), &mut map, &mut vec![]).expect("it compiles");
    let info = p4info::p4info(&compiled).expect("it has a P4Info");
    assert!(info.tables.iter().any(|table| table.preamble.as_ref().is_some_and(|of| of.name == "I.t")));
}

/// A process that asks for entries without end is ended, and the next call finds them as before.
#[test]
fn a_call_has_a_bounded_number_of_look_ups() {
    let first = "    response_t_set_hit(";
    let endless = format!("    while (request_t_a(q) == 0) t_look_up(ctx, &key, &entry);\n{first}");
    let source = SOURCE.replacen(first, &endless, 1);
    let program = with_kinds(["exact"; 3], APPLY);
    let mut device = device_with("endless", &program, &source, Isolation::Process, true);
    let frame = |a: u32| [a.to_be_bytes().as_slice(), &[0, 0x10, 0xfe], &[0; 22]].concat();
    let endless = device.process(1, &frame(0), Time::ZERO).remove(0);
    assert_eq!(endless.frame[18..], [0; 11], "no response");
    let next = device.process(1, &frame(1), Time::ZERO).remove(0);
    assert_eq!(next.frame[7..18], next.frame[18..], "{:?}", next.frame);
}

/// The handler runs on a group of servers: they have the entries, and look-ups there are those of one device.
#[test]
fn servers_have_the_entries() {
    for (name, apply) in [("applied", APPLY), ("unapplied", "")] {
        let place = variant(&format!("mirrored-{name}"), "variant = \"pin\"");
        std::fs::write(place.join("look.p4"), with_kinds(["ternary", "exact", "range"], apply))
            .expect("a file");
        std::fs::write(place.join("look.c"), SOURCE).expect("a file");
        let text = std::fs::read_to_string(place.join("RACK.toml")).expect("the rack");
        let text =
            text.replace("snat.p4", "look.p4").replace("snat.c", "look.c").replace("{ snat =", "{ look =");
        std::fs::write(place.join("RACK.toml"), text).expect("a file");
        let racked = load(&place);
        for part in racked.apps[0].parts.iter().flatten().skip(1) {
            let tables = part.program.controls.iter().flat_map(|control| &control.tables);
            assert_eq!(tables.filter(|table| table.control_plane_name == "I.t").count(), 1);
        }
        let effort = Effort { packets: 600, ..Effort::default() };
        let proved = prove(&proof::case(&racked.apps[0]), &effort);
        let proved = proved.unwrap_or_else(|failure| panic!("{}", failure.describe()));
        assert!(proved.accesses > 100, "{proved:?}");
    }
}

#[test]
fn what_cannot_be_mirrored_is_refused() {
    let refused = |name: &str, from: &str, to: &str| {
        let program = with_kinds(["exact"; 3], APPLY);
        assert!(program.contains(from), "{from}");
        let main = written(name, &program.replace(from, to), SOURCE).display().to_string();
        let mut map = SourceMap::new();
        let found = rack::compile_program(&main, &Default::default(), &mut map, &mut vec![]).err();
        text(&found.expect("it is refused"), &map)
    };
    let found = refused("unknown", "@mirror(\"look\")", "@mirror(\"lock\")");
    assert!(found.contains("error[P4R1401]: `I.t` is mirrored to `lock`, which is no handler"), "{found}");
    assert!(found.contains("look"), "{found}");
    let found = refused("nameless", "@mirror(\"look\")", "@mirror");
    assert!(found.contains("error[P4R1401]: `@mirror` before `I.t` names no handler"), "{found}");
    let found = refused("profile", "size = 64;", "implementation = action_profile(16);");
    assert!(
        found.contains("its table `I.t` has an action profile, which handlers cannot look up"),
        "{found}"
    );
    let found = refused("twice", "@name(\"other\")", "@name(\"hdr.probe.a\")");
    assert!(found.contains("`I.t`"), "{found}");
}
