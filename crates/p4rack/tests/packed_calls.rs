//! Machine code packs the numbers of a handler's calls itself: the bytes in C, and what comes back, are those of the interpreter's calls.

use crate::support::text;
use base_diag::SourceMap;
use base_time::{Rng, Time};
use dataplane_api::{Device, Output};
use device::Options;
use handlers::Isolation;
use p4rack::{handlers as offers, rack};
use std::path::PathBuf;
use target_native::{Engine, Fate, Packet};

/// Numbers whose bits are no whole bytes, with signs, and a result that is used or not.
const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
enum bit<8> Kind { One = 1, Two = 2 }
struct inner_t { int<5> low; bool flag; bit<72> wide; }
struct request_t { bit<13> a; int<13> b; Kind kind; inner_t inner; int<70> deep; bit<128> whole; bit<1> ask; }
struct response_t { bit<64> sum; bit<13> a; int<13> b; bool flag; bit<72> wide; bit<128> whole; }
@remote(handler = "look", config = "") extern bool look(in request_t q, out response_t r);
@remote(handler = "note", config = "") extern void note(in inner_t q);
header probe_t {
    bit<13> a; int<13> b; bit<6> c; int<5> low; bit<1> flag; bit<1> ask; bit<1> drop; bit<8> kind; bit<72> wide; int<70> deep; bit<2> d;
    bit<128> whole; bit<64> sum;
}
struct headers_t { probe_t probe; }
struct metadata_t { }
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.probe); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    request_t q;
    response_t r;
    inner_t only;
    apply {
        std.egress_spec = 1;
        q.a = hdr.probe.a; q.b = hdr.probe.b; q.kind = (Kind)hdr.probe.kind;
        q.inner.low = hdr.probe.low; q.inner.flag = hdr.probe.flag == 1; q.inner.wide = hdr.probe.wide;
        q.deep = hdr.probe.deep; q.whole = hdr.probe.whole; q.ask = hdr.probe.ask;
        if (hdr.probe.drop == 1) { look(q, r); } else if (look(q, r)) { std.egress_spec = 2; }
        hdr.probe.sum = r.sum; hdr.probe.a = r.a; hdr.probe.b = r.b; hdr.probe.wide = r.wide; hdr.probe.whole = r.whole;
        hdr.probe.flag = r.flag ? 1w1 : 0;
        only.low = hdr.probe.low - 1; only.flag = r.flag; only.wide = r.wide;
        note(only);
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.probe); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

/// The response has all bits, those that no field has too.
const SOURCE: &str = r#"#include "look.h"
struct memory { uint64_t sum; };
static void add(struct memory *memory, const uint8_t *bytes, size_t size) {
    for (size_t at = 0; at < size; at++) memory->sum = (memory->sum ^ bytes[at]) * UINT64_C(0x100000001b3);
}
int look_init(p4r_ctx *ctx, const char *config) { (void)config; return p4r_alloc(ctx, sizeof(struct memory)) ? P4R_OK : P4R_DROP; }
int look(p4r_ctx *ctx, const request_t *q, response_t *r) {
    struct memory *memory = p4r_memory(ctx);
    add(memory, (const uint8_t *)q, sizeof *q);
    memory->sum += p4r_now_ns(ctx);
    for (size_t at = 0; at < sizeof *r; at++) ((uint8_t *)r)[at] = (uint8_t)(memory->sum >> at % 56);
    response_t_set_sum(r, memory->sum);
    return request_t_ask(q) ? P4R_OK : P4R_DROP;
}
int note_init(p4r_ctx *ctx, const char *config) { (void)config; return p4r_alloc(ctx, sizeof(struct memory)) ? P4R_OK : P4R_DROP; }
int note(p4r_ctx *ctx, const inner_t *q) { add(p4r_memory(ctx), (const uint8_t *)q, sizeof *q); return P4R_OK; }
"#;

#[test]
fn code_packs_what_the_interpreter_packs() {
    for isolation in [Isolation::Inline, Isolation::Process] {
        compare(isolation);
    }
}

fn compare(isolation: Isolation) {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("packed-calls-{isolation:?}"));
    std::fs::create_dir_all(&place).expect("a directory");
    std::fs::write(place.join("look.p4"), PROGRAM).expect("a file");
    std::fs::write(place.join("look.c"), SOURCE).expect("a file");
    let main = place.join("look.p4").display().to_string();
    let mut map = SourceMap::new();
    let program = rack::compile_program(&main, &Default::default(), &mut map, &mut vec![]);
    let program = program.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let options =
        offers::Options { files: vec![place.join("look.c")], isolation, seed: 1, ..Default::default() };
    let built = offers::offers(&program, &main, &options, &mut map);
    let built = built.unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let options = || Options { registry: built.registry.clone(), ..Options::default() };
    let mut interpreter = ir_interp::switch(program.clone(), options()).expect("a device");
    let mut engine = Engine::compile(&program, options()).expect("it compiles");
    assert!(engine.report().compiled && engine.report().fallbacks.is_empty(), "{:?}", engine.report());
    let mut rng = Rng::new(7);
    for number in 0..2000 {
        let frame: Vec<u8> = (0..49).map(|_| rng.below(256) as u8).collect();
        let at = Time::ZERO + base_time::Duration::from_us(number);
        let want = interpreter.process(0, &frame, at);
        let mut packet = [Packet::new(0, &frame).expect("it fits")];
        let outputs = engine.process(&mut packet, at);
        assert!(outputs.is_empty());
        let Fate::Sent(port) = packet[0].fate() else { panic!("{:?}", packet[0].fate()) };
        let got = vec![Output { port, frame: packet[0].frame().to_vec() }];
        assert_eq!(got, want, "{number}: {frame:02x?}");
    }
    assert_eq!(engine.interpreted(), 0);
    assert_eq!(engine.switch().state(), interpreter.state());
}
