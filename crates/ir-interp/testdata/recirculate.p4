// `op` passes through egress; every pass counts in `kept`, which survives, and in `lost`, which does not.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = (PortId_t)hdr.data.port;
        hdr.data.b[15:0] = (bit<16>)sm.instance_type;
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        meta.kept = meta.kept + 1;
        meta.lost = meta.lost + 1;
        hdr.data.a = meta.kept;
        hdr.data.b[31:16] = meta.lost;
        if (hdr.data.op != 0) {
            hdr.data.op = hdr.data.op - 1;
            recirculate_preserving_field_list(1);
        }
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
