//! Externs that STF cannot reach, and what goes through the environment.

use crate::common;

use base_bits::Bits;
use base_time::{Duration, Time};
use common::{Test, conserved};
use control_writes::{ActionCall, Match, Rate, Rates, Run};
use dataplane_api::{Device, DropReason, QueueRecord};
use device::{Access, AccessKind, Observation, Options, Recorder, Replayer, Source, Switch};
use ir_value::{Header, Value};

/// A switch with `common.p4` and this ingress and egress body.
fn switch(ingress: &str, egress: &str, options: Options) -> Switch {
    try_switch(ingress, egress, options).expect("a device")
}

fn try_switch(ingress: &str, egress: &str, options: Options) -> Result<Switch, String> {
    let params = "inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm";
    let text = format!(
        "#include \"common.p4\"\ncontrol I({params}) {{ {ingress} }}\ncontrol E({params}) {{ {egress} }}\n\
         V1Switch(P(), V(), I(), E(), C(), D()) main;\n"
    );
    Test::inline(&text).switch(options)
}

fn ingress(body: &str) -> Switch {
    switch(body, "apply { }", Options::default())
}

/// One packet in, the frames that come out.
fn send(switch: &mut Switch, frame: &[u8]) -> Vec<Vec<u8>> {
    let outputs = switch.process(1, frame, Time::ZERO);
    conserved(switch);
    outputs.into_iter().map(|o| o.frame).collect()
}

fn bits(width: u32, value: u128) -> Bits {
    Bits::new(width, value)
}

