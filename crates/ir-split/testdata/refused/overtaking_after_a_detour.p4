// A detour over `nic` keeps the order of `r` and `q`, but packets that do not call `S` still overtake. The refusal is the one without the detour.
// place: R = nic, S = fpga
// call: S
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
    register<bit<8>, bit<32>>(4) r;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0510] packets may overtake between `I.r` and `I.q`: used by packets that then reach the other object
    register<bit<8>, bit<32>>(4) q;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ and this one by packets that arrive over a cut
    register<bit<8>, bit<32>>(4) z;
    apply {
        r.write(0, 1);
        if (hdr.h.a > 9) {
            @region("R") { meta.x = 1; }
        }
        q.write(0, meta.x);
        if (hdr.h.a > 12) {
            @region("S") { meta.y = 1; }
        }
        z.write(0, meta.y);
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
