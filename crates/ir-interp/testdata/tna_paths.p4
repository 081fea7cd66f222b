// The traffic manager: where packets go, which copies there are, and how they come back. Each pipeline and each copy leaves
// a header before the data.
#include "tna_common.p4"

// Where a packet has been: bridged from ingress to egress, or before a mirror.
header trail_t {
    bit<8>  kind;
    bit<8>  value;
}

header seen_t {
    bit<16> rid;
    bit<8>  is_first;
    bit<8>  port;
}

header resubmit_t {
    bit<16> mark;
    bit<48> rest;
}

struct paths_t {
    seen_t  seen;
    trail_t trail;
    data_t  data;
}

struct local_t {
    resubmit_t again;
    bit<10>    session;
}

parser IngressParser(packet_in packet, out paths_t hdr, out local_t meta, out ingress_intrinsic_metadata_t ig) {
    state start {
        packet.extract(ig);
        transition select(ig.resubmit_flag) {
            0: first;
            1: again;
        }
    }
    state first {
        packet.advance(PORT_METADATA_SIZE);
        transition data;
    }
    state again {
        packet.extract(meta.again);
        packet.advance(PORT_METADATA_SIZE - 64);
        transition data;
    }
    state data {
        transition select(ig.ingress_port) {
            68: back;
            default: only;
        }
    }
    // A packet that went around brings its headers along.
    state back {
        packet.extract(hdr.seen);
        packet.extract(hdr.trail);
        transition only;
    }
    state only {
        packet.extract(hdr.data);
        transition accept;
    }
}

control Ingress(inout paths_t hdr, inout local_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    apply {
        hdr.trail = {1, (bit<8>)ig.ingress_port};
        bit<9> port = (bit<9>)hdr.data.port;
        switch (hdr.data.op) {
            0: { tm.ucast_egress_port = port; }
            1: { tm.ucast_egress_port = port; tm.bypass_egress = 1; }
            2: { dprsr.drop_ctl = 1; tm.ucast_egress_port = port; }
            3: { tm.mcast_grp_a = hdr.data.a; }
            4: { tm.mcast_grp_a = hdr.data.a; tm.mcast_grp_b = hdr.data.b[15:0]; tm.ucast_egress_port = port; }
            5: { tm.copy_to_cpu = 1; tm.ucast_egress_port = port; }
            6: { tm.copy_to_cpu = 1; dprsr.drop_ctl = 1; tm.ucast_egress_port = port; }
            7: { tm.copy_to_cpu = 1; dprsr.drop_ctl = 2; tm.ucast_egress_port = port; }
            8: { dprsr.mirror_type = 1; meta.session = hdr.data.a[9:0]; tm.ucast_egress_port = port; hdr.data.a = 0xffff; }
            9: { dprsr.mirror_type = 1; meta.session = hdr.data.a[9:0]; dprsr.drop_ctl = 5; }
            10: { dprsr.mirror_type = 1; meta.session = hdr.data.a[9:0]; dprsr.drop_ctl = 1; }
            11: {
                if (ig.resubmit_flag == 0) {
                    dprsr.resubmit_type = 1;
                    meta.again = {hdr.data.a + 1, 0};
                    hdr.data.b = 0;
                } else {
                    tm.ucast_egress_port = port;
                    hdr.data.a = meta.again.mark;
                }
            }
            12: { tm.ucast_egress_port = 68; hdr.data.op = 0; }
            13: { tm.ucast_egress_port = port; invalidate(tm.ucast_egress_port); }
            14: {
                if (ig.resubmit_flag == 0) { dprsr.resubmit_type = 1; dprsr.drop_ctl = 1; }
                tm.ucast_egress_port = port;
            }
            default: { tm.ucast_egress_port = port; }
        }
    }
}

control IngressDeparser(packet_out packet, inout paths_t hdr, in local_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Mirror(1) mirror;
    Resubmit(1) resubmit;
    apply {
        if (dprsr.mirror_type == 1) {
            mirror.emit<trail_t>(meta.session, {2, hdr.data.op});
        }
        if (dprsr.resubmit_type == 1) {
            resubmit.emit(meta.again);
        }
        packet.emit(hdr);
    }
}

struct egress_local_t {
    bit<10> session;
    bit<8>  op;
}

parser EgressParser(packet_in packet, out paths_t hdr, out egress_local_t meta, out egress_intrinsic_metadata_t eg) {
    state start {
        packet.extract(eg);
        transition select(packet.lookahead<bit<8>>()) {
            1: bridged;
            2: bridged;
            default: around;
        }
    }
    state around {
        packet.extract(hdr.seen);
        transition bridged;
    }
    state bridged {
        packet.extract(hdr.trail);
        packet.extract(hdr.data);
        transition accept;
    }
}

control Egress(inout paths_t hdr, inout egress_local_t meta, in egress_intrinsic_metadata_t eg,
               in egress_intrinsic_metadata_from_parser_t prsr,
               inout egress_intrinsic_metadata_for_deparser_t dprsr,
               inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply {
        hdr.seen = {eg.egress_rid, 7w0 ++ eg.egress_rid_first, (bit<8>)eg.egress_port};
        meta.op = hdr.data.op;
        if (hdr.trail.kind == 1) {
            if (hdr.data.op == 20) {
                dprsr.drop_ctl = 1;
            } else if (hdr.data.op == 21 || hdr.data.op == 22) {
                dprsr.mirror_type = 2;
                meta.session = hdr.data.a[9:0];
                hdr.data.b = 0xeeeeeeee;
                if (hdr.data.op == 22) { dprsr.drop_ctl = 5; }
            } else if (hdr.data.op == 23) {
                hdr.data.b = (bit<32>)eg.pkt_length;
            }
        }
    }
}

control EgressDeparser(packet_out packet, inout paths_t hdr, in egress_local_t meta,
                       in egress_intrinsic_metadata_for_deparser_t dprsr) {
    Mirror(2) mirror;
    apply {
        if (dprsr.mirror_type == 2) {
            mirror.emit<trail_t>(meta.session, {2, 0x99});
        }
        packet.emit(hdr.seen);
        packet.emit(hdr.trail);
        packet.emit(hdr.data);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
