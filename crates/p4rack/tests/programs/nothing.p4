#include <core.p4>
#include <v1model.p4>

// Drops everything.
struct headers { }
struct metadata {
    @shard("external", 2) bit<16> shard;
}

parser P(packet_in packet, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control C(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { @region("external") { mark_to_drop(s); } } }
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control D(packet_out packet, in headers h) { apply { } }

V1Switch(P(), C(), I(), E(), C(), D()) main;
