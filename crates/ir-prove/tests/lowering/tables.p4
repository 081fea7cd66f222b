#include "common.p4"

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.base); transition select(hdr.base.a) { 0 .. 100: more; default: accept; } }
    state more { packet.extract(hdr.extra); transition accept; }
}

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<8>, bit<32>>(4) seen;
    counter<bit<32>>(4, CounterType.packets) counted;
    bit<8> local = hdr.base.a;
    action leave() { meta.m = 1; exit; }
    action to(inout bit<8> v, bit<8> n) { v = v + n; local = local + v; if (n == 1) { return; } v = v + 1; }
    action plain(bit<8> n) { to(local, n); hdr.base.b = local; }
    table first {
        key = { hdr.base.a + 1 : exact @name("a1"); hdr.extra.isValid() : exact @name("valid"); }
        actions = { leave; plain; NoAction; }
        default_action = NoAction;
    }
    table second {
        key = { hdr.base.b : ternary; }
        actions = { to(hdr.base.c); leave; plain; }
        default_action = to(hdr.base.c, 4);
    }
    table third { actions = { to(hdr.base.d); } default_action = to(hdr.base.d, 1); }
    table fourth { key = { hdr.base.d : lpm; } actions = { leave; NoAction; } default_action = NoAction; const entries = { 0x80 &&& 0x80 : leave; } }
    apply {
        std.egress_spec = 2;
        if (first.apply().hit) { hdr.base.a = 1; } else { hdr.base.a = hdr.base.a + 2; }
        counted.count((bit<32>)(hdr.base.a & 3));
        switch (second.apply().action_run) {
            to: { hdr.base.d = hdr.base.d + 1; }
            leave: { hdr.base.d = 0; }
            plain: { if (hdr.base.d == 3) { return; } hdr.base.a = 7; }
        }
        bool both = third.apply().hit && !fourth.apply().miss;
        bit<8> old;
        seen.read(old, (bit<32>)(hdr.base.a & 3));
        seen.write((bit<32>)(hdr.base.a & 3), old + 1);
        if (!fourth.apply().hit || both) { hdr.base.c = old; }
        switch (hdr.base.d & 3) { 0: { hdr.base.c = 1; } 1: { hdr.base.c = local; } default: { exit; } }
        if (first.apply().miss) { hdr.base.b = hdr.base.b + 1; }
        hdr.base.d = local;
    }
}
V1Switch(Parse(), Nothing(), In(), Out(), Nothing(), Emit()) main;
