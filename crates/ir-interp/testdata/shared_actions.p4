// An action of the top level with an `inout` parameter, which tables of two controls bind to variables of their own.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> a; bit<8> b; bit<8> c; }
struct headers_t { h_t h; }
struct metadata_t {}

action set(inout bit<8> x, bit<8> value) { x = x + value; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.h); transition accept; }
}

control First(inout headers_t hdr) {
    bit<8> own = 0x10;
    table first { key = { hdr.h.a: exact; } actions = { set(own); } default_action = set(own, 1); }
    apply { first.apply(); hdr.h.b = own; }
}

control Second(inout headers_t hdr) {
    bit<8> own = 0x20;
    table second { key = { hdr.h.a: exact; } actions = { set(own); } default_action = set(own, 2); }
    apply { second.apply(); hdr.h.c = own; }
}

control Nothing(inout headers_t hdr, inout metadata_t meta) { apply {} }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    First() one;
    Second() two;
    apply { std.egress_spec = 1; one.apply(hdr); two.apply(hdr); }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }

V1Switch(P(), Nothing(), I(), E(), Nothing(), D()) main;
