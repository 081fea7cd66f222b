// With the output port beside it, the field has room for 15 positions.
// place: R0 = fpga, R1 = nic, R2 = fpga, R3 = nic, R4 = fpga, R5 = nic, R6 = fpga, R7 = nic, R8 = fpga, R9 = nic, R10 = fpga, R11 = nic, R12 = fpga, R13 = nic, R14 = fpga, R15 = nic
// runtime: headerless-ipv4
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header h_t { bit<8> a; bit<40> b; bit<3> flags; bit<13> offset; bit<96> rest; }
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
        if (hdr.h.isValid() && hdr.h.offset == 0) {
            std.egress_spec = hdr.h.b[8:0];
            @region("R0") { hdr.h.rest = hdr.h.rest + 0; }
            @region("R1") { hdr.h.rest = hdr.h.rest + 1; }
            @region("R2") { hdr.h.rest = hdr.h.rest + 2; }
            @region("R3") { hdr.h.rest = hdr.h.rest + 3; }
            @region("R4") { hdr.h.rest = hdr.h.rest + 4; }
            @region("R5") { hdr.h.rest = hdr.h.rest + 5; }
            @region("R6") { hdr.h.rest = hdr.h.rest + 6; }
            @region("R7") { hdr.h.rest = hdr.h.rest + 7; }
            @region("R8") { hdr.h.rest = hdr.h.rest + 8; }
            @region("R9") { hdr.h.rest = hdr.h.rest + 9; }
            @region("R10") { hdr.h.rest = hdr.h.rest + 10; }
            @region("R11") { hdr.h.rest = hdr.h.rest + 11; }
            @region("R12") { hdr.h.rest = hdr.h.rest + 12; }
            @region("R13") { hdr.h.rest = hdr.h.rest + 13; }
            @region("R14") { hdr.h.rest = hdr.h.rest + 14; }
            @region("R15") { hdr.h.rest = hdr.h.rest + 15; }
//                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R1706] the fragment offset has too few positions: handed over to `tor`
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
