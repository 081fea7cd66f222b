// random(result, lo, hi): both bounds can be drawn, nothing beyond; an empty range leaves the result alone.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    // A bit for each number that was drawn.
    register<bit<32>, bit<8>>(1) drawn;

    action draw(inout bit<32> seen) {
        bit<8> n;
        random(n, 8w3, 8w6);
        seen = seen | 32w1 << n;
    }

    apply {
        sm.egress_spec = 1;
        if (hdr.data.op == 1) {
            bit<32> seen;
            drawn.read(seen, 0);
            draw(seen);
            draw(seen);
            draw(seen);
            draw(seen);
            draw(seen);
            draw(seen);
            draw(seen);
            draw(seen);
            drawn.write(0, seen);
        } else if (hdr.data.op == 2) {
            drawn.read(hdr.data.b, 0);
        } else if (hdr.data.op == 3) {
            random(hdr.data.a, 16w0x40, 16w0x4f);
        } else if (hdr.data.op == 4) {
            random(hdr.data.a, 16w77, 16w77);
        } else if (hdr.data.op == 5) {
            random(hdr.data.a, 16w9, 16w8);
        } else {
            random(hdr.data.b, 32w0xfffffff0, 32w0xffffffff);
        }
    }
}

V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;
