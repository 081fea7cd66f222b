// The priority of a packet is its own: 0 at the start and wherever it starts again, kept on the way through the
// queue. (simple_switch has to have 8 queues for each port.)
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = (PortId_t)hdr.data.port;
        hdr.data.a[7:0] = (bit<8>)sm.priority;
        if (sm.instance_type == 0) {
            sm.priority = (bit<3>)hdr.data.op;
            if (hdr.data.op == 0x12) {
                resubmit_preserving_field_list(1);
            } else if (hdr.data.op == 0x13) {
                clone_preserving_field_list(CloneType.I2E, 5, 1);
            } else if (hdr.data.op == 0x14) {
                sm.mcast_grp = 1;
            }
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.data.a[15:8] = (bit<8>)sm.priority;
        if (hdr.data.op == 0x11) {
            hdr.data.op = 0x21;
            recirculate_preserving_field_list(1);
        }
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
