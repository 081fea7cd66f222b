// Frames that a frame extern makes have no output port yet: they take a link of their own.
// place: R = nic
// runtime: headerless, 1
// pads: no
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

@frame_extern("beacon") extern Beacon { Beacon(); void call(in bit<1> x); }
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
    Beacon() b;
    apply {
        std.egress_spec = 3;
        b.call(1w0);
        @region("R") {
            if (std.egress_spec == 3) { hdr.h.b = 1; }
//          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R1704] `tor` and `nic` have too few links: packets come here over one of them
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
