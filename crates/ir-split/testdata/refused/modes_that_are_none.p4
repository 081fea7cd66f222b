// Annotations that say how copies relate, and cannot.
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
    @merge("sum") register<bit<8>, bit<32>>(4) no_operator;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0243] `@merge` is not allowed here: this is no operator
    @merge("or") register<bool, bit<32>>(4) no_numbers;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0243] `@merge` is not allowed here: its cells are no numbers
    @merge("max") counter<bit<32>>(4, CounterType.packets) adds_up;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0243] `@merge` is not allowed here: a counter adds up
    @soft meter<bit<32>>(4, MeterType.packets) no_register;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0243] `@soft` is not allowed here: this is a meter
    @soft @sharded register<bit<8>, bit<32>>(4) two_modes;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0243] `@soft` is not allowed here: it has `@sharded` too
    @merge("add") counter<bit<32>>(4, CounterType.packets) well;
    @merge("add") direct_counter(CounterType.packets) of_entries;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0243] `@merge` is not allowed here: its table has entries of the program
    table known { key = { hdr.h.a: exact; } actions = { NoAction; } counters = of_entries; entries = { 1: NoAction(); } }
    apply {
        known.apply();
        no_operator.write(0, 1);
        no_numbers.write(0, true);
        adds_up.count(0);
        no_register.execute_meter(0, meta.x);
        two_modes.write(0, 1);
        well.count(0);
        @region("R") { meta.y = meta.x; }
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
