// A hand-over with a header would pass a link whose packets have none.
// place: R = nic, S = fpga
// links: tor-fpga, tor-nic
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
            @region("R") { hdr.h.b = hdr.h.b + 1; meta.x = hdr.h.b; }
            @region("S") { hdr.h.b = hdr.h.b ^ meta.x; }
//                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R1704] no link joins `nic` and `fpga`: `S` is reached over `tor`
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
