// What each pass says of the packet: `a` is instance_type and packet_length of ingress, in the upper half of `b`
// those of egress, in the lower half ingress_port of ingress and of egress. The first pass adds a header.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    counter<bit<32>>(8, CounterType.packets_and_bytes) passes;

    apply {
        passes.count(sm.instance_type);
        sm.egress_spec = (PortId_t)hdr.data.port;
        hdr.data.a = sm.instance_type[7:0] ++ sm.packet_length[7:0];
        hdr.data.b = 16w0 ++ sm.ingress_port[7:0] ++ 8w0;
        if (sm.instance_type == 0) {
            hdr.extra.setValid();
            hdr.extra.value = 0xeeee;
            if (hdr.data.op == 1) {
                resubmit_preserving_field_list(1);
            } else if (hdr.data.op == 3) {
                clone_preserving_field_list(CloneType.I2E, 5, 1);
            }
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.data.b[31:16] = sm.instance_type[7:0] ++ sm.packet_length[7:0];
        hdr.data.b[7:0] = sm.ingress_port[7:0];
        if (sm.instance_type == 0) {
            if (hdr.data.op == 2) {
                hdr.data.op = 0;
                recirculate_preserving_field_list(1);
            } else if (hdr.data.op == 4) {
                clone_preserving_field_list(CloneType.E2E, 5, 1);
            }
        } else if (hdr.data.op == 5) {
            hdr.extra.setInvalid();
        }
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
