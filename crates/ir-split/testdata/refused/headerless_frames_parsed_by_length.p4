// The parser sees another length where it parses a frame of a frame extern than where it parses that frame again.
// place: R = nic
// runtime: headerless, 2
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
        transition select(std.packet_length) { 70: second; default: accept; }
//                        ^^^^^^^^^^^^^^^^^ error[P4R1702] the packet could be parsed differently after the cut: the parser reads `std.packet_length`
    }
    state second { packet.extract(hdr.g); transition accept; }
}

control V(inout headers hdr, inout metadata meta) { apply { } }

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    Beacon() b;
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
