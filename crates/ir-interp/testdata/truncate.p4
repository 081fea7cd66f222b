// truncate: the least of all calls counts; only a packet that is sent as it is, is cut. `a` shows packet_length.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = (PortId_t)hdr.data.port;
        if (sm.instance_type == 0) {
            truncate(14);
            if (hdr.data.op == 2) {
                truncate(15);
            } else if (hdr.data.op == 3) {
                sm.mcast_grp = 1;
            } else if (hdr.data.op == 4) {
                resubmit_preserving_field_list(1);
            } else if (hdr.data.op == 5) {
                clone_preserving_field_list(CloneType.I2E, 5, 1);
            } else if (hdr.data.op == 8) {
                truncate(99);
            }
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.data.a = sm.packet_length[15:0];
        if (sm.instance_type == 0) {
            if (hdr.data.op == 1) {
                truncate(16);
            } else if (hdr.data.op == 6) {
                clone_preserving_field_list(CloneType.E2E, 5, 1);
            } else if (hdr.data.op == 7) {
                hdr.data.op = 9;
                recirculate_preserving_field_list(1);
            }
        }
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
