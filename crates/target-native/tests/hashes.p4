// Calls of `hash` with parameters of their own: the names that p4c gives them stand beside them.
#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<32> key;
    bit<16> a;
    bit<16> b;
    bit<16> c;
    bit<16> d;
    bit<32> e;
    bit<32> f;
    bit<16> sum;
}

struct headers_t { data_t data; }
struct metadata_t {}

#define HASH(field, width) hash(h.data.field, HashAlgorithm.crc##width##_custom, (bit<width>) 0, { h.data.key }, 64w1 << width)

parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start {
        p.extract(h.data);
        transition accept;
    }
}

control Verify(inout headers_t h, inout metadata_t m) { apply {} }

// Egress stands before ingress: its calls come first.
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        HASH(f, 32);                    // calc
    }
}

control Inner(inout headers_t h) {
    action inner() { HASH(e, 32); }     // calc_0: its control's actions come before those around it
    table one { actions = { inner; } default_action = inner(); }
    apply { one.apply(); }
}

control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    Inner() inner;
    action unused() { HASH(a, 16); }    // has no name
    action first() { HASH(a, 16); }     // calc_1
    table t { actions = { first; } default_action = first(); }
    apply {
        HASH(b, 16);                    // calc_3: after those in blocks behind it
        if (h.data.key != 0) {
            HASH(c, 16);                // calc_2
        }
        t.apply();
        inner.apply(h);
        HASH(d, 16);                    // calc_4
        s.egress_spec = 1;
    }
}

control Compute(inout headers_t h, inout metadata_t m) {
    apply {
        update_checksum(true, { h.data.key }, h.data.sum, HashAlgorithm.crc16_custom);  // calc_5
    }
}

control D(packet_out p, in headers_t h) { apply { p.emit(h.data); } }

V1Switch(P(), Verify(), I(), E(), Compute(), D()) main;
