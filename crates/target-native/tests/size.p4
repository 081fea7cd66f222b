// A program with TIMES times the same statement: A15 is 32,768 times.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

#define A0 if (hdr.number.value & 7 == 5) { hdr.number.value = hdr.number.value + 10; } else { hdr.number.value = hdr.number.value * 3; }
#define A1 A0 A0
#define A2 A1 A1
#define A3 A2 A2
#define A4 A3 A3
#define A5 A4 A4
#define A6 A5 A5
#define A7 A6 A6
#define A8 A7 A7
#define A9 A8 A8
#define A10 A9 A9
#define A11 A10 A10
#define A12 A11 A11
#define A13 A12 A12
#define A14 A13 A13
#define A15 A14 A14

header number_t { bit<32> value; bit<96> rest; }

struct headers_t { number_t number; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.number); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 1;
        TIMES
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }

control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.number); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
