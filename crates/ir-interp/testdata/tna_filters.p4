// Filters and random early detection, of cells and of entries.
#include "tna_common.p4"

control Ingress(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    Lpf<bit<32>, bit<8>>(4) smooth;
    Wred<bit<32>, bit<8>>(4, 1, 2) early;
    DirectLpf<bit<32>>() smooth_entry;
    DirectWred<bit<32>>(3, 4) early_entry;

    action smooth_it() { hdr.data.b = smooth_entry.execute(hdr.data.b); }
    action decide() { hdr.data.op = early_entry.execute(hdr.data.b); }
    table entries {
        key = { hdr.data.a : exact; }
        actions = { smooth_it; NoAction; }
        const entries = {
            1 : smooth_it();
            2 : smooth_it();
        }
        const default_action = NoAction();
        filters = smooth_entry;
    }
    table decisions {
        key = { hdr.data.a : exact; }
        actions = { decide; NoAction; }
        const entries = {
            1 : decide();
        }
        const default_action = decide();
        filters = early_entry;
    }

    bit<8> index = (bit<8>)hdr.data.a;

    apply {
        tm.ucast_egress_port = (PortId_t)hdr.data.port;
        switch (hdr.data.op) {
            0: { hdr.data.b = smooth.execute(hdr.data.b, index); }
            1: { hdr.data.op = early.execute(hdr.data.b, index); }
            2: { entries.apply(); }
            3: { decisions.apply(); }
            default: {}
        }
    }
}

Pipeline(PlainIngressParser(), Ingress(), PlainIngressDeparser(), PlainEgressParser(), PlainEgress(),
         PlainEgressDeparser()) pipe;
Switch(pipe) main;
