// Timeouts of entries, which idle.toml sets: the controller is told, the entry stays. A hit begins them anew.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    action to(bit<9> port) {
        sm.egress_spec = port;
    }
    table watched {
        key = { hdr.data.op: exact; }
        actions = { to; NoAction; }
        default_action = NoAction();
        support_timeout = true;
    }
    apply {
        watched.apply();
    }
}

V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;
