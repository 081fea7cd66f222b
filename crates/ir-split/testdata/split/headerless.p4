// The position is in the link; what the parser writes is written again, and the length is the same.
// place: R = nic
// runtime: headerless, 3
// show: section, layout, generate
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
        meta.x = hdr.h.a;
        transition select(hdr.h.a) { 1: second; 2: second; default: accept; }
    }
    state second { packet.extract(hdr.g); transition accept; }
}

control V(inout headers hdr, inout metadata meta) { apply { } }

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    counter<bit<32>>(256, CounterType.bytes) sizes;
    apply {
        if (hdr.g.isValid()) {
//          ^^^^^^^^^^^^^^^ warning[P4R0512] packets of one flow may overtake one another: this sends packets over different devices
            std.egress_spec = 3;
            @region("R") {
                sizes.count((bit<32>)hdr.h.b);
                if (meta.x == 2) { mark_to_drop(std); }
            }
        }
        hdr.h.b = meta.x;
    }
}

control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        hdr.g.a = (bit<8>)std.packet_length;
    }
}

control C(inout headers hdr, inout metadata meta) { apply { } }

control D(packet_out packet, in headers hdr) {
    apply { packet.emit(hdr.h); packet.emit(hdr.g); }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
