// The first pass resubmits with a field list; the second sees the packet as it came.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 2;
        if (sm.instance_type == 0) {
            meta.kept = 0x1111;
            meta.kept_too = 0x22;
            meta.lost = 0x3333;
            hdr.data.op = 0xff;
            if (hdr.data.port == 1) {
                resubmit_preserving_field_list(1);
            } else if (hdr.data.port == 2) {
                resubmit_preserving_field_list(1);
                resubmit_preserving_field_list(2);  // the last one counts
            } else {
                resubmit_preserving_field_list(3);  // no such list: nothing is kept
            }
            sm.mcast_grp = 7;
        } else {
            hdr.data.a = meta.kept;
            hdr.data.b = 16w0 ++ meta.kept_too ++ meta.lost[7:0];
            hdr.data.port = (bit<8>)sm.instance_type;
        }
    }
}

V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;
