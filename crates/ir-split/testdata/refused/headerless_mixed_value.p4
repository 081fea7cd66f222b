// A value is refused on the way to the device without a header, and only there.
// place: R = nic, S = fpga
// runtime: headerless, 2
// header: fpga
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
    }
    state second { packet.extract(hdr.g); transition accept; }
}

control V(inout headers hdr, inout metadata meta) { apply { } }

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        if (hdr.h.isValid()) {
            meta.x = hdr.h.a;
//          ^^^^^^^^^^^^^^^^^ error[P4R1701] `meta.x` cannot travel without a header: written here
            @region("R") { hdr.h.b = hdr.h.b + meta.x; }
//                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^ read here, after the cut to `R` at `nic`
            @region("S") { hdr.h.b = hdr.h.b ^ meta.x; }
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
