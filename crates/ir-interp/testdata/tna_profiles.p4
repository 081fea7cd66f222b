// Action profiles and selectors, keys of all kinds.
#include "tna_common.p4"

control Ingress(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    action to(PortId_t port) { tm.ucast_egress_port = port; }
    action mark(bit<16> a) { hdr.data.a = a; }

    ActionProfile(16) profile;
    table by_profile {
        key = { hdr.data.port : exact; }
        actions = { to; mark; NoAction; }
        const default_action = NoAction();
        implementation = profile;
    }

    ActionProfile(16) members;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash;
    ActionSelector(members, hash, SelectorMode_t.FAIR, 8, 4) selector;
    table by_selector {
        key = { hdr.data.port : exact; hdr.data.a : selector; hdr.data.b : selector; }
        actions = { to; NoAction; }
        const default_action = NoAction();
        implementation = selector;
    }

    table by_range {
        key = { hdr.data.a : range; hdr.data.b : ternary; }
        actions = { to; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1 .. 5, 0x10 &&& 0xf0) : to(3);
            (4 .. 9, _) : to(4);
        }
    }

    table by_prefix {
        key = { hdr.data.b : lpm; }
        actions = { to; NoAction; }
        const default_action = NoAction();
        const entries = {
            0x0a000000 &&& 0xff000000 : to(5);
            0x0a0b0000 &&& 0xffff0000 : to(6);
        }
    }

    apply {
        tm.ucast_egress_port = 9;
        switch (hdr.data.op) {
            0: { by_profile.apply(); }
            1: { by_selector.apply(); }
            2: { by_range.apply(); }
            3: { by_prefix.apply(); }
            default: {}
        }
    }
}

Pipeline(PlainIngressParser(), Ingress(), PlainIngressDeparser(), PlainEgressParser(), PlainEgress(),
         PlainEgressDeparser()) pipe;
Switch(pipe) main;
