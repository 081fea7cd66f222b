// Validity, unions, stacks: what `op` says is done, and what is valid afterwards is emitted.
#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
    bit<8> n;
}

header one_t {
    bit<8> a;
}

header two_t {
    bit<8> a;
    bit<8> b;
}

header_union either_t {
    one_t one;
    two_t two;
}

struct headers_t {
    op_t     op;
    one_t    x;
    one_t    y;
    either_t u;
    either_t w;
    one_t[4] stack;
}

struct meta_t { }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.op);
        transition select(hdr.op.n) {
            0x80: one;
            0x81: two;
            0 .. 4: items;
            default: accept;
        }
    }
    state one {
        packet.extract(hdr.u.one);
        transition accept;
    }
    state two {
        packet.extract(hdr.u.one);
        packet.extract(hdr.u.two);
        transition accept;
    }
    state items {
        transition select(hdr.op.n) {
            0: accept;
            default: item;
        }
    }
    state item {
        packet.extract(hdr.stack.next);
        hdr.op.n = hdr.op.n - 1;
        transition items;
    }
}

control V(inout headers_t hdr, inout meta_t meta) { apply { } }

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    // A header without a copy-out of its own fields: `h` starts invalid.
    action fresh(out one_t h) {
        h.a = 7;
    }
    apply {
        sm.egress_spec = 1;
        switch (hdr.op.op) {
            // Becoming valid makes the fields zero; staying valid does not.
            1: { hdr.x.a = 5; hdr.x.setValid(); }
            2: { hdr.x.setValid(); hdr.x.a = 5; hdr.x.setValid(); }
            // Assignment copies validity.
            3: { hdr.x.setValid(); hdr.x.a = 5; hdr.y = hdr.x; hdr.x.setInvalid(); hdr.x = hdr.y; hdr.y = {#}; }
            4: { hdr.x = { 9 }; hdr.y = hdr.x; hdr.x.a = 8; }
            // Equality: valid ones by their fields, invalid ones always.
            5: { hdr.x = { 9 }; hdr.y.a = 9; hdr.op.n = (hdr.x == hdr.y) ? 8w1 : 0; hdr.x.setInvalid(); }
            6: { hdr.x.a = 1; hdr.y.a = 2; hdr.op.n = (hdr.x == hdr.y) ? 8w1 : 0; }
            // An out parameter starts invalid.
            7: { hdr.x = { 9 }; fresh(hdr.x); }
            // Unions: at most one member is valid.
            8: { hdr.u.two.setValid(); hdr.u.two.b = 6; }
            9: { hdr.u.one = { 3 }; }
            10: { hdr.w = hdr.u; hdr.u.one.setInvalid(); }
            11: { hdr.u.one.setInvalid(); hdr.op.n = hdr.u.isValid() ? 8w1 : 0; }
            12: { hdr.u = {#}; }
            // Stacks.
            13: { hdr.stack.push_front(1); hdr.stack[0] = { 0xee }; }
            14: { hdr.stack.pop_front(2); }
            15: { hdr.stack.push_front(9); }
            16: { hdr.stack[2] = hdr.stack[0]; hdr.stack[0].setInvalid(); }
            17: { hdr.stack[hdr.op.n + 1].a = 0x77; }
            default: { }
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
