//! Parts of TNA and T2NA that do not run are refused when the device is made, and the processing of hostile packets ends.

use crate::common;

use base_time::Time;
use common::{Test, conserved};
use dataplane_api::{Device, DropReason};
use device::{Options, Session};

const PARAMS: &str = "inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig,
    in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
    inout ingress_intrinsic_metadata_for_tm_t tm";

/// A program whose ingress has these declarations and this body.
fn program(include: &str, declarations: &str, body: &str, main: &str) -> String {
    format!(
        "{include}#include \"tna_common.p4\"\n\
         control Ingress({PARAMS}) {{ {declarations} apply {{ {body} }} }}\n{main}\n"
    )
}

const PIPE: &str = "Pipeline(PlainIngressParser(), Ingress(), PlainIngressDeparser(), PlainEgressParser(), \
     PlainEgress(), PlainEgressDeparser()) pipe;";

fn refusal(text: &str) -> String {
    let refused = Test::inline(text).switch(Options::default()).err().expect("it is refused");
    refused.lines().next().unwrap_or_default().to_string()
}

#[test]
fn only_one_pipeline_runs() {
    let second = PIPE.replace(" pipe;", " other;");
    let two = program("", "", "", &format!("{PIPE} {second} Switch(pipe, other) main;"));
    assert_eq!(refusal(&two), "error[P4R1801]: programs for 2 pipes cannot be run");
    let ghost = "control Ghost(in ghost_intrinsic_metadata_t g) { apply {} }";
    let with = PIPE.replace("PlainEgressDeparser()", "PlainEgressDeparser(), Ghost()");
    let main = format!("{ghost} {with} Switch(pipe) main;");
    let with_ghost = program("#define TOFINO2\n", "", "", &main);
    assert_eq!(refusal(&with_ghost), "error[P4R1801]: a ghost thread cannot be run");
}

#[test]
fn externs_that_are_not_modelled_are_refused() {
    let check = |include: &str, declarations: &str, body: &str| {
        refusal(&program(include, declarations, body, &format!("{PIPE} Switch(pipe) main;")))
    };
    let generator = check("#define TOFINO2\n", "Pktgen() generator;", "generator.emit(hdr.data);");
    assert_eq!(generator, "error[P4R1802]: `Pktgen` cannot be run");
    let parser = "parser Stacked(packet_in packet, out headers_t hdr, out meta_t meta, \
                  out ingress_intrinsic_metadata_t ig) { ParserCounter() counter; \
                  state start { counter.push<bit<8>>(1); transition accept; } }";
    let main = format!("{parser} {} Switch(pipe) main;", PIPE.replace("PlainIngressParser", "Stacked"));
    let stacked = program("#define TOFINO2\n", "", "", &main);
    assert_eq!(refusal(&stacked), "error[P4R1802]: this call cannot be run");
    let hash = "Hash<bit<16>>(HashAlgorithm_t.CUSTOM) h;";
    assert_eq!(check("", hash, "hdr.data.a = h.get(hdr.data.b);"), "error[P4R0401]: `Hash` cannot be run");
}

/// A program whose ingress has a filter or decision over `b`, with its settings in cell 1.
fn filtered(declaration: &str, settings: u128) -> device::Switch {
    let body = "tm.ucast_egress_port = 1; hdr.data.b = (bit<32>)filter.execute(hdr.data.b, 1);";
    let main = format!("{PIPE} Switch(pipe) main;");
    let test = Test::inline(&program("", declaration, body, &main));
    let mut switch = test.switch(Options::default()).expect("a device");
    let like = switch.register_value("Ingress.filter.$SETTINGS", 1).expect("settings");
    let cell = ir_value::numbers::unpacked(&like, settings);
    switch.register_set("Ingress.filter.$SETTINGS", 1, cell).expect("settings");
    switch
}

fn result(switch: &mut device::Switch, value: u32, now_us: u64) -> u32 {
    let frame = [[0, 0, 0, 0], value.to_be_bytes()].concat();
    let sent = switch.process(1, &frame, Time::from_ps(now_us * 1_000_000));
    assert_eq!(sent.len(), 1, "{value} at {now_us}: {:?}", switch.counters());
    u32::from_be_bytes(sent[0].frame[4..8].try_into().expect("four bytes"))
}

/// The result is what the differential equation of a low-pass filter of first order has, at the times of the packets.
#[test]
fn filters_follow_their_equations() {
    // A rise of 100 us, a decay of 300 us, no divisor; then rates over 200 us, divided by 8.
    let settings = [100_000u128 << 40 | 300_000 << 8, 1 << 72 | 200_000 << 8 | 3];
    for (is_rate, settings) in [false, true].into_iter().zip(settings) {
        let mut switch = filtered("Lpf<bit<32>, bit<8>>(4) filter;", settings);
        let (mut y, mut before) = (0.0f64, 0);
        for (now, x) in [(50, 8000), (80, 8000), (80, 4000), (500, 0), (510, 100_000), (2000, 16)] {
            let passed = f64::from(now - before);
            let expected = if is_rate {
                y = y * f64::exp(-passed / 200.0) + f64::from(x);
                y / 8.0
            } else {
                let constant = if f64::from(x) > y { 100.0 } else { 300.0 };
                y += (f64::from(x) - y) * (1.0 - f64::exp(-passed / constant));
                y
            };
            before = now;
            let out = f64::from(result(&mut switch, x, u64::from(now as u32)));
            assert!(
                out <= expected + 1e-6 && out > expected - 1.0 - 1e-6,
                "{is_rate} {now}: {out} {expected}"
            );
        }
    }
}

