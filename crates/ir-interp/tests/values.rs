//! Value externs: passing of values, refusals, timers, and reports of uses.

use crate::common;

use base_bits::Bits;
use base_time::{Duration, Time};
use common::{Test, conserved};
use control_writes::Write;
use dataplane_api::{
    Device, Direction, Effect, ExternError, Form, Method, Registry, ValueExtern, ValueOffer, ValueType,
};
use device::{AccessKind, Observation, Options, Recorder, Replayer, Source};
use expect_test::{Expect, expect};
use state_modes::Merge;
use std::sync::{Arc, Mutex};

/// Notes what it is called with, gives what the test says, and has a timer that runs after each writing call.
struct Probe {
    calls: Arc<Mutex<Vec<String>>>,
    sum: u64,
    deadline: Option<Time>,
}

impl ValueExtern for Probe {
    fn call(&mut self, method: usize, inputs: &[Bits], outputs: &mut [Bits], now: Time) {
        let show = |all: &[Bits]| all.iter().map(Bits::to_string).collect::<Vec<_>>().join(" ");
        self.calls.lock().unwrap().push(format!("{method}({}) -> {} at {now}", show(inputs), show(outputs)));
        match (method, outputs) {
            (0, [wide, signed, first, second, member]) => {
                *wide = Bits::ones(200);
                *signed = Bits::from_i128(12, -7);
                // Too wide and too narrow: cut, and filled up.
                *first = Bits::new(64, 0x1234_5678_9abc);
                *second = Bits::new(4, 0xf);
                *member = Bits::new(32, 1);
            }
            (1, [sum]) => {
                self.sum += inputs[0].low_u64();
                self.deadline = Some(now + Duration::from_us(10));
                *sum = Bits::new(32, self.sum.into());
            }
            (2, [sum]) => *sum = Bits::new(32, self.sum.into()),
            (3, [_]) => {}
            _ => panic!("not declared"),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    fn tick(&mut self, now: Time) {
        assert!(self.deadline.take().is_some_and(|due| due <= now));
        self.sum *= 100;
    }

    fn snapshot(&self) -> Vec<u8> {
        self.sum.to_be_bytes().to_vec()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), ExternError> {
        Ok(())
    }
}

fn registry() -> (Registry, Arc<Mutex<Vec<String>>>) {
    let calls = Arc::new(Mutex::new(vec![]));
    let seen = Arc::clone(&calls);
    let pair = ValueType::Struct(vec![ValueType::Bit(16), ValueType::Bit(8)]);
    let methods = vec![
        Method::new("all", Effect::Writes)
            .param(Direction::In, ValueType::Bool)
            .param(Direction::InOut, ValueType::Bit(200))
            .param(Direction::InOut, ValueType::Int(12))
            .param(Direction::Out, pair)
            .param(Direction::In, ValueType::Enum(&["RED", "BLUE"]))
            .returns(ValueType::Enum(&["RED", "BLUE"])),
        Method::new("add", Effect::Writes)
            .param(Direction::In, ValueType::Bit(32))
            .returns(ValueType::Bit(32)),
        Method::new("sum", Effect::Reads).returns(ValueType::Bit(32)),
        Method::new("same", Effect::Pure).param(Direction::InOut, ValueType::AnyBit),
    ];
    let make = move |args: &[Bits]| match args {
        [start] => Ok(Box::new(Probe { calls: Arc::clone(&seen), sum: start.low_u64(), deadline: None })
            as Box<dyn ValueExtern>),
        _ => Err(ExternError("it takes one number".into())),
    };
    let mut registry = Registry::default();
    let offer = ValueOffer {
        form: Form::Object,
        methods,
        merge: Some(Merge::Add),
        cost: Duration::ZERO,
        make: Arc::new(make),
    };
    registry.add_value("probe", offer);
    netfn_values::register(&mut registry);
    (registry, calls)
}

const PROBE: &str = r#"
enum colour_t { RED, BLUE }
struct pair_t { bit<16> first; bit<8> second; }
@value_extern("probe") @merge("add")
extern Probe {
    Probe(bit<32> start);
    colour_t all(in bool flag, inout bit<200> wide, inout int<12> signed, out pair_t pair, in colour_t colour);
    bit<32> add(in bit<32> more);
    @noSideEffects bit<32> sum();
    @pure void same(inout bit<24> data);
}
"#;

/// A program whose ingress has these declarations and this body.
fn program(declarations: &str, locals: &str, body: &str) -> Test {
    Test::inline(&format!(
        "#include \"common.p4\"\n{declarations}
         control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {{
             {locals}
             apply {{ {body} sm.egress_spec = 1; }}
         }}
         V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;"
    ))
}

fn send(switch: &mut device::Switch, op: u8, b: u32, at: Time) -> Vec<u8> {
    let frame = [&[op, 0, 0, 0], &b.to_be_bytes()[..]].concat();
    let sent = switch.process(0, &frame, at);
    assert_eq!(sent.len(), 1);
    sent[0].frame.clone()
}

#[test]
fn all_kinds_of_values_pass_in_order() {
    let (registry, calls) = registry();
    let body = "
        bool flag = hdr.data.op == 1;
        bit<200> wide = 168w0 ++ hdr.data.b;
        int<12> signed = -2;
        pair_t pair = { 1, 2 };
        colour_t colour = p.all(flag, wide, signed, pair, flag ? colour_t.BLUE : colour_t.RED);
        hdr.data.op = colour == colour_t.BLUE ? 8w9 : 8w8;
        hdr.data.a = pair.first;
        hdr.data.b = wide[199:192] ++ pair.second ++ (bit<16>)(bit<12>)signed;";
    let test = program(PROBE, "Probe(5) p;", body);
    let mut switch = test.switch(Options { registry, ..Options::default() }).expect("a device");
    let out = send(&mut switch, 1, 0xabcd, Time::from_ps(3));
    assert_eq!(out, [9, 0, 0x9a, 0xbc, 0xff, 0x0f, 0x0f, 0xf9]);
    conserved(&switch);
    let calls = calls.lock().unwrap();
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    // `inout` slots have what came in, others zero.
    expect!["0(1w0x1 200w0xabcd 12w0xffe 32w0x1) -> 200w0xabcd 12w0xffe 16w0x0 8w0x0 32w0x0 at 3ps"]
        .assert_eq(call);
}

#[test]
fn timers_run_and_the_snapshot_shows_them() {
    let (registry, _) = registry();
    let test = program(PROBE, "Probe(5) p;", "hdr.data.b = p.add(hdr.data.b);");
    let mut switch = test.switch(Options { registry, ..Options::default() }).expect("a device");
    let at = |us| Time::ZERO + Duration::from_us(us);
    assert_eq!(switch.deadline(), None);
    assert_eq!(send(&mut switch, 0, 2, at(1))[4..], 7u32.to_be_bytes());
    assert_eq!(switch.deadline(), Some(at(11)));
    assert_eq!(switch.tick(at(11)).len(), 0);
    assert_eq!(switch.deadline(), None);
    assert_eq!(switch.state()["I.p"], 700u64.to_be_bytes());
    assert_eq!(send(&mut switch, 0, 1, at(12))[4..], 701u32.to_be_bytes());
}

#[test]
fn the_version_of_a_memory_rises_with_calls_timers_and_writes() {
    let (registry, _) = registry();
    let body = "if (hdr.data.op == 1) { hdr.data.b = p.add(hdr.data.b); }";
    let test = program(PROBE, "Probe(5) p;", body);
    let mut switch = test.switch(Options { registry, ..Options::default() }).expect("a device");
    let mut known = None;
    let mut rises = |switch: &device::Switch| {
        let version = switch.memory_version("I.p").unwrap();
        assert!(version.is_some() && version >= known);
        std::mem::replace(&mut known, version) != version
    };
    let at = |us| Time::ZERO + Duration::from_us(us);
    assert!(rises(&switch) && !rises(&switch));
    send(&mut switch, 1, 2, at(1));
    assert!(rises(&switch), "a call");
    send(&mut switch, 0, 2, at(2));
    assert_eq!(switch.memory("I.p").unwrap(), 7u64.to_be_bytes());
    assert!(!rises(&switch), "a packet that does not call it, and a read");
    switch.tick(at(11));
    assert!(rises(&switch), "a timer");
    switch.write(&Write::Memory { object: "I.p".into(), to: vec![0; 8] }, at(12)).unwrap();
    assert!(rises(&switch), "a write");
}

#[test]
fn uses_are_reported_and_the_clock_is_read_through_the_environment() {
    let (registry, _) = registry();
    let body = "
        bit<24> data = 7;
        if (hdr.data.op == 1) { hdr.data.b = p.add(hdr.data.b); }
        else if (hdr.data.op == 2) { hdr.data.b = p.sum(); }
        else { p.same(data); }";
    let test = program(PROBE, "Probe(0) p;", body);
    let recorder = Recorder::default();
    let environment = Box::new(recorder.clone());
    let mut switch = test.switch(Options { registry, environment, ..Options::default() }).expect("a device");
    switch.set_access_log(true);
    let seen = |switch: &mut device::Switch, op| {
        send(switch, op, 3, Time::from_ps(17));
        let kinds: Vec<AccessKind> = switch.take_accesses().into_iter().map(|a| a.kind).collect();
        let reads = recorder.take().into_iter().filter(|o| o.source == Source::ExternNow("I.p".into()));
        (kinds, reads.map(|o: Observation| o.value).collect::<Vec<_>>())
    };
    assert_eq!(seen(&mut switch, 1), (vec![AccessKind::Update], vec![17]));
    assert_eq!(seen(&mut switch, 2), (vec![AccessKind::Read], vec![17]));
    assert_eq!(seen(&mut switch, 3), (vec![], vec![]));

    let (registry, calls) = self::registry();
    let replayer = Replayer::default();
    replayer.load([Observation { source: Source::ExternNow("I.p".into()), value: 99 }]);
    let environment = Box::new(replayer);
    let mut switch = test.switch(Options { registry, environment, ..Options::default() }).expect("a device");
    send(&mut switch, 1, 3, Time::from_ps(17));
    assert!(calls.lock().unwrap()[0].ends_with(&format!("at {}", Time::from_ps(99))));
}

fn refused(declarations: &str, locals: &str, body: &str, why: Expect) {
    let (registry, _) = registry();
    let test = program(declarations, locals, body);
    let text = test.switch(Options { registry, ..Options::default() }).err().unwrap_or_default();
    why.assert_eq(&text.replace(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/"), ""));
}

#[test]
fn unknown_externs_and_wrong_arguments_are_refused() {
    let ewma = |name: &str| {
        format!(
            "@value_extern(\"{name}\") extern Ewma {{ Ewma(bit<8> shift); bit<32> update(in bit<32> sample); }}"
        )
    };
    refused(
        &ewma("ewna"),
        "Ewma(3) e;",
        "hdr.data.b = e.update(1);",
        expect![[r#"
        error[P4R0408]: no value extern `ewna` on this device
         --> inline.p4:2:1
          |
        2 | @value_extern("ewna") extern Ewma { Ewma(bit<8> shift); bit<32> update(in bit<32> sample); }
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ declared here
          |
          = help: did you mean `ewma`?
    "#]],
    );
    refused(
        &ewma("something"),
        "Ewma(3) e;",
        "hdr.data.b = e.update(1);",
        expect![[r#"
        error[P4R0408]: no value extern `something` on this device
         --> inline.p4:2:1
          |
        2 | @value_extern("something") extern Ewma { Ewma(bit<8> shift); bit<32> update(in bit<32> sample); }
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ declared here
          |
          = note: the device offers: crc7, divide, ewma, keyed-register, probe, rtt
    "#]],
    );
    refused(
        &ewma("ewma"),
        "Ewma(40) e;",
        "hdr.data.b = e.update(1);",
        expect![[r#"
        error[P4R0408]: value extern `ewma` refuses its arguments
         --> inline.p4:4:14
          |
        4 |              Ewma(40) e;
          |              ^^^^^^^^^^^ `shift` of `ewma` is 32 at most, and 40 was given
    "#]],
    );
    // An unmarked extern function.
    refused(
        "extern bit<8> f(in bit<8> x);",
        "",
        "hdr.data.op = f(1);",
        expect![[r#"
        error[P4R0401]: this call cannot be run
         --> inline.p4:5:36
          |
        5 |              apply { hdr.data.op = f(1); sm.egress_spec = 1; }
          |                                    ^^^^ `f` is not supported
          |
          = help: write `@value_extern("name")` before its declaration if the device offers it
    "#]],
    );
    refused(
        "extern F { F(); bit<8> f(in bit<8> x); }",
        "F() f;",
        "hdr.data.op = f.f(1);",
        expect![[r#"
        error[P4R0401]: `F` cannot be run
         --> inline.p4:4:14
          |
        4 |              F() f;
          |              ^^^^^^ the device does not know this extern
          |
          = help: write `@value_extern("name")` or `@frame_extern("name")` before its declaration
    "#]],
    );
}

#[test]
fn declarations_that_differ_are_refused() {
    let ewma =
        |methods: &str| format!("@value_extern(\"ewma\") extern Ewma {{ Ewma(bit<8> shift); {methods} }}");
    let r = |methods: &str, body: &str, why: Expect| refused(&ewma(methods), "Ewma(3) e;", body, why);
    r(
        "bit<32> update(in bit<16> sample);",
        "hdr.data.b = e.update(1);",
        expect![[r#"
        error[P4R0409]: `ewma` does not match the device's declaration
         --> inline.p4:2:57
          |
        2 | @value_extern("ewma") extern Ewma { Ewma(bit<8> shift); bit<32> update(in bit<16> sample); }
          |                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `sample` is `bit<32>`
          |
          = note: the device declares it as: @value_extern("ewma") extern Name { Name(...); bit<32> update(in bit<32>); @noSideEffects bit<32> value(); }
    "#]],
    );
    r(
        "bit<32> update(inout bit<32> sample);",
        "hdr.data.b = e.update(hdr.data.b);",
        expect![[r#"
        error[P4R0409]: `ewma` does not match the device's declaration
         --> inline.p4:2:57
          |
        2 | @value_extern("ewma") extern Ewma { Ewma(bit<8> shift); bit<32> update(inout bit<32> sample); }
          |                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `sample` is an `in` parameter
          |
          = note: the device declares it as: @value_extern("ewma") extern Name { Name(...); bit<32> update(in bit<32>); @noSideEffects bit<32> value(); }
    "#]],
    );
    r(
        "bit<32> update();",
        "hdr.data.b = e.update();",
        expect![[r#"
        error[P4R0409]: `ewma` does not match the device's declaration
         --> inline.p4:2:57
          |
        2 | @value_extern("ewma") extern Ewma { Ewma(bit<8> shift); bit<32> update(); }
          |                                                         ^^^^^^^^^^^^^^^^^ it takes 1 arguments, and 0 are declared
          |
          = note: the device declares it as: @value_extern("ewma") extern Name { Name(...); bit<32> update(in bit<32>); @noSideEffects bit<32> value(); }
    "#]],
    );
    r(
        "bool update(in bit<32> sample);",
        "bool b = e.update(1);",
        expect![[r#"
        error[P4R0409]: `ewma` does not match the device's declaration
         --> inline.p4:2:57
          |
        2 | @value_extern("ewma") extern Ewma { Ewma(bit<8> shift); bool update(in bit<32> sample); }
          |                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ it returns `bit<32>`
          |
          = note: the device declares it as: @value_extern("ewma") extern Name { Name(...); bit<32> update(in bit<32>); @noSideEffects bit<32> value(); }
    "#]],
    );
    r(
        "bit<32> updated(in bit<32> sample);",
        "hdr.data.b = e.updated(1);",
        expect![[r#"
        error[P4R0409]: `ewma` does not match the device's declaration
         --> inline.p4:2:57
          |
        2 | @value_extern("ewma") extern Ewma { Ewma(bit<8> shift); bit<32> updated(in bit<32> sample); }
          |                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `ewma` has no method `updated`
          |
          = note: the device declares it as: @value_extern("ewma") extern Name { Name(...); bit<32> update(in bit<32>); @noSideEffects bit<32> value(); }
          = help: did you mean `update`?
    "#]],
    );
    r(
        "@noSideEffects bit<32> update(in bit<32> sample);",
        "hdr.data.b = e.update(1);",
        expect![[r#"
        error[P4R0409]: `ewma` does not match the device's declaration
         --> inline.p4:2:57
          |
        2 | @value_extern("ewma") extern Ewma { Ewma(bit<8> shift); @noSideEffects bit<32> update(in bit<32> sample); }
          |                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ it changes the memory
          |
          = note: the device declares it as: @value_extern("ewma") extern Name { Name(...); bit<32> update(in bit<32>); @noSideEffects bit<32> value(); }
    "#]],
    );
    r(
        "@pure bit<32> value();",
        "hdr.data.b = e.value();",
        expect![[r#"
        error[P4R0409]: `ewma` does not match the device's declaration
         --> inline.p4:2:57
          |
        2 | @value_extern("ewma") extern Ewma { Ewma(bit<8> shift); @pure bit<32> value(); }
          |                                                         ^^^^^^^^^^^^^^^^^^^^^^ it reads the memory, and is not `@pure`
          |
          = note: the device declares it as: @value_extern("ewma") extern Name { Name(...); bit<32> update(in bit<32>); @noSideEffects bit<32> value(); }
    "#]],
    );
    r(
        "bit<32> update<T>(in T sample);",
        "hdr.data.b = e.update(32w1);",
        expect![[r#"
        error[P4R0409]: `ewma` does not match the device's declaration
         --> inline.p4:2:57
          |
        2 | @value_extern("ewma") extern Ewma { Ewma(bit<8> shift); bit<32> update<T>(in T sample); }
          |                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ value externs have no type parameters
          |
          = note: the device declares it as: @value_extern("ewma") extern Name { Name(...); bit<32> update(in bit<32>); @noSideEffects bit<32> value(); }
    "#]],
    );
    refused(
        "@value_extern(\"ewma\") extern bit<32> ewma(in bit<32> x);",
        "",
        "hdr.data.b = ewma(1);",
        expect![[r#"
            error[P4R0409]: `ewma` does not match the device's declaration
             --> inline.p4:2:1
              |
            2 | @value_extern("ewma") extern bit<32> ewma(in bit<32> x);
              | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this is a function, and `ewma` is an object
              |
              = note: the device declares it as: @value_extern("ewma") extern Name { Name(...); bit<32> update(in bit<32>); @noSideEffects bit<32> value(); }
        "#]],
    );
    refused(
        "@value_extern(\"crc7\") extern Crc { Crc(); bit<7> crc7(in bit<8> x); }",
        "Crc() c;",
        "hdr.data.op = c.crc7(1) ++ 1w0;",
        expect![[r#"
            error[P4R0409]: `crc7` does not match the device's declaration
             --> inline.p4:2:1
              |
            2 | @value_extern("crc7") extern Crc { Crc(); bit<7> crc7(in bit<8> x); }
              | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this is an object, and `crc7` is a function
              |
              = note: the device declares it as: @value_extern("crc7") extern bit<7> crc7(in bit<N>);
        "#]],
    );
    refused(
        &PROBE.replace("\"add\"", "\"max\""),
        "Probe(0) p;",
        "hdr.data.b = p.sum();",
        expect![[r#"
        error[P4R0409]: `probe` does not match the device's declaration
          --> inline.p4:5:1
           |
         5 | / @value_extern("probe") @merge("max")
         6 | | extern Probe {
         7 | |     Probe(bit<32> start);
         8 | |     colour_t all(in bool flag, inout bit<200> wide, inout int<12> signed, out pair_t pair, in colour_t colour);
        ...  |
        11 | |     @pure void same(inout bit<24> data);
        12 | | }
           | |_^ copies of its memory cannot be merged by this operator
           |
           = note: the device declares it as: @value_extern("probe") @merge("add") extern Name { Name(...); enum { RED, BLUE } all(in bool, inout bit<200>, inout int<12>, out struct { bit<16>, bit<8> }, in enum { RED, BLUE }); bit<32> add(in bit<32>); @noSideEffects bit<32> sum(); @pure void same(inout bit<N>); }
    "#]],
    );
    refused(
        &PROBE.replace("RED, BLUE", "RED, GREEN"),
        "Probe(0) p;",
        "hdr.data.b = p.sum();",
        expect![[r#"
        error[P4R0409]: `probe` does not match the device's declaration
         --> inline.p4:8:5
          |
        8 |     colour_t all(in bool flag, inout bit<200> wide, inout int<12> signed, out pair_t pair, in colour_t colour);
          |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `colour` is `enum { RED, BLUE }`
          |
          = note: the device declares it as: @value_extern("probe") @merge("add") extern Name { Name(...); enum { RED, BLUE } all(in bool, inout bit<200>, inout int<12>, out struct { bit<16>, bit<8> }, in enum { RED, BLUE }); bit<32> add(in bit<32>); @noSideEffects bit<32> sum(); @pure void same(inout bit<N>); }
    "#]],
    );
}

/// Less may be declared than there is, and under other names.
#[test]
fn declarations_may_say_less() {
    let (registry, _) = registry();
    let declared = "
        type bit<32> rtt_t;
        @value_extern(\"ewma\") extern Average { Average(bit<8> weight); bit<32> value(); bit<32> update(in rtt_t x); }";
    let test = program(declared, "Average(3) e;", "hdr.data.b = e.update((rtt_t)hdr.data.b) + e.value();");
    let mut switch = test.switch(Options { registry, ..Options::default() }).expect("a device");
    assert_eq!(send(&mut switch, 0, 21, Time::ZERO)[4..], 42u32.to_be_bytes());
}
