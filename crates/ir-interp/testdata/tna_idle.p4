// Entries that no packet hits for a while are reported.
#include "tna_common.p4"

control Ingress(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    action to(PortId_t port) { tm.ucast_egress_port = port; }
    table watched {
        key = { hdr.data.op : exact; }
        actions = { to; NoAction; }
        default_action = NoAction();
        idle_timeout = true;
    }
    apply {
        watched.apply();
    }
}

Pipeline(PlainIngressParser(), Ingress(), PlainIngressDeparser(), PlainEgressParser(), PlainEgress(),
         PlainEgressDeparser()) pipe;
Switch(pipe) main;