#[test]
fn digests_capture_the_values_at_the_call() {
    let mut switch =
        ingress("apply { digest<data_t>(1, hdr.data); hdr.data.a = 9; digest<data_t>(1, hdr.data); }");
    send(&mut switch, &[1, 2, 0, 3, 0, 0, 0, 4]);
    let digests = switch.take_digests();
    let a = |n: usize| match &digests[n].data {
        Value::Header(Header { fields, .. }) => fields[2].clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(digests[0].name, "data_t");
    assert_eq!((a(0), a(1)), (Value::Bits(bits(16, 3)), Value::Bits(bits(16, 9))));
    assert_eq!(switch.take_digests(), []);
}

#[test]
fn a_selector_chooses_by_the_hash_of_its_keys() {
    let mut switch = ingress(
        "action to(bit<8> value) { hdr.data.port = value; }
         action_selector(HashAlgorithm.identity, 4, 16) choice;
         table t {
             key = { hdr.data.op: exact; hdr.data.a: selector; }
             actions = { to; NoAction; }
             implementation = choice;
         }
         apply { t.apply(); }",
    );
    let members: Vec<u32> =
        [7, 8, 9].map(|v| switch.member_add("t", "to", &[bits(8, v)]).expect("a member")).into();
    let group = switch.group_add("I.t", &members).expect("a group");
    let empty = switch.group_add("t", &[]).expect("a group");
    switch.table_add_group("t", &[Match::Exact(bits(8, 1))], group, None).expect("an entry");
    switch.table_add_member("t", &[Match::Exact(bits(8, 2))], members[1], None).expect("an entry");
    switch.table_add_group("t", &[Match::Exact(bits(8, 3))], empty, None).expect("an entry");
    let mut port = |op: u8, a: u8| send(&mut switch, &[op, 0, 0, a, 0, 0, 0, 0])[0][1];
    assert_eq!([port(1, 0), port(1, 1), port(1, 2), port(1, 3)], [7, 8, 9, 7]);
    assert_eq!([port(2, 0), port(2, 1)], [8, 8]);
    assert_eq!([port(3, 0), port(4, 0)], [0, 0]);
    switch.member_add("t", "to", &[bits(8, 1)]).expect("a fourth member");
    assert!(switch.member_add("t", "to", &[bits(8, 1)]).is_err_and(|e| e.message.contains("full")));
    assert!(switch.table_add_member("t", &[Match::Exact(bits(8, 9))], 77, None).is_err());
    assert!(switch.table_add("t", &[Match::Exact(bits(8, 9))], "to", &[bits(8, 1)], None).is_err());
}

#[test]
fn truncate_cuts_what_is_sent() {
    let mut switch = ingress("apply { truncate((bit<32>)hdr.data.op); }");
    assert_eq!(send(&mut switch, &[3, 0, 0, 0, 0, 0, 0, 0, 9]), [[3, 0, 0]]);
    assert_eq!(send(&mut switch, &[0, 0, 0, 0, 0, 0, 0, 0, 9]), [[0; 0]]);
    assert_eq!(send(&mut switch, &[99, 0, 0, 0, 0, 0, 0, 0, 9])[0].len(), 9);
}

#[test]
fn a_failed_assertion_drops_the_packet() {
    let mut switch = ingress("apply { assert(hdr.data.op == 1); assume(hdr.data.port == 1); }");
    assert_eq!(send(&mut switch, &[1, 1, 0, 0, 0, 0, 0, 0]).len(), 1);
    assert_eq!(send(&mut switch, &[2, 1, 0, 0, 0, 0, 0, 0]).len(), 0);
    assert_eq!(send(&mut switch, &[1, 2, 0, 0, 0, 0, 0, 0]).len(), 0);
    assert_eq!(switch.counters().dropped[&DropReason::AssertFailed], 2);
}

#[test]
fn messages_go_to_the_log() {
    let mut switch =
        ingress("apply { log_msg(\"plain\"); log_msg(\"{} and {}, {}\", { hdr.data.op, hdr.data.a }); }");
    send(&mut switch, &[1, 0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(switch.take_log(), ["plain", "1 and 256, {}"]);
}

#[test]
fn checksum16_is_the_internet_checksum() {
    let mut switch =
        ingress("Checksum16() sum; apply { hdr.data.a = sum.get({ hdr.data.b, hdr.data.op }); }");
    assert_eq!(send(&mut switch, &[0x30, 0, 0, 0, 0x01, 0x02, 0x03, 0x04])[0][2..4], [!0x34, !0x06]);
}

#[test]
fn random_numbers_come_from_the_seed_and_stay_in_range() {
    let draws = |seed: u64| {
        let body =
            "apply { bit<16> r; random(r, 16w10, 16w12); hdr.data.a = r; random(hdr.data.b, 32w5, 32w4); }";
        let mut switch = switch(body, "apply { }", Options { seed, ..Options::default() });
        let mut draw = || send(&mut switch, &[0, 0, 0, 0, 1, 2, 3, 4]).remove(0);
        (0..40).map(|_| draw()).collect::<Vec<_>>()
    };
    let first = draws(1);
    assert_eq!(first, draws(1));
    assert_ne!(first, draws(2));
    for value in 10..=12 {
        assert!(first.iter().any(|frame| frame[3] == value), "{value} is never drawn");
    }
    assert!(first.iter().all(|f| (10..=12).contains(&f[3]) && f[4..] == [1, 2, 3, 4]));
}

#[test]
fn queue_metadata_is_what_the_driver_measured() {
    let egress = "apply { hdr.data.op = (bit<8>)sm.enq_qdepth; hdr.data.port = (bit<8>)sm.deq_qdepth;
                          hdr.data.a = sm.deq_timedelta[15:0]; hdr.data.b = sm.enq_timestamp; }";
    let mut switch = switch("apply { sm.priority = 5; }", egress, Options::default());
    let us = |n| Time::ZERO + Duration::from_us(n);
    let mut queued = switch.ingress(1, vec![0; 8], us(100));
    assert_eq!((queued[0].replica.port, queued[0].replica.priority, queued[0].bytes), (0, 5, 8));
    let record = QueueRecord { enqueued: us(100), depth_at_enqueue: 3, depth_at_dequeue: 4 };
    let result = switch.egress(queued.remove(0), record, us(130));
    assert_eq!(result.output.map(|o| o.frame), Some(vec![3, 4, 0, 30, 0, 0, 0, 100]));
}

#[test]
fn packet_length_follows_the_headers_in_egress() {
    let body = "apply { hdr.extra.setValid(); hdr.extra.setValid(); meta.lost = (bit<16>)sm.packet_length; }";
    let egress =
        "apply { hdr.extra.value = meta.lost[7:0] ++ sm.packet_length[7:0]; hdr.data.setInvalid(); }";
    let mut switch = switch(body, egress, Options::default());
    assert_eq!(send(&mut switch, &[0, 0, 0, 0, 0, 0, 0, 0, 77, 78]), [[10, 12, 77, 78]]);
}

#[test]
fn a_meter_fills_again_with_time() {
    let mut switch = ingress(
        "meter<bit<8>>(2, MeterType.bytes) m; apply { m.execute_meter(hdr.data.op, hdr.data.port); }",
    );
    // 8 bytes in 8 us committed, in 4 us at most; both buckets hold one packet.
    let rate = |n: u128| Rate { per_gigamicrosecond: n * 1_000_000_000, burst: 8 };
    let rates = |committed, peak| Rates { committed: rate(committed), peak: rate(peak) };
    assert!(switch.meter_set_rates("m", 1, rates(2, 1)).is_err(), "CIR above PIR");
    assert!(switch.meter_set_rates("m", 2, rates(1, 2)).is_err(), "out of range");
    switch.meter_set_rates("I.m", 1, rates(1, 2)).expect("rates");
    let mut colour = |us: u64| {
        let now = Time::ZERO + Duration::from_us(us);
        switch.process(1, &[1, 9, 0, 0, 0, 0, 0, 0], now)[0].frame[1]
    };
    assert_eq!([colour(0), colour(1), colour(4), colour(8), colour(100)], [0, 2, 1, 0, 0]);
}

#[test]
fn a_direct_meter_belongs_to_the_entry() {
    let mut switch = ingress(
        "direct_meter<bit<8>>(MeterType.packets) m;
         action a() { m.read(hdr.data.port); }
         table t { key = { hdr.data.op: exact; } actions = { a; NoAction; } meters = m; }
         apply { t.apply(); }",
    );
    let one = switch.table_add("t", &[Match::Exact(bits(8, 1))], "a", &[], None).expect("an entry");
    switch.table_add("t", &[Match::Exact(bits(8, 2))], "a", &[], None).expect("an entry");
    let rates = Rates { committed: Rate::per_second(0, 1), peak: Rate::per_second(1, 2) };
    switch.direct_meter_set_rates("t", one, rates).expect("rates");
    let mut colour = |op| send(&mut switch, &[op, 9, 0, 0, 0, 0, 0, 0])[0][1];
    assert_eq!([colour(1), colour(1), colour(1), colour(2), colour(3)], [0, 1, 2, 0, 9]);
}

#[test]
fn entries_that_are_not_hit_become_idle() {
    let table = |timeout: &str| {
        format!(
            "table t {{ key = {{ hdr.data.op: exact; }} actions = {{ NoAction; }} {timeout} }} apply {{ t.apply(); }}"
        )
    };
    let mut switch = ingress(&table("support_timeout = true;"));
    let ms = |n| Time::ZERO + Duration::from_ms(n);
    let five = Some(Duration::from_ms(5));
    let [one, two] = [1, 2].map(|op| {
        switch.table_add("t", &[Match::Exact(bits(8, op))], "NoAction", &[], None).expect("an entry")
    });
    assert!(switch.take_idle(ms(100)).is_empty(), "no timeout, never idle");
    switch.table_set_idle_timeout("t", one, five, ms(100)).expect("an entry");
    switch.table_set_idle_timeout("I.t", two, Some(Duration::from_ms(3)), ms(100)).expect("an entry");
    let idle = |switch: &mut Switch, at| -> Vec<(u64, u64)> {
        let ms_of = |t: Time| t.as_us() / 1000;
        switch.take_idle(ms(at)).into_iter().map(|idle| (idle.handle, ms_of(idle.at))).collect()
    };
    assert_eq!(idle(&mut switch, 102), []);
    let hit = |switch: &mut Switch, op, at| {
        assert_eq!(switch.process(1, &[op, 0, 0, 0, 0, 0, 0, 0], ms(at)).len(), 1)
    };
    hit(&mut switch, 1, 104);
    assert_eq!(idle(&mut switch, 108), [(two, 103)]);
    assert_eq!(idle(&mut switch, 109), [(one, 109)]);
    assert_eq!(idle(&mut switch, 900), [], "each is told once");
    // The entries are still there. A hit that comes too late does not hide that the entry was idle.
    hit(&mut switch, 2, 1000);
    hit(&mut switch, 2, 1050);
    assert_eq!(idle(&mut switch, 1060), [(two, 1003), (two, 1053)]);
    switch.table_set_idle_timeout("t", one, None, ms(1060)).expect("an entry");
    assert_eq!(idle(&mut switch, 5000), []);
    let refusal = |e: Result<(), dataplane_api::EntryError>| e.err().and_then(|e| e.help).unwrap_or_default();
    assert!(switch.table_set_idle_timeout("t", 77, five, ms(0)).is_err());
    let mut switch = ingress(&table(""));
    assert!(refusal(switch.table_set_idle_timeout("t", 0, five, ms(0))).contains("support_timeout"));
}

#[test]
fn value_sets_are_empty_until_they_are_filled() {
    let text = "#include <core.p4>\n#include <v1model.p4>
        header h_t { bit<8> a; bit<16> b; bit<8> seen; }
        struct headers_t { h_t h; }
        struct meta_t { bit<8> seen; }
        struct pair_t { @match(ternary) bit<8> a; @match(range) bit<16> b; }
        parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
            value_set<bit<8>>(2) ones;
            value_set<pair_t>(4) pairs;
            state start {
                p.extract(hdr.h);
                transition select(hdr.h.a) { ones: one; default: two; }
            }
            state one { m.seen = 1; transition accept; }
            state two { transition select(hdr.h.a, hdr.h.b) { pairs: three; (_, _): accept; } }
            state three { m.seen = 3; transition accept; }
        }
        control N(inout headers_t hdr, inout meta_t m) { apply { } }
        control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply { hdr.h.seen = m.seen; } }
        control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply { } }
        control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr); } }
        V1Switch(P(), N(), I(), E(), N(), D()) main;";
    let mut switch = Test::inline(text).switch(Options::default()).expect("a device");
    let seen = |switch: &mut Switch, a: u8, b: u8| send(switch, &[a, 0, b, 99])[0][3];
    assert_eq!([seen(&mut switch, 5, 0), seen(&mut switch, 0x13, 7)], [0, 0]);
    switch.value_set_add("ones", &[Match::Exact(bits(8, 5))]).expect("a member");
    let pair = [
        Match::Ternary { value: bits(8, 0x10), mask: bits(8, 0xf0) },
        Match::Range { lo: bits(16, 6), hi: bits(16, 8) },
    ];
    switch.value_set_add("P.pairs", &pair).expect("a member");
    assert_eq!([seen(&mut switch, 5, 0), seen(&mut switch, 0x13, 7), seen(&mut switch, 0x13, 9)], [1, 3, 0]);
    assert!(switch.value_set_add("ones", &[Match::Exact(bits(8, 5))]).is_err(), "twice");
    assert!(switch.value_set_add("ones", &pair).is_err(), "too many fields");
    switch.value_set_add("ones", &[Match::Exact(bits(8, 6))]).expect("a member");
    assert!(
        switch.value_set_add("ones", &[Match::Exact(bits(8, 7))]).is_err_and(|e| e.message.contains("full"))
    );
}

