// A link would pad frames of a frame extern.
// place: R = nic
// runtime: headerless, 2
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
//  ^^^^^^^^^^^ error[P4R1703] hand-overs may be shorter than links carry unpadded: `I.b` gives frames of any length
    apply {
        b.call(1w0);
        @region("R") {
            hdr.h.b = 3;
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
