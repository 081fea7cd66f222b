// The group is in `a`; copies show replica id and instance type.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        sm.mcast_grp = hdr.data.a;
        if (hdr.data.op == 1) {
            mark_to_drop(sm);
            sm.mcast_grp = hdr.data.a;
        } else if (hdr.data.op == 2) {
            mark_to_drop(sm);
        } else if (hdr.data.op == 3) {
            mark_to_drop(sm);
            sm.egress_spec = 1;
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.data.b = sm.egress_rid ++ (bit<16>)sm.instance_type;
        if (hdr.data.op == 4 && sm.egress_port == 3) {
            mark_to_drop(sm);
        }
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
