// op 1: clone at ingress; the clone is the packet as it came. op 2: clone at egress; as it is there.
// Clones show their instance type, their metadata and their replica id.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = (PortId_t)hdr.data.port;
        meta.lost = 0x5555;
        if (hdr.data.op == 1 || hdr.data.op == 3) {
            clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.data.a, 1);
            meta.kept = 0x6666;
            if (hdr.data.op == 3) {
                mark_to_drop(sm);
            }
        }
        hdr.data.a = 0xaaaa;
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        if (sm.instance_type == 0) {
            hdr.data.b = 0xbbbbbbbb;
            if (hdr.data.op == 2) {
                meta.kept_too = 0x77;
                clone_preserving_field_list(CloneType.E2E, 8, 2);
            }
        } else {
            hdr.extra.setValid();
            hdr.extra.value = sm.egress_rid;
            hdr.data.op = (bit<8>)sm.instance_type;
            hdr.data.b = meta.kept ++ meta.kept_too ++ meta.lost[7:0];
        }
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
