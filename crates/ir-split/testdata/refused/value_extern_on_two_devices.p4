// The memory of a value extern is on one device; nothing merges copies yet.
// place: R = nic
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

@value_extern("sketch") @merge("add") extern Sketch { Sketch(); void count(in bit<8> key); @noSideEffects bit<8> estimate(in bit<8> key); }
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
    Sketch() s;
//  ^^^^^^^^^^^ error[P4R0505] `I.s` is used across a cut: it would have to be on `tor` and on `nic`
    apply {
        meta.x = s.estimate(hdr.h.a);
//      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ used in `ingress`
        @region("R") {
            s.count(meta.x);
//          ^^^^^^^^^^^^^^^^ and in `R`
        }
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
