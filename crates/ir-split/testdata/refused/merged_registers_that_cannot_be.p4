// What merged registers cannot be.
// place: R = nic
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; h_t g; }
struct metadata { bit<8> x; bit<8> y; bool flag; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a) { 1: second; default: accept; }
    }
    state second { packet.extract(hdr.g); transition accept; }
}

control V(inout headers hdr, inout metadata meta) { apply { } }

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    @merge("max") register<bit<8>, bit<32>>(4) branches;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ its copies are merged at an interval
    @merge("add", reads = "stale") register<bit<8>, bit<32>>(4) may;
    @merge("add") register<bit<8>, bit<32>>(4) read_elsewhere;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ its copies are merged at an interval
    @merge("add") register<bit<8>, bit<32>>(4) full;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ its copies are added up, modulo the width of a cell
    @merge("max") register<bit<8>, bit<32>>(4) full_too;
    @merge("add") register<bit<8>, bit<32>>(4) hidden;
    @merge("add", reads = "stale") register<bit<8>, bit<32>>(4) ends;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ its copies are added up: each device counts its own additions
    @merge("max") register<bit<8>, bit<32>>(4) overwritten_too;
    @merge("or") register<bit<200>, bit<32>>(4) wide;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0243] `@merge` is not allowed here: its cells have 200 bits
    @merge("add", reads = "fresh") register<bit<8>, bit<32>>(4) fresh;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0243] `@merge` is not allowed here: this is no operator
    @merge("add") meter<bit<32>>(4, MeterType.packets) rate;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0243] `@merge` is not allowed here: this is a meter
    apply {
        bit<8> n;
        bit<8> m;
        bit<8> k;
        branches.read(n, 0);
        if (n < hdr.h.a) { branches.write(0, hdr.h.a); }
//          ^ error[P4R0513] packets show what they read from `I.branches`: this uses a value of it
        may.read(meta.x, 0);
        read_elsewhere.read(meta.y, 0);
//      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0513] packets show what they read from `I.read_elsewhere`: it is read into something else than a local variable
        full.read(m, 0);
        m = m |+| 1;
//          ^^^^^^^ error[P4R0243] `I.full` saturates, and cannot be added up: this ends at the largest or smallest number
        full.write(0, m);
        full_too.read(k, 0);
        full_too.write(0, k |+| 1);
        bit<8> p;
        bit<8> q;
        hidden.read(p, 0);
        q = p + hdr.h.a;
        hidden.write(0, q);
        bit<8> e;
        ends.read(e, 0);
        e = e + 1;
        ends.write(0, e);
        if (e > 9) { e = 0; }
        ends.write(0, e);
//      ^^^^^^^^^^^^^^^^ error[P4R0243] `I.ends` is overwritten, and cannot be added up: this value is not computed from the cell's
        overwritten_too.write(0, 7);
        wide.write(0, 1);
        fresh.write(0, 1);
        rate.execute_meter(0, hdr.h.b);
        @region("R") { hdr.h.a = 1; }
    }
}

control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
    }
}

control C(inout headers hdr, inout metadata meta) { apply { } }

control D(packet_out packet, in headers hdr) {
    apply { packet.emit(hdr.h); packet.emit(hdr.g); }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
