// s1: an IPv4 router.
#include "headers.p4"

control RouterIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }
    action forward(bit<48> mac, bit<9> port) {
        std.egress_spec = port;
        hdr.ethernet.src = 0x080000000001;
        hdr.ethernet.dst = mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        size = 64;
    }
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            routes.apply();
        } else {
            drop();
        }
    }
}

V1Switch(LabParser(), LabVerify(), RouterIngress(), LabEgress(), LabCompute(), LabDeparser()) main;
