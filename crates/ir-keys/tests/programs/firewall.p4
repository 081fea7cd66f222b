// Ports are those of TCP or of UDP. Both directions of a connection belong to one shard.
#include "frame.p4"
INGRESS {
    action admit() { }
    table connections {
        key = {
            hdr.ipv4.src: exact; hdr.ipv4.dst: exact; hdr.ipv4.protocol: exact;
            meta.src_port: exact; meta.dst_port: exact;
        }
        actions = { admit; NoAction; }
        default_action = NoAction();
    }
    action inside() { meta.a = 1; }
    table sides {
        key = { std.ingress_port: exact; }
        actions = { inside; NoAction; }
        const entries = { 1: inside(); }
    }
    table classes { key = { meta.a: exact; } actions = { admit; } }
    apply { sides.apply(); classes.apply(); if (!connections.apply().hit) { mark_to_drop(std); } }
}
NO_EGRESS
@shard_key(symmetric, hdr.ipv4.src, hdr.ipv4.dst)
@affinity("medium")
SWITCH
