// Values along paths that end early, through calls, loops and parts of values.
#include "frame.p4"
bit<32> mixed(in bit<32> x, in bit<32> y) { if (x == 0) { return y; } return x; }
control Inner(inout headers hdr, out bit<32> found, in bit<32> given) {
    apply {
        found = given;
        if (hdr.ipv4.ttl == 0) { return; }
        found = (bit<32>)hdr.ipv4.ttl;
    }
}
INGRESS {
    Inner() inner;
    action pick(inout bit<32> place, in bit<32> value) { place = value; }
    table returned { key = { meta.a: exact; } actions = { NoAction; } }
    table called { key = { meta.b: exact; } actions = { NoAction; } }
    table passed { key = { meta.b: exact; } actions = { NoAction; } }
    table looped { key = { meta.b: exact; } actions = { NoAction; } }
    table sliced { key = { meta.b[15:0]: exact; meta.b: exact; } actions = { NoAction; } }
    table swapped { key = { meta.src_port: exact; meta.dst_port: exact; } actions = { NoAction; } }
    table chosen { key = { meta.b: exact; } actions = { NoAction; } }
    table stacked { key = { hdr.labels[0].value: exact; } actions = { NoAction; } }
    table valid { key = { hdr.tcp.isValid(): exact; } actions = { NoAction; } }
    apply {
        meta.b = mixed(hdr.ipv4.src, (bit<32>)hdr.ipv4.protocol);
        called.apply();
        inner.apply(hdr, meta.b, hdr.ipv4.dst);
        passed.apply();
        meta.b = 0;
        for (bit<32> i = 0; i < 4; i = i + 1) {
            if (hdr.ethernet.type == 7) { meta.b = (bit<32>)hdr.ethernet.type; break; }
            meta.b = meta.b + 1;
        }
        looped.apply();
        meta.b = hdr.ipv4.src;
        meta.b[7:0] = hdr.ipv4.ttl;
        sliced.apply();
        bit<16> kept = meta.src_port;
        meta.src_port = meta.dst_port;
        meta.dst_port = kept;
        swapped.apply();
        pick(meta.b, hdr.ipv4.dst);
        switch (hdr.ipv4.ttl) { 1: { meta.b = hdr.ipv4.src; } 2: { meta.b = 5; } }
        chosen.apply();
        stacked.apply();
        valid.apply();
        meta.a = hdr.ipv4.dst;
        if (hdr.ipv4.ttl == 3) { exit; }
        meta.a = hdr.ipv4.src;
        if (hdr.ipv4.ttl == 4) { return; }
        meta.a = 9;
    }
}
EGRESS {
    table later { key = { meta.a: exact; std.egress_port: exact; } actions = { NoAction; } }
    apply { later.apply(); }
}
SWITCH
