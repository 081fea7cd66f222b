//! Handlers, built and called: what they give, what they keep, and what happens when they are wrong.

mod python;
mod sizes;
mod workers;

use base_bits::Bits;
use base_diag::{Diagnostic, SourceMap, Style, render};
use base_time::{Duration, Time};
use dataplane_api::{Registry, ValueExtern};
use handlers::{Built, Inline, Isolated, Isolation, Sources, build, register};
use ir_handlers::Handler;
use p4_arch::Texts;
use p4_syntax::Options;
use std::path::PathBuf;
use std::sync::Arc;

const PROGRAM: &str = r#"#include <v1model.p4>
header h_t { bit<8> a; }
struct headers_t { h_t h; }
struct meta_t {}
enum bit<8> op_t { ADD = 1, FAIL = 2 }
struct request_t { bit<32> flow; op_t op; int<12> delta; bool flag; bit<72> wide; bit<48> mac; }
struct response_t { int<12> delta; bool flag; bit<72> wide; bit<48> mac; bit<64> sum; }
@remote(handler = "count", group = "g", key = { q.flow }, config = "start=5")
extern bool count(in request_t q, out response_t r);
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    request_t q; response_t r;
    apply { count(q, r); }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

/// Counts by flow, in a table of 16; echoes the rest.
const COUNT: &str = r#"#include "test.h"

struct memory { uint64_t start, sums[16]; };

int count_init(p4r_ctx *ctx, const char *config) {
    struct memory *memory = p4r_alloc(ctx, sizeof *memory);
    if (!memory) return P4R_DROP;
    memory->start = p4r_number(p4r_config(config, "start"), 0);
    p4r_tick_at(ctx, 1000);
    return P4R_OK;
}

int count(p4r_ctx *ctx, const request_t *q, response_t *r) {
    struct memory *memory = p4r_memory(ctx);
    if (request_t_op(q) == request_t_op_FAIL) { response_t_set_sum(r, 77); return P4R_DROP; }
    uint64_t *sum = &memory->sums[request_t_flow(q) % 16];
    *sum += memory->start + p4r_random_below(ctx, 100);
    response_t_set_delta(r, (int16_t)(request_t_delta(q) < 0 ? request_t_delta(q) - 1 : 5));
    response_t_set_flag(r, !request_t_flag(q));
    response_t_set_wide(r, request_t_wide(q));
    response_t_set_mac(r, request_t_mac(q) + 1);
    response_t_set_sum(r, *sum);
    return P4R_OK;
}

void count_tick(p4r_ctx *ctx, uint64_t now_ns) {
    struct memory *memory = p4r_memory(ctx);
    memory->start++;
    p4r_tick_at(ctx, now_ns + 1000);
}

long count_export(p4r_ctx *ctx, const count_key *key, void *to, long size) {
    struct memory *memory = p4r_memory(ctx);
    uint64_t *sum = &memory->sums[count_key_flow(key) % 16];
    if (*sum == 0 || size < (long)sizeof *sum) return 0;
    memcpy(to, sum, sizeof *sum);
    *sum = 0;
    return sizeof *sum;
}

int count_import(p4r_ctx *ctx, const count_key *key, const void *from, long size) {
    struct memory *memory = p4r_memory(ctx);
    if (size != sizeof memory->sums[0]) return P4R_DROP;
    memcpy(&memory->sums[count_key_flow(key) % 16], from, sizeof memory->sums[0]);
    return P4R_OK;
}
"#;

fn declared() -> Vec<Handler> {
    declared_in(PROGRAM)
}

fn declared_in(program: &str) -> Vec<Handler> {
    let texts = [("test.p4", program)];
    let mut map = SourceMap::new();
    let mut program = ir_elaborate::program("test.p4", &Texts(&texts), &Options::default(), &mut map)
        .unwrap_or_else(|found| panic!("{found:#?}"));
    ir_handlers::expand(&mut program).expect("it is right");
    ir_handlers::handlers(&program).into_iter().map(|(_, handler)| handler).collect()
}

/// Handlers from a file of this name.
fn built_from(file: &str, source: &str) -> Result<Arc<Built>, (Vec<Diagnostic>, SourceMap, String)> {
    built_of(file.split('.').next().unwrap_or(file), file, source, None)
}

fn built_as(
    name: &str,
    source: &str,
    sanitize: Option<&str>,
) -> Result<Arc<Built>, (Vec<Diagnostic>, SourceMap, String)> {
    built_of(name, "handler.c", source, sanitize)
}

