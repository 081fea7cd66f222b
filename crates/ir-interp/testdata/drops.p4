// mark_to_drop and what undoes it, in ingress (op below 0x10) and in egress.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = (PortId_t)hdr.data.port;
        if (sm.instance_type == 0) {
            switch (hdr.data.op) {
                1: { mark_to_drop(sm); }
                2: { mark_to_drop(sm); sm.egress_spec = 3; }
                3: { mark_to_drop(sm); sm.mcast_grp = 1; }
                4: { clone_preserving_field_list(CloneType.I2E, 5, 1); mark_to_drop(sm); }
                5: { resubmit_preserving_field_list(1); mark_to_drop(sm); }
                6: { sm.egress_spec = 511; }
                7: { sm.mcast_grp = 1; mark_to_drop(sm); }
                8: { sm.mcast_grp = 1; sm.egress_spec = 511; }
                9: { resubmit_preserving_field_list(1); sm.mcast_grp = 1; }
                // Nobody listens there.
                10: { sm.egress_spec = 300; }
                default: { }
            }
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.data.a = (bit<16>)sm.egress_spec;
        hdr.data.b = sm.instance_type;
        if (sm.instance_type == 0) {
            switch (hdr.data.op) {
                0x11: { mark_to_drop(sm); }
                // Not dropped; the port does not change any more.
                0x12: { mark_to_drop(sm); sm.egress_spec = 3; }
                0x13: { sm.egress_spec = 511; }
                0x14: { clone_preserving_field_list(CloneType.E2E, 5, 1); mark_to_drop(sm); }
                0x15: { recirculate_preserving_field_list(1); mark_to_drop(sm); }
                // Too late.
                0x16: { sm.mcast_grp = 1; }
                default: { }
            }
        }
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
