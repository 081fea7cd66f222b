// Tables of exact keys of one, two and three words, and of fields side by side; each packet is looked up in all.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header key_t { bit<64> a; bit<64> b; bit<64> c; }
header found_t { bit<32> one; bit<32> two; bit<32> three; }

header pairs_t { bit<8> more; bit<16> s; bit<16> t; bit<32> x; bit<32> y; bit<16> u; }
// `o` is where `t` ends in the other header.
header other_t { bit<40> more; bit<16> o; }

struct headers_t { key_t key; found_t found; pairs_t pairs; other_t other; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.key);
        packet.extract(hdr.found);
        transition select(standard.ingress_port) {
            2: pairs;
            default: accept;
        }
    }
    state pairs { packet.extract(hdr.pairs); packet.extract(hdr.other); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action first(bit<32> number) { hdr.found.one = number; }
    action second(bit<32> number) { hdr.found.two = number; }
    action third(bit<32> number, bit<128> x, bit<128> y, bit<128> d, bit<128> e, bit<128> f, bit<128> g, bit<128> h) { hdr.found.three = number ^ x[31:0] ^ y[127:96]; }
    action missed(bit<8> where) { hdr.found.one[7:0] = hdr.found.one[7:0] ^ where; }
    table one {
        key = { hdr.key.a: exact; }
        actions = { first; missed; }
        default_action = missed(1);
        size = 4096;
    }
    table two {
        key = { hdr.key.a: exact; hdr.key.b: exact; }
        actions = { second; missed; }
        default_action = missed(2);
        size = 4096;
    }
    // Its records have 19 words in 24.
    table three {
        key = { hdr.key.a: exact; hdr.key.b: exact; hdr.key.c: exact; }
        actions = { third; missed; }
        default_action = missed(4);
        size = 4096;
    }
    action pair(bit<32> number) { hdr.found.three = hdr.found.three ^ number; }
    table st { key = { hdr.pairs.s: exact; hdr.pairs.t: exact; } actions = { pair; missed; } default_action = missed(8); }
    table ts { key = { hdr.pairs.t: exact; hdr.pairs.s: exact; } actions = { pair; missed; } default_action = missed(16); }
    table xy { key = { hdr.pairs.x: exact; hdr.pairs.y: exact; } actions = { pair; missed; } default_action = missed(32); }
    table yx { key = { hdr.pairs.y: exact; hdr.pairs.x: exact; } actions = { pair; missed; } default_action = missed(64); }
    table parts { key = { hdr.pairs.x[15:0]: exact; hdr.pairs.x[31:16]: exact; } actions = { pair; missed; } default_action = missed(128); }
    // No neighbours: other fields are between them, or they are of two headers.
    table su { key = { hdr.pairs.s: exact; hdr.pairs.u: exact; } actions = { pair; missed; } default_action = missed(3); }
    table to { key = { hdr.pairs.t: exact; hdr.other.o: exact; } actions = { pair; missed; } default_action = missed(5); }
    apply {
        standard.egress_spec = 1;
        su.apply(); to.apply();
        st.apply(); ts.apply(); xy.apply(); yx.apply();
        // One load would wait for this store.
        if (hdr.pairs.isValid()) { hdr.pairs.x[7:0] = hdr.pairs.x[7:0] ^ 1; }
        parts.apply();
        one.apply();
        if (!two.apply().hit) { hdr.found.two[31:31] = 1; }
        three.apply();
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.key); packet.emit(hdr.found); packet.emit(hdr.pairs); packet.emit(hdr.other); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
