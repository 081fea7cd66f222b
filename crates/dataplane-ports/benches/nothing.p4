#include <core.p4>
#include <v1model.p4>

// Nothing but what a lane is for: each IPv4 packet leaves by one of 16 ports, which the last bits of its destination choose.
header front_t { bit<268> before; bit<4> last; }
struct headers { front_t front; }
struct metadata { }

parser Parse(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.front);
        transition accept;
    }
}

control Verify(inout headers hdr, inout metadata meta) { apply { } }

control Choose(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply { standard.egress_spec = 1 + (bit<9>)hdr.front.last; }
}

control Leave(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) { apply { } }

control Compute(inout headers hdr, inout metadata meta) { apply { } }

control Deparse(packet_out packet, in headers hdr) { apply { packet.emit(hdr); } }

V1Switch(Parse(), Verify(), Choose(), Leave(), Compute(), Deparse()) main;
