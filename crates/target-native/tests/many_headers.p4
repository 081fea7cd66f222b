// More headers than code keeps in variables. A packet says which of them follow, and what is done with them: four steps of a kind and a header each.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header steps_t { bit<16> present; bit<32> kinds; bit<32> which; bit<16> sum; }
header item_t { bit<8> a; bit<13> b; bit<3> c; }

struct headers_t {
    steps_t steps;
    item_t h0; item_t h1; item_t h2; item_t h3; item_t h4; item_t h5; item_t h6; item_t h7; item_t h8; item_t h9; item_t h10; item_t h11;
}
struct metadata_t { }

#define ITEM(N, NEXT) \
    state at##N { transition select(hdr.steps.present[N:N]) { 1: take##N; default: NEXT; } } \
    state take##N { packet.extract(hdr.h##N); transition NEXT; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.steps); transition at0; }
    ITEM(0, at1)
    ITEM(1, at2)
    ITEM(2, at3)
    ITEM(3, at4)
    ITEM(4, at5)
    ITEM(5, at6)
    ITEM(6, at7)
    ITEM(7, at8)
    ITEM(8, at9)
    ITEM(9, at10)
    ITEM(10, at11)
    ITEM(11, accept)
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

#define STEP(KIND, WHICH, N, M) \
    if (WHICH == N) { \
        if (KIND == 1) { hdr.h##N.setValid(); } \
        else if (KIND == 2) { hdr.h##N.setInvalid(); } \
        else if (KIND == 3) { hdr.h##N.a = hdr.h##N.a + 1; } \
        else if (KIND == 4) { hdr.h##N.b = hdr.h##N.b + 5; } \
        else if (KIND == 5) { hdr.h##N = hdr.h##M; } \
        else if (KIND == 6) { hdr.steps.sum = hdr.steps.sum + (bit<16>)hdr.h##N.a + (bit<16>)hdr.h##N.b; } \
        else if (KIND == 7) { hdr.h##N = { 8w7, 13w9, 3w1 }; } \
        else if (KIND == 8 && hdr.h##N.isValid()) { hdr.steps.sum = hdr.steps.sum + 256; } \
        else if (KIND == 9) { standard.mcast_grp = 1; } \
    }

#define STEPS(KIND, WHICH) \
    STEP(KIND, WHICH, 0, 5) STEP(KIND, WHICH, 1, 6) STEP(KIND, WHICH, 2, 7) STEP(KIND, WHICH, 3, 8) STEP(KIND, WHICH, 4, 9) STEP(KIND, WHICH, 5, 10) \
    STEP(KIND, WHICH, 6, 11) STEP(KIND, WHICH, 7, 0) STEP(KIND, WHICH, 8, 1) STEP(KIND, WHICH, 9, 2) STEP(KIND, WHICH, 10, 3) STEP(KIND, WHICH, 11, 4)

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 9w2;
        STEPS(hdr.steps.kinds[7:0], hdr.steps.which[7:0])
        STEPS(hdr.steps.kinds[15:8], hdr.steps.which[15:8])
        STEPS(hdr.steps.kinds[23:16], hdr.steps.which[23:16])
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        STEPS(hdr.steps.kinds[31:24], hdr.steps.which[31:24])
    }
}

control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.steps);
        packet.emit(hdr.h0);
        packet.emit(hdr.h1);
        packet.emit(hdr.h2);
        packet.emit(hdr.h3);
        packet.emit(hdr.h4);
        packet.emit(hdr.h5);
        packet.emit(hdr.h6);
        packet.emit(hdr.h7);
        packet.emit(hdr.h8);
        packet.emit(hdr.h9);
        packet.emit(hdr.h10);
        packet.emit(hdr.h11);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