/// The cells of a direct filter are those of the entries and of the default action: each remembers its own packets.
#[test]
fn entries_have_filters_of_their_own() {
    let declarations = "DirectLpf<bit<32>>() filter;
        action rate() { hdr.data.b = filter.execute(hdr.data.b); }
        table entries { key = { hdr.data.op : exact; } actions = { rate; } filters = filter;
            const entries = { 1 : rate(); 2 : rate(); } const default_action = rate(); }";
    let main = format!("{PIPE} Switch(pipe) main;");
    let test = Test::inline(&program("", declarations, "tm.ucast_egress_port = 1; entries.apply();", &main));
    let mut switch = test.switch(Options::default()).expect("a device");
    let like = switch.register_value("Ingress.filter.$SETTINGS", 0).expect("settings");
    let rate_of_a_second = ir_value::numbers::unpacked(&like, 1 << 72 | 1_000_000_000 << 8);
    switch.register_set("Ingress.filter.$SETTINGS", 0, rate_of_a_second).expect("settings");
    let mut sum = |op: u8, value: u8| {
        let sent = switch.process(1, &[op, 0, 0, 0, 0, 0, 0, value], Time::ZERO);
        sent[0].frame[7]
    };
    // Nothing decays, because no time passes.
    assert_eq!([sum(1, 10), sum(1, 5), sum(2, 3), sum(7, 1), sum(9, 1), sum(1, 0)], [10, 15, 3, 1, 2, 15]);
}

/// Between the thresholds packets are dropped with the probability that the average has.
#[test]
fn decisions_have_their_probability() {
    // No memory, thresholds 100 and 300, probability 1/2 at the upper: 1/4 in the middle.
    let mut switch = filtered("Wred<bit<32>, bit<8>>(4, 9, 5) filter;", 100u128 << 64 | 300 << 32 | 1 << 31);
    let mut count = |value: u32| (0..4000).filter(|n| result(&mut switch, value, *n) == 9).count();
    assert_eq!([count(0), count(100), count(301)], [0, 0, 4000]);
    let middle = count(200);
    // Six standard deviations of a binomial distribution: 27 each.
    assert!((836..1164).contains(&middle), "{middle}");
}

/// A packet that resubmits or recirculates for ever, and one with more copies than its budget allows.
#[test]
fn packets_that_never_end_are_dropped() {
    let body = "if (hdr.data.op == 0) { dprsr.resubmit_type = 1; } else { tm.ucast_egress_port = 68; }";
    let deparser = "control D(packet_out packet, inout headers_t hdr, in meta_t meta,
        in ingress_intrinsic_metadata_for_deparser_t dprsr) {
            Resubmit(1) again;
            apply { if (dprsr.resubmit_type == 1) { again.emit(); } packet.emit(hdr); } }";
    let main = format!("{deparser} {} Switch(pipe) main;", PIPE.replace("PlainIngressDeparser", "D"));
    let test = Test::inline(&program("", "", body, &main));
    for op in [0, 1] {
        let options = Options { pass_limit: 20, ..Options::default() };
        let mut switch = test.switch(options).expect("a device");
        let sent = switch.process(1, &[op, 0, 0, 0, 0, 0, 0, 0], Time::ZERO);
        assert_eq!(sent, []);
        assert_eq!(switch.counters().dropped[&DropReason::PassLimit], 1);
        conserved(&switch);
    }
}

/// Frames that are shorter than their headers are dropped, since ingress does not look at the error.
#[test]
fn short_packets_are_dropped() {
    let main = format!("{PIPE} Switch(pipe) main;");
    let test = Test::inline(&program("", "", "tm.ucast_egress_port = 1;", &main));
    let mut switch = test.switch(Options::default()).expect("a device");
    for length in 0..8 {
        assert_eq!(switch.process(1, &vec![0; length], Time::ZERO), []);
    }
    assert_eq!(switch.counters().dropped[&DropReason::Ingress], 8);
    assert_eq!(switch.process(1, &[0; 8], Time::ZERO).len(), 1);
}

