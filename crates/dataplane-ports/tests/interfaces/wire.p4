#include <core.p4>
#include <v1model.p4>

// Port 1 to port 2 and back. What is longer than an Ethernet frame of 1500 bytes ends here.
struct headers { }
struct metadata { }

parser Parse(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start { transition accept; }
}

control Verify(inout headers hdr, inout metadata meta) { apply { } }

control Cross(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 3 - standard.ingress_port;
        if (standard.packet_length > 1518) {
            mark_to_drop(standard);
        }
    }
}

control Leave(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) { apply { } }

control Compute(inout headers hdr, inout metadata meta) { apply { } }

control Deparse(packet_out packet, in headers hdr) { apply { } }

V1Switch(Parse(), Verify(), Cross(), Leave(), Compute(), Deparse()) main;
