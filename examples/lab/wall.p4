// s3: two ports, joined; a list says which packets do not pass.
#include "headers.p4"

control WallIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }
    action pass(bit<9> port) {
        std.egress_spec = port;
    }
    table across {
        key = { std.ingress_port: exact; }
        actions = { pass; drop; }
        default_action = drop();
        size = 8;
    }
    table refused {
        key = { hdr.ipv4.src: ternary; hdr.ipv4.protocol: ternary; }
        actions = { drop; NoAction; }
        default_action = NoAction();
        size = 64;
    }
    apply {
        across.apply();
        if (hdr.ipv4.isValid()) {
            refused.apply();
        }
    }
}

V1Switch(LabParser(), LabVerify(), WallIngress(), LabEgress(), LabCompute(), LabDeparser()) main;
