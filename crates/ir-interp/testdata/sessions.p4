// Clone sessions: 16 bits of which the highest is not looked at; of several calls the last counts, whatever its
// type says; only the fields of its list are kept, with their values at the end of the control.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = (PortId_t)hdr.data.port;
        meta.kept = 0x1111;
        meta.kept_too = 0x22;
        meta.lost = 0x3333;
        if (hdr.data.op == 1) {
            clone_preserving_field_list(CloneType.I2E, hdr.data.b, 2);
        } else if (hdr.data.op == 2) {
            clone_preserving_field_list(CloneType.I2E, 0, 2);
            clone_preserving_field_list(CloneType.I2E, 5, 1);
        } else if (hdr.data.op == 3) {
            clone(CloneType.I2E, 5);
        } else if (hdr.data.op == 4) {
            clone_preserving_field_list(CloneType.I2E, 5, 77);
        }
        meta.kept = 0x4444;
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        if (sm.instance_type != 0) {
            hdr.data.a = sm.egress_rid;
            hdr.data.b = meta.kept_too ++ meta.kept ++ meta.lost[7:0];
        }
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
