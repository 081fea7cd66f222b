//! The state objects of a program: mode, key, and who uses each.

use base_diag::{Diagnostic, SourceMap};
use ir_state::{Key, objects, refuse_apart};
use p4_arch::Texts;
use p4_syntax::Options;
use std::fmt::Write;

fn compile(source: &str) -> ir::Program {
    let texts = [("state.p4", source)];
    let program =
        ir_elaborate::program("state.p4", &Texts(&texts), &Options::default(), &mut SourceMap::new());
    program.unwrap_or_else(|found| panic!("{found:#?}"))
}

/// One line for each object.
fn shown(source: &str) -> String {
    let program = compile(source);
    let mut out = String::new();
    for object in objects(&program) {
        let name = &program.instance(object.instance).control_plane_name;
        let merge = object.mode.merge().map_or(String::new(), |merge| format!("({})", merge.name()));
        let key = match &object.key {
            Key::Whole => "whole".to_string(),
            Key::Cell => "cell".to_string(),
            Key::Entry(table) => format!("entry of {table}"),
        };
        let _ = write!(out, "{name}: {}{merge}, {key};", object.mode.name());
        for accessor in &object.accessors {
            let place = accessor.region.as_ref().map_or(String::new(), |region| format!(" {region}"));
            let does = match (accessor.touch.reads, accessor.touch.writes) {
                (true, true) => "reads and writes",
                (true, false) => "reads",
                (false, true) => "writes",
                (false, false) => "uses",
            };
            let _ = write!(out, " {}{place} {does};", accessor.stage);
        }
        let Diagnostic { notes, .. } = refuse_apart(&program, object.instance, String::new());
        for note in notes {
            let _ = write!(out, " not yet apart: {note}");
        }
        out.push('\n');
    }
    out
}

#[test]
fn each_object_has_a_mode_a_key_and_those_that_use_it() {
    let text = shown(
        r#"#include <core.p4>
        #define V1MODEL_VERSION 20200408
        #include <v1model.p4>
        header h_t { bit<8> a; }
        struct headers { h_t h; }
        struct metadata { bit<8> x; }
        parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
            state start { packet.extract(hdr.h); transition accept; }
        }
        control V(inout headers hdr, inout metadata meta) { apply { } }
        control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
            register<bit<8>, bit<32>>(4) plain;
            @merge("max") register<bit<8>, bit<32>>(4) peak;
            @sharded register<bit<8>, bit<32>>(4) flows;
            @soft register<bit<8>, bit<32>>(4) cached;
            direct_counter(CounterType.packets) hits;
            action_profile(4) members;
            meter<bit<32>>(4, MeterType.packets) rate;
            action note() { peak.write(0, 1); }
            table acl { key = { hdr.h.a: exact; } actions = { note; NoAction; } implementation = members; counters = hits; }
            apply {
                plain.read(meta.x, 0);
                @region("Outer") {
                    plain.write(0, meta.x);
                    @region("Inner") { acl.apply(); if (meta.x == 1) { plain.read(meta.x, 1); } }
                    cached.read(meta.x, 2);
                }
                flows.write(1, meta.x);
                rate.execute_meter(0, meta.x);
            }
        }
        control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
            apply { }
        }
        control C(inout headers hdr, inout metadata meta) { apply { } }
        control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr.h); } }
        V1Switch(P(), V(), I(), E(), C(), D()) main;"#,
    );
    expect_test::expect![[r#"
        I.plain: exclusive, cell; ingress reads; ingress Outer writes; ingress Inner reads;
        I.peak: merged(max), cell; ingress Inner writes;
        I.flows: sharded, cell; ingress writes; not yet apart: flows are not directed to copies of their own yet, as `@sharded` asks
        I.cached: soft, cell; ingress Outer reads; not yet apart: an object that is soft has one copy so far
        I.hits: merged(add), entry of I.acl; ingress Inner writes;
        I.members: replicated, whole; ingress Inner reads;
        I.rate: exclusive, cell; ingress reads and writes;
    "#]].assert_eq(&text);
}
