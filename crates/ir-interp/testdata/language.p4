// Copy-in and copy-out, evaluation order, exit and return, slices, stacks, loops, saturation.
#include "common.p4"

bit<32> twice(inout bit<32> x) {
    x = x * 2;
    return x + 1;
}

// Both parameters name one place: results are copied back left to right.
void both(out bit<32> first, inout bit<32> second) {
    first = second + 1;
    second = second + 2;
}

bit<8> early(in bit<8> x) {
    for (bit<8> i = 0; i < 10; i = i + 1) {
        if (i == x) {
            return i + 100;
        }
    }
    return 0;
}

control Inner(inout bit<32> x, in bit<8> how) {
    action leave() {
        x = x + 1;
        exit;
    }
    apply {
        x = x + 16;
        if (how == 1) {
            return;
        }
        if (how == 2) {
            leave();
        }
        x = x + 256;
    }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    Inner() inner;
    bit<32>[3] cells;
    bit<32> n = 5;

    action grow(inout bit<32> x) {
        x = x + 1;
        n = n + 10;
        if (x == 8) {
            return;
        }
        x = x + 100;
    }

    apply {
        sm.egress_spec = 1;
        bit<32> b = hdr.data.b;
        switch (hdr.data.op) {
            0: { hdr.data.b = b + twice(hdr.data.b) + hdr.data.b; }
            1: { both(hdr.data.b, hdr.data.b); }
            2: { hdr.data.b = (bit<32>)early(hdr.data.port); }
            3: { inner.apply(hdr.data.b, hdr.data.port); hdr.data.a = 0x1111; }
            4: { grow(hdr.data.b); hdr.data.a = (bit<16>)n; }
            5: {
                // The index is worked out before the call changes it.
                bit<32> at = 0;
                cells[at] = 7;
                both(at, cells[at]);
                hdr.data.b = cells[0] + at;
                hdr.data.a = (bit<16>)cells[1];
            }
            6: {
                hdr.data.b[15:8] = hdr.data.b[7:0];
                hdr.data.b[31:24][3:0] = 0xf;
                hdr.data.b[3:0] = hdr.data.b[3:0] + 9;
            }
            7: {
                hdr.data.b = b |+| 0xffffff00;
                hdr.data.a = hdr.data.a |-| 5;
            }
            8: {
                int<16> s = (int<16>)hdr.data.a;
                hdr.data.b = (bit<32>)(int<32>)(s >> 4);
                hdr.data.a = (bit<16>)(s |+| 32767);
            }
            9: {
                bit<32> sum = 0;
                for (bit<8> i in 1 .. hdr.data.port) {
                    if (i == 3) {
                        continue;
                    }
                    if (i == 6) {
                        break;
                    }
                    sum += (bit<32>)i;
                }
                hdr.data.b = sum;
            }
            10: {
                bool cheap = hdr.data.port == 0 || twice(b) == 7;
                bool dear = hdr.data.port == 0 && twice(b) == 7;
                hdr.data.b = b;
                hdr.data.a = (cheap ? 16w1 : 0) + (dear ? 16w2 : 0);
            }
            11: {
                // Out of range: reads zero, writes nothing.
                cells[1] = 9;
                cells[b] = 8;
                hdr.data.b = cells[1] + cells[b];
            }
            12: {
                // An endless loop ends with the packet.
                for (bit<8> i = 0; i < 10; ) {
                    b = b + 1;
                }
            }
            13: {
                // The sign fills the number, whatever the width of the distance.
                int<16> s = (int<16>)hdr.data.a;
                bit<100> distance = (bit<100>)b << 70 | (bit<100>)hdr.data.port;
                hdr.data.a = (bit<16>)(s >> distance);
            }
            default: { }
        }
    }
}

V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;
