// Packets that come around again: their metadata and headers are those of the first pass.
#include "frame.p4"
INGRESS {
    action rewrite(bit<32> addr) { hdr.ipv4.dst = addr; }
    table first { key = { hdr.ipv4.dst: exact; } actions = { rewrite; NoAction; } default_action = NoAction(); }
    table second { key = { hdr.ipv4.ttl: exact; } actions = { NoAction; } }
    apply { first.apply(); if (std.instance_type != 0) { second.apply(); } }
}
EGRESS {
    table copies { key = { hdr.ipv4.dst: exact; } actions = { NoAction; } }
    apply {
        copies.apply();
        if (std.instance_type == 0) { recirculate_preserving_field_list(1); }
    }
}
SWITCH
