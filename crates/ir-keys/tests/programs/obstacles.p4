// Keys that no flow fixes, each with its reason.
#include "frame.p4"
INGRESS {
    register<bit<32>, bit<32>>(4) memory;
    counter<bit<32>>(16, CounterType.packets) by_time;
    table flows { key = { hdr.ipv4.src: exact; } actions = { NoAction; } }
    table of_memory { key = { meta.a: exact; } actions = { NoAction; } }
    table of_chance { key = { meta.b: exact; hdr.ipv4.dst: exact; } actions = { NoAction; } }
    table of_payload { key = { meta.a: exact; hdr.ipv4.dst: exact; } actions = { NoAction; } }
    apply {
        flows.apply();
        memory.read(meta.a, 0);
        of_memory.apply();
        random(meta.b, 32w0, 32w9);
        of_chance.apply();
        hash(meta.a, HashAlgorithm.crc32, 32w0, { hdr.options.data }, 32w16);
        of_payload.apply();
        by_time.count((bit<32>)std.ingress_global_timestamp);
    }
}
EGRESS {
    table of_queue { key = { std.enq_qdepth: range; } actions = { NoAction; } }
    apply { of_queue.apply(); }
}
SWITCH
