// The receiver would find other headers: a field that the parser reads is written, and a header is removed.
// place: R = nic
// runtime: headerless, 1
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header h_t { bit<8> a; bit<8> b; }
header g_t { bit<8> a; bit<8> b; }
struct headers { h_t h; g_t g; }
struct metadata { bit<8> x; bit<8> y; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a) { 1: second; default: accept; }
//                        ^^^^^^^ error[P4R1702] the packet could be parsed differently after the cut: the parser reads `hdr.h.a`
    }
    state second { packet.extract(hdr.g); transition accept; }
}

control V(inout headers hdr, inout metadata meta) { apply { } }

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        hdr.h.a = hdr.h.b;
//      ^^^^^^^^^^^^^^^^^^ written before the cut to `R`
        if (hdr.h.b == 7) { hdr.g.setInvalid(); }
//                          ^^^^^^^^^^^^^^^^^^^ error[P4R1702] the packet could be parsed differently after the cut: `g` is added or removed before the cut to `R`
        @region("R") { hdr.h.b = hdr.h.b + 1; }
//                     ^^^^^^^^^^^^^^^^^^^^^^ error[P4R1701] `hdr.h.b` cannot travel without a header: read here, after the cut to `R` at `nic`
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
