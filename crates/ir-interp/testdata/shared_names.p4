// What p4c made of P4-14: each control has actions of the same control-plane name, and a counter that a table makes in
// its property is declared once more. The name says nothing of the one without a table.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> a; bit<8> b; bit<8> c; }
struct headers_t { h_t h; }
struct metadata_t {}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.h); transition accept; }
}

control First(inout headers_t hdr) {
    @name(".hits") direct_counter(CounterType.packets) hits;
    @name(".set") action set(bit<8> value) { hits.count(); hdr.h.b = value; }
    @name(".first") table first {
        key = { hdr.h.a: exact; }
        actions = { set; }
        @name(".hits") counters = direct_counter(CounterType.packets);
    }
    apply { first.apply(); }
}

control Second(inout headers_t hdr) {
    @name(".set") action set_1(bit<8> value) { hdr.h.c = value; }
    @name(".second") table second { key = { hdr.h.a: exact; } actions = { set_1; } }
    apply { second.apply(); }
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