/// The check values of the catalogue of parametrised CRC algorithms: KERMIT, GENIBUS, and XMODEM in two other forms.
#[test]
fn polynomials_of_programs() {
    let polynomials = [
        ("bit<16>", "0x1021, true, false, false, 0, 0", 0x2189),
        ("bit<16>", "0x1021, false, false, false, 0xffff, 0xffff", 0xd64e),
        ("bit<17>", "0x11021, false, false, true, 0, 0", 0x31c3),
        ("bit<16>", "0x0810, false, true, false, 0, 0", 0x31c3),
    ];
    for (ty, arguments, check) in polynomials {
        let declarations =
            format!("CRCPolynomial<{ty}>({arguments}) p; Hash<bit<16>>(HashAlgorithm_t.CUSTOM, p) h;");
        let body = "tm.ucast_egress_port = 1; hdr.data.a = h.get(72w0x313233343536373839);";
        let main = format!("{PIPE} Switch(pipe) main;");
        let test = Test::inline(&program("", &declarations, body, &main));
        let sent = test.switch(Options::default()).expect("a device").process(1, &[0; 8], Time::ZERO);
        assert_eq!(sent[0].frame[2..4], u16::to_be_bytes(check), "{arguments}");
    }
}

const MIRRORS: &str = "control D(packet_out packet, inout headers_t hdr, in meta_t meta,
    in ingress_intrinsic_metadata_for_deparser_t dprsr) {
        Mirror(1) mirror;
        apply { if (dprsr.mirror_type == 1) { mirror.emit<data_t>((MirrorId_t)hdr.data.a, hdr.data); } packet.emit(hdr); } }";

/// Egress sees the queue and class of unicast, of the processor's copy and of a session; a session's length includes the
/// mirror's header.
#[test]
fn queues_classes_and_lengths() {
    let egress = "control E(inout headers_t hdr, inout meta_t meta, in egress_intrinsic_metadata_t eg,
        in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
        inout egress_intrinsic_metadata_for_output_port_t oport) {
            apply { hdr.data.b = 11w0 ++ eg.egress_qid ++ 13w0 ++ eg.egress_cos; } }";
    let body = "tm.ucast_egress_port = 1; tm.qid = 5; tm.ingress_cos = 3; tm.copy_to_cpu = 1;
        tm.icos_for_copy_to_cpu = 6; dprsr.mirror_type = 1;
        if (hdr.data.op == 1) { tm.ucast_egress_port = 511; tm.copy_to_cpu = 0; dprsr.mirror_type = 0; tm.mcast_grp_a = 77; }";
    let pipe = PIPE.replace("PlainIngressDeparser", "D").replace("PlainEgress()", "E()");
    let test = Test::inline(&program("", "", body, &format!("{MIRRORS} {egress} {pipe} Switch(pipe) main;")));
    let mut switch = test.switch(Options::default()).expect("a device");
    let session = Session { port: Some(8), max_length: Some(9), class_of_service: 4, ..Session::default() };
    switch.clone_session_set(7, Some(session));
    let mut sent = switch.process(1, &[0, 0, 0, 7, 0, 0, 0, 0, 9, 9], Time::ZERO);
    sent.sort();
    let seen: Vec<_> = sent.iter().map(|out| (out.port, &out.frame[4..])).collect();
    assert_eq!(
        seen,
        [(1, &[0, 5, 0, 3, 9, 9][..]), (8, &[0, 0, 0, 4, 0][..]), (64, &[0, 5, 0, 6, 9, 9][..])]
    );
    assert_eq!(switch.process(1, &[1, 0, 0, 7, 0, 0, 0, 0], Time::ZERO), []);
    assert_eq!(switch.counters().dropped[&DropReason::NoReplica], 1);
    conserved(&switch);
}

/// Tofino 2 mirrors the packet as it came to egress, or as it leaves if the program says so.
#[test]
fn mirrors_of_egress_on_tofino_2() {
    let egress = "control E(inout headers_t hdr, inout meta_t meta, in egress_intrinsic_metadata_t eg,
        in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
        inout egress_intrinsic_metadata_for_output_port_t oport) {
            apply { hdr.data.b = 5; if (eg.egress_port == 1) { dprsr.mirror_type = 1; } dprsr.mirror_io_select = hdr.data.op[0:0]; } }
        control F(packet_out packet, inout headers_t hdr, in meta_t meta,
            in egress_intrinsic_metadata_for_deparser_t dprsr) {
                Mirror(1) mirror;
                apply { if (dprsr.mirror_type == 1) { mirror.emit<data_t>(7, hdr.data); } packet.emit(hdr); } }";
    let pipe = PIPE.replace("PlainEgress()", "E()").replace("PlainEgressDeparser()", "F()");
    let main = format!("{egress} {pipe} Switch(pipe) main;");
    let test = Test::inline(&program("#define TOFINO2\n", "", "tm.ucast_egress_port = 1;", &main));
    let mut switch = test.switch(Options::default()).expect("a device");
    switch.clone_session_set(7, Some(Session { port: Some(8), ..Session::default() }));
    for (op, field) in [(0, 1), (1, 5)] {
        let sent = switch.process(1, &[op, 0, 0, 0, 0, 0, 0, 1], Time::ZERO);
        let mirrored = sent.iter().find(|out| out.port == 8).expect("a mirror");
        assert_eq!(mirrored.frame[8..], [op, 0, 0, 0, 0, 0, 0, field]);
    }
}
