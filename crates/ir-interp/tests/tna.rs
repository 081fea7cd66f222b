//! What of TNA and T2NA does not run is refused when the device is made, and hostile packets end.

use crate::common;

use base_time::Time;
use common::{Test, conserved};
use dataplane_api::{Device, DropReason};
use device::Options;

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
    let check = |declarations: &str, body: &str| {
        refusal(&program("", declarations, body, &format!("{PIPE} Switch(pipe) main;")))
    };
    let filter = check("Lpf<bit<32>, bit<8>>(4) filter;", "hdr.data.b = filter.execute(hdr.data.b, 1);");
    assert_eq!(filter, "error[P4R1802]: `Lpf` cannot be run");
    let parser = "parser Stacked(packet_in packet, out headers_t hdr, out meta_t meta, \
                  out ingress_intrinsic_metadata_t ig) { ParserCounter() counter; \
                  state start { counter.push<bit<8>>(1); transition accept; } }";
    let main = format!("{parser} {} Switch(pipe) main;", PIPE.replace("PlainIngressParser", "Stacked"));
    let stacked = program("#define TOFINO2\n", "", "", &main);
    assert_eq!(refusal(&stacked), "error[P4R1802]: this call cannot be run");
    let hash = "Hash<bit<16>>(HashAlgorithm_t.CUSTOM) h;";
    assert_eq!(check(hash, "hdr.data.a = h.get(hdr.data.b);"), "error[P4R0401]: `Hash` cannot be run");
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