fn built_of(
    name: &str,
    file: &str,
    source: &str,
    sanitize: Option<&str>,
) -> Result<Arc<Built>, (Vec<Diagnostic>, SourceMap, String)> {
    let directory = std::env::temp_dir().join(format!("handlers-test-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let path: PathBuf = directory.join(file);
    std::fs::write(&path, source).expect("a file");
    let mut map = SourceMap::new();
    let handlers = declared();
    let from = Sources { program: "test.p4", handlers: &handlers, files: &[path], sanitize };
    let made = build(&from, &mut map);
    std::fs::remove_dir_all(&directory).expect("it is there");
    made.map(Arc::new).map_err(|found| (found, map, format!("{}/", directory.display())))
}

/// Builds a source for handlers of another program.
fn built_for(handlers: &[Handler], name: &str, source: &str) -> Arc<Built> {
    let end = if name.contains('.') { "" } else { ".c" };
    let path = std::env::temp_dir().join(format!("handlers-test-{}-{name}{end}", std::process::id()));
    std::fs::write(&path, source).expect("a file");
    let from = Sources { program: "test.p4", handlers, files: std::slice::from_ref(&path), sanitize: None };
    let made = build(&from, &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"));
    std::fs::remove_file(&path).expect("it is there");
    Arc::new(made)
}

fn built(name: &str, source: &str) -> Arc<Built> {
    built_as(name, source, None).unwrap_or_else(|(found, ..)| panic!("{found:#?}"))
}

/// Diagnostics for a source, without places in the program.
fn refused(name: &str, source: &str) -> String {
    let (found, map, directory) = built_as(name, source, None).err().expect("it is refused");
    let found: Vec<Diagnostic> = found
        .into_iter()
        .map(|mut diagnostic| {
            diagnostic.labels.retain(|label| label.text != "declared here");
            diagnostic
        })
        .collect();
    found.iter().map(|d| render(d, &map, Style::Plain)).collect::<String>().replace(&directory, "")
}

fn instance(built: &Arc<Built>, isolation: Isolation) -> Box<dyn ValueExtern> {
    let mut registry = Registry::default();
    register(built, isolation, 7, &mut registry);
    let offer = registry.value("count").expect("it is offered");
    (offer.make)(&[]).unwrap_or_else(|error| panic!("{}", error.0))
}

fn at(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

/// A request of a flow; gives the outputs: delta, flag, wide, mac, sum, and what the call returns.
fn ask(object: &mut dyn ValueExtern, flow: u128, op: u128, now: u64) -> Vec<Bits> {
    let wide = Bits::from_be_bytes(72, &[0xfe, 2, 3, 4, 5, 6, 7, 8, 9]);
    let inputs = [
        Bits::new(32, flow),
        Bits::new(8, op),
        Bits::new(12, 0xfff),
        Bits::from_bool(true),
        wide,
        Bits::new(48, 0xffff_ffff_fffe),
    ];
    let mut outputs: Vec<Bits> = [12, 1, 72, 48, 64, 1].into_iter().map(Bits::zero).collect();
    object.call(0, &inputs, &mut outputs, at(now));
    outputs
}

#[test]
fn values_pass_in_both_directions() {
    let built = built("values", COUNT);
    for isolation in [Isolation::Inline, Isolation::Process] {
        let mut object = instance(&built, isolation);
        let given = ask(&mut *object, 3, 1, 10);
        assert_eq!(given[0], Bits::new(12, 0xffe), "-1 - 1");
        assert_eq!(given[1], Bits::from_bool(false));
        assert_eq!(given[2], Bits::from_be_bytes(72, &[0xfe, 2, 3, 4, 5, 6, 7, 8, 9]));
        assert_eq!(given[3], Bits::new(48, 0xffff_ffff_ffff));
        assert!((5..105).contains(&given[4].low_u64()), "start=5 was read: {:?}", given[4]);
        assert_eq!(given[5], Bits::from_bool(true));
        let failed = ask(&mut *object, 3, 2, 11);
        assert!(failed.iter().all(Bits::is_zero), "{failed:?}");
    }
}

/// Both ways give the same answers, the same timers and the same snapshots; snapshots of each are taken by the other.
#[test]
fn inline_and_isolated_are_the_same() {
    let built = built("same", COUNT);
    let mut inline = instance(&built, Isolation::Inline);
    let mut isolated = instance(&built, Isolation::Process);
    let same = |one: &mut dyn ValueExtern, other: &mut dyn ValueExtern, from: u64| {
        for n in from..from + 70 {
            let (flow, op) = (u128::from(n * 7 % 11), if n % 9 == 0 { 2 } else { 1 });
            assert_eq!(ask(one, flow, op, n * 50), ask(other, flow, op, n * 50), "call {n}");
            assert_eq!(one.deadline(), other.deadline());
            if one.deadline().is_some_and(|due| due <= at(n * 50)) {
                one.tick(at(n * 50));
                other.tick(at(n * 50));
            }
        }
        assert_eq!(one.snapshot(), other.snapshot());
    };
    same(&mut *inline, &mut *isolated, 0);
    let kept = inline.snapshot();
    let before = ask(&mut *inline, 3, 1, 5000);
    isolated.restore(&kept).expect("it takes it");
    inline.restore(&kept).expect("it takes it");
    assert_eq!(ask(&mut *isolated, 3, 1, 5000), before, "the random numbers, too");
    inline.restore(&kept).expect("it takes it");
    isolated.restore(&kept).expect("it takes it");
    same(&mut *inline, &mut *isolated, 100);
    assert!(inline.restore(b"x").is_err() && isolated.restore(b"x").is_err());
    let mut fresh = instance(&built, Isolation::Inline);
    fresh.restore(&isolated.snapshot()).expect("another instance");
    assert_eq!(fresh.snapshot(), isolated.snapshot());
    let mut fresh = instance(&built, Isolation::Process);
    assert_ne!(fresh.deadline(), isolated.deadline());
    fresh.restore(&isolated.snapshot()).expect("another instance");
    assert_eq!(fresh.deadline(), isolated.deadline());
}

#[test]
fn flows_move() {
    let built = built("moves", COUNT);
    let handler = Arc::new(built.handlers()[0].clone());
    let mut from = Inline::new(&built, &handler, 1).unwrap_or_else(|e| panic!("{}", e.0));
    let mut to = Inline::new(&built, &handler, 2).unwrap_or_else(|e| panic!("{}", e.0));
    let sum = ask(&mut from, 3, 1, 0)[4].low_u64();
    let key = [0, 0, 0, 3];
    let state = from.export(&key).expect("the flow has state");
    assert_eq!(from.export(&key), None, "it is gone");
    assert!(to.import(&key, &state));
    assert!(!to.import(&key, b"xx"), "not its form");
    assert_eq!(to.export(&[0; 3]), None, "not a key");
    let after = ask(&mut to, 3, 1, 0)[4].low_u64();
    assert!(after >= sum + 5, "{sum} {after}");
    // And on to one in a process of its own.
    let mut far = Isolated::new(&built, &handler, 3).unwrap_or_else(|e| panic!("{}", e.0));
    let state = to.export(&key).expect("the flow has state");
    assert!(far.import(&key, &state) && !far.import(&key, b"xx") && !far.import(&[0; 3], &state));
    assert_eq!(far.export(&key), Some(state));
    assert_eq!(far.export(&key), None, "it is gone");
    assert_eq!(far.export(&[0; 3]), None, "not a key");
}

#[test]
fn what_does_not_compile_is_shown_at_its_place() {
    let broken = COUNT.replace("*sum += memory->start", "*sum += memory->begin");
    expect_test::expect![[r#"
        error[P4R1403]: a handler does not compile
          --> handler.c:17:19
           |
        17 |     *sum += memory->begin + p4r_random_below(ctx, 100);
           |                   ^ 'struct memory' has no member named 'begin'
    "#]]
    .assert_eq(&refused("broken", &broken));
    let signature = "#include \"test.h\"\nint count(p4r_ctx *ctx, const request_t *q) { return P4R_OK; }\n";
    expect_test::expect![[r#"
        error[P4R1403]: a handler does not compile
         --> handler.c:2:5
          |
        2 | int count(p4r_ctx *ctx, const request_t *q) { return P4R_OK; }
          |     ^^^^^ conflicting types for 'count'; have 'int(p4r_ctx *, const request_t *)'
          |
          = note: previous declaration of 'count' with type 'int(p4r_ctx *, const request_t *, response_t *)'
    "#]]
    .assert_eq(&refused("signature", signature));
}

#[test]
fn what_handlers_must_not_use() {
    let source = "#include \"test.h\"\n#include <time.h>\n#include <pthread.h>\nstatic int calls;\n\
        int count(p4r_ctx *ctx, const request_t *q, response_t *r) { pthread_exit(0); return calls++ + (int)time(0); }\n";
    expect_test::expect![[r#"
        error[P4R1404]: a handler must not use `pthread_exit`
         --> handler.c:5:62
          |
        5 | int count(p4r_ctx *ctx, const request_t *q, response_t *r) { pthread_exit(0); return calls++ + (int)time(0); }
          |                                                              ^^^^^^^^^^^^ it starts or ends threads or processes
          |
          = help: a handler is called once for each packet, by one thread
    "#]]
    .assert_eq(&refused("uses", source));
}

#[test]
fn sources_of_something_else() {
    let other = "#include \"test.h\"\nint coumt(p4r_ctx *ctx, const request_t *q, response_t *r) { return P4R_OK; }\n";
    expect_test::expect![[r#"
        error[P4R1405]: no source defines handler `count`
          |
          = help: did you mean `coumt`?
    "#]]
    .assert_eq(&refused("other", other));
    let without = "int count(void *ctx, const void *q, void *r) { return 0; }\n";
    expect_test::expect![[r#"
        error[P4R1405]: the source of `count` does not include its header
          |
          = help: write `#include "test.h"`
    "#]]
    .assert_eq(&refused("without", without));
    let handlers = declared();
    let from = Sources { program: "test.p4", handlers: &handlers, files: &[], sanitize: None };
    let found = build(&from, &mut SourceMap::new()).err().expect("no source");
    assert_eq!(found[0].title, "handler `count` has no source");
    let missing = [PathBuf::from("/nowhere/x.c")];
    let from = Sources { files: &missing, ..from };
    let found = build(&from, &mut SourceMap::new()).err().expect("no file");
    assert_eq!(found[0].title, "a handler's source cannot be read");
}

/// Wrong in several ways, by operation.
const WRONG: &str = r#"#include "test.h"
int count(p4r_ctx *ctx, const request_t *q, response_t *r) {
    uint64_t *calls = p4r_memory(ctx);
    if (ctx->arena_used == 0) calls = p4r_alloc(ctx, sizeof *calls);
    response_t_set_sum(r, ++*calls);
    switch ((int)request_t_op(q)) {
    case 3: *(volatile int *)0 = 1; break;
    case 4: for (volatile int forever = 1; forever;) {} break;
    case 5: for (int i = 0; i < 100; i++) ((volatile uint8_t *)r->bytes)[i] = 1; break;
    case 6: abort(); break;
    case 7: ctx->arena_used = UINT64_MAX; break;
    }
    return P4R_OK;
}
"#;

/// A wrong handler harms nobody else: the packet gets no answer, and the handler goes on from its last snapshot.
#[test]
fn a_crash_costs_what_is_after_the_last_snapshot() {
    let built =
        built("crash", &WRONG.replace("#include \"test.h\"", "#include \"test.h\"\n#include <stdlib.h>"));
    let mut object = instance(&built, Isolation::Process);
    let mut sum = |flow: u128, op: u128, now: u64| {
        let given = ask(&mut *object, flow, op, now);
        (given[5] == Bits::from_bool(true)).then(|| given[4].low_u64())
    };
    assert_eq!((1..=32).map(|n| sum(n, 1, 0)).last(), Some(Some(32)), "the 32nd is in a snapshot");
    assert_eq!(sum(1, 1, 0), Some(33));
    for (flow, op) in [(100, 3), (101, 4), (102, 5), (103, 6)] {
        assert_eq!(sum(flow, op, 10), None, "operation {op}");
        assert_eq!(sum(1, 1, 20), Some(33), "from the snapshot, after operation {op}");
    }
    let (failures, count) = built.failures().all();
    assert_eq!(count, 4);
    let why: Vec<&str> = failures.iter().map(|failure| failure.why.as_str()).collect();
    let memory = "signal 11 (it used memory that it does not have)";
    assert_eq!(why, [memory, "no answer in 1 s", memory, "signal 6 (abort)"]);
    assert!(failures[0].request.starts_with("flow = 0x64, op = 0x3, "), "{}", failures[0].request);
    // The second time in a minute poisons the flow.
    assert_eq!(sum(100, 3, 30), None);
    assert!(built.failures().all().0[4].poisons);
    assert_eq!(sum(100, 1, 40), None, "it is not asked any more");
    assert_eq!(sum(1, 1, 50), Some(33));
    assert_eq!(built.failures().all().1, 5);
    let text = format!("{:?}", built.failures().diagnostics());
    assert!(text.contains("crashed the handler twice"), "{text}");
}

/// A timer whose call crashes does not go off again at once, without end.
#[test]
fn a_tick_that_crashes_is_not_due_again() {
    let built = built("tick", &COUNT.replace("    memory->start++;\n", "    *(volatile int *)0 = 1;\n"));
    let mut object = instance(&built, Isolation::Process);
    assert_eq!(object.deadline(), Some(at(1000)));
    object.tick(at(1000));
    assert_eq!((object.deadline(), built.failures().all().1), (None, 1));
    assert_eq!(ask(&mut *object, 3, 1, 1001)[5], Bits::from_bool(true), "it goes on");
}

/// A sanitizer finds an error that the plain build does not notice.
#[test]
fn sanitizers_see_more() {
    let source = COUNT.replace(
        "    struct memory *memory = p4r_memory(ctx);\n    if (request_t_op(q)",
        "    struct memory *memory = p4r_memory(ctx);\n    int most = 0x7fffffff - 1 + request_t_op(q);\n    most += (int)request_t_flow(q);\n    if (most == 3) return P4R_DROP;\n    if (request_t_op(q)",
    );
    assert_ne!(source, COUNT);
    let plain = built("plain", &source);
    let mut object = instance(&plain, Isolation::Process);
    assert_eq!(ask(&mut *object, 3, 1, 0)[5], Bits::from_bool(true));
    let sanitized = built_as("sanitized", &source, Some("address,undefined"));
    let sanitized = sanitized.unwrap_or_else(|(found, ..)| panic!("{found:#?}"));
    let mut object = instance(&sanitized, Isolation::Process);
    assert_eq!(ask(&mut *object, 3, 1, 0)[5], Bits::from_bool(false));
    assert_eq!(sanitized.failures().all().0[0].why, "it ended with status 1");
    let (found, ..) = built_as("unknown", COUNT, Some("nonsense")).err().expect("no such sanitizer");
    assert_eq!(found[0].code, base_diag::codes::handler::HANDLER_BUILD);
}

/// The fuzz target of a right handler runs, and that of a wrong one finds what is wrong.
#[test]
fn fuzz_targets_find_mistakes() {
    let directory = std::env::temp_dir().join(format!("handlers-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let handlers = declared();
    std::fs::write(directory.join("test.h"), target_c::header("test.p4", &handlers)).expect("a file");
    std::fs::write(directory.join("fuzz.c"), target_c::fuzz("test.p4", &handlers, 0, 1 << 20))
        .expect("a file");
    let wrong = COUNT.replace("+= memory->start", "+= memory->start / (request_t_flow(q) & 255)");
    assert_ne!(wrong, COUNT);
    for (source, is_right) in [(COUNT, true), (wrong.as_str(), false)] {
        std::fs::write(directory.join("handler.c"), source).expect("a file");
        let mut cc = std::process::Command::new("cc");
        cc.args(["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I."]);
        let made =
            cc.args(["fuzz.c", "handler.c", "-o", "fuzz"]).current_dir(&directory).output().expect("cc");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut run = std::process::Command::new(directory.join("fuzz"));
        let ran = run.arg("300").output().expect("it runs");
        assert_eq!(ran.status.success(), is_right, "{}", String::from_utf8_lossy(&ran.stderr));
    }
    std::fs::remove_dir_all(&directory).expect("it is there");
}

/// A handler that spoils its context harms neither snapshots nor p4rack.
#[test]
fn a_spoilt_context_is_not_followed() {
    let built =
        built("spoilt", &WRONG.replace("#include \"test.h\"", "#include \"test.h\"\n#include <stdlib.h>"));
    let mut inline = instance(&built, Isolation::Inline);
    ask(&mut *inline, 1, 7, 0);
    assert!(inline.snapshot().len() <= 64 << 20 | 64);
    let handler = Arc::new(built.handlers()[0].clone());
    let mut isolated = Isolated::new(&built, &handler, 7).unwrap_or_else(|e| panic!("{}", e.0));
    ask(&mut isolated, 1, 7, 0);
    isolated.snapshot();
    assert_eq!(ask(&mut isolated, 1, 1, 0)[5], Bits::from_bool(true), "it goes on");
}

#[test]
fn a_configuration_may_be_refused() {
    let built = built("config", &COUNT.replace("if (!memory) return", "if (memory) return"));
    for isolation in [Isolation::Inline, Isolation::Process] {
        let mut registry = Registry::default();
        register(&built, isolation, 7, &mut registry);
        let made = (registry.value("count").expect("it is offered").make)(&[]);
        let why = made.err().expect("it is refused").0;
        assert_eq!(why, "its `init` refuses the configuration `start=5`");
    }
}
