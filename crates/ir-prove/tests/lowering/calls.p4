#include "common.p4"

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.base); packet.extract(hdr.items.next); packet.extract(hdr.items.next); transition accept; }
}

bit<8> bump(inout bit<8> v) { v = v + 1; return v; }
bit<8> mix(in bit<8> p, inout bit<8> q, out bit<8> r) { q = q ^ p; r = r + q; return p + r; }
bit<8> early(in bit<8> v, inout bit<8> w) {
    if (v > 128) { w = w + 3; return v; }
    if (v > 64) { if (w > 100) { return w; } w = w + 1; }
    return v + w;
}
void swap(inout bit<8> p, inout bit<8> q) { bit<8> t = p; p = q; q = t; }
bit<8> nested(in bit<8> v) { bit<8> w = v; return bump(w) + early(w, w); }

control Count(inout bit<8> v, in bit<8> by) {
    bit<8> start = v;
    bit<8> times = 0;
    action more(bit<8> n) { v = v + n + by; times = times + 1; }
    table t { key = { v : exact; } actions = { more; NoAction; } default_action = more(2); }
    apply {
        times = times + 1;
        t.apply();
        if (v == 9) { return; }
        v = v + times - start;
    }
}
control Leaver(inout bit<8> v) {
    apply { v = v + 1; if (v > 200) { v = 7; exit; } v = v + 1; }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Count() one;
    Count() two;
    Leaver() leaver;
    action set(out bit<8> to, in bit<8> v) { to = v + hdr.base.d; hdr.base.d = hdr.base.d + 1; if (v == 3) { exit; } to = to + 1; }
    apply {
        std.egress_spec = 1;
        hdr.base.a = hdr.base.b + bump(hdr.base.b) + hdr.base.b + bump(hdr.base.b);
        swap(hdr.base.a, hdr.base.a);
        swap(hdr.base.b, hdr.base.c);
        hdr.items[hdr.base.b & 1].value = bump(hdr.items[bump(hdr.base.b) & 1].kind);
        hdr.base.d = mix(hdr.base.a, hdr.base.b, hdr.base.b);
        hdr.base.d = mix(hdr.base.d, hdr.base.d, meta.m);
        meta.n = early(hdr.base.a, hdr.base.c);
        hdr.base.c = nested(meta.n);
        if (hdr.base.a > 10 && bump(hdr.base.c) > 100 || bump(hdr.base.d) > 50) { hdr.base.a = 1; }
        hdr.base.b = hdr.base.a > 128 ? bump(hdr.base.c) : bump(hdr.base.d);
        one.apply(hdr.base.a, hdr.base.a);
        one.apply(hdr.base.b, 3);
        two.apply(hdr.items[0].value, meta.n);
        set(hdr.base.a, hdr.base.b & 3);
        leaver.apply(hdr.base.c);
        set(hdr.items[hdr.base.c & 1].value, hdr.base.d);
        hdr.base.d = hdr.base.d + 1;
    }
}
V1Switch(Parse(), Nothing(), In(), Out(), Nothing(), Emit()) main;
