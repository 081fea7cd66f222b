#include "common.p4"

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.base); packet.extract(hdr.items.next); packet.extract(hdr.items.next); transition accept; }
}
bit<8> find(in bit<8> v) {
    for (bit<8> i in 8w1 .. 8w20) { if (i * i > v) { return i; } }
    return 99;
}
bit<8> grow(inout bit<8> v) { v = v + 5; return v; }

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action stop() { exit; }
    action go_on(bit<8> n) { meta.m = meta.m + n; }
    table t { key = { meta.n : exact; } actions = { stop; go_on; } default_action = go_on(1); }
    apply {
        std.egress_spec = 5;
        hdr.base.a = find(hdr.base.a);
        for (bit<8> i = 0; i < 6; i = i + 1) {
            bit<8> fresh;
            fresh = fresh + i;
            if (i == hdr.base.b) { continue; }
            if (i == hdr.base.c & 7) { break; }
            meta.m = meta.m + fresh;
            for (bit<8> j in 8w250 .. 8w255) {
                if (j == hdr.base.d) { break; }
                if (j[0:0] == 1) { continue; }
                meta.m = meta.m + 1;
            }
        }
        for (bit<8> v in (list<bit<8>>){ hdr.base.a, hdr.base.b, 7 }) { hdr.base.b = hdr.base.b + v; }
        for (bit<8> k = grow(hdr.base.d); grow(k) < 100; k = k + 1) { meta.m = meta.m + k; if (meta.m == 44) { return; } }
        for (bit<8> n = 0; n < 4; n = n + 1) { meta.n = n + hdr.base.c; t.apply(); hdr.base.d = hdr.base.d + 1; }
        for (bit<8> z in hdr.base.c .. 8w3) { hdr.base.c = hdr.base.c + z; }
        hdr.base.d = meta.m;
    }
}
V1Switch(Parse(), Nothing(), In(), Out(), Nothing(), Emit()) main;