#[test]
fn accesses_are_logged_in_order() {
    let mut switch = ingress(
        "register<bit<8>, bit<8>>(4) r; counter<bit<8>>(4, CounterType.packets) c;
         direct_counter(CounterType.packets) d;
         table t { key = { hdr.data.op: exact; } actions = { NoAction; } counters = d; }
         apply {
             bit<8> x; r.read(x, 0); random(x, 8w0, 8w9); r.write(1, x); c.count(0); t.apply();
         }",
    );
    switch.table_add("t", &[Match::Exact(bits(8, 0))], "NoAction", &[], None).expect("an entry");
    send(&mut switch, &[0; 8]);
    assert_eq!(switch.take_accesses(), [], "the log is off");
    switch.set_access_log(true);
    send(&mut switch, &[0; 8]);
    let kinds = [
        ("I.r", AccessKind::Read),
        ("random", AccessKind::Update),
        ("I.r", AccessKind::Write),
        ("I.c", AccessKind::Update),
        ("I.d", AccessKind::Update),
    ];
    let wanted: Vec<Access> = kinds.map(|(object, kind)| Access { object: object.into(), kind }).into();
    assert_eq!(switch.take_accesses(), wanted);
    send(&mut switch, &[1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(switch.take_accesses().len(), 4, "a miss does not count");
}

#[test]
fn a_recorded_run_can_be_replayed() {
    let body =
        "apply { random(hdr.data.a, 16w0, 16w65535); hdr.data.b = sm.ingress_global_timestamp[31:0]; }";
    let egress =
        "apply { hdr.data.op = sm.egress_global_timestamp[7:0]; hdr.data.port = (bit<8>)sm.enq_qdepth; }";
    let run = |options: Options, us: u64, depth: u32| {
        let mut switch = switch(body, egress, options);
        let at = |n| Time::ZERO + Duration::from_us(n);
        let mut queued = switch.ingress(1, vec![0; 8], at(us));
        let record = QueueRecord { enqueued: at(us), depth_at_enqueue: depth, depth_at_dequeue: 0 };
        switch.egress(queued.remove(0), record, at(us + 1)).output.map(|o| o.frame)
    };
    let recorder = Recorder::default();
    let recorded =
        run(Options { seed: 1, environment: Box::new(recorder.clone()), ..Options::default() }, 50, 7);
    let record = recorder.take();
    let names: Vec<&Source> = record.iter().map(|o| &o.source).collect();
    assert!(matches!(names[..3], [Source::IngressTimestamp, Source::Random { .. }, Source::EgressTimestamp]));
    let replayer = Replayer::default();
    replayer.load(record);
    let options = || Options { seed: 2, environment: Box::new(replayer.clone()), ..Options::default() };
    assert_eq!(run(options(), 900, 1), recorded);
    assert_eq!(replayer.clear(), (0, 0));
    replayer.load([Observation { source: Source::MeterNow("m".into()), value: 1 }]);
    assert_ne!(run(options(), 900, 1), recorded);
    assert_eq!(replayer.clear(), (1, 7), "one answer too many, seven reads without one");
}

#[test]
fn state_is_what_packets_changed() {
    let mut switch = ingress(
        "register<bit<16>, bit<8>>(4) r; counter<bit<8>>(4, CounterType.packets) c;
         apply { if (hdr.data.op == 1) { r.write(2, hdr.data.a); c.count(1); } }",
    );
    let start = switch.state();
    assert_eq!(start.keys().collect::<Vec<_>>(), ["I.c", "I.r"]);
    send(&mut switch, &[0; 8]);
    assert_eq!(switch.state(), start);
    send(&mut switch, &[1, 0, 0x12, 0x34, 0, 0, 0, 0]);
    assert_eq!(switch.state()["I.r"], [0, 0, 0, 0, 0, 0, 0, 2, 0x12, 0x34]);
    assert_eq!(switch.register_read("r", 2), Ok(bits(16, 0x1234)));
    assert!(switch.register_read("rr", 2).is_err_and(|e| e.help == Some("known names: `I.r`".into())));
    assert!(switch.register_read("r", 4).is_err());
    switch.register_reset("r").expect("a register");
    assert_eq!(switch.state()["I.r"], start["I.r"]);
}

#[test]
fn entries_can_be_read_back() {
    let mut switch = ingress(
        "action to(bit<9> port) { sm.egress_spec = port; }
         direct_counter(CounterType.packets) hits;
         table t {
             key = { hdr.data.op: ternary; }
             actions = { to; NoAction; }
             counters = hits;
             default_action = to(3);
             const entries = { 1 &&& 3: to(5); }
         }
         table u { key = { hdr.data.a: lpm; } actions = { to; } default_action = to(1); }
         apply { t.apply(); u.apply(); }",
    );
    let start = switch.state();
    assert_eq!(switch.table_default("t"), Ok(("I.to".into(), vec![bits(9, 3)])));
    let entry = switch.table_entries("t").expect("a table").remove(0);
    assert_eq!(*entry.key.matches, [Match::Ternary { value: bits(8, 1), mask: bits(8, 3) }]);
    assert_eq!(entry.run, Run::Action(ActionCall { action: "I.to".into(), args: vec![bits(9, 5)] }));
    assert!(entry.is_const);
    send(&mut switch, &[5, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(switch.table_entries("t").expect("a table")[0].count.packets, 1);
    assert_ne!(switch.state(), start, "direct counts are state");
    // Refused writes, and why.
    let one = |n| [Match::Exact(bits(8, n))];
    let refusal =
        |result: Result<u64, dataplane_api::EntryError>| result.err().map(|e| e.message).unwrap_or_default();
    assert_eq!(
        refusal(switch.table_add("t", &one(1), "to", &[bits(9, 1)], None)),
        "the entries of `I.t` are constant"
    );
    assert_eq!(refusal(switch.table_add("x", &one(1), "to", &[], None)), "there is no table `x`");
    let prefix = |value, prefix_len| [Match::Lpm { value: bits(16, value), prefix_len }];
    let mut add = |key: &[Match], args: &[Bits]| refusal(switch.table_add("u", key, "to", args, None));
    assert_eq!(add(&prefix(0x1234, 8), &[bits(9, 1)]), "");
    assert_eq!(add(&prefix(0x12ff, 8), &[bits(9, 1)]), "`I.u` has this entry already");
    assert_eq!(add(&prefix(0x1234, 17), &[bits(9, 1)]), "`hdr.data.a` has 16 bits, not 17");
    assert_eq!(add(&prefix(0x1234, 9), &[]), "`I.to` takes 1 values, not 0");
    assert_eq!(add(&prefix(0x1234, 9), &[bits(32, 512)]), "0x200 does not fit into the 9 bits of `port`");
    assert_eq!(add(&[], &[bits(9, 1)]), "`I.u` has 1 keys, not 0");
    assert_eq!(switch.table_delete("u", &prefix(0x1200, 8), None), Ok(()));
    assert!(switch.table_delete("u", &prefix(0x1200, 8), None).is_err());
}

#[test]
fn what_cannot_be_run_is_refused_with_advice() {
    for (body, advice) in [
        ("apply { clone3(CloneType.I2E, 1, { hdr.data.a }); }", "clone_preserving_field_list"),
        ("apply { resubmit({ hdr.data.a }); }", "resubmit_preserving_field_list"),
        ("apply { recirculate(meta); }", "recirculate_preserving_field_list"),
        ("apply { mark_to_drop(); }", "mark_to_drop(standard_metadata)"),
        (
            "apply { hash(hdr.data.b, HashAlgorithm.random, 32w0, { hdr.data.a }, 32w9); }",
            "HashAlgorithm.random",
        ),
        (
            "apply { verify_checksum(true, { hdr.data.a }, hdr.data.a, HashAlgorithm.csum16); }",
            "`verify_checksum` only",
        ),
    ] {
        let refusal = try_switch(body, "apply { }", Options::default()).err().expect(body);
        assert!(refusal.contains("P4R0401") && refusal.contains(advice), "{refusal}");
    }
}
