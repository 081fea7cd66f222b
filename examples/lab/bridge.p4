// s2: frames go where their destination is known to be; the others are dropped.
#include "headers.p4"

control BridgeIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    counter(8, CounterType.packets) seen;
    action drop() {
        mark_to_drop(std);
    }
    action to_port(bit<9> port) {
        std.egress_spec = port;
    }
    table stations {
        key = { hdr.ethernet.dst: exact; }
        actions = { to_port; drop; }
        default_action = drop();
        size = 64;
    }
    apply {
        seen.count((bit<32>) std.ingress_port);
        stations.apply();
    }
}

V1Switch(LabParser(), LabVerify(), BridgeIngress(), LabEgress(), LabCompute(), LabDeparser()) main;
