// Registers and counters: which may have copies.
#include "frame.p4"
INGRESS {
    register<bit<32>, bit<32>>(1024) flows;
    @sharded register<bit<32>, bit<32>>(1024) own;
    @soft register<bit<32>, bit<32>>(1024) cached;
    @merge("max") register<bit<32>, bit<32>>(1) peak;
    register<bit<32>, bit<32>>(1) last;
    counter<bit<32>>(16, CounterType.packets) seen;
    action note() { }
    table known { key = { hdr.ipv4.src: exact; hdr.ipv4.dst: exact; } actions = { note; } }
    apply {
        bit<32> index;
        hash(index, HashAlgorithm.crc32, 32w0, { hdr.ipv4.src, hdr.ipv4.dst }, 32w1024);
        flows.read(meta.a, index);
        flows.write(index, meta.a + 1);
        own.write(index, meta.a);
        cached.read(meta.a, index);
        peak.write(0, meta.a);
        last.read(meta.b, 0);
        last.write(0, meta.b + 1);
        seen.count((bit<32>)hdr.ipv4.protocol);
        known.apply();
    }
}
NO_EGRESS
SWITCH
